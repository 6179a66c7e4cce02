// Lines of a result, pass by pass: a warp writes them to its scratch, as far behind a multiple of 16 bytes as they
// begin in memory (`shift`), so that the pieces of 16 bytes that memory wants are pieces of the scratch. What a piece
// has of two lines, the end of one and the head of the other, leaves in units: element j of a piece is of the head if
// it lies behind the shift, else of the end. Warps do not wait for each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StoreLines.h"
#include "Memory.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weft/Schedule/Access.h"
#include "weft/Schedule/StoreLines.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;
using arith::CmpIPredicate;
using schedule::LineHolders;

namespace {

/// Elements that certain threads hold: where they are in the tensor and in the scratch, and how many of the line's
/// elements from there on lie inside the guard.
class Holders {
public:
  Holders(OpBuilder &builder, tk::StoreOp op, const KernelInfo &info, const schedule::StoreLines &lines,
          const LineHolders &holders, ValueRange symbols, ArrayRef<Value> kernelSymbols)
      : op(op), lines(lines), tile(builder, op.getLoc(), holders.tile, info.getRole(op), symbols, info.getSymbols(op)),
        scratch(builder, op.getLoc(), holders.place, info.getRole(op)),
        offsets(tile, op.getTarget().getType().getTensor(), op.getMap(), kernelSymbols),
        falls(schedule::getGuardFalls(schedule::getAccess(op), lines.dim, lines.elements)) {}

  /// Elements from the tensor's first.
  Value getOffset(unsigned reg) { return tile.arithmetic().materialize(offsets.get(reg)); }
  /// In the line, and the bytes of the line's start in the scratch.
  LinearForm getPlace(unsigned reg) { return scratch.getDims(reg)[1]; }
  LinearForm getLineBytes(unsigned reg) {
    return scratch.arithmetic().scale(scratch.getDims(reg)[0], lines.pitchBytes());
  }
  IndexArithmetic &scratchForms() { return scratch.arithmetic(); }
  const Thread &getThread() const { return tile.getThread(); }

  struct Inside {
    Predicate line; ///< Whether any of the line can be.
    Value left;     ///< Elements from here on that are; null: the next `most` are.
  };
  Inside getInside(OpBuilder &builder, unsigned reg, int64_t most) {
    Inside inside;
    if (!op.getGuardAttr())
      return inside;
    IntegerSet guard = *op.getGuard();
    IndexArithmetic &forms = tile.arithmetic();
    for (auto [i, constraint] : llvm::enumerate(guard.getConstraints())) {
      LinearForm form = tile.evaluate(constraint, reg);
      if (falls[i] == 0) {
        inside.line = forms.both(inside.line, forms.compare(form, guard.isEq(i)));
      } else if (forms.getBounds(form).min < most - 1) {
        form.constant += 1;
        Value left = forms.materialize(form);
        inside.left = inside.left ? Value(arith::MinSIOp::create(builder, op.getLoc(), inside.left, left)) : left;
      }
    }
    return inside;
  }

private:
  tk::StoreOp op;
  const schedule::StoreLines &lines;
  TileIndices tile, scratch;
  TensorOffsets offsets;
  SmallVector<int64_t> falls;
};

class LineStore {
public:
  LineStore(OpBuilder &builder, tk::StoreOp op, const KernelInfo &info, const schedule::StoreLines &lines,
            ValueRange values, Value target, ValueRange symbols, ArrayRef<Value> kernelSymbols)
      : builder(builder), loc(op.getLoc()), lines(lines), values(values), target(target),
        scratch(getSharedPointer(builder, loc, info, info.getScratch(op))), role(info.getRole(op)),
        written(builder, op, info, lines, lines.written, symbols, kernelSymbols),
        pieces(builder, op, info, lines, lines.pieces, symbols, kernelSymbols),
        ends(builder, op, info, lines, lines.ends, symbols, kernelSymbols),
        isFirst(isFirstHolder(builder, loc, written.getThread(),
                              getReplicatedBits(op.getValue().getType().getLayout().getValue(), role.warps))) {}

