// Memory for tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks from 4 MiB on start at a 2 MiB boundary and ask for huge pages: activations are touched in long runs, and 4
// KiB page faults and TLB misses cost several per cent of a small model's run.
#include "AlignedMemory.h"

#include "weft/bundle_format.h"

#include <cstdlib>
#include <limits>
#include <sys/mman.h>

static constexpr uint64_t hugePage = uint64_t(2) << 20;

void *weft::allocateAligned(uint64_t size) {
  bool isLarge = size >= 2 * hugePage;
  uint64_t alignment = isLarge ? hugePage : bundle::kBufferAlignment;
  if (size > std::numeric_limits<int64_t>::max() - alignment)
    return nullptr;
  uint64_t rounded = (size + alignment - 1) / alignment * alignment;
  void *address = nullptr;
  if (::posix_memalign(&address, alignment, rounded ? rounded : alignment) != 0)
    return nullptr;
  if (isLarge)
    ::madvise(address, rounded, MADV_HUGEPAGE);
  return address;
}

void weft::freeAligned(void *address) { std::free(address); }

bool weft::isAligned(const void *address) { return uintptr_t(address) % bundle::kBufferAlignment == 0; }
