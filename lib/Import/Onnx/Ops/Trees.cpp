// Decision trees of ai.onnx.ml: TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier. All rows walk all trees
// at once, one level a step: tables over the nodes give the feature to look at, the value to compare it with and the
// two nodes to go to; a leaf leads to itself.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Common.h"
#include "Shared/Expr.h"
#include "Shared/RuntimeShapes.h"
#include "Shared/Scores.h"
#include <cmath>
#include <limits>
#include <map>
#include <set>

using namespace mlir;

namespace weft::onnx {
namespace {

/// Comparisons of a feature with a node's value, numbered as in `nodes_modes` of TreeEnsemble.
enum Mode : int64_t { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual, Member };
enum Aggregate : unsigned { Average, Sum, Min, Max };

/// Levels that are walked at most, each in about ten ops.
constexpr int64_t maxDepth = 128;

/// Indices are those of the inner nodes, and behind them those of the leaves.
struct Forest {
  SmallVector<int64_t> features, modes, onTrue, onFalse, missingTrue, roots;
  SmallVector<double> values;
  std::vector<SmallVector<double>> members; ///< Of inner nodes that ask for membership.
  int64_t leaves = 0, targets = 0;
  std::vector<double> weights;  ///< leaves x targets.
  std::vector<bool> isWeighted; ///< The same, for minima and maxima.
  SmallVector<double> base;     ///< Added to each target; may be empty.
  unsigned aggregate = Sum, post = None;

  int64_t inner() const { return static_cast<int64_t>(features.size()); }
  int64_t places() const { return inner() + leaves; }
};

//===--- Checks ---===//

/// Levels below the roots; an error where a node is met again on the way down.
FailureOr<int64_t> depthOf(NodeContext &n, const Forest &f) {
  enum : char { New, Open, Done };
  std::vector<char> state(f.inner(), New);
  std::vector<int64_t> height(f.places(), 0);
  SmallVector<int64_t> stack;
  int64_t deepest = 0;
  for (int64_t root : f.roots) {
    stack.push_back(root);
    while (!stack.empty()) {
      int64_t at = stack.back();
      if (at >= f.inner() || state[at] == Done) {
        stack.pop_back();
        continue;
      }
      int64_t next[] = {f.onTrue[at], f.onFalse[at]};
      if (state[at] == New) {
        state[at] = Open;
        for (int64_t child : next) {
          if (child < f.inner() && state[child] == Open)
            return n.error("expected trees, but node " + Twine(child) + " is below itself");
          stack.push_back(child);
        }
        continue;
      }
      state[at] = Done;
      height[at] = 1 + std::max(height[next[0]], height[next[1]]);
      stack.pop_back();
    }
    deepest = std::max(deepest, height[root]);
  }
  if (deepest > maxDepth)
    return n.limit("trees of " + Twine(deepest) + " levels", "at most " + Twine(maxDepth) + " are supported");
  return deepest;
}

LogicalResult checkForest(NodeContext &n, const Forest &f, Value x) {
  std::optional<int64_t> width = n.staticDim(x, 1);
  for (int64_t feature : f.features) {
    if (feature < 0 || (width && feature >= *width))
      return n.error("expected features within the columns of the input, [" + n.extentsText(n.dims(x)) + "], got " +
                     Twine(feature));
    if (!width && failed(n.assumeAtMost(n.constExpr(feature + 1), n.dim(x, 1), "features of the trees")))
      return failure();
  }
  for (ArrayRef<int64_t> list : {ArrayRef(f.onTrue), ArrayRef(f.onFalse), ArrayRef(f.roots)})
    for (int64_t place : list)
      if (place < 0 || place >= f.places())
        return n.error("expected branches to one of " + Twine(f.inner()) + " nodes and " + Twine(f.leaves) +
                       " leaves, got " + Twine(place));
  return success();
}

/// The number of targets, and room for the weights of all leaves.
LogicalResult allocate(NodeContext &n, Forest &f, int64_t leaves, int64_t targets) {
  if (targets < 1 || targets > maxTableEntries || leaves > maxTableEntries / targets)
    return n.limit(Twine(leaves) + " leaves with weights for " + Twine(targets) + " targets",
                   "expected at least 1 target and at most " + Twine(maxTableEntries) + " weights");
  f.leaves = leaves;
  f.targets = targets;
  f.weights.assign(leaves * targets, 0);
  f.isWeighted.assign(leaves * targets, false);
  return success();
}

LogicalResult addWeight(NodeContext &n, Forest &f, int64_t leaf, int64_t target, double weight) {
  if (target < 0 || target >= f.targets)
    return n.error("expected targets in [0, " + Twine(f.targets) + "), got " + Twine(target));
  f.weights[leaf * f.targets + target] += weight;
  f.isWeighted[leaf * f.targets + target] = true;
  return success();
}

//===--- The walk ---===//

class Walk {
public:
  Walk(NodeContext &n, const Forest &f, Value x) : n(n), f(f), x(x) {}

