// One contraction on memory: C[m, n] += sum over k of A[m, k] * B[k, n], for each batch index.
//
// M, N and K each stand for several loops of the source (a convolution's K is channel x kernel row x kernel column).
// Every element address is linear in the loops, so it is a sum of a part per side:  address(A) = base(batch) + am[m] +
// ak[k]. The parts are tables, filled once; thus transposes, windows (im2col), strides and batches need no code of
// their own. K is cut in blocks of `blockK`; per block
//
//   pack B panels [k][NR] (converting elements; this is where f16 becomes f32), pack A [k][MR] or [MR][k] unless it can
//   be read in place, multiply MR x NR register tiles onto C.
//
// Rows beyond the edge repeat the last one; a repeated row writes what the row itself writes. Where all columns are
// neighbours in C, the last panel's loads and stores are masked (not its inner loop). Else a panel whose columns are
// not neighbours (a transposed result; the last one, whose columns repeat the last) has accumulators of its own, which
// are added to C after the last block.
//
// Zeros that C is filled with before become initial sums in registers. An elementwise op that reads C once is applied
// to the sums of the last block in registers, so that C is partial sums of earlier blocks at most (Epilogue.h).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PanelEmitter.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace weft::cpu {

static std::optional<int64_t> constantOf(Value value) { return getConstantIntValue(value); }

Side PanelEmitter::makeSide(ArrayRef<unsigned> loops) {
  Value total = index(1);
  for (unsigned loop : loops)
    total = mul(total, extents[loop]);
  return {loops, total};
}

/// The address parts of a side, row-major over its loops; entries from the side's total up to `padded` repeat the last
/// one.
Value PanelEmitter::fillTable(const Side &side, const FlatOperand &operand, Value padded) {
  std::optional<int64_t> size = constantOf(padded);
  Value table =
      alloc({size ? *size : ShapedType::kDynamic}, size ? ValueRange() : ValueRange(padded), b.getIndexType());
  std::function<void(unsigned, Value, Value)> nest = [&](unsigned depth, Value position, Value address) {
    if (depth == side.loops.size()) {
      memref::StoreOp::create(b, loc, address, table, position);
      return;
    }
    unsigned d = side.loops[depth];
    loop(index(0), extents[d], [&](Value i) {
      nest(depth + 1, add(mul(position, extents[d]), i), add(address, mul(operand.coefficients[d], i)));
    });
  };
  nest(0, index(0), index(0));
  loop(side.total, padded, [&](Value i) {
    Value last = memref::LoadOp::create(b, loc, table, sub(side.total, index(1)));
    memref::StoreOp::create(b, loc, last, table, i);
  });
  return table;
}

/// Whether table[from + j] = table[from] + j for all j < count.
Value PanelEmitter::isContiguous(Value table, Value from, Value count) {
  Value first = memref::LoadOp::create(b, loc, table, from);
  Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
  auto forOp = scf::ForOp::create(b, loc, index(1), count, index(1), ValueRange{yes});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  Value j = forOp.getInductionVar();
  Value entry = memref::LoadOp::create(b, loc, table, add(from, j));
  Value same = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, entry, add(first, j));
  scf::YieldOp::create(b, loc, ValueRange{arith::AndIOp::create(b, loc, forOp.getRegionIterArg(0), same)});
  return forOp.getResult(0);
}

/// The step of an operand's address along the loops of a side if it is the same everywhere; null if a table is needed.
Value PanelEmitter::linearStep(const FlatOperand &operand, ArrayRef<unsigned> loops) {
  SmallVector<unsigned> moving = llvm::filter_to_vector(loops, [&](unsigned d) { return constantOf(extents[d]) != 1; });
  if (moving.empty())
    return operand.coefficients[loops.back()];
  for (unsigned i = 0; i + 1 < moving.size(); ++i) {
    std::optional<int64_t> outer = operand.step(moving[i]), inner = operand.step(moving[i + 1]);
    std::optional<int64_t> extent = constantOf(extents[moving[i + 1]]);
    if (!outer || !inner || !extent || *outer != *inner * *extent)
      return nullptr;
  }
  return operand.coefficients[moving.back()];
}

