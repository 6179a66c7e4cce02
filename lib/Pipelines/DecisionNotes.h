// What passes say while they plan, and the `tg.decisions` that it becomes at the end of Plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// At most `mostEdges` edges and `mostRemarks` remarks are kept, the first ones, and the op counts the others: 10,000
// nodes have some 15,000 edges.
#ifndef WEFT_LIB_PIPELINES_DECISIONNOTES_H
#define WEFT_LIB_PIPELINES_DECISIONNOTES_H

#include "EdgeLevels.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/Decisions.h"
#include "weft/Plan/Facts.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <tuple>

namespace weft {

/// Numbers of groups, or of dispatches, by their locations, in order.
using NumbersByLocation = llvm::DenseMap<mlir::Location, llvm::SmallVector<int64_t, 1>>;

/// Numbers of dispatches by those numbers: a kernel keeps its location, unless later passes put several into one, whose
/// location has the parts of all. -1: none.
std::vector<int64_t> mapToDispatches(mlir::ModuleOp module, NumbersByLocation numbers);

class DecisionNotes {
public:
  void add(const mlir::remark::detail::Remark &remark);
  /// Call with the outlined program.
  void finishOutline(mlir::ModuleOp outlined);

  /// Why `planned` is as it is: these notes, behind the remarks of `shared` ones.
  mlir::OwningOpRef<tg::DecisionsOp> write(mlir::ModuleOp planned, const DecisionNotes &shared,
                                           const plan::UnfusedFacts &unfused, int64_t nodes);
  /// Adds remarks that came since.
  void append(mlir::ModuleOp planned, tg::DecisionsOp decisions);

private:
  struct Edge {
    mlir::StringAttr producerNode, consumerNode, producer, consumer, reason; ///< No reason: fused.
    int64_t producerGroup, consumerGroup;
    int64_t bytes, savedBytes; ///< -1: no tensor goes along it.
    bool isInFold;
  };
  /// Kind, name, category, function, node, text.
  using Remark = std::tuple<mlir::StringAttr, mlir::StringAttr, mlir::StringAttr, mlir::StringAttr, mlir::StringAttr,
                            mlir::StringAttr>;
  struct Planner {
    mlir::StringAttr name;
    int64_t ops, groups;
    double microseconds, alone;
  };

  void writeEdges(mlir::ModuleOp planned, mlir::OpBuilder &builder) const;

  std::vector<Edge> edges;
  llvm::SmallSetVector<Remark, 16> remarks; ///< A pass that runs again says the same again.
  size_t written = 0;                       ///< Of the remarks.
  size_t edgesLeftOut = 0;
  std::optional<Planner> planner;
  NumbersByLocation groups;
  EdgeLevels levels;
};

} // namespace weft

#endif // WEFT_LIB_PIPELINES_DECISIONNOTES_H