  /// Leaf that each row of x reaches in each tree, rows x trees.
  Value leaves(int64_t depth) {
    SmallVector<int64_t> next;
    for (int64_t i = 0; i < f.places(); ++i) {
      next.push_back(i < f.inner() ? f.onFalse[i] : i);
      next.push_back(i < f.inner() ? f.onTrue[i] : i);
    }
    Value table = n.intsConstant(next);
    Value place = n.broadcastTo(n.intsConstant(f.roots), {n.dim(x, 0), n.constExpr(int64_t(f.roots.size()))});
    for (int64_t level = 0; level < depth && place; ++level) {
      Expr isTrue(n, n.cast(takesTrue(place), n.b.getI64Type()));
      place = take(n, table, Expr(n, place) * 2.0 + isTrue, 0);
    }
    return place;
  }

private:
  template <typename Numbers> Value lookUp(const Numbers &numbers, Value place, int64_t atLeaf) {
    SmallVector<int64_t> padded(numbers.begin(), numbers.end());
    padded.resize(f.places(), atLeaf);
    if (llvm::all_equal(padded))
      return n.scalarInt(padded.front(), n.b.getI64Type());
    return take(n, n.intsConstant(padded), place, 0);
  }

  /// Whether any member of a node's set is the value.
  Value isMember(Expr value, Value place) {
    size_t width = 1;
    for (const auto &set : f.members)
      width = std::max(width, set.size());
    if (int64_t(width) > maxTableEntries / f.places()) {
      (void)n.limit("sets of " + Twine(width) + " members for " + Twine(f.places()) + " nodes");
      return {};
    }
    std::vector<double> table(f.places() * width, std::numeric_limits<double>::quiet_NaN());
    for (auto [i, set] : llvm::enumerate(f.members))
      llvm::copy(set, table.begin() + i * width);
    Value sets = take(n, floatTable(n, table, {f.places(), int64_t(width)}, n.elementType(x)), place, 0);
    Expr hits = Expr(n, n.unsqueeze(value, {2})).compare(tg::CmpPredicate::Eq, Expr(n, sets));
    Value any = n.reduce(tg::Monoid::Max, hits.cast(n.b.getI64Type()), {2}, /*keepDims=*/false);
    return Expr(n, any).compare(tg::CmpPredicate::Gt, 0.0);
  }

  Value takesTrue(Value place) {
    Value feature = lookUp(f.features, place, 0);
    if (!feature)
      return {};
    Expr value(n, takeElements(n, x, n.broadcastTo(feature, n.dims(place)), 1));
    std::vector<double> thresholds(f.values.begin(), f.values.end());
    thresholds.resize(f.places(), 0);
    Expr split(n, take(n, floatTable(n, thresholds, {f.places()}, n.elementType(x)), place, 0));
    constexpr tg::CmpPredicate predicates[] = {tg::CmpPredicate::Le, tg::CmpPredicate::Lt, tg::CmpPredicate::Ge,
                                               tg::CmpPredicate::Gt, tg::CmpPredicate::Eq, tg::CmpPredicate::Ne};
    Expr result(n, Value()), mode(n, lookUp(f.modes, place, f.modes.empty() ? 0 : f.modes.front()));
    for (int64_t each = LessEqual; each <= Member; ++each) {
      if (!llvm::is_contained(f.modes, each))
        continue;
      Expr isTrue = each == Member ? Expr(n, isMember(value, place)) : value.compare(predicates[each], split);
      result = result ? mode.compare(tg::CmpPredicate::Eq, double(each)).select(isTrue, result) : isTrue;
    }
    if (result && llvm::any_of(f.missingTrue, [](int64_t flag) { return flag != 0; }))
      result = result | (Expr(n, n.make<tg::IsNanOp>(Value(value))) &
                         Expr(n, lookUp(f.missingTrue, place, 0)).compare(tg::CmpPredicate::Ne, 0.0));
    return result;
  }