bool PanelEmitter::hasNoPart(const FlatOperand &operand, ArrayRef<unsigned> loops) {
  return llvm::all_of(loops, [&](unsigned d) { return operand.step(d) == 0 || constantOf(extents[d]) == 1; });
}

/// Whether all columns are neighbours in the operand.
bool PanelEmitter::hasNeighbours(const FlatOperand &operand) {
  Value step = linearStep(operand, c.n);
  return step && constantOf(step) == 1;
}

/// Whether the columns of each panel are neighbours in the operand: all are, or whole panels of the innermost loop.
bool PanelEmitter::hasPanels(const FlatOperand &operand) {
  if (Value step = linearStep(operand, c.n))
    return getConstantIntValue(step) == unit();
  auto inner = llvm::find_if(llvm::reverse(c.n), [&](unsigned d) { return constantOf(extents[d]) != 1; });
  std::optional<int64_t> extent = inner == c.n.rend() ? std::nullopt : constantOf(extents[*inner]);
  return extent && *extent % panelColumns == 0 && operand.step(*inner) == unit();
}

/// The factor's scalar from elements of its inputs at `address(input)`.
Value PanelEmitter::evaluate(const Factor &factor, function_ref<Value(unsigned)> address) {
  if (c.quad)
    return loadWord(b, loc, inputs[factor.inputs.front()].memory, address(factor.inputs.front()));
  IRMapping mapping;
  for (unsigned input : factor.inputs)
    mapping.map(op.getBlock()->getArgument(input),
                memref::LoadOp::create(b, loc, inputs[input].memory, address(input)).getResult());
  for (Operation *def : bodySlice(op, factor.scalar))
    b.clone(*def, mapping);
  return mapping.lookupOrDefault(factor.scalar);
}

Value PanelEmitter::baseOf(const FlatOperand &operand, ValueRange batch) {
  Value base = operand.base;
  for (auto [d, value] : llvm::zip(c.batch, batch))
    base = add(base, mul(operand.coefficients[d], value));
  return base;
}

void PanelEmitter::emitBatches(unsigned next, SmallVectorImpl<Value> &batch) {
  if (next == c.batch.size())
    return emitBatch(batch);
  loop(index(0), extents[c.batch[next]], [&](Value i) {
    batch.push_back(i);
    emitBatches(next + 1, batch);
    batch.pop_back();
  });
}

void PanelEmitter::emitBatch(ValueRange batch) {
  inputBase.assign(inputs.size(), Value());
  for (const Factor *factor : {&c.rows, &c.columns})
    for (unsigned input : factor->inputs)
      inputBase[input] = baseOf(inputs[input], batch);
  output.base = baseOf(output.flat, batch);
  if (epilogue) {
    result.base = baseOf(result.flat, batch);
    for (auto [i, place] : llvm::enumerate(extra))
      if (i != around.sumInput)
        place.base = baseOf(place.flat, batch);
  }
  auto block = [&](Value k0) {
    Value kCount = oneBlockK ? k.total : min(index(blockK), sub(k.total, k0));
    if (!rowsInPlace)
      packRows(k0, kCount);
    loop(index(0), panels, [&](Value panel) {
      if (!columnsInPlace)
        packColumns(panel, k0, kCount);
      multiplyPanel(panel, k0, kCount);
    });
  };
  if (oneBlockK) {
    block(index(0));
  } else {
    auto forOp = scf::ForOp::create(b, loc, index(0), k.total, index(blockK));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    block(forOp.getInductionVar());
  }
  if (alwaysDense || c.adjacentRows)
    return;
  // Without a block of K the accumulators hold nothing.
  Value some = oneBlockK ? panels : mul(panels, min(k.total, index(1)));
  loop(index(0), some, [&](Value panel) { unpackPanel(panel); });
}

