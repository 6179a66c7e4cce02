// The pass that makes a program of ranks; see Passes.td.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphBuilder.h"
#include "ShardProgram.h"
#include "ShardSearch.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/NodeNames.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "weft/Target/ContextDevices.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_SHARD
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

/// i64 on a module: the ranks for which it has been made.
static constexpr llvm::StringLiteral ranksAttr = "tg.ranks";

namespace {

/// One `PATTERN:DIM` of the option.
struct Request {
  std::string text;
  std::unique_ptr<llvm::GlobPattern> names;
  int64_t dim = 0; ///< Negative: from the end.
  bool isUsed = false;
};

class Partition {
public:
  Partition(func::FuncOp main, int64_t ranks, const LayoutRates &rates, MutableArrayRef<Request> requests,
            bool isOfModel)
      : main(main), ranks(ranks), rates(rates), requests(requests), isOfModel(isOfModel), builder(main.getContext()),
        values(builder, ranks) {}

  LogicalResult run();

private:
  std::optional<int64_t> findRequest(StringRef name, Type type);
  LogicalResult ask(Location loc, StringRef name, Value value, std::optional<int64_t> &dim);
  LogicalResult ask(LayoutProblem &problem);
  LogicalResult askOfResults(LayoutProblem &problem);
  void placeData(Operation &op, const LayoutProblem &problem);
  void placeWhole(Operation &op);
  void placeSum(Operation &op);
  void placePart(Operation &op, const Split &split);
  void placeRows(GatherOp op, const Split &split);
  void place(Operation &op, const Decision &decision);
  void note(Operation &op, const Decision &decision) const;
  void noteLayout(const Layout &layout);
  void placeResults(const Layout &layout);

  func::FuncOp main;
  int64_t ranks;
  LayoutRates rates;
  MutableArrayRef<Request> requests;
  bool isOfModel; ///< The model itself has them.
  OpBuilder builder;
  ShardedValues values;
  llvm::DenseSet<Operation *> replaced; ///< Those that a rank does on other operands.
};

} // namespace

/// Of the first request that names `name`.
std::optional<int64_t> Partition::findRequest(StringRef name, Type type) {
  int64_t rank = cast<RankedTensorType>(type).getRank();
  for (Request &request : requests) {
    if (name.empty() || !request.names->match(name))
      continue;
    request.isUsed = true;
    return request.dim < 0 ? request.dim + rank : request.dim;
  }
  return std::nullopt;
}

/// What a request says of a value, if it can be split there.
LogicalResult Partition::ask(Location loc, StringRef name, Value value, std::optional<int64_t> &dim) {
  Type type = value.getType();
  dim = findRequest(name, type);
  if (!dim)
    return success();
  std::string reason;
  int64_t rank = cast<RankedTensorType>(type).getRank();
  if (*dim < 0 || *dim >= rank)
    return emitError(loc) << "shard: `" << name << "`: expected a dimension of " << type << ", got " << *dim;
  if (!isDivisible(type, *dim, ranks, reason))
    return emitError(loc) << "shard: `" << name << "`: " << reason
                          << "; name another dimension, or leave the tensor whole";
  return success();
}

/// Whether a request of the node means `op`: of its GEMM, or else of what it makes last.
static bool isResultOfNode(Operation &op, StringRef name) {
  auto isOfNode = [&](Operation *other) { return findNodeName(other->getLoc()) == name; };
  if (name.empty() || !isa<TileOpInterface>(op) || op.getNumResults() != 1 || op.getNumRegions())
    return false;
  return isa<ContractOp>(op) ||
         (llvm::none_of(op.getUsers(), isOfNode) && llvm::none_of(op.getBlock()->getOps<ContractOp>(), isOfNode));
}

/// What the requests say of the program's values.
LogicalResult Partition::ask(LayoutProblem &problem) {
  std::optional<int64_t> dim;
  for (BlockArgument argument : main.getArguments()) {
    auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "tg.name");
    if (name && failed(ask(argument.getLoc(), name, argument, dim)))
      return failure();
    if (name && dim)
      problem.wanted[argument] = *dim;
  }
  for (Operation &op : main.front().without_terminator()) {
    StringRef name = findNodeName(op.getLoc());
    if (!isa<WeightOp>(op) && !isResultOfNode(op, name))
      continue;
    Value value = op.getResult(0);
    if (failed(ask(op.getLoc(), name, value, dim)))
      return failure();
    if (dim && isa<WeightOp>(op) && !isFree(value))
      return emitError(op.getLoc()) << "shard: `" << name << "`: expected elements of whole bytes, got "
                                    << value.getType();
    if (dim)
      problem.wanted[value] = *dim;
  }
  return askOfResults(problem);
}

