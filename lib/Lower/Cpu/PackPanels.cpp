// Packing of contractions: panels of B as [k][columns of a register tile], rows of A as [rows][k] where neighbours
// along K can be computed as vectors, else as [k][rows]; elements converted and elementwise prologues evaluated on the
// way.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PanelEmitter.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace weft::cpu {

/// Whether what computes `scalar` has the same form on vectors.
static bool isElementwise(linalg::GenericOp op, Value scalar) {
  return llvm::all_of(bodySlice(op, scalar), [](Operation *def) {
    return isa<arith::ConstantOp>(def) ||
           (isa<arith::ArithDialect>(def->getDialect()) && OpTrait::hasElementwiseMappableTraits(def));
  });
}

/// Whether neighbours along K can be computed as a vector: inputs of A are neighbours in memory there, or one element.
bool PanelEmitter::canPackRowVectors() {
  bool moves = false;
  for (unsigned input : c.rows.inputs) {
    if (hasNoPart(inputs[input], c.k))
      continue;
    Value step = linearStep(inputs[input], c.k);
    if (!step || getConstantIntValue(step) != 1 ||
        cast<MemRefType>(inputs[input].memory.getType()).getElementTypeBitWidth() < 8)
      return false;
    moves = true;
  }
  return moves && isElementwise(op, c.rows.scalar);
}

/// A as [block][row][k], by vectors along K.
void PanelEmitter::packRowVectors(Value k0, Value kCount) {
  Value whole = mul(b.createOrFold<arith::DivUIOp>(loc, kCount, index(lanes)), index(lanes));
  loop(index(0), paddedRows, [&](Value row) {
    Value block = b.createOrFold<arith::DivUIOp>(loc, row, index(tileRows));
    Value i = sub(row, mul(block, index(tileRows)));
    SmallVector<Value> first(inputs.size());
    for (unsigned input : c.rows.inputs)
      first[input] = add(inputBase[input], memref::LoadOp::create(b, loc, sideTable[input], row));
    auto addressAt = [&](unsigned input, Value kk) {
      return add(first[input], memref::LoadOp::create(b, loc, kTable[input], add(k0, kk)));
    };
    auto forOp = scf::ForOp::create(b, loc, index(0), whole, index(lanes));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(forOp.getBody());
      Value kk = forOp.getInductionVar();
      IRMapping mapping;
      for (unsigned input : c.rows.inputs) {
        Value memory = inputs[input].memory, at = addressAt(input, kk);
        auto type = VectorType::get({lanes}, cast<MemRefType>(memory.getType()).getElementType());
        mapping.map(op.getBlock()->getArgument(input), hasNoPart(inputs[input], c.k)
                                                           ? memref::LoadOp::create(b, loc, memory, at).getResult()
                                                           : loadVector(type, memory, at, Value()));
      }
      cloneFactor(b, op, c.rows.scalar, tile, mapping);
      vector::StoreOp::create(b, loc, mapping.lookupOrDefault(c.rows.scalar), packedRows, ValueRange{block, i, kk});
    }
    loop(whole, kCount, [&](Value kk) {
      Value value = evaluate(c.rows, [&](unsigned input) { return addressAt(input, kk); });
      memref::StoreOp::create(b, loc, value, packedRows, ValueRange{block, i, kk});
    });
  });
}

void PanelEmitter::packRows(Value k0, Value kCount) {
  if (rowsAlongK)
    return packRowVectors(k0, kCount);
  loop(index(0), rowBlocks, [&](Value block) {
    loop(index(0), kCount, [&](Value kk) {
      Value kIndex = add(k0, kk);
      loop(index(0), index(tileRows), [&](Value i) {
        Value row = add(mul(block, index(tileRows)), i);
        Value value = evaluate(c.rows, [&](unsigned input) {
          Value part = memref::LoadOp::create(b, loc, sideTable[input], row);
          return add(add(inputBase[input], part), memref::LoadOp::create(b, loc, kTable[input], kIndex));
        });
        memref::StoreOp::create(b, loc, value, packedRows, ValueRange{block, kk, i});
      });
    });
  });
}

