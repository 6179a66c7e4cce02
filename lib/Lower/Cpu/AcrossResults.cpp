// Results of register tiles whose rows, not columns, are neighbours in C: the sums of the last block of K are
// transposed in registers, and go through the epilogue to C column by column, as vectors along the rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PanelEmitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace weft::cpu {

/// The tile's sums as [column][row] in memory: squares of as many rows as fill a vector of the tile's height.
void PanelEmitter::transposeSums(ValueRange sums) {
  int64_t width = std::min<int64_t>(llvm::PowerOf2Ceil(tileRows), lanes);
  for (int64_t row = 0; row < tileRows; row += width)
    for (int64_t column = 0; column < panelColumns; column += width) {
      SmallVector<Value> square;
      for (int64_t i = 0; i < width; ++i) {
        // Rows that fill up the square are not stored to C.
        Value sum = sums[std::min(row + i, tileRows - 1) * rowVectors + column / lanes];
        square.push_back(
            width == lanes
                ? sum
                : vector::ExtractStridedSliceOp::create(b, loc, sum, {column % lanes}, {width}, {1}).getResult());
      }
      transpose(b, loc, square);
      for (auto [j, part] : llvm::enumerate(square))
        vector::StoreOp::create(b, loc, part, transposedSums, ValueRange{index(column + j), index(row)});
    }
}

/// Whether the `rowCount` rows of a tile from `row0` on are neighbours wherever its results go to or come from; null:
/// they are, in every tile.
Value PanelEmitter::areRowsAdjacent(Value row0, Value rowCount) {
  SmallVector<const Place *> places{epilogue ? &result : &output};
  if (epilogue)
    for (auto [i, place] : llvm::enumerate(extra))
      if (i != around.sumInput && place.rows)
        places.push_back(&place);
  Value all;
  for (const Place *place : places) {
    Value step = linearStep(place->flat, c.m);
    if (step && getConstantIntValue(step) == 1)
      continue;
    if (!place->rows) // One row.
      continue;
    Value yes = isContiguous(place->rows, row0, rowCount);
    all = all ? arith::AndIOp::create(b, loc, all, yes).getResult() : yes;
  }
  return all;
}

/// Stores column `column`, the tile's column `j`: `rowCount` rows from `row0` on, as a vector or one by one.
void PanelEmitter::storeColumn(Value column, Value row0, Value rowCount, Value j, bool adjacent) {
  auto addressIn = [&](const Place &place, Value row) {
    Value at = place.rows ? add(place.base, memref::LoadOp::create(b, loc, place.rows, row)) : place.base;
    return place.columns ? add(at, memref::LoadOp::create(b, loc, place.columns, column)) : at;
  };
  auto store = [&](Value i, int64_t width, Value mask) {
    auto load = [&](const Place &place) -> Value {
      Value memory = place.flat.memory, at = addressIn(place, add(row0, i));
      if (!width || !place.rows)
        return memref::LoadOp::create(b, loc, memory, at);
      Type type = cast<MemRefType>(memory.getType()).getElementType();
      return loadVector(VectorType::get({width}, type), memory, at, mask);
    };
    Value sum =
        width ? vector::LoadOp::create(b, loc, VectorType::get({width}, element), transposedSums, ValueRange{j, i})
                    .getResult()
              : memref::LoadOp::create(b, loc, transposedSums, ValueRange{j, i}).getResult();
    if (!around.zero)
      sum = isa<FloatType>(element) ? arith::AddFOp::create(b, loc, load(output), sum).getResult()
                                    : arith::AddIOp::create(b, loc, load(output), sum).getResult();
    if (epilogue)
      sum = epilogue->apply(b, loc, sum, [&](unsigned operand) { return load(extra[operand]); });
    const Place &target = epilogue ? result : output;
    Value at = addressIn(target, add(row0, i));
    if (width)
      storeVector(sum, target.flat.memory, at, mask);
    else
      memref::StoreOp::create(b, loc, sum, target.flat.memory, at);
  };
  if (!adjacent)
    return loop(index(0), rowCount, [&](Value i) { store(i, 0, Value()); });
  int64_t width = std::min<int64_t>(llvm::PowerOf2Ceil(tileRows), lanes);
  for (int64_t row = 0; row < tileRows; row += width) {
    Value mask;
    if (hasTail)
      mask = vector::CreateMaskOp::create(b, loc, VectorType::get({width}, b.getI1Type()),
                                          ValueRange{sub(rowCount, index(row))});
    store(index(row), width, mask);
  }
}

void PanelEmitter::storeAcross(ValueRange sums, Value row0, Value panel) {
  transposeSums(sums);
  Value first = mul(panel, index(panelColumns));
  Value columns = min(index(panelColumns), sub(n.total, first)), rowCount = min(index(tileRows), sub(m.total, row0));
  auto columnsOf = [&](bool adjacent) {
    loop(index(0), columns, [&](Value j) { storeColumn(add(first, j), row0, rowCount, j, adjacent); });
  };
  Value adjacent = areRowsAdjacent(row0, rowCount);
  if (!adjacent)
    return columnsOf(true);
  auto ifOp = scf::IfOp::create(b, loc, adjacent, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&ifOp.getThenRegion().front());
  columnsOf(true);
  b.setInsertionPointToStart(&ifOp.getElseRegion().front());
  columnsOf(false);
}

} // namespace weft::cpu
