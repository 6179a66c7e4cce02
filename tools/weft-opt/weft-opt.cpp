// weft-opt: mlir-opt with Weft's dialects, passes and pipelines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/ShortHelp.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "weft/InitAll.h"

static constexpr const char *kHelp = R"(Weft's passes and MLIR's on a module
USAGE: weft-opt [OPTIONS] [FILE]

  -o FILE                          Where the module is written (default: standard output)
  --weft-normalize, --weft-plan, --weft-lower-cpu, ...
                                   Pipelines and passes, in the order they are given (docs/reference/passes.md)
  --pass-pipeline=TEXT             The same as text: 'builtin.module(weft-normalize,func.func(cse))'
  --split-input-file               Modules between lines "// -----", each by itself
  --verify-diagnostics             Compare messages with comments "expected-error {{...}}"
  --allow-unregistered-dialect     Take ops that no dialect has
  --mlir-print-ir-after-all        The module after each pass, on standard error
  --mlir-print-ir-after-change     The same where it changed
  --mlir-timing                    What each pass took
  --mlir-disable-threading         One thread
  --show-dialects                  The dialects
  --version                        The version of LLVM
  --help                           This text
  --help-list                      Every pass and option, of MLIR and LLVM as well
)";

int main(int argc, char **argv) {
  if (weft::tools::printShortHelp(argc, argv, kHelp))
    return 0;
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  weft::registerAllDialects(registry);
  weft::registerAllPasses();
  return mlir::failed(mlir::MlirOptMain(argc, argv, "Weft pass driver\n", registry));
}
