// One run of weft-compile: read, phases, code, bundle, and the lines that tell about it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_COMPILE_COMPILE_H
#define WEFT_TOOLS_WEFT_COMPILE_COMPILE_H

#include "Flags.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "weft/Pipelines/Compile.h"
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
    enum Kind { Bundle, Mlir, LlvmIr, Assembly, Object } kind = Bundle;
    Phase last = Phase::Lower;
  };

  bool parseFlags();
  bool readInput();
  bool runPhases();
  bool writeText();
  bool writeBundle();
  bool writeFile(llvm::StringRef suffix, llvm::function_ref<void(llvm::raw_ostream &)> write);
  void dumpPhase(Phase phase, mlir::ModuleOp module);
  void setUpThreads();
  std::string placement() const;
  void summarise(const emit::BundleStatistics &statistics);
  bool fail(onnx::ErrorClass cls, const llvm::Twine &cause);
  int report();
  std::string outputPath(llvm::StringRef suffix) const;

  const CompileFlags &flags;
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  onnx::Diagnostics diagnostics;
  onnx::ImportOptions importOptions;
  onnx::ModelSummary summary;
  Emission emission;
  Phase from = Phase::Import;
  emit::Target target;
  std::unique_ptr<llvm::DefaultThreadPool> pool; ///< Outlives the context that uses it.
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::pair<std::string, double>> times;
  bool isOnnx = true;
};

} // namespace weft::tools

#endif // WEFT_TOOLS_WEFT_COMPILE_COMPILE_H
