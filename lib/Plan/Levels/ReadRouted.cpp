// weft-read-routed: sums over experts of which a gate leaves all but a few out read those few.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mixture of experts is a contraction over all experts e, with a gate that is 0 but for the positions p[t, c] that a
// router chose for token t: gate = scatter(0, p, g). As a sum it is linear in the gate,
//
//   sum over e of gate[t, e] x[t, e, ..] w[e, ..] = sum over c of g[t, c] x[t, p[t, c], ..] w[p[t, c], ..],
//
// so whatever of x and w depends on e is computed at p[t, c] instead: arithmetic, views and products go along, what is
// in memory is gathered. Products read their weights through the gather (rule G2 and R2 of groups). It is done where
// that takes less time: a few tokens choose fewer weights than there are, many tokens share them. What experts that no
// token chose compute is not computed, infinite or not.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/RegionUtils.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/LevelPasses.h"
#include "weft/Target/ContextDevices.h"
#include "llvm/ADT/SetVector.h"
#include <map>

namespace weft::plan {
#define GEN_PASS_DEF_READROUTED
#include "weft/Plan/LevelPasses.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

namespace {

/// What a dimension of a value is: token dimension 0, 1, ..., or one of these.
enum Label : int { Rest = -1, Route = -2, Gone = -3 };
using Labels = SmallVector<int>;

tg::Dims dimsOf(Value value) { return tg::getDims(value.getType()); }
Type elementOf(Value value) { return getElementTypeOrSelf(value); }
bool isOne(AffineExpr extent) { return tg::getConstant(extent) == 1; }

/// Labels of an operand that is stretched to dimensions `to` with `labels`.
Labels alignLabels(Value operand, ArrayRef<AffineExpr> to, ArrayRef<int> labels) {
  tg::Dims dims = dimsOf(operand);
  Labels own;
  for (auto [extent, result, label] : llvm::zip_equal(dims, to.take_back(dims.size()), labels.take_back(dims.size())))
    own.push_back(label == Rest || tg::isEqual(extent, result) ? label : int(Gone));
  return own;
}

/// Labels of the operand of a reshape; none where a labelled dimension is taken apart or merged.
std::optional<Labels> reshapeLabels(tg::ReshapeOp op, ArrayRef<int> labels) {
  tg::Dims from = dimsOf(op.getInput()), to = dimsOf(op.getResult());
  Labels own(from.size(), Rest);
  auto findLarge = [](ArrayRef<AffineExpr> dims, unsigned begin, unsigned end) {
    return llvm::filter_to_vector(llvm::seq(begin, end), [&](unsigned d) { return !isOne(dims[d]); });
  };
  for (const tg::ReshapeSegment &segment : tg::splitReshape(from, to)) {
    auto wide = findLarge(to, segment.toBegin, segment.toEnd),
         narrow = findLarge(from, segment.fromBegin, segment.fromEnd);
    if (llvm::all_of(wide, [&](unsigned d) { return labels[d] == Rest; }))
      continue;
    if (wide.size() != 1 || narrow.size() != 1)
      return std::nullopt;
    own[narrow[0]] = labels[wide[0]];
  }
  return own;
}

//===--- The gate ---===//

/// The factor of a contraction's operand that is 0 but for positions that another tensor gives. Its dimensions have
/// numbers of the contraction's domain, or `Rest`.
class Gate {
public:
  /// Whether `root` has one along its domain's dimension `route`, in operand `operand`.
  bool find(tg::ContractOp root, unsigned operand, unsigned route) {
    Labels numbers;
    for (AffineExpr at : root.getMap(operand).getResults())
      numbers.push_back(int(cast<AffineDimExpr>(at).getPosition()));
    return follow(root->getOpOperand(operand), numbers, int(route));
  }

