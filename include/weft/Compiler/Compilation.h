// One compilation: read, phases, code, bundle, and what is to be said of it. Nothing outlives it but its results; any
// number may go on at the same time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COMPILER_COMPILATION_H
#define WEFT_COMPILER_COMPILATION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "weft/Compiler/Cache.h"
#include "weft/Compiler/CompileOptions.h"
#include "weft/Emit/Ptxas.h"
#include "weft/Pipelines/Compile.h"
#include "weft/Pipelines/Explanation.h"
#include "weft/Support/ThreadPool.h"
#include "weft/Target/DeviceTable.h"
#include <atomic>
#include <chrono>
#include <functional>

namespace weft {

/// What is compiled, and where it goes. What it points to must outlive the compilation.
struct CompileRequest {
  std::string model;                         ///< Its path, or of a model in memory a name for messages.
  std::optional<llvm::ArrayRef<char>> bytes; ///< Of an ONNX model in memory.
  /// External data in memory, by their location; those that are not named are files.
  std::vector<std::pair<std::string, llvm::ArrayRef<char>>> externalData;
  std::string output;                     ///< Path; empty: by the model's name. "-": standard output, for text.
  std::vector<uint8_t> *bundle = nullptr; ///< Takes the bundle in place of a file.
  const BundleCache *cache = nullptr;     ///< Where it is looked for, and goes.
  /// Called where an activity begins ("lower sm_90a"), from the thread that runs the compilation.
  std::function<void(llvm::StringRef)> began;
  /// Asked there and before each kernel's code, from any thread: the compilation ends soon after it says yes.
  std::function<bool()> isCancelled;
};

/// Work of a node, by its name or its first output's.
struct NodeEstimate {
  std::string name;
  double operations = 0, bytes = 0; ///< As a kernel of its own.
};

struct ModelEstimate {
  std::vector<NodeEstimate> nodes; ///< In the order of the program; nodes without work are left out.
  double operations = 0, unfusedBytes = 0, fusedBytes = 0;
  size_t unfusedKernels = 0, fusedKernels = 0;
};

class Compilation {
public:
  Compilation(const CompileOptions &flags, const CompileRequest &request) : flags(flags), request(request) {}

  /// True: what was asked for is made. Else there are diagnostics, or it was cancelled.
  bool run();

  /// What the model is worth: its nodes' operations and bytes, and those of the program that it becomes for the first
  /// target. False: there are diagnostics, of nodes that are not supported (weights may be missing).
  bool estimate(ModelEstimate &result);

  bool wasCancelled() const { return cancelled; }
  bool wasCached() const { return cached; }
  const onnx::Diagnostics &getDiagnostics() const { return diagnostics; }
  llvm::ArrayRef<std::string> getRemarks() const { return remarks; }
  llvm::ArrayRef<std::string> getWarnings() const { return warnings; }
  /// Seconds of phases, in their order.
  llvm::ArrayRef<std::pair<std::string, double>> getTimes() const { return times; }
  /// Lines about a bundle: what was read, where it runs, how large it is.
  const std::string &getSummary() const { return summaryText; }

private:
  struct Emission {
    enum Kind { Bundle, Mlir, Ptx, LlvmIr, Assembly, Object, Candidates } kind = Bundle;
    Phase last = Phase::Lower;
  };
  /// The model on its way to one target.
  struct Program {
    const Device *gpu = nullptr; ///< Null: the CPU.
    mlir::OwningOpRef<mlir::ModuleOp> module;
    /// The kernels as they were before they were planned, by their names in this program; none without ptxas.
    mlir::OwningOpRef<mlir::ModuleOp> outlined;
    std::string ptxas;   ///< What ptxas said of the code, in one line.
    std::string refusal; ///< Of a GPU: why the model runs on the CPU instead (--fallback=allow); there is no module.

    llvm::StringRef name() const { return gpu ? gpu->architecture : "cpu"; }
  };

  /// The code of a program's kernels, a module each, and what ptxas says of them.
  struct Assembly {
    std::string ptxas; ///< Path.
    unsigned firstKernel = 0;
    std::vector<std::string> modules;
    std::vector<emit::PtxasEntry> entries;
  };

  // Compile.cpp
  bool parseFlags();
  bool checkChoices();
  bool parseMesh();
  bool useModelMesh();
  bool checkCancelled();
  bool useMeasuredRates();
  bool useLaunchCost();
  bool findRecords();
  bool parseTargets();
  bool parseEmission();
  bool checkModuleFlags();
  bool readInput();
  void setUpThreads();
  bool setUpRemarks();
  bool isExplaining() const {
    bool printsPlan = emission.kind == Emission::Mlir && emission.last == Phase::Plan;
    return (emission.kind == Emission::Bundle || printsPlan) && flags.explain == "on";
  }
  bool fail(onnx::ErrorClass cls, const llvm::Twine &cause);
  void beginActivity(llvm::StringRef what, llvm::StringRef target = "", size_t kernels = 0);

