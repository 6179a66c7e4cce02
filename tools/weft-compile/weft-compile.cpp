// weft-compile: an ONNX model (or a module of any phase) to a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compile.h"
#include "Flags.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // libLLVM registers flags of its own tools; the ones whose names we use make way.
  for (llvm::StringRef name : {"threads"})
    if (llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup(name))
      option->removeArgument();
  weft::tools::CompileFlags flags;
  llvm::cl::HideUnrelatedOptions({&flags.category, &flags.compileCategory});
  llvm::cl::SetVersionPrinter(
      [](llvm::raw_ostream &os) { os << "weft " WEFT_VERSION " (LLVM " LLVM_VERSION_STRING ")\n"; });
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, "Weft: compiles an ONNX model to a bundle\n", &llvm::errs()))
    return 2;
  return weft::tools::Compilation(flags).run();
}
