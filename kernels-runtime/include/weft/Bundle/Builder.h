// Writes bundles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes a bundle (weft/bundle_format.h). Free of LLVM and of exceptions; the compiler's Emit and the tests use it.
//
//   Builder builder("weft 0.1.0");
//   KernelId kernel = builder.addKernel("add_0", {"/Add"});
//   EntryBuilder &entry = builder.addEntry("main");
//   Reg n = entry.symbol(entry.addSymbol("n"));
//   BufferId x = entry.addInput("x", DType::F32, {n});
//   BufferId y = entry.addOutput("y", DType::F32, {n});
//   entry.dispatch(kernel, {entry.ceilDiv(n, entry.constant(1024)), {{x}}, {{y}}, {n}});
//   builder.addNativeCode("x86_64-unknown-linux-gnu", {"avx2"}, elfBytes);
//   if (Error error = builder.writeFile("m.weft")) ...
//
// The bytes depend on the calls alone. Misuse (an id of another entry, a wrong count) is found by `writeFile` and
// `build`, which check the finished tables with the reader's own validator.
#ifndef WEFT_BUNDLE_BUILDER_H
#define WEFT_BUNDLE_BUILDER_H

#include "weft/Bundle/Error.h"
#include "weft/Bundle/MemoryPlan.h"
#include "weft/bundle_format.h"

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace weft::bundle {

/// An index that knows what it indexes.
template <class Tag> struct Id {
  uint32_t value = kNone;
  explicit operator bool() const { return value != kNone; }
  bool operator==(Id other) const { return value == other.value; }
  bool operator!=(Id other) const { return value != other.value; }
  bool operator<(Id other) const { return value < other.value; }
};
using Reg = Id<struct RegTag>;          ///< A register of one entry's shape program.
using BufferId = Id<struct BufferTag>;  ///< A buffer of one entry.
using SymbolId = Id<struct SymbolTag>;  ///< A symbol of one entry.
using KernelId = Id<struct KernelTag>;  ///< A kernel of the bundle.
using WeightId = Id<struct WeightTag>;  ///< A weight of the bundle.
using ConstantId = Id<struct ConstTag>; ///< Constant data of the bundle.

class Builder;

/// Builds one entry function: its shape program, its buffers and its launch program.
///
/// Registers are values: equal computations share one register, computations on constants fold, and what nothing needs
/// is dropped. Where a register is evaluated is worked out by the builder: at the start of the entry unless it depends
/// on a `load`, else where that load was requested.
class EntryBuilder {
public:
  struct Argument {
    BufferId buffer;
    Reg offset = {}; ///< In bytes; none is 0. Kernels that need alignment must be given aligned offsets.
  };
  struct Dispatch {
    Reg grid;                      ///< Number of grid points.
    std::vector<Argument> inputs;  ///< Only read.
    std::vector<Argument> outputs; ///< Written (or read and written); follow the inputs in the kernel's `buffers`.
    std::vector<Reg> scalars;
    Reg scratchBytes = {}; ///< For each worker; none is 0.
  };

  /// A symbol bound by the input dimensions that are exactly it, to a value in [min, max].
  SymbolId addSymbol(std::string_view name, int64_t min = 0, int64_t max = std::numeric_limits<int64_t>::max());

  Reg constant(int64_t value);
  Reg symbol(SymbolId symbol);
  Reg add(Reg a, Reg b);
  Reg sub(Reg a, Reg b);
  Reg mul(Reg a, Reg b);
  Reg floorDiv(Reg a, Reg b);
  Reg ceilDiv(Reg a, Reg b);
  Reg mod(Reg a, Reg b);
  Reg min(Reg a, Reg b);
  Reg max(Reg a, Reg b);
  /// Element `index` of `buffer`, read after the commands added so far have run.
  Reg load(BufferId buffer, Reg index);
  /// Fails the run with `message` (house style: "expected ..., got ..."; the runtime appends the values).
  void assertEqual(Reg a, Reg b, std::string_view message);
  void assertRange(Reg value, Reg low, Reg high, std::string_view message);

  BufferId addInput(std::string_view name, DType dtype, const std::vector<Reg> &extents);
  BufferId addOutput(std::string_view name, DType dtype, const std::vector<Reg> &extents);
  BufferId addTransient(DType dtype, const std::vector<Reg> &extents);
  BufferId addWeight(WeightId weight, DType dtype, const std::vector<int64_t> &extents);
  BufferId addConstant(ConstantId constant, DType dtype, const std::vector<int64_t> &extents);

  void dispatch(KernelId kernel, const Dispatch &dispatch);
  /// Copies `bytes`; the regions must not overlap.
  void copy(Argument source, Argument destination, Reg bytes);

  /// The commands until endLoop run again and again: `trips` times, while `condition` (an i1 buffer, none: always)
  /// holds before a turn. Where it still holds after the last turn the run fails with `endless`, if that is not empty.
  /// Registers made inside stay inside, but for those that equal older ones. In a `branch`, which may not run at all,
  /// nothing is evaluated ahead of it; in other loops only what can fail with a message is not.
  void beginLoop(Reg trips, BufferId condition = {}, std::string_view endless = {}, bool branch = false);
  void endLoop();
  /// The number of the current turn of the innermost loop.
  Reg turn();
  /// The number of the session's rank.
  Reg rank();
  /// The `bytes` of `source` of each of `ranks` ranks to all of `destination`; see CollectiveKind. `name`: for
  /// messages.
  void collective(CollectiveKind kind, Reduction reduction, BufferId source, Reg bytes, BufferId destination,
                  uint32_t ranks, std::string_view name);
  /// The same beside the commands behind it, into a part of `destination`, until an `await` that it is done.
  void collectiveBeside(CollectiveKind kind, Reduction reduction, BufferId source, Reg bytes, Argument destination,
                        uint32_t ranks, std::string_view name);
  /// What follows begins when at most the last `left` of them are still under way.
  void await(uint32_t left);

  /// An output whose extents are not known yet; `setExtents` gives them before the builder writes.
  BufferId addOutput(std::string_view name, DType dtype, unsigned rank);
  void setExtents(BufferId buffer, const std::vector<Reg> &extents);

  /// The output may lie in the memory of the input (AliasRecord). Extents of both are set.
  void addAlias(BufferId input, BufferId output);

  /// The byte size register of a buffer.
  Reg getSize(BufferId buffer) const;

  /// The packer's requests for the transient buffers when the symbols have these values; false if the program fails on
  /// them or needs data (a load). For `weft-compile`'s memory line.
  bool getPlanRequests(const std::vector<int64_t> &symbolValues, std::vector<PlanRequest> &requests) const;

private:
  friend class Builder;
  EntryBuilder(Builder &owner, std::string_view name);

  struct Instruction {
    InstructionRecord record;
    uint32_t position; ///< Commands that must have run before it is evaluated.
  };
  struct Alias {
    uint32_t output, input; ///< Numbers of ports.
  };
  struct Buffer {
    BufferRecord record; ///< firstExtent and the interval are set by finish().
    std::vector<Reg> extents;
  };
  /// The entry with its registers renumbered in evaluation order and Eval commands inserted.
  struct Finished {
    std::vector<InstructionRecord> instructions;
    std::vector<CommandRecord> commands; ///< c and e of dispatches count from the entry's first argument and scalar.
    std::vector<BufferRecord> buffers;
    std::vector<uint32_t> extents;
    std::vector<ArgumentRecord> arguments;
    std::vector<uint32_t> scalars;
  };

  using Key = std::tuple<uint16_t, uint32_t, uint32_t, uint32_t, int64_t>;
  struct Loop {
    uint32_t command;       ///< Its number in `commands`.
    bool branch;            ///< See beginLoop.
    std::vector<Key> known; ///< Registers that end with it.
  };

  Reg emit(Opcode opcode, Reg a, Reg b, Reg c = {}, int64_t imm = 0);
  uint32_t placeOf(Opcode opcode, Reg a, Reg b, Reg c) const;
  Reg sizeOf(DType dtype, const std::vector<Reg> &extents);
  Reg binary(Opcode opcode, Reg a, Reg b);
  bool isConstant(Reg reg, int64_t &value) const;
  bool checkReg(Reg reg, const char *what);
  bool checkBuffer(BufferId buffer, const char *what);
  BufferId addBuffer(BufferKind kind, DType dtype, const std::vector<Reg> &extents, uint32_t source);
  std::vector<Reg> constants(const std::vector<int64_t> &values);
  std::vector<bool> findLive() const;
  Finished finish() const;
  void finishRegisters(Finished &out, std::vector<uint32_t> &newRegister, std::vector<uint32_t> &newCommand) const;

  Builder &owner;
  uint32_t name;
  std::vector<SymbolRecord> symbols;
  std::vector<Instruction> instructions;
  std::map<Key, uint32_t> known;
  std::vector<Loop> loops; ///< Those open.
  std::vector<Buffer> buffers;
  std::vector<PortRecord> inputs, outputs;
  std::vector<Alias> aliases;
  std::vector<CommandRecord> commands; ///< Without Evals; registers not renumbered.
  std::vector<ArgumentRecord> arguments;
  std::vector<uint32_t> scalars;
};

/// Builds one bundle. Not copyable; EntryBuilder references stay valid as long as the builder.
class Builder {
public:
  /// `productVersion`: printable ASCII, at most 39 bytes; names the compiler in version errors.
  explicit Builder(std::string_view productVersion);
  ~Builder();
  Builder(const Builder &) = delete;
  Builder &operator=(const Builder &) = delete;

  /// Sets metadata `key`; a later call with the same key replaces the value.
  void setMetadata(std::string_view key, std::string_view value);
  EntryBuilder &addEntry(std::string_view name);
  /// A kernel, exported by every native code variant as `k<id>`; `origins` are the names of the ONNX nodes it came
  /// from.
  KernelId addKernel(std::string_view name, const std::vector<std::string> &origins);
  /// Small data made by the compiler; copied. Equal data shares one entry.
  ConstantId addConstantData(const void *data, size_t size);
  /// A weight to embed. `data` is not copied: it must stay as it is until the last write. Weights of one address and
  /// size, which kernels see in several orders, are stored once.
  WeightId addEmbeddedWeight(std::string_view name, const void *data, uint64_t size);
  /// A weight in another file, by path relative to the bundle's folder (or the folder given at run time).
  WeightId addExternalWeight(std::string_view name, std::string_view path, uint64_t offset, uint64_t size,
                             Hash128 hash);
  /// Kernels see the weight (the last one added) with dimension order[i] of `extents` as dimension i; see
  /// WeightOrderRecord.
  void setWeightOrder(WeightId weight, uint8_t elementBytes, const std::vector<int64_t> &extents,
                      const std::vector<int64_t> &order);
  /// Each rank sees part r of `parts` of the weight (the last one added); see WeightPartRecord. Comes before its order.
  void setWeightParts(WeightId weight, uint32_t parts, uint64_t outer, uint64_t pieceBytes);
  /// Native code for one target (an ELF shared object). The runtime takes the first variant that the machine can run:
  /// add the most demanding one first.
  void addNativeCode(std::string_view target, const std::vector<std::string> &features, std::vector<uint8_t> elf);
  /// A GPU kernel of a module; see GpuKernelRecord and TensorMapRecord.
  struct GpuKernel {
    KernelId kernel;
    uint32_t threads = 1, clusterSize = 1, sharedBytes = 0, registers = 0;
    std::vector<TensorMapRecord> tensorMaps;
    uint32_t residentCtas = 0;
  };
  /// PTX for one architecture ("sm_80", "sm_90a"), with its kernels in increasing order of id.
  void addPtx(std::string_view target, std::string_view ptx, const std::vector<GpuKernel> &kernels);
  /// Stores the JSON text of `weft-explain`.
  void setExplain(std::string json);

  /// The bundle in memory.
  Error build(std::vector<uint8_t> &bytes);
  /// Writes `path` by way of a temporary file beside it and a rename: a reader sees the old file or the whole new one.
  /// A device or a pipe (`/dev/null`) is written to as it is. `bytesWritten` may be null.
  Error writeFile(const std::string &path, uint64_t *bytesWritten = nullptr);

private:
  friend class EntryBuilder;
  struct Section;
  struct EmbeddedWeight {
    const void *data;
    uint64_t size;
  };
  struct NativeCode {
    std::vector<uint8_t> elf;
  };
  using Sink = std::function<Error(const void *data, size_t size)>;

  uint32_t intern(std::string_view text);
  void fail(std::string message);
  std::vector<Section> makeSections();
  void addEntrySections(std::vector<Section> &sections) const;
  void addDataSections(std::vector<Section> &sections);
  void layout(std::vector<Section> &sections, std::vector<uint8_t> &head) const;
  Error emit(const std::vector<Section> &sections, const std::vector<uint8_t> &head, const Sink &sink) const;
  Error prepare(std::vector<Section> &sections, std::vector<uint8_t> &head);

  std::string productVersion;
  std::string firstFailure; ///< First misuse seen by a call that cannot report it.
  std::map<std::string, uint32_t, std::less<>> stringIds;
  std::vector<std::string> strings;
  std::vector<MetadataRecord> metadata;
  std::vector<std::unique_ptr<EntryBuilder>> entries;
  std::vector<KernelRecord> kernels;
  std::vector<uint32_t> origins;
  std::vector<DataRecord> constantRecords;
  std::vector<uint8_t> constantBytes;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<uint32_t>> constantsByHash;
  std::vector<WeightRecord> weights;
  std::vector<EmbeddedWeight> embedded; ///< One for each weight; data is null for external ones.
  std::vector<WeightOrderRecord> weightOrders;
  std::vector<WeightPartRecord> weightParts;
  std::vector<VariantRecord> variants;
  std::vector<uint32_t> features;
  std::vector<NativeCode> nativeCode;
  std::vector<GpuModuleRecord> gpuModules;
  std::vector<GpuKernelRecord> gpuKernels;
  std::vector<TensorMapRecord> tensorMaps;
  std::vector<std::string> ptxTexts;
  std::string explain;
};

} // namespace weft::bundle

#endif // WEFT_BUNDLE_BUILDER_H
