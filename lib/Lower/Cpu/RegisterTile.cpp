// The register tile of contractions: its sums over a block of K, where they begin, and what becomes of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PanelEmitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace weft::cpu {

/// Bytes that a prefetch brings.
static constexpr int64_t cacheLine = 64;

/// Whether the columns of a panel are neighbours in C.
Value PanelEmitter::isDense(Value panel) {
  return isContiguous(output.columns, mul(panel, index(panelColumns)), index(panelColumns));
}

/// The columns that vector `v` of a panel has, `unit` elements in memory each; null: all of them.
Value PanelEmitter::maskOf(Value panel, int64_t v, int64_t unit) {
  if (arePanelsWhole())
    return nullptr;
  Value left = sub(n.total, add(mul(panel, index(panelColumns)), index(v * lanes)));
  return vector::CreateMaskOp::create(b, loc, VectorType::get({lanes * unit}, b.getI1Type()),
                                      ValueRange{mul(left, index(unit))});
}

Value PanelEmitter::loadVector(VectorType type, Value memory, ValueRange at, Value mask) {
  if (!mask)
    return vector::LoadOp::create(b, loc, type, memory, at);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, loc, type, memory, at, mask, zero);
}

void PanelEmitter::storeVector(Value value, Value memory, ValueRange at, Value mask) {
  if (mask)
    vector::MaskedStoreOp::create(b, loc, memory, at, mask, value);
  else
    vector::StoreOp::create(b, loc, value, memory, at);
}

/// Where vector `v` of a row of a panel lies, if the columns are neighbours.
Value PanelEmitter::addressOf(const Place &place, Value row, Value panel, int64_t v) {
  Value at = place.base;
  if (place.rows)
    at = add(at, memref::LoadOp::create(b, loc, place.rows, row));
  if (!place.columns)
    return at;
  Value first = memref::LoadOp::create(b, loc, place.columns, mul(panel, index(panelColumns)));
  return add(add(at, first), index(v * lanes));
}

/// The epilogue of a tile's sums.
void PanelEmitter::storeResults(ValueRange sums, Value row0, Value panel) {
  for (auto [n, sum] : llvm::enumerate(sums)) {
    Value row = add(row0, index(n / rowVectors));
    int64_t v = n % rowVectors;
    Value mask = maskOf(panel, v);
    Value value = epilogue->apply(b, loc, sum, [&](unsigned operand) -> Value {
      const Place &place = extra[operand];
      Value memory = place.flat.memory, at = addressOf(place, row, panel, v);
      if (!place.columns)
        return memref::LoadOp::create(b, loc, memory, at);
      Type type = cast<MemRefType>(memory.getType()).getElementType();
      return loadVector(VectorType::get({lanes}, type), memory, at, mask);
    });
    storeVector(value, result.flat.memory, addressOf(result, row, panel, v), mask);
  }
}

void PanelEmitter::multiplyPanel(Value panel, Value k0, Value kCount) {
  auto tiles = [&](bool dense) {
    loop(index(0), rowBlocks, [&](Value block) { multiplyTile(panel, block, k0, kCount, dense); });
  };
  if (alwaysDense || c.adjacentRows)
    return tiles(alwaysDense);
  auto ifOp = scf::IfOp::create(b, loc, isDense(panel), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&ifOp.getThenRegion().front());
  tiles(true);
  b.setInsertionPointToStart(&ifOp.getElseRegion().front());
  tiles(false);
}

Value PanelEmitter::accumulate(Value a, Value bVector, Value acc) {
  if (c.quad)
    return addQuads(b, loc, tile, c.rowsUnsigned ? a : bVector, c.rowsUnsigned ? bVector : a, acc);
  if (isa<FloatType>(element))
    return vector::FMAOp::create(b, loc, a, bVector, acc);
  return arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, a, bVector), acc);
}

/// What a tile's sums begin with: zero before the first block of K, then what the last one left in C or the
/// accumulators. C may hold something before the first.
SmallVector<Value> PanelEmitter::oldSums(Value memory, ArrayRef<SmallVector<Value>> places, Value k0, bool dense) {
  auto load = [&] {
    SmallVector<Value> sums;
    for (auto [n, place] : llvm::enumerate(places))
      sums.push_back(loadVector(vector, memory, place, tailMasks[n % rowVectors]));
    return sums;
  };
  auto zeros = [&] {
    return SmallVector<Value>(places.size(), arith::ConstantOp::create(b, loc, b.getZeroAttr(vector)));
  };
  if (dense && !around.zero)
    return load();
  if (oneBlockK)
    return zeros();
  auto ifOp =
      scf::IfOp::create(b, loc, TypeRange(SmallVector<Type>(places.size(), vector)),
                        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, k0, index(0)), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&ifOp.getThenRegion().front());
  scf::YieldOp::create(b, loc, zeros());
  b.setInsertionPointToStart(&ifOp.getElseRegion().front());
  scf::YieldOp::create(b, loc, load());
  return llvm::to_vector(ValueRange(ifOp.getResults()));
}

