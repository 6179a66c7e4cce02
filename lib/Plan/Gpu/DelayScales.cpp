// weft-delay-scales: a norm's row scale behind the GEMMs that read the norm.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// contract(x g s, w) = contract(x g, w) s where s does not vary along what is summed up. The scale of a norm needs the
// whole row, so in front of a GEMM all of it waits: for the sum of squares, or for a kernel of the norm. Behind it
// the sum of squares is a second sum of the GEMM's loop, over the same x. Each CTA of the GEMM then reads g and
// adds squares: little where x has one row (decoding) and the matrix streams through. It is `pays` below.
//
// Of several rows the sums come from the GEMM in front of the norm (CarrySums.h), or the norm keeps its kernel. So do
// those of one row that GEMMs take in 16 bits, for which they unpack their matrix in registers: a sum in their loop
// would have the row in f32 beside it.
//
// Rounding of one row: x g is made in f32 and rounded no more (of 16-bit floats it was rounded once or twice, and x g
// without s might not fit f16); the sum stays in f32 until it is scaled.
#include "../Models/Unpacked.h"
#include "CarrySums.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/Rewrite/Scales.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/LevelPasses.h"
#include "weft/Target/ContextDevices.h"
#include "weft/Target/Device.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace weft::plan {
#define GEN_PASS_DEF_DELAYSCALES
#include "weft/Plan/LevelPasses.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

namespace {

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// `value` without casts from float to float.
Value skipFloatCasts(Value value) {
  while (auto cast = value.getDefiningOp<tg::CastOp>()) {
    if (!isa<FloatType>(elementOf(cast.getInput())) || !isa<FloatType>(elementOf(value)))
      break;
    value = cast.getInput();
  }
  return value;
}

/// A product of floats: factors that vary along the sum, and scales that do not, by which it is multiplied or divided.
struct Factors {
  llvm::SetVector<Value> kept;
  SmallVector<std::pair<Value, bool>> scales; ///< And whether it divides.
};

/// A contraction's operand with what would be moved.
class Delay {
public:
  Delay(Value operand, const Device &device) : operand(operand), device(device) {}

  /// Moves the scales. Why not, or an empty string; nothing if the operand is no product with a reduction's scale.
  /// `text` has the numbers that decided.
  std::optional<std::string> run(std::string &text);

private:
  bool collect(Value value);
  bool isUniform(Value value) const;
  void collectReaders();
  std::string checkReaders() const;
  bool hasRows() const;
  size_t countKernels() const;
  std::string collectScaling();
  bool pays(std::string &text) const;
  Value cloneOf(Value value, IRMapping &clones, OpBuilder &builder) const;
  Value buildKept(OpBuilder &builder, Location loc) const;
  Attribute shareOf(tg::ContractOp contract) const;
  void build(CarriedSums *sums);

  Value operand;
  const Device &device;
  SmallVector<std::pair<tg::ContractOp, unsigned>> readers; ///< And which operand they read it as.
  Factors factors;
  llvm::SetVector<Operation *> scaling; ///< All ops that the scales need, down to what the GEMM reads anyway.
};

/// Whether `value`, which broadcasts to the operand, is the same for all terms of each sum.
bool Delay::isUniform(Value value) const {
  auto [contract, i] = readers.front();
  return tg::moveScale(value, contract.getMap(i), contract.getMap(2)).has_value();
}

/// Takes `value` apart. False if it is no product of floats with a scale in it.
bool Delay::collect(Value value) {
  constexpr size_t mostFactors = 8; // Each product has one more, so this bounds the recursion, too.
  value = skipFloatCasts(value);
  if (!isa<FloatType>(elementOf(value)) || factors.scales.size() + factors.kept.size() > mostFactors)
    return false;
  if (isUniform(value)) {
    factors.scales.push_back({value, false});
    return true;
  }
  if (auto mul = value.getDefiningOp<tg::MulOp>())
    return collect(mul->getOperand(0)) && collect(mul->getOperand(1));
  if (auto div = value.getDefiningOp<tg::DivOp>(); div && isUniform(div->getOperand(1))) {
    factors.scales.push_back({div->getOperand(1), true});
    return collect(div->getOperand(0));
  }
  return factors.kept.insert(value); // Not a square.
}

void Delay::collectReaders() {
  for (OpOperand &use : operand.getUses())
    if (auto contract = dyn_cast<tg::ContractOp>(use.getOwner()); contract && !contract->getParentOfType<tg::FoldOp>())
      readers.push_back({contract, use.getOperandNumber()});
}

/// All who read the operand must be GEMMs: else the norm is computed in any case.
std::string Delay::checkReaders() const {
  if (llvm::range_size(operand.getUses()) != readers.size())
    return "ops other than GEMMs read it";
  for (auto [contract, i] : readers) {
    if (contract.getLhs() == contract.getRhs() || !isa<FloatType>(elementOf(contract.getResult())))
      return "a product of it with itself, or of integers";
    if (auto numerics = contract->getAttrOfType<StringAttr>("tg.numerics"); numerics && numerics.getValue() == "exact")
      return "a GEMM's licence is exact";
  }
  return "";
}

/// Whether the operand has more rows than one, or a number that is not known.
bool Delay::hasRows() const {
  return llvm::any_of(readers, [](auto reader) {
    auto [contract, i] = reader;
    AffineMap map = contract.getMap(i), result = contract.getMap(2);
    for (auto [d, extent] : llvm::enumerate(contract.getDomainExtents()))
      if (map.isFunctionOfDim(d) &&
          (result.isFunctionOfDim(d) ? tg::getConstant(extent) != 1 : !tg::getConstant(extent)))
        return true;
    return false;
  });
}

/// What makes the scales: elementwise ops on at least one reduction of what the GEMM keeps. Why that cannot be; where
/// there is no such reduction, `scaling` is left empty.
std::string Delay::collectScaling() {
  SmallVector<Value> work;
  for (auto [scale, divides] : factors.scales)
    work.push_back(scale);
  bool reduces = false, readsRow = false;
  std::string reason;
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    readsRow |= factors.kept.contains(value);
    if (factors.kept.contains(value) || !op || isa<tg::ConstantOp, tg::WeightOp>(op) || !scaling.insert(op))
      continue;
    auto reduce = dyn_cast<tg::ReduceOp>(op);
    reduces |= bool(reduce);
    if (reduce ? estimateElements(reduce.getInput()) != estimateElements(operand)
               : !isa<tg::PointwiseOpInterface, tg::ReshapeOp>(op))
      reason = "its scale needs " +
               (reduce ? "a reduction of other extents" : "'" + op->getName().stripDialect().str() + "'");
    else
      llvm::append_range(work, op->getOperands());
  }
  constexpr size_t mostOps = 24;
  if (!reduces || !readsRow)
    scaling.clear();
  return reason.empty() && scaling.size() > mostOps ? "its scale takes more than 24 ops" : reason;
}