LogicalResult Partition::askOfResults(LayoutProblem &problem) {
  for (auto [i, value] : llvm::enumerate(main.front().getTerminator()->getOperands())) {
    auto name = main.getResultAttrOfType<StringAttr>(i, "tg.name");
    std::optional<int64_t> dim;
    if (name && failed(ask(value.getLoc(), name, value, dim)))
      return failure();
    problem.wantedOfReturned.push_back(dim);
  }
  return success();
}

/// Weights and constants are whole until somebody wants a part, unless a request names them.
void Partition::placeData(Operation &op, const LayoutProblem &problem) {
  Value value = op.getResult(0);
  values.set(value, value, {});
  if (auto wanted = problem.wanted.find(value); wanted != problem.wanted.end())
    values.set(value, values.get(value, {wanted->second}, op.getLoc()), {wanted->second});
}

/// What has no maps, or is cheaper so.
void Partition::placeWhole(Operation &op) {
  IRMapping mapping;
  bool isSame = true;
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      if (mapping.contains(operand) || !values.getLocal(operand))
        continue;
      Value whole = values.get(operand, {}, op.getLoc());
      mapping.map(operand, whole);
      isSame &= whole == operand;
    }
  });
  Operation *local = isSame ? &op : builder.clone(op, mapping);
  if (!isSame)
    replaced.insert(&op);
  for (auto [value, made] : llvm::zip(op.getResults(), local->getResults()))
    values.set(value, made, {});
}

/// Sums of what is to be summed over the ranks, and views of it, are that again: one collective for all of them.
void Partition::placeSum(Operation &op) {
  IRMapping mapping;
  for (Value operand : op.getOperands())
    mapping.map(operand, values.getLocal(operand));
  values.set(op.getResult(0), builder.clone(op, mapping)->getResult(0), {}, Monoid::Add);
}

void Partition::placePart(Operation &op, const Split &split) {
  if (split.rows)
    return placeRows(cast<GatherOp>(op), split);
  SmallVector<Value> operands;
  for (auto [operand, share] : llvm::zip(op.getOperands(), split.operands))
    operands.push_back(values.get(operand, share, op.getLoc()));
  Operation *local = builder.clone(op);
  local->setOperands(operands);
  Value value = op.getResult(0), made = local->getResult(0);
  Share share = split.results.front();
  if (share.isSplit())
    made.setType(getPartType(value.getType(), share.dim, ranks));
  values.set(value, made, share, split.combiner);
}

/// The rows that are a rank's own, and zeros: an index is a position in the whole table, from which the first row of
/// the rank's is taken.
void Partition::placeRows(GatherOp op, const Split &split) {
  GraphBuilder b{builder, op.getLoc()};
  Value data = values.get(op.getData(), split.operands[0], op.getLoc());
  Value indices = values.get(op.getIndices(), {}, op.getLoc());
  Type index = b.elementOf(indices), bits = index;
  int64_t extent = *getConstant(getDim(op.getData().getType(), *split.rows)), part = extent / ranks;
  auto number = [&](int64_t value) -> Value {
    auto type = RankedTensorType::get({}, bits);
    return b.op<ConstantOp>(DenseElementsAttr::get(type, builder.getIntegerAttr(bits, value)));
  };
  SmallVector<Attribute> firsts;
  for (int64_t rank = 0; rank < ranks; ++rank)
    firsts.push_back(builder.getIntegerAttr(index, rank * part));
  Value all = b.op<ConstantOp>(DenseElementsAttr::get(RankedTensorType::get({ranks}, index), firsts));
  values.set(all, all, {});
  Value first = b.reshape(values.get(all, Share{0}, op.getLoc()), {});
  Value zero = number(0), end = number(extent);
  Value fromEnd = b.op<AddOp>(indices, end);
  Value place = b.op<SelectOp>(b.op<CmpOp>(CmpPredicate::Lt, indices, zero), fromEnd, indices);
  place = b.op<MinOp>(b.op<MaxOp>(place, zero), number(extent - 1));
  Value own = b.op<SubOp>(place, first);
  Value isOwn = b.op<AndOp>(b.op<CmpOp>(CmpPredicate::Ge, own, zero), b.op<CmpOp>(CmpPredicate::Lt, own, number(part)));
  IRMapping mapping;
  mapping.map(op.getData(), data);
  mapping.map(op.getIndices(), own); // Others are clamped to some row.
  Value rows = builder.clone(*op, mapping)->getResult(0);
  Dims dims(b.rankOf(rows), builder.getAffineConstantExpr(1));
  for (auto [i, at] : llvm::enumerate(op.getIndexMap(0).getResults()))
    dims[cast<AffineDimExpr>(at).getPosition()] = getDim(isOwn.getType(), i);
  Type element = b.elementOf(rows);
  Value nothing = b.op<ConstantOp>(cast<DenseElementsAttr>(builder.getZeroAttr(RankedTensorType::get({}, element))));
  values.set(op.getResult(), b.op<SelectOp>(b.reshape(isOwn, dims), rows, nothing), {}, Monoid::Add);
}