  void run() {
    emitBarrier(builder, loc, role); // What others have in the scratch.
    for (unsigned pass = 0; pass < 1u << lines.left.size(); ++pass) {
      if (pass)
        emitWarpSync();
      write(pass);
      emitWarpSync();
      unsigned rest = lines.pieces.tile.inBits("register") - lines.left.size();
      for (unsigned reg = pass << rest; reg < (pass + 1) << rest; reg += lines.piece)
        storePiece(reg);
      rest = lines.ends.tile.inBits("register") - lines.left.size();
      for (unsigned reg = pass << rest; isShifted() && reg < (pass + 1) << rest; ++reg)
        storeEnd(reg);
    }
  }

private:
  bool isShifted() const { return lines.unit < lines.piece; }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value compare(CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value both(Value a, Value b) { return !a ? b : !b ? a : Value(arith::AndIOp::create(builder, loc, a, b)); }
  Value both(Value a, const Predicate &b) { return b.isTrue() ? a : both(a, toValue(b)); }
  Value toValue(const Predicate &predicate) {
    return predicate.isKnown ? Value(arith::ConstantIntOp::create(builder, loc, predicate.known, 1)) : predicate.value;
  }
  static Predicate toPredicate(Value value) { return value ? Predicate{value, false, false} : Predicate(); }
  void emitWarpSync() {
    Value all = LLVM::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1));
    NVVM::SyncWarpOp::create(builder, loc, all);
  }
  Value atShared(Value bytes) {
    Value offset = arith::IndexCastOp::create(builder, loc, builder.getI32Type(), bytes);
    return LLVM::GEPOp::create(builder, loc, scratch.getType(), builder.getI8Type(), scratch, ValueRange(offset));
  }
  /// How far behind a multiple of a piece a line begins, if `offset` is of its start or whole pieces further on.
  Value getShift(Value offset) { return arith::AndIOp::create(builder, loc, offset, index(lines.piece - 1)); }

  void write(unsigned pass);
  void storePiece(unsigned reg);
  void storeEnd(unsigned reg);

  OpBuilder &builder;
  Location loc;
  const schedule::StoreLines &lines;
  ValueRange values;
  Value target;
  Value scratch;
  Role role;
  Holders written, pieces, ends;
  Predicate isFirst; ///< Of the warps that hold the same elements.
};

/// The number with these bits from `bits`.
unsigned spread(unsigned number, ArrayRef<unsigned> bits) {
  unsigned result = 0;
  for (auto [i, bit] : llvm::enumerate(bits))
    result |= (number >> i & 1) << bit;
  return result;
}

} // namespace

/// The registers of a pass in vectors that stay aligned wherever a line begins: of each line the first element that the
/// thread holds has an address, the others are at constant distances.
void LineStore::write(unsigned pass) {
  std::map<int64_t, std::map<int64_t, unsigned>> registers; // By line, then by position: constants of their forms.
  for (unsigned number = 0; number < 1u << lines.held.size(); ++number) {
    unsigned reg = spread(number, lines.held) | spread(pass, lines.left);
    registers[written.getLineBytes(reg).constant][written.getPlace(reg).constant] = reg;
  }
  for (auto &[line, places] : registers) {
    unsigned first = places.begin()->second;
    IndexArithmetic &forms = written.scratchForms();
    LinearForm place = written.getPlace(first);
    Value bytes = forms.materialize(forms.add(written.getLineBytes(first), forms.scale(place, lines.elementBytes)));
    if (isShifted()) {
      Value start = arith::SubIOp::create(builder, loc, written.getOffset(first), forms.materialize(place));
      Value shift = arith::MulIOp::create(builder, loc, getShift(start), index(lines.elementBytes));
      bytes = add(bytes, shift);
    }
    Value pointer = atShared(bytes);
    for (auto it = places.begin(); it != places.end();) {
      SmallVector<Value> vector{values[it->second]};
      int64_t from = it->first;
      auto next = std::next(it);
      for (; next != places.end() && next->first == from + int64_t(vector.size()); ++next)
        vector.push_back(values[next->second]);
      int64_t count = llvm::bit_floor(uint64_t(std::min<int64_t>(lines.unit, vector.size())));
      vector.resize(count);
      emitSharedStore(builder, loc, pointer, (from - place.constant) * lines.elementBytes, vector);
      std::advance(it, count);
    }
  }
}