  // Caching.cpp
  bool mayCache() const;
  bool addToKey(CacheKey &key, llvm::StringRef file);
  std::optional<std::string> makeKey();
  bool takeCached(llvm::StringRef key);
  bool compileModule();

  // Programs.cpp
  bool runPhases();
  bool failPass();
  bool lowerProgram(Program &program);
  PhaseOptions makeOptions(const Device *gpu) const;
  bool runPhases(mlir::ModuleOp module, Phase first, Phase last, const Device *gpu);
  void dumpPhase(Phase phase, mlir::ModuleOp module, const Device *gpu);
  bool checkTargets();

  // Output.cpp
  bool writeText();
  bool writeBuffers(llvm::ArrayRef<mlir::ModuleOp> modules);
  bool writeMlir();
  bool writePtx();
  bool writeBundle();
  llvm::Error addToBundle(emit::BundleWriter &writer, Program &program);
  bool writeFile(llvm::StringRef suffix, llvm::function_ref<void(llvm::raw_ostream &)> write);
  std::string outputPath(llvm::StringRef suffix) const;

  // Candidates.cpp
  bool writeCandidates();
  bool writeCandidatesOf(mlir::ModuleOp kernel, const Device &device, llvm::StringRef folder, llvm::raw_ostream &list);
  std::string writeReference(mlir::ModuleOp kernel, llvm::StringRef folder);
  bool writeProgram(mlir::ModuleOp kernel, const Device *gpu, llvm::StringRef path);

  // GpuCode.cpp
  llvm::Expected<std::string> makePtx(Program &program, unsigned firstKernel, std::vector<unsigned> &registers);
  llvm::Error checkPtx(Program &program, Assembly &assembly, std::vector<unsigned> &registers);
  std::string getPtxas() const;

  // Registers.cpp
  void keepKernels(mlir::ModuleOp program);
  bool settlePlan(Program &program);
  llvm::Error fillSms(llvm::ArrayRef<mlir::ModuleOp> kernels, Assembly &assembly, const Device &device);
  llvm::Error leaveRegisters(llvm::ArrayRef<mlir::ModuleOp> kernels, Assembly &assembly, const Device &device);
  llvm::Error replaceTexts(Assembly &assembly, llvm::ArrayRef<size_t> numbers, std::vector<std::string> texts,
                           const Device &device, llvm::function_ref<bool(size_t, const emit::PtxasEntry &)> accepts);
  llvm::Error mendSpills(Assembly &assembly, const Device &device);
  llvm::Error dealRegisters(Assembly &assembly, const Device &device);
  llvm::Error replanKernels(Program &program, Assembly &assembly);
  mlir::OwningOpRef<mlir::ModuleOp> lowerAgain(Program &program, llvm::StringRef kernel,
                                               llvm::ArrayRef<mlir::Attribute> spilled);

  // Summary.cpp
  std::string placement(const Program &program) const;
  void summarise(const emit::BundleStatistics &statistics);

  const CompileOptions &flags;
  const CompileRequest &request;
  DeviceTable devices;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  onnx::Diagnostics diagnostics;
  onnx::ImportOptions importOptions;
  onnx::ModelSummary summary;
  std::string summaryText;
  std::atomic<bool> cancelled = false;
  bool cached = false;
  Emission emission;
  Phase from = Phase::Import;
  emit::Target cpu;
  std::unique_ptr<ThreadPool> pool; ///< Outlives the context that uses it.
  std::unique_ptr<mlir::MLIRContext> context;
  Explanation explanation;
  mlir::OwningOpRef<mlir::ModuleOp> module;   ///< Up to Normalize.
  mlir::OwningOpRef<mlir::ModuleOp> outlined; ///< Of the program that is being made: see Program.
  std::vector<Program> programs;              ///< The CPU's first.
  /// While a GPU's program is made: what it cannot do.
  std::vector<onnx::Diagnostic> *refusals = nullptr;
  llvm::StringRef lowering; ///< The target of the program that is being lowered; empty before that.
  std::string variant;      ///< The interval of the one that is being made; empty: there are no others.
  unsigned variantNumber = 0;
  std::string records;  ///< Their file; empty: none.
  tg::MeshOptions mesh; ///< Of --mesh, --shard and --link.
  std::vector<std::string> warnings, remarks;
  std::vector<std::pair<std::string, double>> times;
  bool isOnnx = true;
};

} // namespace weft

#endif // WEFT_COMPILER_COMPILATION_H
