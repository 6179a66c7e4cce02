// The pass that makes a program of ranks; see Passes.td.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ShardProgram.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/NodeNames.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
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

/// What a split is chosen by: first the bytes of weights that a rank holds, since a model is split that fits no card
/// whole.
struct Price {
  double weightBytes = 0;
  double bytes = 0; ///< Of the card's memory that take as long as all that the op does.
  bool operator<(const Price &other) const {
    return std::pair(weightBytes, bytes) < std::pair(other.weightBytes, other.bytes);
  }
};

class Partition {
public:
  Partition(func::FuncOp main, int64_t ranks, double linkCost, MutableArrayRef<Request> requests)
      : main(main), ranks(ranks), linkCost(linkCost), requests(requests), builder(main.getContext()),
        values(builder, ranks) {}

  LogicalResult run();

private:
  std::optional<int64_t> findRequest(StringRef name, Type type);
  LogicalResult check(Location loc, StringRef name, Type type, std::optional<int64_t> dim);
  LogicalResult placeArguments();
  LogicalResult place(Operation &op);
  LogicalResult placeData(Operation &op);
  LogicalResult placeWhole(Operation &op);
  bool placeSum(Operation &op);
  std::optional<Split> choose(Operation &op, std::optional<int64_t> wanted, std::string &reason);
  Price price(Operation &op, const ShardAccess &access, const Split *split) const;
  void placeSplit(Operation &op, const Split &split);
  void note(Operation &op, const Split *split, StringRef reason);
  LogicalResult placeResults();

