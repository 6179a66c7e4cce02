// weft-compile: an ONNX model (or a module of any phase) to a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CompilerTools.h"
#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  return weft::tools::runCompile(argc, argv);
}