/// Whether the matrix is contiguous along the sum, or a weight, which --weft-plan-layouts will store so.
static bool isAlongSum(tg::ContractOp contract, unsigned operand) {
  AffineMap map = contract.getMap(operand);
  auto last = dyn_cast<AffineDimExpr>(map.getResult(map.getNumResults() - 1));
  if (last && !contract.getMap(2).isFunctionOfDim(last.getPosition()))
    return true;
  Value stored = skipFloatCasts(contract->getOperand(operand));
  while (auto transpose = stored.getDefiningOp<tg::TransposeOp>())
    stored = skipFloatCasts(transpose.getInput());
  return bool(stored.getDefiningOp<tg::WeightOp>());
}

/// Seconds: reading g and squaring beside the matrix slows its stream down; against a kernel. Measured on an H100
/// (bf16, a Llama layer's row, both norms behind their five GEMMs, of 285 MB): where rows of the matrices run along
/// the sum, 168.5 us with two kernels for the norms and 165.5 without: each CTA reads g from the L2, which beside a
/// stream from DRAM costs little. Where columns do, 202.3 and 212.2: a part of the stream's own time.
bool Delay::pays(std::string &text) const {
  constexpr double ofL2 = 0.059, ofMemory = 0.19;
  double lost = 0;
  for (auto [contract, i] : readers) {
    double bytes = estimateBytes(skipFloatCasts(contract->getOperand(1 - i)));
    lost += isAlongSum(contract, 1 - i) ? ofL2 * bytes / device.l2BytesPerSecond()
                                        : ofMemory * bytes / device.memoryBandwidth;
  }
  double saved = device.kernelSeconds();
  text = llvm::formatv(
      "scale of a row of {0} behind {1} GEMMs: {2:f1} us in their kernels, {3:f1} us for one fewer kernel",
      int64_t(estimateElements(operand)), readers.size(), lost * 1e6, saved * 1e6);
  return lost < saved;
}

/// `value` in terms of clones of what makes the scales.
Value Delay::cloneOf(Value value, IRMapping &clones, OpBuilder &builder) const {
  Operation *op = value.getDefiningOp();
  if (clones.contains(value) || !op || !scaling.contains(op))
    return clones.lookupOrDefault(value);
  for (Value each : op->getOperands())
    cloneOf(each, clones, builder);
  return builder.clone(*op, clones)->getResult(0);
}

/// The product of what is kept: as it is where it is one factor, else in f32.
Value Delay::buildKept(OpBuilder &builder, Location loc) const {
  Value product;
  for (Value factor : factors.kept) {
    if (factors.kept.size() > 1 && elementOf(factor) != builder.getF32Type())
      factor = tg::CastOp::create(builder, loc, factor, builder.getF32Type());
    product = product ? tg::MulOp::create(builder, loc, product, factor).getResult() : factor;
  }
  return product;
}

/// What readers have in common that share what is kept and the scales: GEMMs over equal extents, so that they can
/// share a kernel. Others do not, so that nothing has to be stored.
Attribute Delay::shareOf(tg::ContractOp contract) const {
  return Builder(contract.getContext()).getArrayAttr({TypeAttr::get(contract.getType()), contract.getMaps()});
}

size_t Delay::countKernels() const {
  llvm::SmallSetVector<Attribute, 4> found;
  for (auto [contract, i] : readers)
    found.insert(shareOf(contract));
  return found.size();
}

