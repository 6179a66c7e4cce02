// Where the values of planned kernels are, and which of them an edge of the plan is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Edges are known by nodes and ops of the program, levels by those of planned kernels: equal kernels are one, named
// after the first, and their ops were rewritten. An edge is found by its kernel, its node's position among the nodes of
// its dispatch, and the names of both ops.
#ifndef WEFT_LIB_PIPELINES_EDGELEVELS_H
#define WEFT_LIB_PIPELINES_EDGELEVELS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include <vector>

namespace weft {

/// A remark of LevelRemarks.h.
struct LevelNote {
  std::string node, op, readers, level, reason;
  int64_t bytes = 0; ///< Of a tile.
  int64_t whole = 0; ///< Of the tensor.
};

class EdgeLevels {
public:
  void add(llvm::StringRef kernel, LevelNote note) { notes[kernel].push_back(std::move(note)); }

  /// What became of the plan's groups in the outlined program: `dispatchOf` has the number of each one's dispatch, or
  /// -1.
  void mapGroups(mlir::ModuleOp outlined, llvm::ArrayRef<int64_t> dispatchOf);

  /// The value of `bytes` that `op` of `node` makes for `reader`, both of `group`; null if the planned kernel has none
  /// of the kind.
  const LevelNote *find(int64_t group, llvm::StringRef node, llvm::StringRef op, llvm::StringRef reader,
                        int64_t bytes) const;

private:
  struct Planned {
    std::string kernel;
    llvm::StringMap<std::string> nodes; ///< From those of the dispatch to those of the kernel's ops.
  };

  llvm::StringMap<std::vector<LevelNote>> notes; ///< By kernel.
  std::vector<Planned> planned;                  ///< By group.
};

} // namespace weft

#endif // WEFT_LIB_PIPELINES_EDGELEVELS_H