/// Vector `v` of a panel's columns at index `kk` of a block of K, from where they lie; `first` is the panel's first
/// column.
Value PanelEmitter::loadColumns(Value first, Value panel, Value kk, Value k0, int64_t v) {
  unsigned input = c.columns.inputs.front();
  Value memory = inputs[input].memory, step = linearStep(inputs[input], c.k), place = add(k0, kk);
  Value along = step ? mul(step, place) : memref::LoadOp::create(b, loc, kTable[input], place).getResult();
  Value at = add(add(first, along), index(v * lanes * unit()));
  auto type = VectorType::get({lanes * unit()}, cast<MemRefType>(memory.getType()).getElementType());
  Value loaded = loadVector(type, memory, at, maskOf(panel, v, unit()));
  return c.quad ? vector::BitCastOp::create(b, loc, vector, loaded).getResult() : loaded;
}

/// While a panel is multiplied, the columns of the next one come nearer, each tile asking for its share: they lie in as
/// many pieces of memory as K has elements, too many for the prefetchers of the hardware. Behind the last panel of a
/// block of K comes the first one of the next block; behind the last block, the neighbour, which the next tile has.
void PanelEmitter::prefetchNext(Value panel, Value block, Value k0, Value kCount) {
  unsigned input = c.columns.inputs.front();
  auto select = [&](Value condition, Value yes, Value no) {
    return b.createOrFold<arith::SelectOp>(loc, condition, yes, no);
  };
  auto isLess = [&](Value x, Value y) { return b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ult, x, y); };
  Value hasPanel = isLess(add(panel, index(1)), panels), nextK = add(k0, kCount), hasBlock = isLess(nextK, k.total);
  Value goesOn = b.createOrFold<arith::OrIOp>(
      loc, hasPanel, b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::uge, nextK, k.total));
  Value column = mul(select(goesOn, panel, index(0)), index(panelColumns));
  Value first = memref::LoadOp::create(b, loc, sideTable[input], column);
  first = add(add(inputBase[input], first), select(goesOn, index(panelColumns * unit()), index(0)));
  Value from = select(hasPanel, k0, select(hasBlock, nextK, index(0)));
  Value share = b.createOrFold<arith::CeilDivUIOp>(loc, kCount, rowBlocks), start = mul(block, share);
  Value end = min(min(add(start, share), kCount), sub(k.total, from));
  int64_t bytes = cast<MemRefType>(inputs[input].memory.getType()).getElementTypeBitWidth() / 8;
  loop(start, end, [&](Value kk) {
    Value at = add(first, memref::LoadOp::create(b, loc, kTable[input], add(from, kk)));
    for (int64_t line = 0; line < panelColumns * unit() * bytes; line += cacheLine)
      memref::PrefetchOp::create(b, loc, inputs[input].memory, add(at, index(line / bytes)), /*isWrite=*/false,
                                 /*localityHint=*/2, /*isDataCache=*/true);
  });
}

/// While a tile's last sums are computed, what its epilogue reads comes nearer, and the lines that it writes: rows of a
/// panel are short pieces that lie far apart.
void PanelEmitter::prefetchEpilogue(Value panel, Value row0, Value k0, Value kCount) {
  OpBuilder::InsertionGuard guard(b);
  if (!oneBlockK) {
    Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, add(k0, kCount), k.total);
    b.setInsertionPointToStart(&scf::IfOp::create(b, loc, isLast).getThenRegion().front());
  }
  auto prefetch = [&](const Place &place, bool isWrite) {
    if (!place.rows || !place.columns)
      return;
    int64_t bytes = cast<MemRefType>(place.flat.memory.getType()).getElementTypeBitWidth() / 8;
    for (int64_t i = 0; i < tileRows; ++i) {
      Value at = addressOf(place, add(row0, index(i)), panel, 0);
      for (int64_t line = 0; line < panelColumns * bytes; line += cacheLine)
        memref::PrefetchOp::create(b, loc, place.flat.memory, add(at, index(line / bytes)), isWrite,
                                   /*localityHint=*/3, /*isDataCache=*/true);
    }
  };
  for (auto [i, place] : llvm::enumerate(extra))
    if (i != around.sumInput)
      prefetch(place, /*isWrite=*/false);
  prefetch(result, /*isWrite=*/true);
}

