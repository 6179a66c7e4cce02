// The signatures in a PTX text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a launch must know of a kernel and only its text says: how many parameters it takes (the driver can tell only
// by failing, which tools that watch its calls report as an error), whether it waits for the grids before it, and
// whether a module has memory of its own.
#ifndef WEFT_GPU_PTXENTRIES_H
#define WEFT_GPU_PTXENTRIES_H

#include <map>
#include <string_view>

namespace weft {

struct PtxEntry {
  unsigned parameters = 0;
  bool waitsForGrids = false; ///< It holds a griddepcontrol.wait.
};

/// Each `.entry` in `ptx`, by name. Linear in the text, which need not be valid: of what is no entry with a name and a
/// closed list, nothing is said. Comments are skipped.
std::map<std::string_view, PtxEntry> scanPtxEntries(std::string_view ptx);

/// Whether the module has variables in global memory: what kernels leave there, others of the module find.
bool hasGlobalVariables(std::string_view ptx);

/// "8.6": what `.version` says; empty if nothing does.
std::string_view getPtxVersion(std::string_view ptx);

} // namespace weft

#endif // WEFT_GPU_PTXENTRIES_H
