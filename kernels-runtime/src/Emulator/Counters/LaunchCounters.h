// Counters of a launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An observer that counts what hardware counts, under Nsight Compute's names where there is one, else under weft__.
// docs/emulator.md says which figures are exact, and which come from a model of the caches. PTX instructions are not
// the GPU's: memory, matrix and synchronisation instructions are one to one, arithmetic is not.
#ifndef WEFT_EMULATOR_COUNTERS_LAUNCHCOUNTERS_H
#define WEFT_EMULATOR_COUNTERS_LAUNCHCOUNTERS_H

#include "Emulator/Counters/MemoryModel.h"
#include "Emulator/Exec/Machine.h"

namespace weft::emu {

/// What an opcode counts as.
struct OpcodeClass {
  enum Kind : uint8_t { Other, Mma, Wgmma, Ldmatrix, Stmatrix, Mbarrier, Reduction, Tma };
  Kind kind = Other;
  uint8_t pipe = 0;   ///< Mma and Wgmma: index of a type class in kMatrixTypes.
  uint64_t flops = 0; ///< Multiplications and additions of one execution by one warp.
  bool isWmma = false;
};
/// From the full name: "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32".
OpcodeClass classify(std::string_view opcode);

/// Instructions of the tensor pipe into which ptxas makes one matrix instruction. Measured on an H100 with ncu: there
/// fp8 and 4-bit mma.sync, and b1 with .xor, are two; wmma is two of mma's, and four for tf32. Other architectures: one
/// for mma.sync, as their native forms suggest (not measured).
unsigned cardInstructions(std::string_view opcode, const OpcodeClass &kind, uint32_t smVersion);

/// The types of A by which matrix operations are counted.
constexpr const char *kMatrixTypes[] = {"f16", "bf16", "tf32", "fp8", "f64", "int8", "int4", "b1"};
constexpr unsigned kMatrixTypeCount = sizeof(kMatrixTypes) / sizeof(kMatrixTypes[0]);

class LaunchCounters final : public Observer {
public:
  void launchBegins(Machine &machine) override;
  void launchEnds(Machine &machine) override;
  void stepBegins(Warp &warp, const Step &step, LaneMask mask, bool isRepeated) override;
  void accessed(const Access &access) override;
  void fenced(const FenceEvent &event) override;
  void arrived(const BarrierEvent &event) override;

private:
  struct Memory {
    uint64_t instructions = 0, sectors = 0, bytes = 0;
  };
  struct Shared {
    uint64_t instructions = 0, wavefronts = 0, conflicts = 0, bytes = 0;
  };
  enum MemoryRow { Load, Store, Atom, Red, Copy, LocalLoad, LocalStore, MemoryRows };
  enum SharedRow { SharedLoad, SharedStore, SharedAtom, SharedLdmatrix, SharedStmatrix, SharedCopy, SharedRows };

  void global(const Access &access, const OpcodeClass &kind);
  void bulk(const Access &access);
  void shared(const Access &access, const OpcodeClass &kind);
  void local(const Access &access);
  void emitInstructions(Machine &machine);
  void emitMemory(Machine &machine);
  void emitShared(Machine &machine);

  std::unique_ptr<MemoryModel> memory;
  std::vector<OpcodeClass> classes; ///< By Step::opcode.
  std::vector<uint64_t> warpCounts, threadCounts;
  Memory rows[MemoryRows];
  Shared sharedRows[SharedRows];
  uint64_t lines = 0;                                      ///< Of global loads and stores, 128 bytes each.
  uint64_t predicatedOff = 0;                              ///< Thread instructions.
  uint64_t bulkRead = 0, bulkWritten = 0, bulkReduced = 0; ///< Bytes of global memory.
  uint64_t wgmmaBytes = 0;                                 ///< Of shared memory.
  uint64_t barriers = 0;
};

/// A table of two columns, and a JSON object from names to numbers, in the order given.
std::string formatCounters(const std::vector<Counter> &counters);
std::string formatCountersJson(const std::vector<Counter> &counters);

} // namespace weft::emu

#endif // WEFT_EMULATOR_COUNTERS_LAUNCHCOUNTERS_H
