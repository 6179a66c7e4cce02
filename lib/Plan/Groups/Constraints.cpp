// --no-fuse and --force-fuse: names of ONNX nodes become sets of ops, and these conditions on groups.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Constraints.h"
#include "weft/Dialect/TileGraph/IR/NodeNames.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;

namespace weft::plan {

using OpSet = llvm::SmallSetVector<Operation *, 8>;

/// Whether `op` goes into kernels.
static bool isPlanned(Operation *op) { return !isHostOp(op); }

/// Names of the nodes that `op` computes; of a fold, also those that it took in.
static llvm::SmallSetVector<StringAttr, 4> nodesOf(Operation *op) {
  llvm::SmallSetVector<StringAttr, 4> names;
  op->walk([&](Operation *inner) {
    if (!isa<tg::ConstantOp>(inner))
      tg::forEachNodeName(inner->getLoc(), [&](StringAttr name) { names.insert(name); });
  });
  return names;
}

/// The name among the planned nodes that differs least from `name`, as a question.
static std::string suggest(func::FuncOp func, StringRef name) {
  StringRef best;
  unsigned least = std::max<size_t>(name.size() / 2, 3);
  for (Operation &op : func.getBody().front())
    if (isPlanned(&op))
      for (StringAttr node : nodesOf(&op))
        if (unsigned distance = name.edit_distance(node.getValue(), true, least); distance < least) {
          least = distance;
          best = node.getValue();
        }
  return best.empty() ? "; `weft explain` lists them" : ("; did you mean `" + best + "`?").str();
}

/// Ops of the nodes that `pattern` names. Fails, with an error, where there are none.
static LogicalResult findOps(func::FuncOp func, StringRef option, StringRef pattern, OpSet &ops) {
  llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
  bool isGlob = pattern.find_first_of("*?") != StringRef::npos && bool(glob);
  if (!glob)
    llvm::consumeError(glob.takeError()); // Brackets in a name: compared as it is.
  bool isFound = false;
  for (Operation &op : func.getBody().front())
    if (isPlanned(&op) && llvm::any_of(nodesOf(&op), [&](StringAttr node) {
          return isGlob ? glob->match(node.getValue()) : node.getValue() == pattern;
        })) {
      ops.insert(&op);
      isFound = true;
    }
  if (isFound)
    return success();
  return func.emitError() << option << ": no op of the plan computes a node `" << pattern << "`"
                          << (isGlob ? std::string() : suggest(func, pattern));
}

static LogicalResult splitRequest(func::FuncOp func, StringRef option, StringRef request, size_t least,
                                  SmallVectorImpl<StringRef> &names) {
  request.split(names, ',');
  for (StringRef &name : names)
    name = name.trim();
  if (names.size() < least || llvm::is_contained(names, ""))
    return func.emitError() << option << ": expected names of " << (least > 1 ? "at least two " : "")
                            << "nodes, separated by commas, got `" << request << "`";
  return success();
}

LogicalResult FusionConstraints::addSeparation(func::FuncOp func, StringRef request) {
  SmallVector<StringRef> names;
  if (failed(splitRequest(func, "no-fuse", request, 1, names)))
    return failure();
  std::vector<OpSet> sets(names.size());
  for (auto [name, ops] : llvm::zip_equal(names, sets))
    if (failed(findOps(func, "no-fuse", name, ops)))
      return failure();
  if (names.size() == 1) {
    for (Operation *op : sets[0]) { // A pattern names several nodes, each of which is to be alone.
      auto nodes = nodesOf(op);
      Separation alone;
      alone.text = "no-fuse: `" + nodes[0].str() + "` is to have a kernel of its own";
      for (Operation *other : sets[0])
        if (llvm::any_of(nodesOf(other), [&](StringAttr node) { return nodes.contains(node); }))
          alone.first.insert(other);
      alone.isAlone = true;
      separations.push_back(std::move(alone));
    }
    return success();
  }
  for (size_t i = 0; i < names.size(); ++i)
    for (size_t j = i + 1; j < names.size(); ++j) {
      Separation apart;
      apart.text = ("no-fuse: `" + names[i] + "` and `" + names[j] + "` are to be in different kernels").str();
      for (Operation *op : sets[i])
        if (sets[j].contains(op))
          return func.emitError() << "no-fuse: `" << names[i] << "` and `" << names[j] << "` are parts of one op, '"
                                  << op->getName() << "', which cannot be cut";
      apart.first.insert(sets[i].begin(), sets[i].end());
      apart.second.insert(sets[j].begin(), sets[j].end());
      separations.push_back(std::move(apart));
    }
  return success();
}

/// Adds what lies on paths between the ops of `ops`.
static void closePaths(Block &block, OpSet &ops) {
  llvm::SmallPtrSet<Operation *, 32> behind, ahead;
  SmallVector<Operation *> found;
  for (Operation &op : block)
    if (llvm::any_of(usedValues(&op), [&](Value value) {
          Operation *maker = value.getDefiningOp();
          return maker && (ops.contains(maker) || behind.contains(maker));
        }))
      behind.insert(&op);
  for (Operation &op : llvm::reverse(block)) {
    if (llvm::any_of(op.getUsers(), [&](Operation *user) {
          Operation *place = userInBlock(&op, user);
          return ops.contains(place) || ahead.contains(place);
        }))
      ahead.insert(&op);
    if (ahead.contains(&op) && behind.contains(&op))
      found.push_back(&op);
  }
  ops.insert(found.begin(), found.end());
}

LogicalResult FusionConstraints::addDemand(func::FuncOp func, StringRef request) {
  SmallVector<StringRef> names;
  if (failed(splitRequest(func, "force-fuse", request, 2, names)))
    return failure();
  OpSet ops;
  for (StringRef name : names)
    if (failed(findOps(func, "force-fuse", name, ops)))
      return failure();
  FusionDemand demand;
  demand.name = ("force-fuse: `" + llvm::join(names, "`, `") + "`");
  // Demands with an op in common are one: what lies between all of their ops belongs to it.
  Block &block = func.getBody().front();
  closePaths(block, ops);
  for (auto it = demands.begin(); it != demands.end();) {
    if (llvm::none_of(it->ops, [&](Operation *op) { return ops.contains(op); })) {
      ++it;
      continue;
    }
    demand.name += " and " + it->name.substr(it->name.find('`'));
    ops.insert(it->ops.begin(), it->ops.end());
    closePaths(block, ops);
    demands.erase(it);
    it = demands.begin();
  }
  demand.ops = llvm::to_vector(ops);
  llvm::sort(demand.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  demands.push_back(std::move(demand));
  return success();
}

LogicalResult FusionConstraints::read(func::FuncOp func, StringRef noFuse, StringRef forceFuse) {
  stages.emplace(func.getBody().front());
  SmallVector<StringRef> requests;
  noFuse.split(requests, ';', -1, /*KeepEmpty=*/false);
  for (StringRef request : requests)
    if (failed(addSeparation(func, request)))
      return failure();
  requests.clear();
  forceFuse.split(requests, ';', -1, /*KeepEmpty=*/false);
  for (StringRef request : requests)
    if (failed(addDemand(func, request)))
      return failure();
  return success();
}

std::string FusionConstraints::findViolation(const Group &group) const {
  for (Operation *op : group)
    if (stages && stages->get(op) != stages->get(group.front()))
      return "R8: ops of two stages of the program";
  for (const Separation &apart : separations) {
    auto isFirst = [&](Operation *op) { return apart.first.contains(op); };
    auto isSecond = [&](Operation *op) { return apart.isAlone ? !isFirst(op) : apart.second.contains(op); };
    if (llvm::any_of(group, isFirst) && llvm::any_of(group, isSecond))
      return apart.text;
  }
  return "";
}

LogicalResult FusionConstraints::checkDemands(func::FuncOp func, ArrayRef<Group> groups,
                                              const GroupOptions &options) const {
  llvm::DenseMap<Operation *, unsigned> groupOf;
  for (auto [i, group] : llvm::enumerate(groups))
    for (Operation *op : group)
      groupOf[op] = i + 1;
  for (const FusionDemand &demand : demands) {
    llvm::SmallDenseSet<unsigned, 4> found;
    for (Operation *op : demand.ops)
      if (unsigned group = groupOf.lookup(op))
        found.insert(group); // Renamings at a group's edge stay outside.
    if (found.size() <= 1)
      continue;
    std::string violation = weft::plan::findViolation(Group(demand.ops.begin(), demand.ops.end()), options);
    return func.emitError() << demand.name << " cannot share a kernel: "
                            << (violation.empty() ? "another kernel must run between them" : violation);
  }
  return success();
}

} // namespace weft::plan
