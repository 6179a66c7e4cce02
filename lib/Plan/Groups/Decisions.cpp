// Candidate edges of a plan, decided by its groups, and their remarks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Plan/Decisions.h"
#include "GroupCost.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/NodeNames.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Constraints.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/FoldEdges.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace mlir;

namespace weft::plan {

namespace {

/// Groups of a block by op, and what follows from them.
class EdgeReader {
public:
  EdgeReader(Block &block, ArrayRef<Group> groups, const GroupOptions &options)
      : block(block), groups(groups), options(options) {
    for (auto [i, group] : llvm::enumerate(groups))
      for (Operation *op : group)
        groupOf[op] = i;
    for (auto [i, op] : llvm::enumerate(block))
      order[&op] = i;
  }

  bool isCandidate(Operation *op) const { return op && groupOf.count(op); }
  /// `value`, or what it was before renamings between kernels.
  Value sourceOf(Value value) const {
    for (Operation *op = value.getDefiningOp(); op && !isCandidate(op) && isRenaming(op); op = value.getDefiningOp())
      value = op->getOperand(0);
    return value;
  }
  /// Of ops inside of a fold that of the fold.
  unsigned getOrder(Operation *op) const { return order.lookup(block.findAncestorOpInBlock(*op)); }

  EdgeDecision decide(Operation *producer, Operation *consumer) const {
    EdgeDecision edge;
    edge.producer = producer;
    edge.consumer = consumer;
    edge.producerGroup = groupOf.lookup(producer);
    edge.consumerGroup = groupOf.lookup(consumer);
    edge.isFused = edge.producerGroup == edge.consumerGroup;
    llvm::SmallSetVector<Value, 4> used;
    for (Value value : usedValues(consumer)) {
      Value source = sourceOf(value);
      if (source.getDefiningOp() == producer && used.insert(source))
        edge.isRenamed |= source != value;
    }
    edge.isDirect = !used.empty();
    for (Value result : used) {
      int64_t bytes = int64_t(std::min(estimateBytes(result), 0x1p61));
      bool isLocal = llvm::all_of(readersOf(result), [&](Operation *user) {
        auto found = groupOf.find(user);
        return found != groupOf.end() && (found->second == edge.producerGroup || found->second == edge.consumerGroup);
      });
      edge.bytes += bytes;
      edge.savedBytes += isLocal ? 2 * bytes : bytes;
    }
    return edge;
  }

  /// The edges inside of `fold`.
  void decideInside(tg::FoldOp fold, std::vector<EdgeDecision> &decisions) const {
    llvm::MapVector<std::pair<Operation *, Operation *>, EdgeDecision> edges;
    forEachFoldEdge(fold, [&](Value value, Operation *reader) {
      EdgeDecision &edge = edges[{value.getDefiningOp(), reader}];
      int64_t bytes = int64_t(std::min(estimateBytes(value), 0x1p61));
      edge.producer = value.getDefiningOp();
      edge.consumer = reader;
      edge.producerGroup = edge.consumerGroup = groupOf.lookup(fold);
      edge.isFused = edge.isDirect = edge.isInFold = true;
      edge.bytes += bytes;
      edge.savedBytes += 2 * bytes;
    });
    for (auto &[pair, edge] : edges)
      decisions.push_back(std::move(edge));
  }

  /// The rule that the union of both groups breaks.
  std::string findReason(const EdgeDecision &edge) const {
    if (!options.fuse)
      return options.constraints && !options.constraints->getDemands().empty() ? "the given plan keeps them apart"
                                                                               : "fusion is switched off";
    if (edge.isRenamed && !options.gpu)
      return "a reshape is between them, and those of the CPU's plan are between kernels";
    SmallVector<Operation *> ops(groups[edge.producerGroup].begin(), groups[edge.producerGroup].end());
    llvm::append_range(ops, groups[edge.consumerGroup]);
    llvm::sort(ops, [&](Operation *a, Operation *b) { return getOrder(a) < getOrder(b); });
    std::string violation = findViolation(Group(ops.begin(), ops.end()), options);
    return violation.empty() ? "the planner did not try it: the producer's results are read elsewhere too" : violation;
  }

private:
  /// The ops that read `value`, through renamings between kernels.
  SmallVector<Operation *> readersOf(Value value) const {
    SmallVector<Operation *> readers;
    SmallVector<Value> work{value};
    while (!work.empty()) {
      Value each = work.pop_back_val();
      for (Operation *inner : each.getUsers()) {
        Operation *user = userInBlock(value.getDefiningOp(), inner);
        if (!isCandidate(user) && user && isRenaming(user))
          work.push_back(user->getResult(0));
        else
          readers.push_back(user);
      }
    }
    return readers;
  }