/// Operands and extents; false if something does not suit.
bool PanelEmitter::setUp() {
  element = cast<MemRefType>(op.getDpsInits()[0].getType()).getElementType();
  if (!element.isF32() && !element.isF64() && !element.isInteger(32) && !element.isInteger(64))
    return false;
  lanes = tile.vectorBits / element.getIntOrFloatBitWidth();
  vector = VectorType::get({lanes}, element);
  panelColumns = lanes * rowVectors;
  SmallVector<Range> ranges = cast<linalg::LinalgOp>(op.getOperation()).createLoopRanges(b, loc);
  for (const Range &range : ranges)
    extents.push_back(getValueOrCreateConstantIndexOp(b, loc, range.size));
  inputs.resize(op.getNumDpsInputs());
  for (const Factor *factor : {&c.rows, &c.columns})
    for (unsigned input : factor->inputs) {
      FailureOr<FlatOperand> flat = flatten(b, op, op->getOpOperand(input));
      if (failed(flat))
        return false;
      inputs[input] = *flat;
      if (c.quad && inputs[input].step(*c.quad) != 1)
        return false;
    }
  FailureOr<FlatOperand> flat = flatten(b, op, *op.getDpsInitOperand(0));
  if (failed(flat))
    return false;
  output.flat = *flat;
  m = makeSide(c.m);
  n = makeSide(c.n);
  k = makeSide(c.k);
  return true;
}

/// Takes the epilogue in if its operands are rows of neighbours, columns or scalars of the tile.
void PanelEmitter::setUpEpilogue() {
  if (!around.epilogue || (!alwaysDense && !c.adjacentRows))
    return;
  FailureOr<Epilogue> found = Epilogue::create(b, op, around);
  if (failed(found) || (!c.adjacentRows && !hasNeighbours(found->result)))
    return;
  for (auto [i, operand] : llvm::enumerate(found->operands)) {
    auto bits = [](Value memory) { return cast<MemRefType>(memory.getType()).getElementTypeBitWidth(); };
    // Masked accesses of short elements need AVX-512.
    bool isShort = hasTail && tile.vectorBits < 512 && std::min(bits(operand.memory), bits(found->result.memory)) < 32;
    bool suits = c.adjacentRows || i == around.sumInput || hasNoPart(operand, c.n) || hasNeighbours(operand);
    if (isShort || !suits)
      return;
  }
  epilogue = std::move(*found);
}

void PanelEmitter::fillTables() {
  sideTable.resize(inputs.size());
  kTable.resize(inputs.size());
  for (unsigned input : c.rows.inputs)
    sideTable[input] = fillTable(m, inputs[input], paddedRows);
  for (unsigned input : c.columns.inputs)
    sideTable[input] = fillTable(n, inputs[input], paddedColumns);
  for (const Factor *factor : {&c.rows, &c.columns})
    for (unsigned input : factor->inputs)
      kTable[input] = fillTable(k, inputs[input], k.total);
  auto fill = [&](const FlatOperand &operand) {
    return Place{operand, hasNoPart(operand, c.m) ? Value() : fillTable(m, operand, paddedRows),
                 hasNoPart(operand, c.n) ? Value() : fillTable(n, operand, paddedColumns), Value()};
  };
  if (!epilogue || !oneBlockK)
    output = {output.flat, fillTable(m, output.flat, paddedRows), fillTable(n, output.flat, paddedColumns), Value()};
  if (!epilogue)
    return;
  result = fill(epilogue->result);
  for (auto [i, operand] : llvm::enumerate(epilogue->operands))
    extra.push_back(i == around.sumInput ? Place() : fill(operand));
}

