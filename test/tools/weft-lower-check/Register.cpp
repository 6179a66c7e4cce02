// Registration of the dialects and passes that the tool's pipelines name; a file of its own because upstream's headers
// for it are large.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Jit.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Lower/CpuMath/CpuMath.h"
#include "weft/Lower/TileGraphToLinalg/TileGraphToLinalg.h"

void weft::check::registerEverything(mlir::DialectRegistry &registry) {
  mlir::registerAllPasses();
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<tg::TileGraphDialect>();
  lower::registerCpuMathPasses();
  lower::registerTileGraphToLinalgPasses();
}