  Block &block;
  ArrayRef<Group> groups;
  const GroupOptions &options;
  llvm::DenseMap<Operation *, unsigned> groupOf, order;
};

} // namespace

void DecisionLog::refuse(Operation *producer, Operation *consumer, StringRef rule) {
  std::string &rules = refusals[{producer, consumer}];
  if (!StringRef(rules).contains(rule)) // Two attempts may fail by the same rule.
    rules += (rules.empty() ? "" : "; ") + rule.str();
}

std::vector<EdgeDecision> DecisionLog::decide(Block &block, ArrayRef<Group> groups, const GroupOptions &options) const {
  EdgeReader reader(block, groups, options);
  std::vector<EdgeDecision> decisions;
  llvm::SetVector<std::pair<Operation *, Operation *>> pairs;
  for (Operation &consumer : block)
    if (reader.isCandidate(&consumer))
      for (Value value : usedValues(&consumer))
        if (Operation *producer = reader.sourceOf(value).getDefiningOp(); reader.isCandidate(producer))
          pairs.insert({producer, &consumer});
  for (const auto &[pair, rule] : refusals)
    if (reader.isCandidate(pair.first) && reader.isCandidate(pair.second))
      pairs.insert(pair);
  for (auto [producer, consumer] : pairs) {
    EdgeDecision edge = reader.decide(producer, consumer);
    auto refusal = refusals.find({producer, consumer});
    edge.wasTried = refusal != refusals.end();
    if (!edge.isFused)
      edge.reason = edge.wasTried ? refusal->second : reader.findReason(edge);
    if (edge.isFused && !edge.isDirect)
      continue; // They came together by other edges.
    decisions.push_back(std::move(edge));
  }
  for (auto fold : block.getOps<tg::FoldOp>())
    if (reader.isCandidate(fold))
      reader.decideInside(fold, decisions);
  auto place = [&](size_t i) { return std::pair(reader.getOrder(decisions[i].consumer), i); };
  std::vector<size_t> order(decisions.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t a, size_t b) { return place(a) < place(b); });
  std::vector<EdgeDecision> sorted;
  for (size_t i : order)
    sorted.push_back(std::move(decisions[i]));
  return sorted;
}

void emitPlannerRemark(Operation *func, ArrayRef<Group> groups, const GroupOptions &options) {
  SmallVector<Group> alone;
  for (const Group &group : groups)
    for (Operation *op : group) {
      alone.emplace_back();
      alone.back().insert(op);
    }
  auto microseconds = [&](ArrayRef<Group> list) {
    return llvm::formatv("{0:f3}", estimateSeconds(list, options) * 1e6).str();
  };
  bool isGiven = options.constraints && !options.constraints->getDemands().empty();
  StringRef planner = options.fuse ? stringifyPlanner(options.planner) : isGiven ? "given" : "none";
  StringRef name = func->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()).getValue();
  remark::analysis(func->getLoc(), remark::RemarkOpts::name("planner").category("fusion").function(name))
      << remark::metric("planner", planner) << remark::metric("ops", alone.size())
      << remark::metric("groups", groups.size()) << remark::metric("us", microseconds(groups))
      << remark::metric("unfused-us", microseconds(alone));
}

void emitKernelRemark(Operation *kernel, unsigned number, size_t ops, StringRef function) {
  remark::analysis(kernel->getLoc(), remark::RemarkOpts::name("kernel").category("fusion").function(function))
      << remark::metric("kernel", number) << remark::metric("ops", ops);
}

void emitRemarks(ArrayRef<EdgeDecision> decisions, StringRef function) {
  auto options = [&](StringRef name) { return remark::RemarkOpts::name(name).category("fusion").function(function); };
  for (const EdgeDecision &edge : decisions) {
    Location loc = edge.consumer->getLoc();
    auto remark = edge.isFused ? remark::passed(loc, options("fused"))
                               : remark::missed(edge.producer->getLoc(), options("not-fused"));
    if (!edge.isFused)
      remark << remark::add("{0}", edge.reason);
    remark << remark::metric("producer", edge.producer->getName().getStringRef())
           << remark::metric("consumer", edge.consumer->getName().getStringRef());
    if (StringRef node = tg::findNodeName(edge.producer->getLoc()); !node.empty())
      remark << remark::metric("producer-node", node);
    if (StringRef node = tg::findNodeName(loc); !node.empty())
      remark << remark::metric("consumer-node", node);
    if (edge.isFused)
      remark << remark::metric("kernel", edge.producerGroup);
    if (edge.isInFold)
      remark << remark::metric("inside", "tg.fold");
    if (!edge.isFused)
      remark << remark::metric("kernels",
                               std::to_string(edge.producerGroup) + "," + std::to_string(edge.consumerGroup));
    if (edge.isDirect)
      remark << remark::metric("bytes", edge.bytes) << remark::metric("saved-bytes", edge.savedBytes);
  }
}

} // namespace weft::plan