void PanelEmitter::allocate() {
  auto shaped = [&](ArrayRef<Value> sizes) {
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    for (Value size : sizes) {
      std::optional<int64_t> constant = constantOf(size);
      shape.push_back(constant ? *constant : ShapedType::kDynamic);
      if (!constant)
        dynamic.push_back(size);
    }
    return alloc(shape, dynamic, element);
  };
  if (!alwaysDense && !(c.adjacentRows && oneBlockK))
    accumulators = shaped({panels, paddedRows, index(panelColumns)});
  if (c.adjacentRows)
    transposedSums = shaped({index(panelColumns), index(llvm::PowerOf2Ceil(tileRows))});
  if (!columnsInPlace)
    packedColumns = shaped({index(blockK), index(panelColumns)});
  if (!rowsInPlace)
    packedRows = rowsAlongK ? shaped({rowBlocks, index(tileRows), index(blockK)})
                            : shaped({rowBlocks, index(blockK), index(tileRows)});
}

/// Rows of a tile: those that compute fewest rows beyond the edge, a tile costing half a row by itself. Tiles of
/// fewer than four rows have too few sums to hide the latency of multiply-adds.
int64_t PanelEmitter::chooseTileRows(std::optional<int64_t> rows) {
  constexpr int64_t least = 4;
  int64_t best = tile.rows;
  if (!rows || *rows <= 0)
    return best;
  if (c.adjacentRows || *rows <= best)
    return llvm::divideCeil(*rows, llvm::divideCeil(*rows, best));
  auto cost = [&](int64_t height) { return llvm::divideCeil(*rows, height) * (2 * height + 1); };
  for (int64_t height = best - 1; height >= least; --height)
    if (cost(height) < cost(best))
      best = height;
  return best;
}

/// Whether the last panel is as wide as the others.
bool PanelEmitter::arePanelsWhole() {
  int64_t known = 1; // Of the number of columns, a divisor.
  for (unsigned d : c.n)
    known = known * std::max<int64_t>(constantOf(extents[d]).value_or(1), 1) % panelColumns;
  return known % panelColumns == 0;
}

LogicalResult PanelEmitter::run() {
  if (!setUp())
    return failure();
  std::optional<int64_t> rows = constantOf(m.total), depth = constantOf(k.total);
  tileRows = chooseTileRows(rows);
  const int64_t maxBlockK = maxPanelBytes / (panelColumns * element.getIntOrFloatBitWidth() / 8);
  oneBlockK = depth && *depth <= maxBlockK;
  blockK =
      depth ? llvm::divideCeil(std::max<int64_t>(*depth, 1), llvm::divideCeil(std::max<int64_t>(*depth, 1), maxBlockK))
            : maxBlockK;
  rowBlocks = ceilDiv(m.total, tileRows);
  paddedRows = mul(rowBlocks, index(tileRows));
  panels = ceilDiv(n.total, panelColumns);
  paddedColumns = mul(panels, index(panelColumns));
  rowsInPlace =
      c.quad || (c.rows.inputs.size() == 1 && c.rows.scalar == op.getBlock()->getArgument(c.rows.inputs.front()));
  rowsAlongK = !rowsInPlace && canPackRowVectors();
  alwaysDense = !c.adjacentRows && hasNeighbours(output.flat);
  hasTail =
      c.adjacentRows ? !llvm::isPowerOf2_64(tileRows) || !rows || *rows % tileRows : alwaysDense && !arePanelsWhole();
  columnsInPlace = canMultiplyInPlace();
  // Without a block of K nothing would be stored.
  if (!depth || *depth < 1)
    around.zero = around.epilogue = nullptr;
  setUpEpilogue();
  if (!epilogue)
    around.epilogue = nullptr;
  fillTables();
  allocate();
  SmallVector<Value> batch;
  emitBatches(0, batch);
  Value sums = op.getDpsInits()[0];
  op.erase();
  eraseJoined(around, sums);
  return success();
}

LogicalResult lowerContraction(linalg::GenericOp op, const Contraction &contraction, RegisterTile tile) {
  return PanelEmitter(op, contraction, tile).run();
}

} // namespace weft::cpu