/// Whether all columns are neighbours in each tensor of B or have the same element there, and elements can be converted
/// as vectors.
bool PanelEmitter::canPackVectors() {
  bool moves = false;
  bool isWhole = arePanelsWhole();
  for (unsigned input : c.columns.inputs) {
    if (!c.quad && hasNoPart(inputs[input], c.n))
      continue;
    int64_t bits = cast<MemRefType>(inputs[input].memory.getType()).getElementTypeBitWidth();
    // Masked loads of short elements need AVX-512.
    if (!hasPanels(inputs[input]) || bits < 8 || (!isWhole && bits < 32 && tile.vectorBits < 512))
      return false;
    moves = true;
  }
  return moves && isElementwise(op, c.columns.scalar);
}

/// Whether elements of K follow each other in the panels of the columns, with nothing between them: so weights lie that
/// were written anew (weft-pack-quads).
bool PanelEmitter::hasDensePanels() {
  if (c.columns.inputs.size() != 1 || !canPackVectors())
    return false;
  Value step = linearStep(inputs[c.columns.inputs.front()], c.k);
  return step && getConstantIntValue(step) == panelColumns * unit();
}

/// Whether the columns need no copy: because they lie as panels already, or, of bytes, because panels are read so few
/// times that a copy would cost more. (Floats gained nothing by that.)
bool PanelEmitter::canMultiplyInPlace() {
  constexpr int64_t mostReads = 2;
  std::optional<int64_t> blocks = getConstantIntValue(rowBlocks);
  bool isPlain = c.quad || c.columns.scalar == op.getBlock()->getArgument(c.columns.inputs.front());
  if (c.adjacentRows || !isPlain)
    return false;
  return hasDensePanels() || (c.quad && blocks && *blocks <= mostReads && canPackVectors());
}

void PanelEmitter::packVectors(Value panel, Value k0, Value kCount) {
  Value from = mul(panel, index(panelColumns));
  SmallVector<Value> first(inputs.size()), masks;
  for (unsigned input : c.columns.inputs)
    first[input] = add(inputBase[input], memref::LoadOp::create(b, loc, sideTable[input], from));
  for (int64_t v = 0; v < rowVectors; ++v)
    masks.push_back(maskOf(panel, v, unit()));
  loop(index(0), kCount, [&](Value kk) {
    SmallVector<Value> at(inputs.size());
    for (unsigned input : c.columns.inputs)
      at[input] = add(first[input], memref::LoadOp::create(b, loc, kTable[input], add(k0, kk)));
    for (int64_t v = 0; v < rowVectors; ++v) {
      auto load = [&](unsigned input) -> Value {
        Value memory = inputs[input].memory;
        Type element = cast<MemRefType>(memory.getType()).getElementType();
        if (!c.quad && hasNoPart(inputs[input], c.n))
          return memref::LoadOp::create(b, loc, memory, at[input]);
        return loadVector(VectorType::get({lanes * unit()}, element), memory, add(at[input], index(v * lanes * unit())),
                          masks[v]);
      };
      Value packed;
      if (c.quad) {
        packed = vector::BitCastOp::create(b, loc, vector, load(c.columns.inputs.front()));
      } else {
        IRMapping mapping;
        for (unsigned input : c.columns.inputs)
          mapping.map(op.getBlock()->getArgument(input), load(input));
        cloneFactor(b, op, c.columns.scalar, tile, mapping);
        packed = mapping.lookupOrDefault(c.columns.scalar);
      }
      vector::StoreOp::create(b, loc, packed, packedColumns, ValueRange{kk, index(v * lanes)});
    }
  });
}

/// Whether each column's elements along K are neighbours in B, which is one tensor, and can be converted as vectors.
bool PanelEmitter::canPackTransposed() {
  if (c.quad || c.columns.inputs.size() != 1 || !isElementwise(op, c.columns.scalar))
    return false;
  const FlatOperand &operand = inputs[c.columns.inputs.front()];
  std::optional<int64_t> depth = getConstantIntValue(k.total);
  Value step = linearStep(operand, c.k);
  return step && getConstantIntValue(step) == 1 && (!depth || *depth >= lanes) &&
         cast<MemRefType>(operand.memory.getType()).getElementTypeBitWidth() >= 8;
}

/// Transposes the square of as many vectors as each has elements: for each bit of the position, pairs of vectors that
/// differ in it exchange the elements that differ in it.
void transpose(OpBuilder &b, Location loc, MutableArrayRef<Value> square) {
  int64_t size = square.size();
  for (int64_t bit = 1; bit < size; bit *= 2)
    for (int64_t i = 0; i < size; ++i) {
      if (i & bit)
        continue;
      SmallVector<int64_t> low, high; // Elements of the pair, `size` and up being the second's.
      for (int64_t j = 0; j < size; ++j) {
        low.push_back(j & bit ? size + j - bit : j);
        high.push_back(j & bit ? size + j : j + bit);
      }
      Value first = square[i], second = square[i | bit];
      square[i] = vector::ShuffleOp::create(b, loc, first, second, low);
      square[i | bit] = vector::ShuffleOp::create(b, loc, first, second, high);
    }
}

