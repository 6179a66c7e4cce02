// From ops to an e-graph and back; rules matched on classes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Saturation.h"
#include "RuleBuilder.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileGraph/Analysis/Classify.h"

using namespace mlir;

namespace weft::tg {

/// Whether the op is a function of its operands with one result: others are leaves.
static bool isNode(Operation *op) {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && isClassified(op) && isPure(op);
}

Saturation::Saturation(Block &block, RuleLicence licence, SaturationLimits limits)
    : block(block), licence(licence), limits(limits) {
  for (Operation &op : block.without_terminator())
    addOp(&op);
  for (const auto &[node, op] : ops)
    original.push_back({ids.lookup(op->getResult(0)), node});
}

uint32_t Saturation::internOp(Operation *op) {
  std::tuple key(op->getName().getAsOpaquePointer(), op->getAttrDictionary().getAsOpaquePointer(),
                 op->getPropertiesAsAttribute().getAsOpaquePointer(), op->getResult(0).getType().getAsOpaquePointer());
  auto [place, isNew] = operators.emplace(key, prototypes.size());
  if (isNew) {
    prototypes.push_back(op);
    leaves.push_back({});
  }
  return place->second;
}

Saturation::Id Saturation::addValue(Value value) {
  auto found = ids.find(value);
  if (found != ids.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  EGraph::Node node;
  if (op && isNode(op)) {
    node.op = internOp(op);
    for (Value operand : op->getOperands())
      node.children.push_back(graph.find(addValue(operand)));
  } else {
    node.op = prototypes.size();
    prototypes.push_back(nullptr);
    leaves.push_back(value);
  }
  Id id = graph.add(node);
  if (op && isNode(op))
    ops.emplace(node, op);
  if (id >= values.size())
    values.resize(id + 1);
  if (!values[id])
    values[id] = value;
  ids[value] = id;
  return id;
}

void Saturation::addOp(Operation *op) {
  for (Value result : op->getResults())
    if (isa<RankedTensorType>(result.getType()))
      addValue(result);
}

/// An op that computes `node` from values of its classes; made at the block's end if there is none.
Operation *Saturation::getOp(const EGraph::Node &node) {
  auto found = ops.find(node);
  if (found != ops.end())
    return found->second;
  Operation *op = prototypes[node.op]->clone();
  for (auto [i, child] : llvm::enumerate(node.children))
    op->setOperand(i, getValue(child));
  block.getOperations().insert(block.getTerminator()->getIterator(), op);
  ids[op->getResult(0)] = graph.find(graph.add(node));
  ops.emplace(node, op);
  return op;
}

/// Backtracking over the nodes of classes.
class ClassMatcher {
public:
  using Next = llvm::function_ref<bool()>;
  using Id = EGraph::Id;
  Saturation &s;
  SmallVector<std::pair<llvm::StringRef, Id>> variables;
  SmallVector<EGraph::Node> nodes;
  unsigned stepsLeft = 20000;

  explicit ClassMatcher(Saturation &saturation) : s(saturation) {}

  bool visit(const Pattern &pattern, Id id, Next next) {
    if (stepsLeft == 0 || --stepsLeft == 0)
      return false;
    id = s.graph.find(id);
    if (pattern.kind == Pattern::Kind::Variable)
      return bind(pattern.name, id, next);
    for (const EGraph::Node &node : s.graph.nodes(id)) {
      Operation *prototype = s.prototypes[node.op];
      if (!prototype)
        continue;
      if (pattern.kind == Pattern::Kind::Number ? isNumber(prototype->getResult(0), pattern.number) && next()
                                                : visitNode(pattern, node, prototype, next))
        return true;
    }
    return false;
  }

  bool visitNode(const Pattern &pattern, const EGraph::Node &node, Operation *prototype, Next next) {
    if (node.children.size() != pattern.children.size() || !isOfKind(prototype, pattern.name))
      return false;
    nodes.push_back(node);
    size_t mark = nodes.size();
    SmallVector<Id, 3> children(node.children);
    if (visitChildren(pattern.children, children, next))
      return true;
    nodes.truncate(mark);
    if (children.size() == 2 && prototype->hasTrait<OpTrait::IsCommutative>() && children[0] != children[1] &&
        visitChildren(pattern.children, {children[1], children[0]}, next))
      return true;
    nodes.truncate(mark - 1);
    return false;
  }

private:
  bool visitChildren(ArrayRef<Pattern> patterns, ArrayRef<Id> children, Next next) {
    if (patterns.empty())
      return next();
    return visit(patterns.front(), children.front(),
                 [&] { return visitChildren(patterns.drop_front(), children.drop_front(), next); });
  }

  bool bind(llvm::StringRef name, Id id, Next next) {
    for (auto [variable, bound] : variables)
      if (variable == name)
        return s.graph.find(bound) == id && next();
    variables.emplace_back(name, id);
    if (next())
      return true;
    variables.pop_back();
    return false;
  }
};

void Saturation::findMatches(const Rule &rule, std::vector<Found> &found) {
  struct Raw {
    SmallVector<std::pair<llvm::StringRef, Id>> variables;
    SmallVector<EGraph::Node> nodes;
  };
  std::vector<Raw> raw; // Making ops adds to the graph's maps, so only when the search is over.
  const Pattern &pattern = getBefore(rule);
  for (Id id : graph.allClasses()) {
    ClassMatcher matcher(*this);
    (void)matcher.visit(pattern, id, [&] {
      raw.push_back({matcher.variables, matcher.nodes});
      return raw.size() >= limits.maxMatches;
    });
    if (raw.size() >= limits.maxMatches)
      break;
  }
  for (const Raw &one : raw) {
    Found entry{&rule, {}};
    for (const EGraph::Node &node : one.nodes)
      entry.match.ops.push_back(getOp(node));
    entry.match.root = entry.match.ops.front();
    entry.match.place = block.getTerminator();
    for (auto [name, id] : one.variables)
      entry.match.variables.emplace_back(name, getValue(id));
    found.push_back(std::move(entry));
  }
}

bool Saturation::apply(const Found &found) {
  Guards guards(found.rule->name, licence);
  OpBuilder builder(found.match.root->getContext());
  Value result = applyRule(*found.rule, found.match, builder, guards, licence);
  if (!result)
    return false;
  size_t before = graph.numNodes();
  Id id = addValue(result);
  return graph.merge(addValue(found.match.root->getResult(0)), id) || graph.numNodes() != before;
}

void Saturation::run(ArrayRef<const Rule *> rules) {
  graph.rebuild();
  for (iterations = 0; iterations < limits.maxIterations; ++iterations) {
    std::vector<Found> found;
    for (const Rule *rule : rules)
      findMatches(*rule, found);
    bool isNew = false;
    for (const Found &entry : found) {
      isNew |= apply(entry);
      if (graph.numNodes() > limits.maxNodes) {
        graph.rebuild();
        stop = "nodes";
        return;
      }
    }
    graph.rebuild();
    if (!isNew) {
      stop = "saturated";
      return;
    }
  }
}

double Saturation::priceNode(const EGraph::Node &node, const Prices &prices, bool countBytes,
                             ArrayRef<bool> isConstant) {
  Operation *prototype = prototypes[node.op];
  if (!prototype || node.children.empty())
    return 0;
  if (llvm::all_of(node.children, [&](Id child) { return isConstant[graph.find(child)]; }))
    return 0; // Folded at compile time.
  OpSet one;
  one.insert(getOp(node));
  Work work = countWork(one);
  if (std::optional<MappingClass> mapping = getMappingClass(getMappingType(one[0]));
      mapping != MappingClass::ManyToMany || !countBytes)
    work.fusedBytes = 0;
  // Each op costs a little, so that of equal programs the shorter one is taken.
  return getSeconds(work, prices) + 1e-15;
}

/// The nodes of the given program, by class.
std::vector<const EGraph::Node *> Saturation::findOriginal() const {
  std::vector<const EGraph::Node *> nodes(values.size(), nullptr);
  for (const auto &[id, given] : original) {
    EGraph::Node node = given;
    for (Id &child : node.children)
      child = graph.find(child);
    for (const EGraph::Node &each : graph.nodes(id))
      if (each == node)
        nodes[graph.find(id)] = &each;
  }
  return nodes;
}

Value Saturation::buildClass(Id id, const SharedExtraction &best, std::map<Id, Value> &built) {
  id = graph.find(id);
  auto found = built.find(id);
  if (found != built.end())
    return found->second;
  const EGraph::Node *node = id < best.best.size() ? best.best[id] : nullptr;
  if (!node)
    return built[id] = getValue(id);
  if (!prototypes[node->op])
    return built[id] = leaves[node->op];
  SmallVector<Value> operands;
  for (Id child : node->children)
    operands.push_back(buildClass(child, best, built));
  Operation *op = prototypes[node->op]->clone();
  op->setOperands(operands);
  block.getOperations().insert(block.getTerminator()->getIterator(), op);
  return built[id] = op->getResult(0);
}

bool Saturation::replace(const Prices &prices, bool countBytes) {
  SmallVector<bool> isConstant(values.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (Id id : graph.allClasses())
      for (const EGraph::Node &node : graph.nodes(id)) {
        Operation *prototype = prototypes[node.op];
        bool constant =
            prototype && (node.children.empty()
                              ? isa<ConstantOp, WeightOp>(prototype)
                              : llvm::all_of(node.children, [&](Id child) { return isConstant[graph.find(child)]; }));
        if (constant && !isConstant[id])
          changed = isConstant[id] = true;
      }
  }
  SmallVector<Operation *> users{block.getTerminator()};
  for (Operation &op : block.without_terminator())
    if (!isNode(&op) && op.getNumOperands() > 0)
      users.push_back(&op);
  SmallVector<Id> roots;
  for (Operation *user : users)
    for (Value operand : user->getOperands())
      if (auto found = ids.find(operand); found != ids.end())
        roots.push_back(found->second);
  SharedExtraction best = extractShared(
      graph, roots, [&](Id, const EGraph::Node &node) { return priceNode(node, prices, countBytes, isConstant); },
      limits.maxSteps, findOriginal());
  cheapest = best.isCheapest;
  std::map<Id, Value> built;
  for (Operation *user : users)
    for (OpOperand &operand : user->getOpOperands())
      if (auto found = ids.find(operand.get()); found != ids.end())
        operand.set(buildClass(found->second, best, built));
  SmallVector<Operation *> all;
  for (Operation &op : block.without_terminator())
    all.push_back(&op);
  for (Operation *op : llvm::reverse(all)) // Users come behind what they use, but for what was made at the end.
    if (isOpTriviallyDead(op))
      op->erase();
  // Ops were made at the end of the block, in no order that earlier leaves could rely on.
  return sortTopologically(&block);
}

} // namespace weft::tg