void Partition::place(Operation &op, const Decision &decision) {
  builder.setInsertionPointAfter(&op);
  note(op, decision);
  switch (decision.kind) {
  case Decision::Kind::Whole:
    return placeWhole(op);
  case Decision::Kind::Sum:
    return placeSum(op);
  case Decision::Kind::Part:
    return placePart(op, decision.split);
  }
}

static auto makeRemark(StringRef name) { return remark::RemarkOpts::name(name).category("shard").function("main"); }

/// What an op does, and, where the layout was found, what else it could do for how much more.
void Partition::note(Operation &op, const Decision &decision) const {
  StringRef kind = op.getName().stripDialect();
  const Split &split = decision.split;
  std::string others;
  if (requests.empty() && isa<ContractOp, GatherOp>(op))
    for (const auto &[name, seconds] : decision.others)
      others += llvm::formatv("{0}{1} {2:F1} us more", others.empty() ? "; else " : ", ", name, seconds * 1e6).str();
  if (decision.kind == Decision::Kind::Part) {
    std::string result =
        split.combiner ? "parts to combine" : llvm::formatv("dimension {0}", split.results.front().dim).str();
    std::string what = split.rows ? llvm::formatv("dimension {0} of its data", *split.rows).str()
                                  : llvm::formatv("dimension {0} of its domain", split.dim).str();
    remark::passed(op.getLoc(), makeRemark("split")) << remark::add(
        "{0}", llvm::formatv("'{0}': {1} split in {2}; the result: {3}{4}", kind, what, ranks, result, others).str());
    return;
  }
  bool isTouched = llvm::any_of(op.getOperands(), [&](Value v) { return values.getShare(v).isSplit(); });
  if (decision.kind == Decision::Kind::Sum || !(isTouched || !others.empty()))
    return;
  std::string reason = decision.refusals;
  if (decision.hadChoice)
    reason += (reason.empty() ? "" : "; ") + std::string("that costs less than what a split of it saves");
  remark::missed(op.getLoc(), makeRemark("whole")) << remark::add(
      "{0}", llvm::formatv("'{0}': {1}: {2}{3}", kind,
                           isTouched ? "its operands are gathered" : "every rank does all of it", reason, others)
                 .str());
}

/// Of a layout that was found.
void Partition::noteLayout(const Layout &layout) {
  constexpr double micro = 1e6, mega = 1e-6;
  int64_t parts = 0, products = 0;
  for (const auto &[op, decision] : layout.decisions)
    if (isa<ContractOp>(op)) {
      ++products;
      parts += decision.kind == Decision::Kind::Part;
    }
  std::string text =
      llvm::formatv("a layout for {0} ranks: {1} of {2} GEMMs in parts, {3:F1} us a run by the model ({4:F1} us where "
                    "every rank does everything), {5:F2} MB of weights on a rank (of {6:F2} MB){7}",
                    ranks, parts, products, layout.seconds * micro, layout.wholeSeconds * micro,
                    layout.weightBytes * mega, layout.wholeWeightBytes * mega,
                    layout.isExact ? "" : "; the search left states out")
          .str();
  if (parts)
    remark::passed(main.getLoc(), makeRemark("layout")) << remark::add("{0}", text);
  else
    remark::missed(main.getLoc(), makeRemark("layout")) << remark::add("{0}", text);
  if (rates.capacity > 0 && layout.weightBytes > rates.capacity)
    emitWarning(main.getLoc()) << "shard: "
                               << llvm::formatv("expected a layout with at most {0:F0} MB of weights on a rank, found "
                                                "none below {1:F0} MB; take more ranks",
                                                rates.capacity * mega, layout.weightBytes * mega)
                                      .str();
}

