// One run of weft-compile: read, phases, code, bundle, and the lines that tell about it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_COMPILE_COMPILE_H
#define WEFT_TOOLS_WEFT_COMPILE_COMPILE_H

#include "Flags.h"
#include "Progress.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "weft/Emit/Ptxas.h"
#include "weft/Pipelines/Compile.h"
#include "weft/Pipelines/Explanation.h"
#include "weft/Target/Device.h"
#include "llvm/Support/ThreadPool.h"
#include <chrono>

namespace weft::tools {

class Compilation {
public:
  explicit Compilation(const CompileFlags &flags) : flags(flags) {}
  /// Returns the exit code.
  int run();

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
  bool useMeasuredRates();
  bool useLaunchCost();
  bool findRecords();
  bool parseTargets();
  bool parseEmission();
  bool readInput();
  void setUpThreads();
  bool setUpRemarks();
  bool isExplaining() const { return emission.kind == Emission::Bundle && flags.explain == "on"; }
  bool fail(onnx::ErrorClass cls, const llvm::Twine &cause);
  void beginActivity(llvm::StringRef what, llvm::StringRef target = "", size_t kernels = 0);
  int report();

  // Programs.cpp
  bool runPhases();
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
  llvm::Error dealRegisters(Assembly &assembly, const Device &device);
  llvm::Error replanKernels(Program &program, Assembly &assembly);
  mlir::OwningOpRef<mlir::ModuleOp> lowerAgain(Program &program, llvm::StringRef kernel,
                                               llvm::ArrayRef<mlir::Attribute> spilled);

  // Summary.cpp
  std::string placement(const Program &program) const;
  void summarise(const emit::BundleStatistics &statistics);

  const CompileFlags &flags;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  onnx::Diagnostics diagnostics;
  onnx::ImportOptions importOptions;
  onnx::ModelSummary summary;
  std::optional<Progress> progress;
  Emission emission;
  Phase from = Phase::Import;
  emit::Target cpu;
  Explanation explanation;                       ///< Outlives the context, whose remarks it takes down.
  std::unique_ptr<llvm::DefaultThreadPool> pool; ///< Outlives the context that uses it.
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;   ///< Up to Normalize.
  mlir::OwningOpRef<mlir::ModuleOp> outlined; ///< Of the program that is being made: see Program.
  std::vector<Program> programs;              ///< The CPU's first.
  /// While a GPU's program is made: what it cannot do.
  std::vector<onnx::Diagnostic> *refusals = nullptr;
  llvm::StringRef lowering; ///< The target of the program that is being lowered; empty before that.
  std::string variant;      ///< The interval of the one that is being made; empty: there are no others.
  unsigned variantNumber = 0;
  std::string records; ///< Their file; empty: none.
  std::vector<std::string> warnings, remarks;
  std::vector<std::pair<std::string, double>> times;
  bool isOnnx = true;
};

} // namespace weft::tools

#endif // WEFT_TOOLS_WEFT_COMPILE_COMPILE_H
