// weft-lsp-server: MLIR's language server with Weft's dialects, for editors (docs/editors.md).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/ShortHelp.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "weft/InitAll.h"

static constexpr const char *kHelp = R"(Weft's language server, for editors (docs/editors.md)
Usage: weft-lsp-server [OPTIONS]

It speaks the Language Server Protocol on standard input and output: an editor starts it.

  --log=error|info|verbose    What is written to standard error
  --pretty                    Answers with line breaks
  --lit-test                  For tests: messages between lines "// -----", and a stop at the end
  --help                      This text
  --help-list                 Every option of MLIR and LLVM
)";

int main(int argc, char **argv) {
  if (weft::tools::printShortHelp(argc, argv, kHelp))
    return 0;
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  weft::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
