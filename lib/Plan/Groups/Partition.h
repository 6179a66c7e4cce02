// Groups while they are formed: a partition of a block's ops, and who post-dominates whom.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_GROUPS_PARTITION_H
#define WEFT_LIB_PLAN_GROUPS_PARTITION_H

#include "weft/Plan/Groups.h"
#include "llvm/ADT/DenseMap.h"
#include <vector>

namespace weft::plan {

/// Post-dominators in the data-flow graph of a block; host ops and the world outside are its exit.
class PostDominators {
public:
  explicit PostDominators(llvm::ArrayRef<mlir::Operation *> ops);

  /// The first op through which all uses of the results of `op` pass. Null: they leave the block or reach a host op on
  /// some path.
  mlir::Operation *get(mlir::Operation *op) const { return parent.lookup(op); }

private:
  mlir::Operation *meet(mlir::Operation *a, mlir::Operation *b) const;

  llvm::DenseMap<mlir::Operation *, unsigned> order;
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> parent;
};

/// All ops on paths from `from` to its post-dominator `to`, both included; none if there are more than `limit`.
std::optional<llvm::SmallVector<mlir::Operation *>> opsBetween(mlir::Operation *from, mlir::Operation *to,
                                                               size_t limit);

/// Each op in one group; at first alone. Groups only grow, but for `assign`.
class Partition {
public:
  explicit Partition(llvm::ArrayRef<mlir::Operation *> ops);

  bool contains(mlir::Operation *op) const { return order.count(op); }
  bool areTogether(mlir::Operation *a, mlir::Operation *b) const { return groupOf(a) == groupOf(b); }
  /// A number for the group of `op`, which holds until the next merge.
  unsigned groupOf(mlir::Operation *op) const { return groups[order.lookup(op)]; }
  /// Ops of the group of `op`, in program order.
  Group getGroup(mlir::Operation *op) const;
  /// What the groups of `ops` are together, in program order.
  Group getUnion(llvm::ArrayRef<mlir::Operation *> ops) const;

  /// Merges the groups of `ops` if the union is legal; else returns the violation.
  std::string tryMerge(llvm::ArrayRef<mlir::Operation *> ops, const GroupOptions &options);
  /// Makes `parts`, which hold exactly the ops of some groups, groups in their place.
  void assign(llvm::ArrayRef<Group> parts);

  /// The last op from which a path, from group to group, may lead to op `last` or one before it.
  unsigned boundOf(unsigned last) const;
  /// The number of an op, in program order; the op of a number.
  unsigned numberOf(mlir::Operation *op) const { return order.lookup(op); }
  mlir::Operation *getOp(unsigned number) const { return ops[number]; }
  llvm::ArrayRef<unsigned> getUsers(unsigned number) const { return users[number]; }
  /// Ops that need op `number` by way of ops outside the partition: they are of no group with it.
  llvm::ArrayRef<unsigned> getUsersBehind(unsigned number) const { return usersBehind[number]; }
  /// The ops of the group of op `number`, ascending.
  llvm::ArrayRef<unsigned> getMembers(unsigned number) const { return members[groups[number]]; }

  /// Whether nothing outside lies on a path from the groups of `a` and `b` back to them: such a group could not run at
  /// once. Goes from group to group.
  bool isConvex(mlir::Operation *a, mlir::Operation *b) const;

  /// The number of groups.
  unsigned count() const;
  /// All groups, in program order of their last ops; ops in program order.
  llvm::SmallVector<Group> take() const;

private:
  void findUsers(mlir::Block &block);

  /// Numbers of the ops that use a result of op `number`; of those that use what ops outside the partition make of it.
  std::vector<llvm::SmallVector<unsigned, 4>> users, usersBehind;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> order;
  std::vector<unsigned> groups;                        ///< By op.
  std::vector<llvm::SmallVector<unsigned, 4>> members; ///< By group, ascending.
  /// By op: the last op of all groups that begin there or before, at least. Does not decrease.
  std::vector<unsigned> reach;
};

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GROUPS_PARTITION_H
