// Bounds of a fold's steps that are data: where a mask compares positions of the stream with numbers in memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A condition p <= last[r floordiv G] (p the position of the stream, r a row of the tile, G the rows of a table's
// entry, see weft-bound-masks) holds for no row of the tile beyond the greatest entry that the tile's rows have. A tile
// of T rows has at most ceil((T - 1) / G) + 1 entries: those of its rows 0, G, 2 G, .., T - 1. They are read one by
// one, as numbers (tk.load_index), so that every warp knows them, whatever its role.
#include "Kernelizer.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "weft/Dialect/TileKernel/IR/ScalarOps.h"

using namespace mlir;

namespace weft::kernelize {

/// The most numbers that one bound is made of.
static constexpr int64_t mostNumbers = 8;
/// Numbers are any (2^63 - 1 for "no limit"), and tk.load_index gives at most 2^30. Positions of fewer than 2^28, with
/// what is added to them, are the same to all of those, and sums do not overflow 32 bits.
static constexpr int64_t mostOffset = int64_t(1) << 28;

/// The integers of an argument, and an index form more or less, that `value` is at coordinates `at`.
std::optional<Kernelizer::DataForm> Kernelizer::dataForm(Value value, ArrayRef<AffineExpr> at) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto type = cast<RankedTensorType>(value.getType());
    bool isNumber = type.getElementType().isSignlessInteger(32) || type.getElementType().isSignlessInteger(64);
    bool isStrided =
        llvm::any_of(type.getShape().drop_front(std::min<int64_t>(type.getRank(), 1)), ShapedType::isDynamic);
    if (!isNumber || isStrided || !arguments.count(argument))
      return std::nullopt;
    return DataForm{space.constant(0), argument, canonical(value, at), 1};
  }
  Operation *op = value.getDefiningOp();
  if (std::optional<Exprs> through = throughView(op, at))
    return dataForm(op->getOperand(0), canonical(op->getOperand(0), *through));
  if (!isa<tg::AddOp, tg::SubOp>(op))
    return std::nullopt;
  for (unsigned i : {0u, 1u}) {
    Exprs here = composed(tg::detail::broadcastMap(op, i), at),
          there = composed(tg::detail::broadcastMap(op, 1 - i), at);
    std::optional<AffineExpr> more = indexForm(op->getOperand(1 - i), there);
    std::optional<DataForm> data = more ? dataForm(op->getOperand(i), here) : std::nullopt;
    if (!data)
      continue;
    if (i == 1 && isa<tg::SubOp>(op)) { // What is taken away.
      data->rest = -data->rest;
      data->sign = -data->sign;
    }
    data->rest = space.simplify(i == 1 || isa<tg::AddOp>(op) ? data->rest + *more : data->rest - *more);
    return data;
  }
  return std::nullopt;
}

/// The value of an expression of scalars at this point; null if something in it is no scalar.
Value Kernelizer::numberOf(AffineExpr expr) {
  if (std::optional<int64_t> number = tg::getConstant(expr))
    return arith::ConstantIndexOp::create(builder, *number);
  if (isa<AffineSymbolExpr>(expr))
    return space.atom(expr).kind == Atom::Kind::Scalar ? space.atom(expr).value : Value();
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  Value lhs = binary ? numberOf(binary.getLHS()) : Value(), rhs = lhs ? numberOf(binary.getRHS()) : Value();
  if (!rhs)
    return {};
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(builder, lhs, rhs);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(builder, lhs, rhs);
  case AffineExprKind::FloorDiv: // Positions of tensors are not negative.
    return arith::DivUIOp::create(builder, lhs, rhs);
  case AffineExprKind::Mod:
    return arith::RemUIOp::create(builder, lhs, rhs);
  default:
    return {};
  }
}

namespace {
/// The axis of rows that the indices of a table depend on, and how many rows share an entry.
struct Rows {
  std::optional<unsigned> axis;
  int64_t divisor = 1;
};
} // namespace

/// The one axis among the atoms of `places`; none if there are several, or other tiles. It occurs as it is, or divided.
static std::optional<Rows> findRows(const Space &space, ArrayRef<AffineExpr> places) {
  Rows rows;
  for (AffineExpr place : places)
    for (unsigned atom : space.atomsOf(place)) {
      const Atom &known = space.atom(atom);
      if (known.kind == Atom::Kind::Scalar)
        continue;
      if (known.kind != Atom::Kind::Axis || rows.axis)
        return std::nullopt;
      rows.axis = atom;
      AffineExpr axis = getAffineSymbolExpr(atom, space.getContext());
      auto quotient = dyn_cast<AffineBinaryOpExpr>(place);
      bool isDivided = quotient && quotient.getKind() == AffineExprKind::FloorDiv && quotient.getLHS() == axis;
      if (isDivided)
        rows.divisor = tg::getConstant(quotient.getRHS()).value_or(1);
      else if (place != axis)
        return std::nullopt;
    }
  return rows;
}

std::optional<Kernelizer::StepBound> Kernelizer::boundOf(const DataForm &form, AffineExpr step, AffineExpr extent) {
  std::optional<int64_t> places = tg::getConstant(extent);
  if (places && *places >= mostOffset)
    return std::nullopt;
  std::optional<StepBound> bound = boundOf(form.rest, step);
  std::optional<Rows> rows = findRows(space, form.places);
  if (!bound || !rows || std::abs(bound->most) > mostOffset || std::abs(bound->factor) != 1)
    return std::nullopt;
  int64_t tile = rows->axis ? space.atom(*rows->axis).tile : 1;
  int64_t count = rows->axis ? llvm::divideCeil(tile - 1, rows->divisor) + 1 : 1;
  if (count > mostNumbers)
    return std::nullopt;
  tg::Dims extents = tg::getDims(form.data.getType());
  Value most;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> numbers;
    for (auto [place, extent] : llvm::zip_equal(form.places, extents)) {
      AffineExpr at = place;
      if (rows->axis) {
        AffineExpr axis = getAffineSymbolExpr(*rows->axis, builder.getContext());
        int64_t row = std::min(i * rows->divisor, tile - 1);
        at = space.simplify(place.replace(axis, space.atom(*rows->axis).base * tile + row));
      }
      Value number = numberOf(at);
      if (!number)
        return std::nullopt;
      if (at != place) // Rows past the end of a ragged tile.
        number = arith::MinSIOp::create(builder, number, index(space.simplify(extent - 1)));
      numbers.push_back(number);
    }
    Value loaded = tk::LoadIndexOp::create(builder, builder.getIndexType(), arguments.lookup(form.data), numbers);
    if (!most)
      most = loaded;
    else if (form.sign > 0)
      most = arith::MaxSIOp::create(builder, most, loaded);
    else
      most = arith::MinSIOp::create(builder, most, loaded);
  }
  bound->rest.push_back({most, form.sign});
  if (!places)
    bound->mostPlaces = mostOffset;
  return bound;
}

} // namespace weft::kernelize