  tg::ScatterOp scatter;
  llvm::SetVector<OpOperand *> path; ///< From the contraction to the scatter.
  SmallVector<int> tokens;           ///< Dimensions of the contraction's domain, in order.
  tg::Dims extents;                  ///< Of tokens and choices.
  int64_t experts = 0;

private:
  bool follow(OpOperand &use, ArrayRef<int> numbers, int route);
  bool read(tg::ScatterOp op, ArrayRef<int> numbers, int route);
};

bool Gate::follow(OpOperand &use, ArrayRef<int> numbers, int route) {
  Operation *op = use.get().getDefiningOp();
  if (!op || !llvm::is_contained(numbers, route))
    return false;
  path.insert(&use);
  if (auto found = dyn_cast<tg::ScatterOp>(op); found && read(found, numbers, route))
    return true;
  if (auto reshape = dyn_cast<tg::ReshapeOp>(op))
    if (std::optional<Labels> own = reshapeLabels(reshape, numbers); own && follow(op->getOpOperand(0), *own, route))
      return true;
  if (isa<tg::MulOp, tg::BroadcastOp>(op) && isa<FloatType>(elementOf(use.get())))
    for (OpOperand &operand : op->getOpOperands())
      if (follow(operand, alignLabels(operand.get(), dimsOf(use.get()), numbers), route))
        return true;
  path.remove(&use);
  return false;
}

bool isZero(Value value) {
  while (isa_and_nonnull<tg::BroadcastOp, tg::ReshapeOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto constant = value.getDefiningOp<tg::ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : DenseElementsAttr();
  return elements && elements.isSplat() && isa<FloatType>(elements.getElementType()) &&
         elements.getSplatValue<APFloat>().isZero();
}

/// Whether `map` takes the dimensions `wanted` in this order, and others only where an extent is 1.
bool takesInOrder(AffineMap map, ArrayRef<AffineExpr> extents, ArrayRef<unsigned> wanted) {
  SmallVector<unsigned> taken;
  for (auto [at, extent] : llvm::zip_equal(map.getResults(), extents))
    if (auto dim = dyn_cast<AffineDimExpr>(at); dim && llvm::is_contained(wanted, dim.getPosition()))
      taken.push_back(dim.getPosition());
    else if (!isOne(extent))
      return false;
  return ArrayRef(taken) == wanted;
}

bool Gate::read(tg::ScatterOp op, ArrayRef<int> numbers, int route) {
  if (op.getKind() != tg::Monoid::Add || op.getIndexMaps().size() != 1 || !isZero(op.getData()))
    return false;
  tg::Dims dims = dimsOf(op.getResult()), updates = dimsOf(op.getUpdates());
  llvm::SmallBitVector isFree(updates.size(), true);
  SmallVector<unsigned> order; // Dimensions of the updates: of tokens, then of choices.
  tokens.clear();
  extents.clear();
  for (auto [at, extent, number] : llvm::zip_equal(op.getDataMap().getResults(), dims, numbers)) {
    if (isa<AffineSymbolExpr>(at)) {
      std::optional<int64_t> all = tg::getConstant(extent);
      if (number != route || !all)
        return false;
      experts = *all;
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(at);
    if (!dim || !isFree[dim.getPosition()] || !tg::isEqual(updates[dim.getPosition()], extent) || number == route ||
        llvm::is_contained(tokens, number)) // A diagonal is none of its tokens.
      return false;
    isFree.reset(dim.getPosition());
    if (isOne(extent))
      continue;
    if (number < 0)
      return false;
    tokens.push_back(number);
    order.push_back(dim.getPosition());
    extents.push_back(extent);
  }
  if (isFree.count() != 1)
    return false;
  order.push_back(isFree.find_first());
  extents.push_back(updates[order.back()]);
  AffineMap identity = AffineMap::getMultiDimIdentityMap(updates.size(), op.getContext());
  if (!takesInOrder(op.getIndexMap(0), dimsOf(op.getIndices()), order) || !takesInOrder(identity, updates, order))
    return false;
  scatter = op;
  return true;
}

//===--- What is read ---===//

/// Values at the positions that tokens chose. One that has experts or tokens becomes [tokens.., choices, others..],
/// with 1 in place of what it lacks; another one stays.
class Reader {
public:
  Reader(tg::ContractOp root, Gate &gate, const GroupRates &rates, bool isCpu)
      : root(root), gate(gate), rates(rates), isCpu(isCpu), builder(root), loc(root.getLoc()),
        prefix(gate.extents.size()) {}

  /// The contraction over choices; null, with nothing changed, where it takes no less time.
  Value run(unsigned route);

private:
  struct Price {
    double whole = 0, read = 0; ///< Bytes, or points.
  };

  template <typename OpTy, typename... Args> Value make(Args &&...args) {
    return OpTy::create(builder, loc, std::forward<Args>(args)...)->getResult(0);
  }
  Value reshape(Value value, ArrayRef<AffineExpr> dims) {
    Type type = tg::getTensorType(dims, elementOf(value));
    if (auto before = value.getDefiningOp<tg::ReshapeOp>(); before && before.getInput().getType() == type)
      return before.getInput();
    return value.getType() == type ? value : make<tg::ReshapeOp>(type, value);
  }
  bool isPlain(ArrayRef<int> labels) const {
    return llvm::all_of(labels, [](int label) { return label == Rest || label == Gone; });
  }
  tg::Dims withPrefix(ArrayRef<AffineExpr> first, Value value, ArrayRef<int> labels) const {
    tg::Dims dims(first);
    for (auto [extent, label] : llvm::zip_equal(dimsOf(value), labels))
      if (label == Rest)
        dims.push_back(extent);
    return dims;
  }

  Value readUse(OpOperand &use, ArrayRef<int> labels, bool isOnPath);
  Value read(Value value, ArrayRef<int> labels, bool isOnPath);
  Value readThrough(Operation *op, ArrayRef<int> labels, bool isOnPath);
  Value readPointwise(Operation *op, ArrayRef<int> labels, bool isOnPath);
  Value readSlice(tg::SliceOp op, ArrayRef<int> labels);
  Value readReshape(tg::ReshapeOp op, ArrayRef<int> labels, bool isOnPath);
  Value readTranspose(tg::TransposeOp op, ArrayRef<int> labels);
  Value readContract(tg::ContractOp op, ArrayRef<int> labels);
  Value contract(tg::ContractOp op, ArrayRef<int> labels, bool isRoot);
  Value gather(Value value, ArrayRef<int> labels);
  Value spread(Value value, ArrayRef<int> labels);
  void makeGate();
  bool pays() const;

  tg::ContractOp root;
  Gate &gate;
  const GroupRates &rates;
  bool isCpu;
  OpBuilder builder;
  Location loc;
  unsigned prefix; ///< Dimensions of tokens and choices.
  Value places, gates;
  std::map<std::pair<const void *, std::vector<int>>, Value> known;
  llvm::SetVector<Operation *> visited;
  Price bytes, points;
};

/// The chosen positions, and the gates, 0 where a position is none.
void Reader::makeGate() {
  tg::ScatterOp scatter = gate.scatter;
  places = reshape(scatter.getIndices(), gate.extents);
  Type type = elementOf(places);
  auto number = [&](int64_t value) {
    auto attr = DenseElementsAttr::get(RankedTensorType::get({}, type), builder.getIntegerAttr(type, value));
    return make<tg::ConstantOp>(attr);
  };
  Value isIn = make<tg::AndOp>(make<tg::CmpOp>(tg::CmpPredicate::Ge, places, number(-gate.experts)),
                               make<tg::CmpOp>(tg::CmpPredicate::Lt, places, number(gate.experts)));
  Value updates = reshape(scatter.getUpdates(), gate.extents);
  auto zero = builder.getZeroAttr(RankedTensorType::get({}, elementOf(updates)));
  gates = make<tg::SelectOp>(isIn, updates, make<tg::ConstantOp>(cast<ElementsAttr>(zero)));
}

Value Reader::readUse(OpOperand &use, ArrayRef<int> labels, bool isOnPath) {
  isOnPath &= gate.path.contains(&use);
  if (isOnPath && &use == gate.path.back()) {
    tg::Dims dims(gate.extents);
    dims.append(llvm::count(labels, int(Rest)), builder.getAffineConstantExpr(1));
    return reshape(gates, dims);
  }
  return read(use.get(), labels, isOnPath);
}

Value Reader::read(Value value, ArrayRef<int> labels, bool isOnPath) {
  if (isPlain(labels))
    return reshape(value, withPrefix({}, value, labels));
  if (!llvm::is_contained(labels, int(Route)))
    return spread(value, labels);
  std::pair key(value.getAsOpaquePointer(), std::vector<int>(labels.begin(), labels.end()));
  if (auto found = known.find(key); !isOnPath && found != known.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  Value result = op && op->getNumResults() == 1 ? readThrough(op, labels, isOnPath) : Value();
  if (result)
    visited.insert(op);
  else
    result = gather(value, labels);
  if (!isOnPath)
    known[key] = result;
  return result;
}

Value Reader::readThrough(Operation *op, ArrayRef<int> labels, bool isOnPath) {
  if (auto slice = dyn_cast<tg::SliceOp>(op))
    return readSlice(slice, labels);
  if (auto reshape = dyn_cast<tg::ReshapeOp>(op))
    return readReshape(reshape, labels, isOnPath);
  if (auto transpose = dyn_cast<tg::TransposeOp>(op))
    return readTranspose(transpose, labels);
  if (auto contract = dyn_cast<tg::ContractOp>(op))
    return readContract(contract, labels);
  return isa<tg::PointwiseOpInterface>(op) ? readPointwise(op, labels, isOnPath) : Value();
}

Value Reader::readPointwise(Operation *op, ArrayRef<int> labels, bool isOnPath) {
  tg::Dims to = dimsOf(op->getResult(0));
  SmallVector<Value> operands;
  size_t rank = 0;
  for (OpOperand &use : op->getOpOperands()) {
    operands.push_back(readUse(use, alignLabels(use.get(), to, labels), isOnPath));
    rank = std::max(rank, dimsOf(operands.back()).size());
  }
  size_t others = llvm::count(labels, int(Rest));
  tg::Dims dims(prefix + others, builder.getAffineConstantExpr(1));
  for (auto [use, operand] : llvm::zip_equal(op->getOpOperands(), operands)) {
    Labels own = alignLabels(use.get(), to, labels);
    tg::Dims mine = dimsOf(operand);
    if (!isPlain(own)) { // What lacks leading dimensions of the others has them behind those of tokens and choices.
      mine.insert(mine.begin() + prefix, others + prefix - mine.size(), builder.getAffineConstantExpr(1));
      operand = reshape(operand, mine);
    }
    for (auto [extent, result] : llvm::zip_equal(mine, MutableArrayRef(dims).take_back(mine.size())))
      if (!isOne(extent))
        result = extent;
  }
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  copy->getResult(0).setType(tg::getTensorType(dims, elementOf(op->getResult(0))));
  return copy->getResult(0);
}

Value Reader::readSlice(tg::SliceOp op, ArrayRef<int> labels) {
  tg::Dims from = dimsOf(op.getInput()), to = dimsOf(op.getResult());
  SmallVector<int64_t> offsets(prefix, 0), strides(prefix, 1);
  for (auto [d, label] : llvm::enumerate(labels)) {
    bool isWhole = tg::isEqual(from[d], to[d]) && op.getOffsets()[d] == 0 && op.getStrides()[d] == 1;
    if (label != Rest && !isWhole)
      return {};
    if (label == Rest) {
      offsets.push_back(op.getOffsets()[d]);
      strides.push_back(op.getStrides()[d]);
    }
  }
  Value input = read(op.getInput(), labels, false);
  tg::Dims dims = withPrefix(ArrayRef(dimsOf(input)).take_front(prefix), op.getResult(), labels);
  return make<tg::SliceOp>(tg::getTensorType(dims, elementOf(input)), input, offsets, strides);
}

Value Reader::readReshape(tg::ReshapeOp op, ArrayRef<int> labels, bool isOnPath) {
  std::optional<Labels> own = reshapeLabels(op, labels);
  if (!own)
    return {};
  Value input = readUse(op->getOpOperand(0), *own, isOnPath);
  return reshape(input, withPrefix(ArrayRef(dimsOf(input)).take_front(prefix), op.getResult(), labels));
}

Value Reader::readTranspose(tg::TransposeOp op, ArrayRef<int> labels) {
  Labels own(labels.size());
  for (auto [d, from] : llvm::enumerate(op.getPermutation()))
    own[from] = labels[d];
  Value input = read(op.getInput(), own, false);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, prefix));
  for (auto [d, from] : llvm::enumerate(op.getPermutation()))
    if (labels[d] == Rest)
      order.push_back(prefix + llvm::count(ArrayRef(own).take_front(from), int(Rest)));
  return make<tg::TransposeOp>(input, order);
}

bool hasPlainMaps(tg::ContractOp op) {
  return llvm::all_of(
      llvm::seq(3u), [&](unsigned i) { return llvm::all_of(op.getMap(i).getResults(), llvm::IsaPred<AffineDimExpr>); });
}

/// A product for each expert.
Value Reader::readContract(tg::ContractOp op, ArrayRef<int> labels) {
  if (!hasPlainMaps(op))
    return {};
  Labels domain(op.getMap(2).getNumDims(), Rest);
  for (auto [at, label] : llvm::zip_equal(op.getMap(2).getResults(), labels))
    domain[cast<AffineDimExpr>(at).getPosition()] = label;
  return contract(op, domain, /*isRoot=*/false);
}

/// `op`, whose domain has these labels, at the chosen positions: summed over choices if it is the root.
Value Reader::contract(tg::ContractOp op, ArrayRef<int> labels, bool isRoot) {
  SmallVector<AffineExpr> places; // Of the dimensions of the domain.
  unsigned count = prefix;
  for (int label : labels)
    places.push_back(builder.getAffineDimExpr(label == Rest ? count++ : label == Route ? prefix - 1 : unsigned(label)));
  SmallVector<Value> operands;
  SmallVector<SmallVector<AffineExpr>> maps(3);
  for (unsigned i : {0u, 1u}) {
    Labels own;
    for (AffineExpr at : op.getMap(i).getResults())
      own.push_back(labels[cast<AffineDimExpr>(at).getPosition()]);
    Value value = readUse(op->getOpOperand(i), own, isRoot);
    tg::Dims kept, dims = dimsOf(value);
    for (unsigned d = 0; !isPlain(own) && d < prefix; ++d)
      if (tg::isEqual(dims[d], gate.extents[d])) {
        kept.push_back(dims[d]);
        maps[i].push_back(builder.getAffineDimExpr(d));
      }
    for (auto [at, label] : llvm::zip_equal(op.getMap(i).getResults(), own))
      if (label == Rest)
        maps[i].push_back(places[cast<AffineDimExpr>(at).getPosition()]);
    llvm::append_range(kept, ArrayRef(dims).drop_front(isPlain(own) ? 0 : prefix));
    operands.push_back(reshape(value, kept));
  }
  tg::Dims dims;
  if (!isRoot)
    dims = withPrefix(gate.extents, op.getResult(), llvm::map_to_vector(op.getMap(2).getResults(), [&](AffineExpr at) {
                        return labels[cast<AffineDimExpr>(at).getPosition()];
                      }));
  for (unsigned d = 0; !isRoot && d < prefix; ++d)
    maps[2].push_back(builder.getAffineDimExpr(d));
  for (AffineExpr at : op.getMap(2).getResults())
    if (unsigned d = cast<AffineDimExpr>(at).getPosition(); isRoot || labels[d] == Rest)
      maps[2].push_back(places[d]);
  SmallVector<AffineMap> all;
  for (ArrayRef<AffineExpr> results : maps)
    all.push_back(AffineMap::get(count, 0, results, builder.getContext()));
  Type type = isRoot ? Type(op.getType()) : tg::getTensorType(dims, elementOf(op.getResult()));
  Value result = make<tg::ContractOp>(type, operands[0], operands[1], builder.getAffineMapArrayAttr(all));
  points.whole += estimateFlops(op) / 2;
  points.read += estimateFlops(result.getDefiningOp()) / 2;
  return result;
}

/// What is in memory for each expert, of those that were chosen.
Value Reader::gather(Value value, ArrayRef<int> labels) {
  tg::Dims dims = withPrefix(gate.extents, value, labels);
  SmallVector<AffineExpr> from;
  unsigned next = prefix;
  for (int label : labels)
    from.push_back(label == Route  ? builder.getAffineSymbolExpr(0)
                   : label == Gone ? builder.getAffineConstantExpr(0)
                                   : builder.getAffineDimExpr(label == Rest ? next++ : unsigned(label)));
  AffineMap index = AffineMap::getMultiDimIdentityMap(dims.size(), builder.getContext()).getMajorSubMap(prefix);
  Value result = make<tg::GatherOp>(tg::getTensorType(dims, elementOf(value)), value, places,
                                    AffineMap::get(dims.size(), 1, from, builder.getContext()),
                                    builder.getAffineMapArrayAttr(index));
  bytes.whole += estimateBytes(value);
  bytes.read += estimateBytes(result);
  return result;
}

/// What all experts have alike, for each token.
Value Reader::spread(Value value, ArrayRef<int> labels) {
  SmallVector<int64_t> order;
  tg::Dims dims(prefix, builder.getAffineConstantExpr(1)), from = dimsOf(value);
  for (int token = 0; token + 1 < int(prefix); ++token)
    if (auto *at = llvm::find(labels, token); at != labels.end()) {
      order.push_back(at - labels.begin());
      dims[token] = from[order.back()];
    }
  for (auto [d, label] : llvm::enumerate(labels))
    if (label == Rest || label == Gone)
      order.push_back(d);
  if (!llvm::is_sorted(order))
    value = make<tg::TransposeOp>(value, order);
  for (int64_t d : order)
    if (labels[d] == Rest)
      dims.push_back(from[d]);
  return reshape(value, dims);
}

/// Whether what was made takes less time than what nobody needs any more.
bool Reader::pays() const {
  for (Operation *op : visited)
    if (isa<tg::ContractOp>(op) &&
        !llvm::all_of(op->getUsers(), [&](Operation *user) { return user == root || visited.contains(user); }))
      return false;
  auto seconds = [&](double read, double multiplied) {
    return std::max(read / rates.bytes, 2 * multiplied / rates.products);
  };
  double copies = isCpu ? 3 : 1; // Its kernels multiply what another one gathered: read, written and read.
  return seconds(copies * bytes.read, points.read) < seconds(bytes.whole, points.whole);
}

Value Reader::run(unsigned route) {
  Labels labels(root.getMap(2).getNumDims(), Rest);
  labels[route] = Route;
  for (auto [i, token] : llvm::enumerate(gate.tokens))
    labels[token] = int(i);
  Operation *before = root->getPrevNode();
  makeGate();
  Value result = contract(root, labels, /*isRoot=*/true);
  if (pays())
    return result;
  while (root->getPrevNode() != before)
    root->getPrevNode()->erase();
  return {};
}

/// Replaces `op` if it is a sum over experts.
bool readRouted(tg::ContractOp op, const GroupRates &rates, bool isCpu) {
  if (!hasPlainMaps(op))
    return false;
  for (unsigned d = 0; d < op.getMap(2).getNumDims(); ++d) {
    if (op.getMap(2).isFunctionOfDim(d) || !op.getMap(0).isFunctionOfDim(d) || !op.getMap(1).isFunctionOfDim(d))
      continue;
    for (unsigned operand : {0u, 1u}) {
      Gate gate;
      if (!gate.find(op, operand, d))
        continue;
      Value result = Reader(op, gate, rates, isCpu).run(d);
      auto name = [](StringRef text) { return remark::RemarkOpts::name(text).category("plan"); };
      if (!result) {
        remark::missed(op.getLoc(), name("all-experts"))
            << remark::add("all {0} are read: so many tokens choose most of them", std::to_string(gate.experts));
        return false;
      }
      remark::passed(op.getLoc(), name("chosen-experts"))
          << remark::add("what a gate chooses of {0} is read", std::to_string(gate.experts));
      op.getResult().replaceAllUsesWith(result);
      op.erase();
      return true;
    }
  }
  return false;
}

struct ReadRoutedPass : weft::plan::impl::ReadRoutedBase<ReadRoutedPass> {
  using Base::Base;

  void runOnOperation() override {
    GroupRates rates = cpuGroupRates;
    if (!target.empty()) {
      const Device *device = findDevice(&getContext(), target);
      if (!device) {
        getOperation()->emitError() << "expected a target of " << getArchitectureList() << ", got '" << target << "'";
        return signalPassFailure();
      }
      rates = device->groups;
    }
    tg::LikelyExtents likely(getOperation());
    SmallVector<tg::ContractOp> roots;
    getOperation()->walk([&](tg::ContractOp op) { roots.push_back(op); });
    bool isChanged = false;
    for (tg::ContractOp op : llvm::reverse(roots)) // The last first: what only they need goes with them.
      if (readRouted(op, rates, target.empty())) {
        isChanged = true;
        ++numSums;
      }
    if (IRRewriter rewriter(&getContext()); isChanged)
      (void)runRegionDCE(rewriter, getOperation()->getRegions());
  }
};

} // namespace
