// Global memory of a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocations in a virtual address range of their own: never reused within a process, with gaps between, so that every
// address is inside one allocation or none, and a freed one is known as such. The initialised state (one byte per byte)
// is kept for all allocations, but only the sanitizer looks at it.
#ifndef WEFT_EMULATOR_EXEC_GLOBALMEMORY_H
#define WEFT_EMULATOR_EXEC_GLOBALMEMORY_H

#include "weft/Bundle/Error.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft::emu {

struct Allocation {
  uint64_t address = 0;
  uint64_t size = 0;
  bool isFreed = false;
  bool isConst = false;       ///< A .const variable: reads only, from kernels.
  std::string name;           ///< Of a module's variable; empty for allocations.
  std::byte *bytes = nullptr; ///< 256-byte aligned; null when freed.
  /// 1 for every byte that has been written. Kernels' writes are marked by the sanitizer.
  uint8_t *initialised = nullptr;
  uint64_t end() const { return address + size; }
};

class GlobalMemory {
public:
  /// At most `capacity` bytes live at once.
  explicit GlobalMemory(uint64_t capacity);
  ~GlobalMemory();
  GlobalMemory(const GlobalMemory &) = delete;
  GlobalMemory &operator=(const GlobalMemory &) = delete;

  bundle::Error allocate(uint64_t bytes, uint64_t alignment, uint64_t &address);
  bundle::Error free(uint64_t address);
  /// The live allocation that holds all of [address, address + bytes), or null.
  Allocation *find(uint64_t address, uint64_t bytes) {
    if (last && address >= last->address && address - last->address <= last->size &&
        bytes <= last->size - (address - last->address) && !last->isFreed)
      return last;
    return search(address, bytes);
  }
  const Allocation *find(uint64_t address, uint64_t bytes) const {
    return const_cast<GlobalMemory *>(this)->find(address, bytes);
  }
  /// "16 bytes past the end of the allocation of 256 bytes at 0x...", for messages; freed ones are named as such.
  std::string describe(uint64_t address) const;

private:
  Allocation *search(uint64_t address, uint64_t bytes);
  std::vector<std::unique_ptr<Allocation>> allocations; ///< By address, freed ones included.
  Allocation *last = nullptr;
  uint64_t capacity;
  uint64_t live = 0;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_EXEC_GLOBALMEMORY_H
