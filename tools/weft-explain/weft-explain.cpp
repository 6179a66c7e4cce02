// weft-explain: what was made of a model, and why.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CompiledModel.h"
#include "../common/CompilerTools.h"

int main(int argc, char **argv) { return weft::tools::runExplain(argc, argv, weft::tools::getOwnFolder()); }
