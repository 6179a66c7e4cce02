// What the user asks of the groups: nodes that are to share a kernel, or not, and whole plans from a file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests name ONNX nodes, as locations do; `*` and `?` stand for any text and any character. They are obeyed or
// refused with an error that says why, never ignored. Errors are emitted at the function and begin with the option's
// name: "no-fuse: ", "force-fuse: ", "plan: ".
#ifndef WEFT_PLAN_CONSTRAINTS_H
#define WEFT_PLAN_CONSTRAINTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/Analysis/Stages.h"
#include "weft/Plan/Groups.h"
#include <optional>

namespace weft::plan {

/// Ops that are to be one group, and what the message calls them.
struct FusionDemand {
  std::string name;
  llvm::SmallVector<mlir::Operation *> ops; ///< In program order.
};

class FusionConstraints {
public:
  /// Reads requests, separated by semicolons, each a list of nodes. `noFuse`: "A" shares its kernel with no other node,
  /// "A,B" are in different ones. `forceFuse`: "A,B" are in one, with all that lies between. Fails, with an error,
  /// where a name fits no node of the plan, or where ops to be kept apart are one op by now.
  mlir::LogicalResult read(mlir::func::FuncOp func, llvm::StringRef noFuse, llvm::StringRef forceFuse);
  /// Reads a plan that `writePlan` wrote: each of its kernels becomes a demand. Fails, with an error, unless the plan
  /// has exactly the function's ops, with the same operands, types and attributes, and weights at the same positions.
  mlir::LogicalResult readPlan(mlir::func::FuncOp func, llvm::StringRef file);

  /// Of a group: the request that forbids it, or an empty string.
  std::string findViolation(const Group &group) const;
  llvm::ArrayRef<FusionDemand> getDemands() const { return demands; }
  /// Emits an error for the first demand that `groups` do not meet, with the rule that forbids it.
  mlir::LogicalResult checkDemands(mlir::func::FuncOp func, llvm::ArrayRef<Group> groups,
                                   const GroupOptions &options) const;

private:
  /// Ops of `first` and ops of `second` are not to share a group.
  struct Separation {
    std::string text;
    llvm::SmallPtrSet<mlir::Operation *, 8> first, second;
    bool isAlone = false; ///< `second` is everything else.
  };
  mlir::LogicalResult addSeparation(mlir::func::FuncOp func, llvm::StringRef request);
  mlir::LogicalResult addDemand(mlir::func::FuncOp func, llvm::StringRef request);

  std::optional<tg::Stages> stages; ///< Of the function; ops of two are not to share a group either.
  std::vector<Separation> separations;
  std::vector<FusionDemand> demands;
};

/// Prints the module of `func`, whose kernels are formed, as a plan.
mlir::LogicalResult writePlan(mlir::func::FuncOp func, llvm::StringRef file);

} // namespace weft::plan

#endif // WEFT_PLAN_CONSTRAINTS_H