/// A panel of columns that are contiguous along K: vectors along K, transposed in registers.
void PanelEmitter::packTransposed(Value panel, Value k0, Value kCount) {
  unsigned input = c.columns.inputs.front();
  Value memory = inputs[input].memory;
  auto type = VectorType::get({lanes}, cast<MemRefType>(memory.getType()).getElementType());
  Value whole = mul(b.createOrFold<arith::DivUIOp>(loc, kCount, index(lanes)), index(lanes));
  loop(index(0), index(rowVectors), [&](Value segment) {
    Value column = mul(segment, index(lanes)), from = add(mul(panel, index(panelColumns)), column);
    SmallVector<Value> first;
    for (int64_t j = 0; j < lanes; ++j)
      first.push_back(add(inputBase[input], memref::LoadOp::create(b, loc, sideTable[input], add(from, index(j)))));
    auto forOp = scf::ForOp::create(b, loc, index(0), whole, index(lanes));
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(forOp.getBody());
      Value kk = forOp.getInductionVar(), part = memref::LoadOp::create(b, loc, kTable[input], add(k0, kk));
      SmallVector<Value> square;
      for (Value base : first) {
        IRMapping mapping;
        mapping.map(op.getBlock()->getArgument(input), loadVector(type, memory, add(base, part), Value()));
        cloneFactor(b, op, c.columns.scalar, tile, mapping);
        square.push_back(mapping.lookupOrDefault(c.columns.scalar));
      }
      transpose(b, loc, square);
      for (auto [i, row] : llvm::enumerate(square))
        vector::StoreOp::create(b, loc, row, packedColumns, ValueRange{add(kk, index(i)), column});
    }
    loop(whole, kCount, [&](Value kk) {
      Value part = memref::LoadOp::create(b, loc, kTable[input], add(k0, kk));
      for (auto [j, base] : llvm::enumerate(first)) {
        Value value = evaluate(c.columns, [&, base = base](unsigned) { return add(base, part); });
        memref::StoreOp::create(b, loc, value, packedColumns, ValueRange{kk, add(column, index(j))});
      }
    });
  });
}

void PanelEmitter::packColumns(Value panel, Value k0, Value kCount) {
  if (canPackVectors())
    return packVectors(panel, k0, kCount);
  if (canPackTransposed())
    return packTransposed(panel, k0, kCount);
  for (int64_t segment = 0; segment < rowVectors; ++segment) {
    if (c.quad || c.columns.inputs.size() > 1) {
      packSegment(panel, segment, k0, kCount, /*contiguous=*/false);
      continue;
    }
    Value from = add(mul(panel, index(panelColumns)), index(segment * lanes));
    Value contiguous = isContiguous(sideTable[c.columns.inputs.front()], from, index(lanes));
    auto ifOp = scf::IfOp::create(b, loc, contiguous, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&ifOp.getThenRegion().front());
    packSegment(panel, segment, k0, kCount, true);
    b.setInsertionPointToStart(&ifOp.getElseRegion().front());
    packSegment(panel, segment, k0, kCount, false);
  }
}

/// One vector's width of a panel. `contiguous`: the columns are neighbours in memory.
void PanelEmitter::packSegment(Value panel, int64_t segment, Value k0, Value kCount, bool contiguous) {
  Value from = add(mul(panel, index(panelColumns)), index(segment * lanes));
  Value first =
      contiguous ? memref::LoadOp::create(b, loc, sideTable[c.columns.inputs.front()], from).getResult() : Value();
  loop(index(0), kCount, [&](Value kk) {
    Value kIndex = add(k0, kk);
    loop(index(0), index(lanes), [&](Value j) {
      Value value = evaluate(c.columns, [&](unsigned input) {
        Value part =
            contiguous ? add(first, j) : memref::LoadOp::create(b, loc, sideTable[input], add(from, j)).getResult();
        return add(add(inputBase[input], memref::LoadOp::create(b, loc, kTable[input], kIndex)), part);
      });
      memref::StoreOp::create(b, loc, value, packedColumns, ValueRange{kk, add(index(segment * lanes), j)});
    });
  });
}

} // namespace weft::cpu
