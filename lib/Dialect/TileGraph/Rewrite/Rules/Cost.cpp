// Counting work and pricing it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cost.h"
#include "weft/Dialect/TileGraph/Analysis/Classify.h"
#include "weft/Reference/Reference.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace weft::tg {

static constexpr int64_t symbolEstimate = 256;

static double estimate(AffineExpr expr) {
  unsigned symbols = 0;
  expr.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  SmallVector<int64_t> values(symbols, symbolEstimate);
  return double(reference::evaluateExpr(expr, {}, values).value_or(0));
}

static double getBytes(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? estimate(getNumElements(tensor)) * double(getElementBits(tensor.getElementType())) / 8 : 0;
}

/// Products that one scalar function takes, roughly: a division or root is an estimate and two Newton steps, the others
/// are polynomials with a range reduction.
static double getScalarWeight(llvm::StringRef name) {
  return llvm::StringSwitch<double>(name)
      .Cases({"tg.div", "tg.reciprocal", "tg.sqrt", "tg.rsqrt"}, 4)
      .Cases({"tg.exp", "tg.expm1", "tg.sigmoid"}, 10)
      .Cases({"tg.log", "tg.log1p", "tg.tanh", "tg.mod", "tg.fmod"}, 12)
      .Cases({"tg.erf", "tg.sin", "tg.cos", "tg.tan", "tg.atan", "tg.asin", "tg.acos"}, 16)
      .Cases({"tg.sinh", "tg.cosh", "tg.asinh", "tg.acosh", "tg.atanh"}, 20)
      .Case("tg.pow", 24)
      .Default(1);
}

/// Renames dense memory, or is a constant: no work and no traffic of its own.
static bool isFree(Operation *op) { return isa<ReshapeOp, BitcastOp, ConstantOp, WeightOp>(op); }

static void addOp(Operation *op, Work &work) {
  auto tile = dyn_cast<TileOpInterface>(op);
  if (!tile || isFree(op))
    return;
  double points = 1;
  for (AffineExpr extent : tile.getDomainExtents())
    points *= estimate(extent);
  double flops = points * double(tile.getFlopsPerPoint());
  work.flops += flops;
  if (isa<ContractOp>(op))
    work.products += flops;
  else
    work.scalars += isa<CastOp>(op) ? points : flops * getScalarWeight(op->getName().getStringRef());
  work.unfusedBytes += estimate(tile.getBytes());
}

/// What the table says of the edge, where a producer that broadcasts one operand beside a whole one counts as
/// One-to-One: a bias or a scalar factor makes no tensor larger.
static Verdict getVerdict(OpOperand &operand) {
  std::optional<Combination> combination = combine(operand);
  if (!combination || combination->verdict == Verdict::Fuse)
    return combination ? Verdict::Fuse : Verdict::Refuse;
  auto producer = dyn_cast<TileOpInterface>(operand.get().getDefiningOp());
  auto user = dyn_cast<TileOpInterface>(operand.getOwner());
  if (!producer || !user || getMappingType(producer) != MappingType::OneToMany)
    return combination->verdict;
  for (unsigned i = 0, end = producer->getNumOperands(); i < end; ++i)
    if (producer.getMappingType(i) == MappingType::OneToOne)
      return combine(MappingType::OneToOne, user.getMappingType(operand.getOperandNumber())).verdict;
  return combination->verdict;
}

Work countWork(const OpSet &ops, const OpSet &free) {
  Work work;
  llvm::SmallDenseSet<Value> read, written;
  for (Operation *op : ops) {
    if (free.contains(op))
      continue;
    addOp(op, work);
    for (OpOperand &operand : op->getOpOperands()) {
      Value value = operand.get();
      Operation *producer = value.getDefiningOp();
      bool isInside = producer && ops.contains(producer) && !free.contains(producer);
      // A producer that stays is as good as one of the set: what the table fuses needs no memory in between.
      if ((isInside && isFree(producer)) || (!free.contains(producer) && getVerdict(operand) == Verdict::Fuse))
        continue;
      if (isInside && written.insert(value).second)
        work.fusedBytes += getBytes(value.getType());
      if (read.insert(value).second)
        work.fusedBytes += getBytes(value.getType());
    }
  }
  return work;
}

// A core with 256-bit vectors and its share of DRAM; an H100. Of DNNFusion's, FLOPs decide and bytes break ties.
static constexpr Prices prices[] = {
    {"cpu", 1 / 20e9, 1 / 60e9, 1 / 10e9, true},
    {"gpu", 1 / 20e12, 1 / 500e12, 1 / 3e12, true},
    {"dnnfusion", 1, 1, 1e-6, false},
};

const Prices *findPrices(llvm::StringRef name) {
  const auto *found = llvm::find_if(prices, [&](const Prices &row) { return row.name == name; });
  return found == std::end(prices) ? nullptr : found;
}

double getSeconds(const Work &work, const Prices &prices) {
  if (!prices.fused)
    return work.flops * prices.scalar + work.unfusedBytes * prices.byte;
  return work.scalars * prices.scalar + work.products * prices.product + work.fusedBytes * prices.byte;
}

} // namespace weft::tg
