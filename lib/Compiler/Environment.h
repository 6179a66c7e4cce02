// What the compiler asks of the machine that it runs on: the one file beside tools/ that reads the environment.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_COMPILER_ENVIRONMENT_H
#define WEFT_LIB_COMPILER_ENVIRONMENT_H

#include <string>

namespace weft {

/// ptxas where CUDA usually is; empty if it is nowhere.
std::string findPtxas();

/// The library or the executable that this code is in.
std::string getOwnPath();

} // namespace weft

#endif // WEFT_LIB_COMPILER_ENVIRONMENT_H
