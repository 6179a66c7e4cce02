// Memory for tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host memory aligned as kernels expect (kBufferAlignment), with huge pages for large blocks.
#ifndef WEFT_MEMORY_ALIGNEDMEMORY_H
#define WEFT_MEMORY_ALIGNEDMEMORY_H

#include <cstdint>

namespace weft {

/// Uninitialised memory, or null if there is none. `size` may be 0: the address is then valid for no access.
void *allocateAligned(uint64_t size);
void freeAligned(void *address);

/// True if `address` is aligned as kernels expect.
bool isAligned(const void *address);

/// Owns host memory.
class AlignedMemory {
public:
  AlignedMemory() = default;
  ~AlignedMemory() { freeAligned(address); }
  AlignedMemory(AlignedMemory &&other) noexcept : address(other.address) { other.address = nullptr; }
  AlignedMemory &operator=(AlignedMemory &&other) noexcept {
    void *mine = address;
    address = other.address;
    other.address = mine;
    return *this;
  }
  /// Replaces the memory, losing its content; false if there is not enough.
  bool allocate(uint64_t size) {
    freeAligned(address);
    address = allocateAligned(size);
    return address;
  }
  void *get() const { return address; }

private:
  void *address = nullptr;
};

} // namespace weft

#endif // WEFT_MEMORY_ALIGNEDMEMORY_H
