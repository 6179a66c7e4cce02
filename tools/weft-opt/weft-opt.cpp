// weft-opt: mlir-opt with Weft's dialects, passes and pipelines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "weft/InitAll.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  weft::registerAllDialects(registry);
  weft::registerAllPasses();
  return mlir::failed(mlir::MlirOptMain(argc, argv, "Weft pass driver\n", registry));
}
