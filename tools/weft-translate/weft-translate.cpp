// weft-translate --import-onnx model.onnx: the imported module as text, for tests and for looking.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ImportFlags.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace weft::onnx;
namespace cl = llvm::cl;

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  weft::tools::ImportFlags importFlags;
  cl::opt<bool> importOnnx("import-onnx", cl::desc("Import an ONNX model (the only translation, and the default)"));
  cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("model.onnx"));
  cl::opt<std::string> output("o", cl::init("-"), cl::value_desc("file"), cl::desc("Output file"));
  cl::opt<bool> locations("locations", cl::desc("Print locations: the ONNX node names"));
  cl::opt<bool> json("json", cl::desc("Print problems as JSON"));
  cl::ParseCommandLineOptions(argc, argv, "Weft's importer\n");

  Diagnostics diagnostics;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ImportOptions options = importFlags.get(diagnostics);
  if (diagnostics.empty())
    module = importModel(input, options, context, diagnostics);
  if (!module) {
    if (json) {
      llvm::json::OStream stream(llvm::errs(), 2);
      diagnostics.print(stream);
      llvm::errs() << '\n';
    } else {
      diagnostics.print(llvm::errs(), input);
    }
    return diagnostics.exitCode();
  }
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> file = mlir::openOutputFile(output, &error);
  if (!file) {
    llvm::errs() << "weft-translate: error: " << error << '\n';
    return static_cast<int>(ErrorClass::Usage);
  }
  mlir::OpPrintingFlags flags;
  if (locations)
    flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/true);
  module->print(file->os(), flags);
  file->keep();
  return 0;
}
