//===- PtxEntries.h - The signatures in a PTX text ----------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// How many parameters each kernel of a PTX text takes. The driver can tell only by failing (cuFuncGetParamInfo past the
// last one), which tools that watch its calls report as an error.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef WEFT_GPU_PTXENTRIES_H
#define WEFT_GPU_PTXENTRIES_H

#include <map>
#include <string_view>

namespace weft {

/// The number of parameters of each `.entry` in `ptx`, by name. Linear in the text, which need not be valid: of what is
/// no entry with a name and a closed list, nothing is said. Comments are skipped.
std::map<std::string_view, unsigned> countPtxParameters(std::string_view ptx);

} // namespace weft

#endif // WEFT_GPU_PTXENTRIES_H
