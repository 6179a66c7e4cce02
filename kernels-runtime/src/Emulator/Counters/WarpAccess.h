// What one warp-wide access costs in memory units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pure functions from the 32 addresses of an access to sectors, shared-memory wavefronts and bank conflicts. The
// formulas of loads, stores, reductions, shared atomics, ldmatrix and stmatrix were checked against Nsight Compute on
// an H100 (20 or 34 patterns of addresses each, all equal).
//
// An address is naturally aligned to the bytes of its lane (the caller has checked that), so that a lane touches
// one sector of global memory, or consecutive banks of shared memory.
#ifndef WEFT_EMULATOR_COUNTERS_WARPACCESS_H
#define WEFT_EMULATOR_COUNTERS_WARPACCESS_H

#include <cstdint>

namespace weft::emu {

/// A sector of 32 bytes that an access touches.
struct TouchedSector {
  uint64_t number = 0; ///< address / 32
  uint32_t bytes = 0;  ///< Which of its bytes.
};

struct TouchedSectors {
  unsigned count = 0;  ///< Distinct sectors, as l1tex__t_sectors counts them for loads and stores.
  unsigned lines = 0;  ///< Distinct lines of 128 bytes.
  unsigned passes = 0; ///< Sectors of a reduction or atomic: lanes at one address go one after the other, so a sector
                       ///< counts as often as its most popular address.
  TouchedSector sector[32];
};

/// The sectors of global memory under the lanes in `mask`; `bytes` (1 to 32, a power of two) per lane.
TouchedSectors touchedSectors(const uint64_t *addresses, uint32_t mask, unsigned bytes);

enum class SharedAccess : uint8_t {
  Load,
  Store,
  Atomic, ///< atom and red: lanes at one address go one after the other.
  Matrix, ///< ldmatrix and stmatrix: `mask` has the lanes that give row addresses, `bytes` is 16.
};

/// l1tex__data_pipe_lsu_wavefronts_mem_shared and l1tex__data_bank_conflicts_pipe_lsu_mem_shared.
struct SharedCost {
  unsigned wavefronts = 0;
  unsigned conflicts = 0; ///< Wavefronts beyond one per pass.
};

/// Shared memory has 32 banks of 4 bytes; different words of a bank take a wavefront each. Accesses of 8 and 16 bytes
/// pass by halves and quarters of the warp. Loads whose active lanes all have the address of lane^1, or all that of
/// lane^2, take two passes as one.
SharedCost sharedCost(SharedAccess kind, const uint64_t *addresses, uint32_t mask, unsigned bytes);

} // namespace weft::emu

#endif // WEFT_EMULATOR_COUNTERS_WARPACCESS_H