void Delay::build(CarriedSums *sums) {
  struct Shared {
    Value kept;
    SmallVector<Value> scales;
  };
  llvm::MapVector<std::pair<Attribute, unsigned>, Shared> shared;
  OpBuilder behind(operand.getContext());
  behind.setInsertionPointAfterValue(operand);
  Value row = sums ? sums->build(behind) : Value(); // Stored once, for all.
  for (auto [contract, i] : readers) {
    OpBuilder builder(contract);
    Location loc = contract.getLoc();
    Shared &made = shared[{shareOf(contract), i}];
    if (!made.kept) {
      if (row)
        builder.restoreInsertionPoint(behind.saveInsertionPoint());
      else
        builder.setInsertionPointAfterValue(operand);
      made.kept = row ? row : buildKept(builder, loc);
      IRMapping clones;
      if (sums)
        sums->addUp(builder, clones);
      for (auto [scale, divides] : factors.scales)
        made.scales.push_back(cloneOf(scale, clones, builder));
      builder.setInsertionPoint(contract);
    }
    SmallVector<Value, 2> operands(contract->getOperands());
    operands[i] = made.kept;
    if (elementOf(operands[1 - i]) != elementOf(made.kept))
      operands[1 - i] = tg::CastOp::create(builder, loc, operands[1 - i], elementOf(made.kept));
    tg::Dims dims = tg::getDims(contract.getType());
    Type sum = tg::getTensorType(dims, tg::getComputeType(elementOf(contract.getResult())));
    Value value = tg::ContractOp::create(builder, loc, sum, operands[0], operands[1], contract.getMaps());
    for (auto [common, from] : llvm::zip(made.scales, factors.scales)) {
      Value scale = common; // As the GEMM's result needs it; another reader may stand in front of this one.
      tg::Dims places = *tg::moveScale(scale, contract.getMap(i), contract.getMap(2));
      if (Type there = tg::getTensorType(places, elementOf(scale)); scale.getType() != there)
        scale = tg::ReshapeOp::create(builder, loc, there, scale);
      if (elementOf(scale) != elementOf(value))
        scale = tg::CastOp::create(builder, loc, scale, elementOf(value));
      value = from.second ? tg::DivOp::create(builder, loc, value, scale).getResult()
                          : tg::MulOp::create(builder, loc, value, scale).getResult();
    }
    if (sums && sums->getFactor() != 1) {
      auto scalar = RankedTensorType::get({}, elementOf(value));
      auto factor = FloatAttr::get(elementOf(value), sums->getFactor());
      value = tg::MulOp::create(builder, loc, value,
                                tg::ConstantOp::create(builder, loc, DenseElementsAttr::get(scalar, factor)));
    }
    if (value.getType() != contract.getType())
      value = tg::CastOp::create(builder, loc, value, elementOf(contract.getResult()));
    contract.getResult().replaceAllUsesWith(value);
  }
  for (auto [contract, i] : readers)
    contract->erase();
}

std::optional<std::string> Delay::run(std::string &text) {
  collectReaders();
  if (readers.empty() || !collect(operand) || factors.kept.empty() || factors.scales.empty())
    return std::nullopt;
  std::string reason = collectScaling();
  if (scaling.empty())
    return std::nullopt;
  if (reason.empty())
    reason = checkReaders();
  if (!reason.empty())
    return reason;
  bool unpacks = llvm::any_of(readers, [](auto reader) {
    auto [contract, i] = reader;
    return bool(findPacked(contract->getOperand(1 - i)));
  });
  if (hasRows() || unpacks) {
    CarriedSums sums(operand, factors.kept.getArrayRef(), scaling, countKernels(), device);
    reason = sums.check(text);
    if (reason.empty())
      build(&sums);
    return reason;
  }
  if (!pays(text))
    return text;
  build(nullptr);
  return "";
}

struct DelayScalesPass : weft::plan::impl::DelayScalesBase<DelayScalesPass> {
  using Base::Base;

  void runOnOperation() override {
    tg::LikelyExtents likely(getOperation());
    const Device *device = findDeviceOrError(getOperation(), target);
    if (!device)
      return signalPassFailure();
    llvm::SetVector<Value> operands;
    getOperation()->walk([&](tg::ContractOp contract) {
      for (Value operand : contract->getOperands())
        if (Operation *op = operand.getDefiningOp(); op && isa<tg::MulOp, tg::DivOp, tg::CastOp>(op))
          operands.insert(operand);
    });
    for (Value operand : operands)
      consider(operand, *device);
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
  }

  void consider(Value operand, const Device &device) {
    Location loc = operand.getLoc();
    std::string text;
    std::optional<std::string> reason = Delay(operand, device).run(text);
    if (!reason)
      return;
    if (reason->empty()) {
      ++numScales;
      remark::passed(loc, remark::RemarkOpts::name("delayed-scale").category("plan")) << remark::add("{0}", text);
    } else {
      remark::missed(loc, remark::RemarkOpts::name("no-delayed-scale").category("plan")) << remark::add("{0}", *reason);
    }
  }
};

} // namespace