/// Where the memory of an argument would be of another share, it is nobody's.
void Partition::placeResults(const Layout &layout) {
  Operation *terminator = main.front().getTerminator();
  builder.setInsertionPoint(terminator);
  SmallVector<Type> types;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    terminator->setOperand(i, values.get(value, layout.returned[i], value.getLoc()));
  for (BlockArgument argument : main.getArguments())
    if (Share share = values.getShare(argument); share.isSplit())
      argument.setType(getPartType(argument.getType(), share.dim, ranks));
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    types.push_back(value.getType());
    auto alias = main.getResultAttrOfType<IntegerAttr>(i, "tg.alias");
    if (alias && main.getArgument(alias.getInt()).getType() != value.getType())
      main.removeResultAttr(i, builder.getStringAttr("tg.alias"));
  }
  main.setFunctionType(builder.getFunctionType(main.front().getArgumentTypes(), types));
}

LogicalResult Partition::run() {
  LayoutProblem problem;
  problem.main = main;
  problem.ranks = ranks;
  problem.rates = rates;
  problem.followsRequests = !requests.empty();
  if (failed(ask(problem)))
    return failure();
  FailureOr<Layout> layout = findLayout(problem);
  if (failed(layout))
    return failure();
  for (Request &request : requests) {
    if (!request.isUsed && !isOfModel)
      return emitError(main.getLoc()) << "shard: `" << request.text
                                      << "`: expected the name of a node, weight, input or output, none matches";
    if (!request.isUsed) // Folded, or its result is another op's.
      emitWarning(main.getLoc()) << "shard: `" << request.text
                                 << "`, as the model says it: nothing is left of that name to be split";
  }
  if (requests.empty())
    noteLayout(*layout);
  for (BlockArgument argument : main.getArguments()) {
    auto found = layout->arguments.find(argument);
    values.set(argument, argument, Share{found == layout->arguments.end() ? -1 : found->second});
  }
  SmallVector<Operation *> ops;
  for (Operation &op : main.front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops) {
    builder.setInsertionPointAfter(op);
    if (isa<WeightOp, ConstantOp>(op))
      placeData(*op, problem);
    else
      place(*op, layout->decisions.lookup(op));
  }
  placeResults(*layout);
  for (Operation *op : llvm::reverse(ops)) // What each rank does otherwise.
    if (op->use_empty() && (isPure(op) || replaced.contains(op)))
      op->erase();
  return success();
}

namespace {
struct Shard : impl::ShardBase<Shard> {
  using ShardBase::ShardBase;

  void runOnOperation() override {
    // Of a variant with fewer symbols, which is normalized again, the program is a rank's already.
    if (ranks == 1 || getOperation()->hasAttr(ranksAttr))
      return;
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main || !main.getBody().hasOneBlock())
      return;
    SmallVector<Request> parsed;
    for (const std::string &text : requests) {
      Request request;
      request.text = text;
      auto [pattern, dim] = StringRef(text).rsplit(':');
      llvm::Expected<llvm::GlobPattern> glob = llvm::GlobPattern::create(pattern);
      if (!glob || pattern.empty() || dim.getAsInteger(10, request.dim)) {
        if (!glob)
          llvm::consumeError(glob.takeError());
        emitError(main.getLoc()) << "shard: expected PATTERN:DIM, got `" << text << "`";
        return signalPassFailure();
      }
      request.names = std::make_unique<llvm::GlobPattern>(std::move(*glob));
      parsed.push_back(std::move(request));
    }
    const Device *device = target.empty() ? nullptr : findDevice(&getContext(), target);
    if (!target.empty() && !device) {
      emitError(main.getLoc()) << "shard: expected a device, got `" << target << "`";
      return signalPassFailure();
    }
    LikelyExtents likely(getOperation());
    LayoutRates rates = LayoutRates::get(device, linkRate, linkLatency);
    if (failed(Partition(main, ranks, rates, parsed, isOfModel).run()))
      return signalPassFailure();
    getOperation()->setAttr(ranksAttr, Builder(&getContext()).getI64IntegerAttr(ranks));
  }
};
} // namespace

} // namespace weft::tg