  NodeContext &n;
  const Forest &f;
  Value x;
};

/// The weights of the leaves, joined over the trees. Minima and maxima are of what was weighted; a target that no tree
/// of a row weights is 0.
Value aggregate(NodeContext &n, const Forest &f, Value leaves, Type element) {
  bool isExtreme = f.aggregate == Min || f.aggregate == Max;
  double none = f.aggregate == Min ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  std::vector<double> table(f.inner() * f.targets, 0); // No walk ends at an inner node.
  for (size_t i = 0; i < f.weights.size(); ++i)
    table.push_back(isExtreme && !f.isWeighted[i] ? none : f.weights[i]);
  Expr weights(n, take(n, floatTable(n, table, {f.places(), f.targets}, element), leaves, 0));
  tg::Monoid kind = f.aggregate == Min ? tg::Monoid::Min : f.aggregate == Max ? tg::Monoid::Max : tg::Monoid::Add;
  Expr result(n, n.reduce(kind, weights, {1}, /*keepDims=*/false));
  if (isExtreme)
    result = result.compare(tg::CmpPredicate::Eq, none).select(result.like(0), result);
  if (f.aggregate == Average)
    result = result / double(f.roots.size());
  if (!f.base.empty())
    result = result + Expr(n, floatTable(n, f.base, {int64_t(f.base.size())}, element));
  return result;
}

/// The leaf that each row reaches in each tree; null after an error.
Value walk(NodeContext &n, const Forest &f, Value x) {
  if (f.roots.empty()) {
    (void)n.error("expected at least one tree");
    return {};
  }
  if (failed(checkForest(n, f, x)))
    return {};
  FailureOr<int64_t> depth = depthOf(n, f);
  return failed(depth) ? Value() : Walk(n, f, x).leaves(*depth);
}

LogicalResult evaluate(NodeContext &n, const Forest &f, Value x, Type result) {
  Value leaves = walk(n, f, x);
  if (!leaves)
    return failure();
  return deliver(n, n.cast(transformScores(n, f.post, {n, aggregate(n, f, leaves, n.elementType(x))}), result));
}

//===--- TreeEnsemble (ai.onnx.ml 5) ---===//

/// A tensor attribute as numbers; empty where it is absent.
FailureOr<SmallVector<double>> tableAttr(NodeContext &n, StringRef name) {
  if (!n.hasAttr(name))
    return SmallVector<double>();
  FailureOr<Value> table = n.tensorAttr(name);
  if (failed(table) || !*table)
    return failure();
  std::optional<SmallVector<double>> numbers = n.constantFloats(n.cast(*table, n.b.getF64Type()));
  if (!numbers)
    return n.limit("attribute `" + name + "` is too large");
  return *numbers;
}

LogicalResult checkCount(NodeContext &n, StringRef name, size_t got, size_t wanted) {
  if (got != wanted)
    return n.error("expected " + Twine(wanted) + " entries of attribute `" + name + "`, got " + Twine(got));
  return success();
}

/// `membership_values`: the sets of the nodes that ask for membership, one behind the other, each ended by NaN.
LogicalResult readMembers(NodeContext &n, Forest &f) {
  FailureOr<SmallVector<double>> values = tableAttr(n, "membership_values");
  if (failed(values))
    return failure();
  f.members.resize(f.inner());
  size_t at = 0;
  for (auto [i, mode] : llvm::enumerate(f.modes)) {
    if (mode != Member)
      continue;
    if (at >= values->size())
      return n.error("expected attribute `membership_values` to have a set for every node of mode 6");
    for (; at < values->size() && !std::isnan((*values)[at]); ++at)
      f.members[i].push_back((*values)[at]);
    ++at;
  }
  return success();
}

LogicalResult readInnerNodes(NodeContext &n, Forest &f) {
  auto features = n.intsAttr("nodes_featureids"), onTrue = n.intsAttr("nodes_truenodeids"),
       onFalse = n.intsAttr("nodes_falsenodeids"), trueLeafs = n.intsAttr("nodes_trueleafs"),
       falseLeafs = n.intsAttr("nodes_falseleafs"), roots = n.intsAttr("tree_roots"),
       missing = n.intsAttr("nodes_missing_value_tracks_true", SmallVector<int64_t>());
  FailureOr<SmallVector<double>> modes = tableAttr(n, "nodes_modes"), splits = tableAttr(n, "nodes_splits");
  if (failed(features) || failed(onTrue) || failed(onFalse) || failed(trueLeafs) || failed(falseLeafs) ||
      failed(roots) || failed(missing) || failed(modes) || failed(splits))
    return failure();
  size_t count = features->size();
  if (failed(checkCount(n, "nodes_truenodeids", onTrue->size(), count)) ||
      failed(checkCount(n, "nodes_falsenodeids", onFalse->size(), count)) ||
      failed(checkCount(n, "nodes_trueleafs", trueLeafs->size(), count)) ||
      failed(checkCount(n, "nodes_falseleafs", falseLeafs->size(), count)) ||
      failed(checkCount(n, "nodes_modes", modes->size(), count)) ||
      failed(checkCount(n, "nodes_splits", splits->size(), count)) ||
      (!missing->empty() && failed(checkCount(n, "nodes_missing_value_tracks_true", missing->size(), count))))
    return failure();
  f.features = *features;
  f.roots = *roots;
  f.missingTrue = *missing;
  f.values = *splits;
  for (double mode : *modes) {
    if (mode > Member)
      return n.error("expected entries of attribute `nodes_modes` in [0, 6], got " + Twine(int64_t(mode)));
    f.modes.push_back(int64_t(mode));
  }
  for (int64_t root : f.roots)
    if (root < 0 || root >= f.inner())
      return n.error("expected entries of attribute `tree_roots` in [0, " + Twine(f.inner()) + "), got " + Twine(root));
  for (size_t i = 0; i < count; ++i)
    for (auto [place, isLeaf, list] : {std::tuple{(*onTrue)[i], (*trueLeafs)[i], &f.onTrue},
                                       std::tuple{(*onFalse)[i], (*falseLeafs)[i], &f.onFalse}}) {
      int64_t end = isLeaf ? f.leaves : f.inner();
      if (place < 0 || place >= end)
        return n.error("expected branches of node " + Twine(i) + " to one of " + Twine(end) +
                       (isLeaf ? " leaves" : " nodes") + ", got " + Twine(place));
      list->push_back(isLeaf ? f.inner() + place : place);
    }
  return readMembers(n, f);
}

LogicalResult treeEnsemble(NodeContext &n) {
  n.ignoreAttr("nodes_hitrates");
  Value x = n.required(0);
  if (failed(n.checkNumInputs(1, 1)) || failed(checkFloat(n, x, "X")) || failed(n.checkRank(x, 2, 2, "X")))
    return failure();
  Forest f;
  FailureOr<int64_t> aggregate = n.intAttr("aggregate_function", Sum), post = n.intAttr("post_transform", None),
                     targets = n.intAttr("n_targets");
  FailureOr<SmallVector<int64_t>> leafTargets = n.intsAttr("leaf_targetids");
  FailureOr<SmallVector<double>> weights = tableAttr(n, "leaf_weights");
  if (failed(aggregate) || failed(post) || failed(targets) || failed(leafTargets) || failed(weights))
    return failure();
  if (*aggregate < Average || *aggregate > Max || *post < None || *post > Probit)
    return n.error("expected attributes `aggregate_function` in [0, 3] and `post_transform` in [0, 4], got " +
                   Twine(*aggregate) + " and " + Twine(*post));
  if (failed(checkCount(n, "leaf_weights", weights->size(), leafTargets->size())) ||
      failed(allocate(n, f, int64_t(leafTargets->size()), *targets)))
    return failure();
  f.aggregate = unsigned(*aggregate);
  f.post = unsigned(*post);
  for (auto [leaf, target] : llvm::enumerate(*leafTargets))
    if (failed(addWeight(n, f, int64_t(leaf), target, (*weights)[leaf])))
      return failure();
  return failed(readInnerNodes(n, f)) ? failure() : evaluate(n, f, x, n.elementType(x));
}

//===--- TreeEnsembleRegressor (ai.onnx.ml 1 to 4) ---===//

/// Floats of attribute `name`, or of `name`_as_tensor.
FailureOr<SmallVector<double>> floatsOrTensor(NodeContext &n, const std::string &name) {
  return n.hasAttr(name) ? n.floatsAttr(name) : tableAttr(n, name + "_as_tensor");
}

using Key = std::pair<int64_t, int64_t>; ///< Tree and node.

/// Nodes are named by their tree and number, and leaves are nodes of mode LEAF.
LogicalResult readNamedNodes(NodeContext &n, Forest &f, std::map<Key, int64_t> &places) {
  auto trees = n.intsAttr("nodes_treeids"), ids = n.intsAttr("nodes_nodeids"),
       features = n.intsAttr("nodes_featureids"), onTrue = n.intsAttr("nodes_truenodeids"),
       onFalse = n.intsAttr("nodes_falsenodeids"),
       missing = n.intsAttr("nodes_missing_value_tracks_true", SmallVector<int64_t>());
  FailureOr<SmallVector<double>> values = floatsOrTensor(n, "nodes_values");
  FailureOr<SmallVector<StringRef>> modes = n.stringsAttr("nodes_modes");
  if (failed(trees) || failed(ids) || failed(features) || failed(onTrue) || failed(onFalse) || failed(missing) ||
      failed(values) || failed(modes))
    return failure();
  size_t count = ids->size();
  if (failed(checkCount(n, "nodes_treeids", trees->size(), count)) ||
      failed(checkCount(n, "nodes_featureids", features->size(), count)) ||
      failed(checkCount(n, "nodes_truenodeids", onTrue->size(), count)) ||
      failed(checkCount(n, "nodes_falsenodeids", onFalse->size(), count)) ||
      failed(checkCount(n, "nodes_values", values->size(), count)) ||
      failed(checkCount(n, "nodes_modes", modes->size(), count)) ||
      (!missing->empty() && failed(checkCount(n, "nodes_missing_value_tracks_true", missing->size(), count))))
    return failure();
  SmallVector<size_t> inner, leaves;
  for (size_t i = 0; i < count; ++i)
    ((*modes)[i] == "LEAF" ? leaves : inner).push_back(i);
  int64_t next = 0;
  for (const auto &list : {inner, leaves})
    for (size_t i : list)
      if (!places.try_emplace({(*trees)[i], (*ids)[i]}, next++).second)
        return n.error("node " + Twine((*ids)[i]) + " of tree " + Twine((*trees)[i]) + " is there twice");
  constexpr StringLiteral names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
  std::vector<bool> isBelow(count, false);
  for (size_t i : inner) {
    const auto *mode = llvm::find(names, (*modes)[i]);
    if (mode == std::end(names))
      return n.error("unknown entry of attribute `nodes_modes`: " + (*modes)[i]);
    f.modes.push_back(mode - std::begin(names));
    f.features.push_back((*features)[i]);
    f.values.push_back((*values)[i]);
    f.missingTrue.push_back(missing->empty() ? 0 : (*missing)[i]);
    for (auto [child, list] : {std::pair{(*onTrue)[i], &f.onTrue}, std::pair{(*onFalse)[i], &f.onFalse}}) {
      auto found = places.find({(*trees)[i], child});
      if (found == places.end())
        return n.error("node " + Twine(child) + " of tree " + Twine((*trees)[i]) + " is not there");
      list->push_back(found->second);
      isBelow[found->second] = true;
    }
  }
  // A tree's root is the first of its nodes that nothing leads to.
  std::set<int64_t> rooted;
  for (size_t i = 0; i < count; ++i) {
    int64_t place = places[{(*trees)[i], (*ids)[i]}];
    if (!isBelow[place] && rooted.insert((*trees)[i]).second)
      f.roots.push_back(place);
  }
  for (int64_t tree : *trees)
    if (!rooted.count(tree))
      return n.error("tree " + Twine(tree) + " has no root");
  return success();
}

/// Weights of leaves, in attributes that start with `prefix`; `targets` of them are told apart.
LogicalResult readNamedWeights(NodeContext &n, Forest &f, const std::string &prefix, int64_t targets,
                               const std::map<Key, int64_t> &places) {
  auto ids = n.intsAttr(prefix + "_ids"), nodes = n.intsAttr(prefix + "_nodeids"),
       trees = n.intsAttr(prefix + "_treeids");
  FailureOr<SmallVector<double>> weights = floatsOrTensor(n, prefix + "_weights");
  if (failed(ids) || failed(nodes) || failed(trees) || failed(weights) ||
      failed(checkCount(n, prefix + "_nodeids", nodes->size(), ids->size())) ||
      failed(checkCount(n, prefix + "_treeids", trees->size(), ids->size())) ||
      failed(checkCount(n, prefix + "_weights", weights->size(), ids->size())) ||
      failed(allocate(n, f, int64_t(places.size()) - f.inner(), targets)))
    return failure();
  for (size_t i = 0; i < ids->size(); ++i) {
    auto found = places.find({(*trees)[i], (*nodes)[i]});
    if (found == places.end() || found->second < f.inner())
      return n.error("a weight for node " + Twine((*nodes)[i]) + " of tree " + Twine((*trees)[i]) +
                     ", which is no leaf");
    if (failed(addWeight(n, f, found->second - f.inner(), (*ids)[i], (*weights)[i])))
      return failure();
  }
  return success();
}

/// The operand of the operators with named nodes, as floats; null after an error.
Value readRows(NodeContext &n) {
  for (StringRef name : {"nodes_hitrates", "nodes_hitrates_as_tensor"})
    n.ignoreAttr(name);
  Value x = n.required(0);
  if (failed(n.checkNumInputs(1, 1)) || !x || failed(n.checkRank(x, 2, 2, "X")))
    return {};
  return isFloat(n, x) ? x : n.cast(x, n.b.getF32Type());
}

LogicalResult treeEnsembleRegressor(NodeContext &n) {
  Value x = readRows(n);
  if (!x)
    return failure();
  Forest f;
  FailureOr<unsigned> aggregate = n.choiceAttr("aggregate_function", {"AVERAGE", "SUM", "MIN", "MAX"}, "SUM"),
                      post = readPostTransform(n);
  FailureOr<int64_t> targets = n.intAttr("n_targets");
  FailureOr<SmallVector<double>> base = floatsOrTensor(n, "base_values");
  std::map<Key, int64_t> places;
  if (failed(aggregate) || failed(post) || failed(targets) || failed(base) || failed(readNamedNodes(n, f, places)) ||
      failed(readNamedWeights(n, f, "target", *targets, places)) ||
      (!base->empty() && failed(checkCount(n, "base_values", base->size(), size_t(*targets)))))
    return failure();
  f.aggregate = *aggregate;
  f.post = *post;
  f.base = *base;
  return evaluate(n, f, x, n.b.getF32Type());
}

//===--- TreeEnsembleClassifier (ai.onnx.ml 1 to 4) ---===//

/// Whether every row gets a weight for every class: some tree weights it in all its leaves.
bool weightsAllClasses(const Forest &f, const std::map<Key, int64_t> &places) {
  std::map<int64_t, SmallVector<int64_t>> leaves; // By tree.
  for (auto [key, place] : places)
    if (place >= f.inner())
      leaves[key.first].push_back(place - f.inner());
  return llvm::all_of(llvm::seq<int64_t>(0, f.targets), [&](int64_t target) {
    return llvm::any_of(leaves, [&](const auto &tree) {
      return llvm::all_of(tree.second, [&](int64_t leaf) { return f.isWeighted[leaf * f.targets + target]; });
    });
  });
}

/// Two classes and weights of the first only: its score is that of the second class, as exporters of boosted trees mean
/// it and onnxruntime does. It decides at 1/2 if all weights are probabilities, else at 0.
LogicalResult classifyByOneScore(NodeContext &n, const Forest &f, Expr score, ArrayRef<int64_t> labels) {
  bool isProbability = llvm::all_of(f.weights, [](double weight) { return weight >= 0; });
  Expr raw(n, n.slice(score, 1, 0, n.constExpr(1))), first = isProbability ? 1.0 - raw : raw * -1.0, second = raw;
  if (f.post == Logistic) {
    first = (raw * -1.0).unary<tg::SigmoidOp>();
    second = raw.unary<tg::SigmoidOp>();
  }
  n.output(1, n.concat({first, second}, 1));
  return deliver(n, labelOfTwo(n, labels, raw.compare(tg::CmpPredicate::Gt, isProbability ? 0.5 : 0.0)));
}

LogicalResult treeEnsembleClassifier(NodeContext &n) {
  Value x = readRows(n);
  FailureOr<unsigned> post = readPostTransform(n);
  FailureOr<SmallVector<int64_t>> labels = readLabels(n, "classlabels_int64s");
  FailureOr<SmallVector<double>> base = floatsOrTensor(n, "base_values");
  Forest f;
  std::map<Key, int64_t> places;
  if (!x || failed(post) || failed(labels) || failed(base) || failed(readNamedNodes(n, f, places)))
    return failure();
  int64_t classes = int64_t(labels->size());
  if (classes < 2)
    return n.error("expected labels of at least 2 classes, got " + Twine(classes));
  if (failed(readNamedWeights(n, f, "class", classes, places)))
    return failure();
  f.post = *post;
  bool hasOneScore = classes == 2;
  for (int64_t leaf = 0; leaf < f.leaves && hasOneScore; ++leaf)
    hasOneScore = !f.isWeighted[leaf * 2 + 1];
  if (hasOneScore && base->size() == 1)
    base->push_back(0);
  if (!base->empty() && failed(checkCount(n, "base_values", base->size(), size_t(classes))))
    return failure();
  f.base = *base;
  Value leaves = walk(n, f, x);
  Expr scores(n, aggregate(n, f, leaves, n.elementType(x)));
  if (!leaves || !scores)
    return failure();
  scores = scores.cast(n.b.getF32Type());
  if (hasOneScore)
    return classifyByOneScore(n, f, scores, *labels);
  // A class without a weight is none to choose.
  Value candidates = scores;
  if (f.base.empty() && !weightsAllClasses(f, places)) {
    std::vector<bool> table(f.inner() * classes, false);
    llvm::append_range(table, f.isWeighted);
    Expr isWeighted(n, take(n, n.cast(boolTable(n, table, {f.places(), classes}), n.b.getI64Type()), leaves, 0));
    isWeighted = Expr(n, n.reduce(tg::Monoid::Max, isWeighted, {1}, /*keepDims=*/false));
    candidates = isWeighted.compare(tg::CmpPredicate::Gt, 0.0).select(scores, -std::numeric_limits<double>::infinity());
  }
  n.output(1, transformScores(n, f.post, scores));
  return deliver(n, labelOfLargest(n, *labels, candidates));
}

} // namespace

ArrayRef<OpEntry> getTreesOps() {
  static const OpEntry table[] = {
      {"ai.onnx.ml", "TreeEnsemble", 5, anyOpset, treeEnsemble, "no post transform PROBIT"},
      {"ai.onnx.ml", "TreeEnsembleRegressor", 1, anyOpset, treeEnsembleRegressor, "no post transform PROBIT"},
      {"ai.onnx.ml", "TreeEnsembleClassifier", 1, anyOpset, treeEnsembleClassifier,
       "no post transform PROBIT; labels that are strings as their indices"},
  };
  return table;
}

} // namespace weft::onnx
