// Constant folding by the Reference, in program order, so that each step evaluates one op on constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Rules/ConstantValues.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "weft/Reference/Reference.h"

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_FOLDCONSTANTS
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

/// Whether `op` widens the scale of quantised numbers: each of its readers multiplies an integer of at most a byte by
/// it. That costs nothing where they are dequantised, and the narrow scale says that the product is exact.
bool widensScale(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  auto bitsOf = [](Value value) { return getElementBits(getElementTypeOrSelf(value)); };
  auto isInteger = [&](Value value) {
    while (isa_and_nonnull<SubOp, ReshapeOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    auto made = value.getDefiningOp<CastOp>();
    return made && isa<IntegerType>(getElementTypeOrSelf(made.getInput())) && bitsOf(made.getInput()) <= 8;
  };
  return cast && isa<FloatType>(getElementTypeOrSelf(cast.getInput())) && bitsOf(cast.getInput()) == 16 &&
         !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) {
           return isa<MulOp>(user) && (isInteger(user->getOperand(0)) || isInteger(user->getOperand(1)));
         });
}

struct FoldConstants : impl::FoldConstantsBase<FoldConstants> {
  using FoldConstantsBase::FoldConstantsBase;

  void runOnOperation() override {
    workLeft = int64_t(1) << 32;
    IRRewriter rewriter(&getContext());
    emptyTensorsAreConstants(rewriter);
    getOperation()->walk([&](Operation *op) {
      if (!isCandidate(op))
        return;
      rewriter.setInsertionPoint(op);
      for (Value result : op->getResults())
        if (!result.use_empty())
          fold(rewriter, result);
      // A constant operand that nothing else uses goes with the op, at the next canonicalisation.
      if (isOpTriviallyDead(op))
        rewriter.eraseOp(op);
    });
  }

private:
  int64_t workLeft = 0; ///< Scalar operations left to this run: a few seconds' worth in all.

  /// A static tensor without elements has known contents, whoever makes it: its uses read a constant, and what only
  /// reads such tensors (a sum over nothing) folds like any other op on constants.
  void emptyTensorsAreConstants(IRRewriter &rewriter) {
    SmallVector<Value> empty;
    auto collect = [&](Value value) {
      if (!value.use_empty() && !isConstantOrWeight(value) && getByteSize(value.getType()) == 0)
        empty.push_back(value);
    };
    getOperation()->walk([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (BlockArgument argument : region.empty() ? Region::BlockArgListType() : region.getArguments())
          if (isa<RankedTensorType>(argument.getType()))
            collect(argument);
      if (isa_and_nonnull<TileGraphDialect>(op->getDialect()) && isPure(op))
        for (Value result : op->getResults())
          collect(result);
    });
    for (Value value : empty) {
      rewriter.setInsertionPointAfterValue(value);
      auto type = cast<RankedTensorType>(value.getType());
      Value constant =
          ConstantOp::create(rewriter, value.getLoc(), DenseElementsAttr::get(type, ArrayRef<Attribute>()));
      rewriter.replaceAllUsesWith(value, constant);
    }
  }

  /// Whether the limits allow folding: all operands are constants and of allowed sizes.
  bool isCandidate(Operation *op) {
    if (!isa_and_nonnull<TileGraphDialect>(op->getDialect()) || op->getNumOperands() == 0 || !isPure(op) ||
        !llvm::all_of(op->getOperands(), isConstantOrWeight) || widensScale(op))
      return false;
    int64_t operandBytes = 0;
    for (Value operand : op->getOperands()) {
      std::optional<int64_t> bytes = getByteSize(operand.getType());
      if (!bytes || *bytes > maxOperandBytes)
        return false;
      operandBytes += *bytes;
    }
    return llvm::all_of(op->getResultTypes(), [&](Type type) {
      std::optional<int64_t> bytes = getByteSize(type);
      return bytes && *bytes <= maxResultBytes && *bytes - operandBytes <= maxGrowthBytes;
    });
  }

  void fold(IRRewriter &rewriter, Value result) {
    reference::Limits limits = reference::foldLimits();
    limits.maxWork = int64_t(1) << 28;
    limits.sharedWork = &workLeft;
    ElementsAttr elements = reference::foldToConstant(result, limits);
    auto dense = dyn_cast_or_null<DenseElementsAttr>(elements);
    if (!dense || dense.getType() != result.getType())
      return;
    rewriter.replaceAllUsesWith(result, buildConstant(rewriter, result.getLoc(), dense, maxConstantBytes));
    ++numFolded;
  }
};

} // namespace
} // namespace weft::tg