void PanelEmitter::multiplyTile(Value panel, Value block, Value k0, Value kCount, bool dense) {
  if (c.columns.inputs.size() == 1 && canPackVectors() && !hasDensePanels())
    prefetchNext(panel, block, k0, kCount);
  Value row0 = mul(block, index(tileRows));
  if (epilogue && !c.adjacentRows)
    prefetchEpilogue(panel, row0, k0, kCount);
  SmallVector<Value> rowAddress;
  Value step;
  if (rowsInPlace) {
    unsigned input = c.rows.inputs.front();
    step = linearStep(inputs[input], c.k);
    for (int64_t i = 0; i < tileRows; ++i) {
      Value part = memref::LoadOp::create(b, loc, sideTable[input], add(row0, index(i)));
      Value address = add(inputBase[input], part);
      rowAddress.push_back(step ? add(address, mul(step, k0)) : address);
    }
  }
  // Where the tile's vectors lie: in C, or in the panel's accumulators.
  Value memory = dense ? output.flat.memory : accumulators;
  SmallVector<SmallVector<Value>> places;
  tailMasks.clear();
  for (int64_t v = 0; v < rowVectors; ++v)
    tailMasks.push_back(hasTail && dense ? maskOf(panel, v) : Value());
  for (int64_t i = 0; i < tileRows; ++i)
    for (int64_t v = 0; v < rowVectors; ++v) {
      Value row = add(row0, index(i));
      places.push_back(dense ? SmallVector<Value>{addressOf(output, row, panel, v)}
                             : SmallVector<Value>{panel, row, index(v * lanes)});
    }
  SmallVector<Value> initial = oldSums(memory, places, k0, dense);
  Value firstColumn;
  if (columnsInPlace) {
    unsigned input = c.columns.inputs.front();
    Value part = memref::LoadOp::create(b, loc, sideTable[input], mul(panel, index(panelColumns)));
    firstColumn = add(inputBase[input], part);
  }
  auto forOp = scf::ForOp::create(b, loc, index(0), kCount, index(1), initial);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    Value kk = forOp.getInductionVar();
    SmallVector<Value> bVectors, next(forOp.getRegionIterArgs());
    for (int64_t v = 0; v < rowVectors; ++v)
      bVectors.push_back(columnsInPlace
                             ? loadColumns(firstColumn, panel, kk, k0, v)
                             : vector::LoadOp::create(b, loc, vector, packedColumns, ValueRange{kk, index(v * lanes)}));
    Value offset;
    if (rowsInPlace)
      offset =
          step ? mul(step, kk) : memref::LoadOp::create(b, loc, kTable[c.rows.inputs.front()], add(k0, kk)).getResult();
    for (int64_t i = 0; i < tileRows; ++i) {
      Value rows = rowsInPlace ? inputs[c.rows.inputs.front()].memory : packedRows;
      SmallVector<Value> at{block, kk, index(i)};
      if (rowsInPlace)
        at = {add(rowAddress[i], offset)};
      else if (rowsAlongK)
        std::swap(at[1], at[2]);
      Value scalar = c.quad ? loadWord(b, loc, rows, at.front()) : memref::LoadOp::create(b, loc, rows, at).getResult();
      Value broadcast = vector::BroadcastOp::create(b, loc, vector, scalar);
      for (int64_t v = 0; v < rowVectors; ++v)
        next[i * rowVectors + v] = accumulate(broadcast, bVectors[v], next[i * rowVectors + v]);
    }
    scf::YieldOp::create(b, loc, next);
  }
  auto storeSums = [&] {
    for (auto [n, sum] : llvm::enumerate(forOp.getResults()))
      storeVector(sum, memory, places[n], tailMasks[n % rowVectors]);
  };
  auto storeLast = [&] {
    c.adjacentRows ? storeAcross(forOp.getResults(), row0, panel) : storeResults(forOp.getResults(), row0, panel);
  };
  if (!epilogue && !c.adjacentRows)
    return storeSums();
  if (oneBlockK)
    return storeLast();
  Value isLast = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, add(k0, kCount), k.total);
  auto ifOp = scf::IfOp::create(b, loc, isLast, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&ifOp.getThenRegion().front());
  storeLast();
  b.setInsertionPointToStart(&ifOp.getElseRegion().front());
  storeSums();
}

/// Adds the accumulators of a panel to C (or begins it with them), unless its sums are there already.
void PanelEmitter::unpackPanel(Value panel) {
  Value from = mul(panel, index(panelColumns));
  Value columns = min(index(panelColumns), sub(n.total, from));
  auto ifOp = scf::IfOp::create(b, loc, isDense(panel), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&ifOp.getElseRegion().front());
  loop(index(0), m.total, [&](Value row) {
    Value rowBase = add(output.base, memref::LoadOp::create(b, loc, output.rows, row));
    loop(index(0), columns, [&](Value j) {
      Value address = add(rowBase, memref::LoadOp::create(b, loc, output.columns, add(from, j)));
      Value sum = memref::LoadOp::create(b, loc, accumulators, ValueRange{panel, row, j});
      if (!around.zero) {
        Value old = memref::LoadOp::create(b, loc, output.flat.memory, address);
        sum = isa<FloatType>(element) ? arith::AddFOp::create(b, loc, old, sum).getResult()
                                      : arith::AddIOp::create(b, loc, old, sum).getResult();
      }
      memref::StoreOp::create(b, loc, sum, output.flat.memory, address);
    });
  });
}

} // namespace weft::cpu
