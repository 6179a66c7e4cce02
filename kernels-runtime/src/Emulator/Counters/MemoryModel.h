// L1, L2 and DRAM as global accesses see them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sectors of global memory on their way from an SM to DRAM. Each SM has an L1 in front (what the shared-memory
// carve-out leaves), which loads may use and stores pass through; L2 is write-back and may consist of two partitions
// (A100, H100): a line has its home in one, and an SM of the other side reads through its own partition, which keeps a
// copy. That second lookup is counted as Nsight Compute counts it: a cold stream shows 1.5 sectors at L2 for each one
// from L1 (measured on an H100: 394,225 for 262,144), and DRAM reads come in pairs of sectors (stride 64: two per
// sector asked for). Stores to the other side count at both, too (1.50 to 1.52 per sector written by four GEMM
// kernels). Caches are empty at the beginning, as under ncu's default cache control.
#ifndef WEFT_EMULATOR_COUNTERS_MEMORYMODEL_H
#define WEFT_EMULATOR_COUNTERS_MEMORYMODEL_H

#include "Emulator/Counters/SectorCache.h"
#include "Emulator/Counters/WarpAccess.h"

#include <memory>

namespace weft::emu {

struct MemoryModelConfig {
  uint32_t sms = 1;
  uint64_t l1Bytes = 0; ///< Per SM, without what shared memory takes; 0: no L1.
  uint64_t l2Bytes = 0;
  unsigned l2Partitions = 1; ///< 1 or 2.
};

enum class GlobalOp : uint8_t { Load, Store, Atomic, Reduction };

/// What the memory system has been asked for; everything in sectors of 32 bytes.
struct MemoryTraffic {
  uint64_t l1Hits = 0, l1Lookups = 0;     ///< Loads that may use L1.
  uint64_t l2Reads = 0, l2ReadHits = 0;   ///< Both lookups of a read that crosses partitions.
  uint64_t l2Writes = 0, l2WriteHits = 0; ///< A store that crosses partitions counts twice.
  uint64_t l2Atomics = 0, l2Reductions = 0, l2AtomicHits = 0;
  uint64_t l2Fabric = 0;       ///< Of l2Reads: between partitions.
  uint64_t l2FabricWrites = 0; ///< Of l2Writes.
  uint64_t dramReads = 0, dramWrites = 0;
};

class MemoryModel {
public:
  explicit MemoryModel(const MemoryModelConfig &config);

  /// `l1` is NoAllocate for accesses that leave nothing in L1; `usesL1` false for those that do not look there.
  void access(GlobalOp op, uint32_t sm, const TouchedSectors &sectors, bool usesL1, EvictionClass l1, EvictionClass l2);
  /// A contiguous range by an engine that bypasses L1 (TMA, bulk copies).
  void range(GlobalOp op, uint32_t sm, uint64_t address, uint64_t bytes, EvictionClass l2);
  /// An acquire of a scope beyond the SM: its L1 forgets.
  void invalidateL1(uint32_t sm);

  const MemoryTraffic &traffic() const { return total; }

private:
  struct LineAccess {
    uint64_t line;
    unsigned mask; ///< Sectors.
  };
  void readL2(uint32_t sm, uint64_t line, unsigned mask, EvictionClass eviction);
  void writeL2(uint32_t sm, uint64_t line, unsigned mask, EvictionClass eviction);
  void atomicL2(GlobalOp op, uint64_t line, unsigned mask, unsigned count);
  void perform(GlobalOp op, uint32_t sm, const LineAccess &access, bool usesL1, EvictionClass l1, EvictionClass l2);
  unsigned homeOf(uint64_t line) const;
  void count(const SectorTraffic &traffic, uint64_t &hits);

  MemoryModelConfig config;
  std::vector<std::unique_ptr<SectorCache>> l1; ///< By SM, made at the first use.
  std::vector<SectorCache> l2;                  ///< By partition.
  MemoryTraffic total;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_COUNTERS_MEMORYMODEL_H
