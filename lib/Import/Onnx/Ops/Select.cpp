// Choosing, comparing, logic, and conversions of element types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Common.h"

using namespace weft;
using namespace weft::onnx;
using mlir::failure;
using mlir::FailureOr;
using mlir::success;
using mlir::Value;

//===--- Comparison and logic ---===//

/// Records an error unless both operands have one element type.
static llvm::LogicalResult checkSameElement(NodeContext &ctx, Value x, Value y) {
  if (ctx.elementType(x) == ctx.elementType(y))
    return success();
  return ctx.error("expected operands of one element type");
}

template <tg::CmpPredicate predicate> static llvm::LogicalResult importCompare(NodeContext &ctx) {
  Value x = ctx.required(0), y = broadcastInput(ctx, 1);
  if (!x || !y || failed(checkSameElement(ctx, x, y)))
    return failure();
  ctx.output(0, ctx.make<tg::CmpOp>(predicate, x, y));
  return success();
}

template <typename OpTy> static llvm::LogicalResult importLogic(NodeContext &ctx) {
  Value x = ctx.required(0), y = broadcastInput(ctx, 1);
  if (!x || !y)
    return failure();
  if (!ctx.elementType(x).isInteger(1) || !ctx.elementType(y).isInteger(1))
    return ctx.error("expected boolean operands");
  ctx.output(0, ctx.make<OpTy>(x, y));
  return success();
}

static llvm::LogicalResult importNot(NodeContext &ctx) {
  Value x = ctx.required(0);
  if (!x)
    return failure();
  if (!ctx.elementType(x).isInteger(1))
    return ctx.error("expected a boolean operand");
  ctx.output(0, ctx.make<tg::NotOp>(x));
  return success();
}

static llvm::LogicalResult importWhere(NodeContext &ctx) {
  Value condition = ctx.required(0), x = ctx.required(1), y = ctx.required(2);
  if (!condition || !x || !y || failed(checkSameElement(ctx, x, y)))
    return failure();
  if (!ctx.elementType(condition).isInteger(1))
    return ctx.error("expected a boolean condition");
  ctx.output(0, ctx.make<tg::SelectOp>(condition, x, y));
  return success();
}

//===--- Conversions ---===//

static bool isStorageOnlyFloat(mlir::Type type) {
  return llvm::isa<mlir::FloatType>(type) && type.getIntOrFloatBitWidth() <= 8;
}

/// Attributes `saturate` (opset 19) and `round_mode` (opset 24) matter for narrow floats only.
static llvm::LogicalResult convert(NodeContext &ctx, Value x, mlir::Type element) {
  FailureOr<bool> saturate = ctx.boolAttr("saturate", true);
  FailureOr<unsigned> round = ctx.choiceAttr("round_mode", {"up", "down", "nearest"}, "up");
  if (failed(saturate) || failed(round))
    return failure();
  // What does not fit 4 or 2 bits wraps, where wider integers saturate.
  if (auto integer = llvm::dyn_cast<mlir::IntegerType>(element);
      integer && integer.getWidth() > 1 && integer.getWidth() < 8 && llvm::isa<mlir::FloatType>(ctx.elementType(x)))
    x = ctx.cast(x, ctx.b.getI32Type());
  if (!x)
    return failure();
  bool toScale = llvm::isa<mlir::Float8E8M0FNUType>(element);
  if (toScale && *round == 1)
    return ctx.unsupported("round_mode `down` is not supported");
  if (!isStorageOnlyFloat(element)) {
    ctx.output(0, ctx.cast(x, element));
    return success();
  }
  if (ctx.elementType(x) == element)
    return ctx.output(0, x), success();
  ctx.output(0, ctx.make<tg::CastOp>(tg::withElement(x.getType(), element), x, *saturate, toScale && *round == 0));
  return success();
}

/// The required attribute `to`.
static FailureOr<mlir::Type> targetType(NodeContext &ctx) {
  if (!ctx.hasAttr("to"))
    return ctx.error("attribute `to` is missing");
  return ctx.typeAttr("to");
}

static llvm::LogicalResult importCast(NodeContext &ctx) {
  Value x = ctx.required(0);
  FailureOr<mlir::Type> element = targetType(ctx);
  if (!x || failed(element))
    return failure();
  return convert(ctx, x, *element);
}

static llvm::LogicalResult importCastLike(NodeContext &ctx) {
  Value x = ctx.required(0), like = ctx.required(1);
  if (!x || !like)
    return failure();
  return convert(ctx, x, ctx.elementType(like));
}

static llvm::LogicalResult importBitCast(NodeContext &ctx) {
  Value x = ctx.required(0);
  FailureOr<mlir::Type> element = targetType(ctx);
  if (!x || failed(element))
    return failure();
  if (tg::getElementBits(*element) != tg::getElementBits(ctx.elementType(x)))
    return ctx.error("expected a type of " + llvm::Twine(tg::getElementBits(ctx.elementType(x))) + " bits, got " +
                     llvm::Twine(tg::getElementBits(*element)));
  if (ctx.elementType(x) == *element)
    return ctx.output(0, x), success();
  ctx.output(0, ctx.make<tg::BitcastOp>(tg::withElement(x.getType(), *element), x));
  return success();
}

namespace weft::onnx {

llvm::ArrayRef<OpEntry> getSelectOps() {
  using tg::CmpPredicate;
  static const OpEntry ops[] = {
      {"", "And", 1, newestOpset, importLogic<tg::AndOp>, ""},
      {"", "BitCast", 26, newestOpset, importBitCast, ""},
      {"", "Cast", 6, newestOpset, importCast, "no strings"},
      {"", "CastLike", 15, newestOpset, importCastLike, "no strings"},
      {"", "Equal", 1, newestOpset, importCompare<CmpPredicate::Eq>, "no strings"},
      {"", "Greater", 1, newestOpset, importCompare<CmpPredicate::Gt>, ""},
      {"", "GreaterOrEqual", 12, newestOpset, importCompare<CmpPredicate::Ge>, ""},
      {"", "Less", 1, newestOpset, importCompare<CmpPredicate::Lt>, ""},
      {"", "LessOrEqual", 12, newestOpset, importCompare<CmpPredicate::Le>, ""},
      {"", "Not", 1, newestOpset, importNot, ""},
      {"", "Or", 1, newestOpset, importLogic<tg::OrOp>, ""},
      {"", "Where", 9, newestOpset, importWhere, ""},
      {"", "Xor", 1, newestOpset, importLogic<tg::XorOp>, ""},
  };
  return ops;
}

} // namespace weft::onnx