/// One piece of 16 bytes of memory, if it lies inside its line; and one that the guard cuts, in units.
void LineStore::storePiece(unsigned reg) {
  Value offset = pieces.getOffset(reg), begin = offset, shift, isOwn;
  IndexArithmetic &forms = pieces.scratchForms();
  LinearForm place = pieces.getPlace(reg);
  Value bytes = forms.materialize(forms.add(pieces.getLineBytes(reg), forms.scale(place, lines.elementBytes)));
  Holders::Inside inside = pieces.getInside(builder, reg, lines.piece);
  if (isShifted()) { // The first piece of a line is its own if the line begins with it.
    shift = getShift(offset);
    begin = arith::SubIOp::create(builder, loc, offset, shift);
    if (forms.getBounds(place).min == 0) {
      isOwn = compare(CmpIPredicate::sle, shift, forms.materialize(place));
      // Else nobody wrote all of it; what is read in its place is not stored.
      Value next = add(bytes, index(lines.piece * lines.elementBytes));
      bytes = arith::SelectOp::create(builder, loc, isOwn, bytes, next);
    }
  }
  isOwn = both(both(isOwn, inside.line), isFirst);
  Value shared = atShared(bytes), pointer = offsetPointer(builder, loc, target, begin, lines.elementBytes), end, isFull;
  if (inside.left) {
    end = shift ? add(inside.left, shift) : inside.left; // From the piece's start.
    isFull = compare(CmpIPredicate::sge, end, index(lines.piece));
  }
  SmallVector<Value> words = emitSharedLoad(builder, loc, shared, 0, builder.getI32Type(), 4);
  emitGlobalStore(builder, loc, pointer, 0, words, toPredicate(both(isOwn, isFull)));
  if (!inside.left || !isShifted())
    return;
  Value isCut = both(
      isOwn, both(compare(CmpIPredicate::slt, end, index(lines.piece)), compare(CmpIPredicate::sgt, end, index(0))));
  auto branch = scf::IfOp::create(builder, loc, isCut, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(branch.thenYield());
  Type element = values[0].getType();
  for (int64_t at = 0; at < lines.piece; at += lines.unit) {
    SmallVector<Value> unit = emitSharedLoad(builder, loc, shared, at * lines.elementBytes, element, lines.unit);
    emitGlobalStore(builder, loc, pointer, at * lines.elementBytes, unit,
                    toPredicate(compare(CmpIPredicate::sgt, end, index(at))));
  }
}

/// One unit of the piece that a line's head and end make up: its position in the piece is the lane's number.
void LineStore::storeEnd(unsigned reg) {
  int64_t units = lines.piece / lines.unit;
  Value offset = ends.getOffset(reg), shift = getShift(offset);
  Value place = arith::AndIOp::create(builder, loc, ends.getThread().lane, index(units - 1));
  place = arith::MulIOp::create(builder, loc, place, index(lines.unit));
  Value isEnd = compare(CmpIPredicate::slt, place, shift);
  place = arith::SelectOp::create(builder, loc, isEnd, add(place, index(lines.elements)), place);
  Value fromStart = arith::SubIOp::create(builder, loc, place, shift);
  Value condition = compare(CmpIPredicate::ne, shift, index(0));
  Holders::Inside inside = ends.getInside(builder, reg, lines.elements);
  condition = both(both(condition, inside.line), isFirst);
  if (inside.left)
    condition = both(condition, compare(CmpIPredicate::slt, fromStart, inside.left));
  if (units * lines.lines < 32)
    condition = both(condition, compare(CmpIPredicate::ult, ends.getThread().lane, index(units * lines.lines)));
  IndexArithmetic &forms = ends.scratchForms();
  Value bytes = arith::MulIOp::create(builder, loc, place, index(lines.elementBytes));
  Value shared = atShared(add(forms.materialize(ends.getLineBytes(reg)), bytes));
  SmallVector<Value> unit = emitSharedLoad(builder, loc, shared, 0, values[0].getType(), lines.unit);
  Value pointer = offsetPointer(builder, loc, target, add(offset, fromStart), lines.elementBytes);
  emitGlobalStore(builder, loc, pointer, 0, unit, toPredicate(condition));
}

LogicalResult weft::gpu::storeLines(OpBuilder &builder, tk::StoreOp op, const KernelInfo &info, ValueRange values,
                                    Value target, ValueRange symbols, ArrayRef<Value> kernelSymbols) {
  std::optional<schedule::StoreLines> lines = schedule::getStoreLines(op);
  if (!lines || info.getScratch(op) < 0)
    return op.emitOpError("expected lines of at least 32 bytes that each warp holds by itself, got ")
           << op.getValue().getType() << " and " << AffineMapAttr::get(op.getMap());
  LineStore(builder, op, info, *lines, values, target, symbols, kernelSymbols).run();
  return success();
}
