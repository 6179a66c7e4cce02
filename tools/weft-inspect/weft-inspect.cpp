// weft-inspect: what an ONNX model is made of, and what of it Weft supports.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CompilerTools.h"
#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  return weft::tools::runInspect(argc, argv);
}