  func::FuncOp main;
  int64_t ranks;
  double linkCost;
  MutableArrayRef<Request> requests;
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

/// That `type` can be split there.
LogicalResult Partition::check(Location loc, StringRef name, Type type, std::optional<int64_t> dim) {
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

LogicalResult Partition::placeArguments() {
  for (BlockArgument argument : main.getArguments()) {
    auto name = main.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "tg.name");
    std::optional<int64_t> dim = name ? findRequest(name, argument.getType()) : std::nullopt;
    if (failed(check(argument.getLoc(), name ? name.getValue() : "", argument.getType(), dim)))
      return failure();
    Share share{dim.value_or(-1)};
    values.set(argument, argument, share);
  }
  return success();
}

/// Weights and constants are whole until somebody wants a part, unless a request names them.
LogicalResult Partition::placeData(Operation &op) {
  Value value = op.getResult(0);
  values.set(value, value, {});
  StringRef name = findNodeName(op.getLoc());
  std::optional<int64_t> dim = isa<WeightOp>(op) ? findRequest(name, value.getType()) : std::nullopt;
  if (!dim)
    return success();
  if (failed(check(op.getLoc(), name, value.getType(), dim)))
    return failure();
  if (!values.isFree(value))
    return emitError(op.getLoc()) << "shard: `" << name << "`: expected elements of whole bytes, got "
                                  << value.getType();
  values.set(value, values.get(value, {*dim}, op.getLoc()), {*dim});
  return success();
}

/// What has no maps, or is cheaper so.
LogicalResult Partition::placeWhole(Operation &op) {
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
  return success();
}

/// Sums of what is to be summed over the ranks, and views of it, are that again: one collective for all of them. Each
/// is read here alone, or it would be combined twice.
bool Partition::placeSum(Operation &op) {
  bool isView = isa<TransposeOp, ReshapeOp>(op), isSum = isa<AddOp, SubOp>(op);
  auto isOpen = [&](Value operand) { return values.getPartial(operand) == Monoid::Add && operand.hasOneUse(); };
  if (!(isView || isSum) || !llvm::all_of(op.getOperands(), isOpen) ||
      !llvm::all_of(op.getOperandTypes(), [&](Type type) { return !isSum || type == op.getResult(0).getType(); }))
    return false;
  IRMapping mapping;
  for (Value operand : op.getOperands())
    mapping.map(operand, values.getLocal(operand));
  values.set(op.getResult(0), builder.clone(op, mapping)->getResult(0), {}, Monoid::Add);
  return true;
}

/// What goes over the links, what is read and written, what is computed.
Price Partition::price(Operation &op, const ShardAccess &access, const Split *split) const {
  constexpr double operationsPerByte = 200; // Of matrix units at the speed of memory.
  double linkBytes = 0;
  Price total;
  for (auto [i, operand] : llvm::enumerate(op.getOperands())) {
    Share wanted = split ? split->operands[i] : Share();
    double bytes = estimateBytes(operand.getType()) / (wanted.isSplit() ? double(ranks) : 1);
    bool isFree = values.isFree(operand);
    linkBytes += values.countLinkBytes(operand, wanted);
    total.weightBytes += isFree ? bytes : 0;
    bool isCut = wanted.isSplit() && !values.getShare(operand).isSplit() && !isFree;
    total.bytes += isCut ? 3 * bytes : bytes;
  }
  double bytes = estimateBytes(op.getResult(0).getType());
  total.bytes += bytes / (split && split->results.front().isSplit() ? double(ranks) : 1);
  if (split && split->combiner)
    linkBytes += 2 * bytes * double(ranks - 1) / double(ranks);
  double operations = access.countPoints() * double(cast<TileOpInterface>(op).getFlopsPerPoint());
  total.bytes += linkBytes * linkCost + operations / (split ? double(ranks) : 1) / operationsPerByte;
  return total;
}

/// The cheapest split of those that an operand's split, or a request for the result, suggests; none where the whole op
/// is cheaper, or nothing suggests one. `reason`: of those dimensions of the domain that cannot be.
std::optional<Split> Partition::choose(Operation &op, std::optional<int64_t> wanted, std::string &reason) {
  std::optional<ShardAccess> access = ShardAccess::get(&op);
  if (!access) {
    reason = "the op has no access maps";
    return std::nullopt;
  }
  bool suggests = wanted || llvm::any_of(op.getOperands(), [&](Value v) { return values.getShare(v).isSplit(); });
  std::optional<Split> best;
  Price least;
  bool isPossible = false;
  if (!wanted)
    least = price(op, *access, nullptr);
  for (unsigned dim = 0; suggests && dim < access->getNumDims(); ++dim) {
    std::string refusal;
    std::optional<Split> split = access->split(dim, ranks, refusal);
    if (!split && tg::getConstant(access->getExtent(dim)) != 1)
      reason += (reason.empty() ? "d" : "; d") + std::to_string(dim) + ": " + refusal;
    if (!split || (wanted && split->results.front().dim != *wanted))
      continue;
    bool follows = wanted || llvm::any_of(llvm::enumerate(op.getOperands()), [&](auto pair) {
                     Share has = values.getShare(pair.value());
                     return has.isSplit() && has == split->operands[pair.index()];
                   });
    if (!follows)
      continue;
    isPossible = true;
    Price cost = price(op, *access, &*split);
    if ((best || !wanted) && !(cost < least))
      continue;
    best = split;
    least = cost;
  }
  if (isPossible && !best)
    reason = "that costs less than what a split of it saves";
  return best;
}

void Partition::placeSplit(Operation &op, const Split &split) {
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

void Partition::note(Operation &op, const Split *split, StringRef reason) {
  auto options = [](StringRef name) { return remark::RemarkOpts::name(name).category("shard").function("main"); };
  StringRef kind = op.getName().stripDialect();
  if (split) {
    std::string result =
        split->combiner ? "parts to combine" : llvm::formatv("dimension {0}", split->results.front().dim).str();
    remark::passed(op.getLoc(), options("split"))
        << remark::add("{0}", llvm::formatv("'{0}': dimension {1} of its domain split in {2}; the result: {3}", kind,
                                            split->dim, ranks, result)
                                  .str());
  } else {
    remark::missed(op.getLoc(), options("whole"))
        << remark::add("{0}", llvm::formatv("'{0}': its operands are gathered: {1}", kind, reason).str());
  }
}

/// Whether a request of the node means `op`: of its product, or else of what it makes last.
static bool isResultOfNode(Operation &op, StringRef name) {
  auto isOfNode = [&](Operation *other) { return findNodeName(other->getLoc()) == name; };
  if (name.empty() || !isa<TileOpInterface>(op))
    return false;
  return isa<ContractOp>(op) ||
         (llvm::none_of(op.getUsers(), isOfNode) && llvm::none_of(op.getBlock()->getOps<ContractOp>(), isOfNode));
}

LogicalResult Partition::place(Operation &op) {
  builder.setInsertionPointAfter(&op);
  if (isa<WeightOp, ConstantOp>(op))
    return placeData(op);
  if (op.getNumResults() != 1 || op.getNumRegions())
    return placeWhole(op);
  StringRef name = findNodeName(op.getLoc());
  Type type = op.getResult(0).getType();
  std::optional<int64_t> wanted = isResultOfNode(op, name) ? findRequest(name, type) : std::nullopt;
  if (failed(check(op.getLoc(), name, type, wanted)))
    return failure();
  if (!wanted && placeSum(op))
    return success();
  std::string reason;
  std::optional<Split> split = choose(op, wanted, reason);
  if (wanted && !split)
    return emitError(op.getLoc()) << "shard: `" << name << "`: '" << op.getName().getStringRef()
                                  << "' cannot make parts of dimension " << *wanted << ": "
                                  << (reason.empty() ? StringRef("no dimension of its domain runs along it")
                                                     : StringRef(reason));
  bool isTouched = llvm::any_of(op.getOperands(), [&](Value v) { return values.getShare(v).isSplit(); });
  if (split || isTouched)
    note(op, split ? &*split : nullptr, reason);
  if (!split)
    return placeWhole(op);
  placeSplit(op, *split);
  return success();
}

/// Whole, or as a request says; where the memory of an argument would be of another share, it is nobody's.
LogicalResult Partition::placeResults() {
  Operation *terminator = main.front().getTerminator();
  builder.setInsertionPoint(terminator);
  SmallVector<Type> types;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    auto name = main.getResultAttrOfType<StringAttr>(i, "tg.name");
    std::optional<int64_t> dim = name ? findRequest(name, value.getType()) : std::nullopt;
    if (failed(check(value.getLoc(), name ? name.getValue() : "", value.getType(), dim)))
      return failure();
    terminator->setOperand(i, values.get(value, Share{dim.value_or(-1)}, value.getLoc()));
  }
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
  return success();
}

LogicalResult Partition::run() {
  if (failed(placeArguments()))
    return failure();
  SmallVector<Operation *> ops;
  for (Operation &op : main.front().without_terminator())
    ops.push_back(&op);
  for (Operation *op : ops)
    if (failed(place(*op)))
      return failure();
  if (failed(placeResults()))
    return failure();
  for (Operation *op : llvm::reverse(ops)) // What each rank does otherwise.
    if (op->use_empty() && (isPure(op) || replaced.contains(op)))
      op->erase();
  for (Request &request : requests)
    if (!request.isUsed)
      return emitError(main.getLoc()) << "shard: `" << request.text
                                      << "`: expected the name of a node, weight, input or output, none matches";
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
    if (failed(Partition(main, ranks, linkCost, parsed).run()))
      return signalPassFailure();
    getOperation()->setAttr(ranksAttr, Builder(&getContext()).getI64IntegerAttr(ranks));
  }
};
} // namespace

} // namespace weft::tg
