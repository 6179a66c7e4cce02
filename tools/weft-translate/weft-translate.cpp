// weft-translate --import-onnx model.onnx: the imported module as text, for tests and for looking.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/ToolFlags.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/FileUtilities.h"
#include "weft/Compiler/ImportFlags.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace weft::onnx;

namespace {
struct TranslateFlags : weft::ImportFlags {
  weft::FlagCategory own{*this, "weft-translate"};
  weft::Flag<std::string> input{*this, "", "", "model.onnx", "The model"};
  weft::Flag<bool> importOnnx{*this, "import-onnx", false, "",
                              "Import an ONNX model (the only translation, and the default)"};
  weft::Flag<std::string> output{*this, "o", "-", "file", "Output file"};
  weft::Flag<bool> locations{*this, "locations", false, "", "Print locations: the ONNX node names"};
  weft::Flag<bool> json{*this, "json", false, "", "Print problems as JSON"};
  weft::tools::CommonFlags common{*this};
};
} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  TranslateFlags flags;
  if (std::optional<int> code =
          weft::tools::parseFlags(flags, flags.common, argc, argv, "weft-translate", "Weft's importer, to text"))
    return *code;
  if (flags.input.empty())
    return weft::tools::failUsage("weft-translate", "expected a model; see --help");

  Diagnostics diagnostics;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ImportOptions options = flags.get(diagnostics);
  if (diagnostics.empty())
    module = importModel(flags.input, options, context, diagnostics);
  if (!module) {
    if (flags.json) {
      llvm::json::OStream stream(llvm::errs(), 2);
      diagnostics.print(stream);
      llvm::errs() << '\n';
    } else {
      diagnostics.print(llvm::errs(), flags.input);
    }
    return diagnostics.exitCode();
  }
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> file = mlir::openOutputFile(flags.output, &error);
  if (!file) {
    llvm::errs() << "weft-translate: error: " << error << '\n';
    return static_cast<int>(ErrorClass::Usage);
  }
  mlir::OpPrintingFlags printing;
  if (flags.locations)
    printing.enableDebugInfo(/*enable=*/true, /*prettyForm=*/true);
  module->print(file->os(), printing);
  file->keep();
  return 0;
}
