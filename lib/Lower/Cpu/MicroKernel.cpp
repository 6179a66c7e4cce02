// One contraction on memory: C[m, n] += sum over k of A[m, k] * B[k, n], for each batch index.
//
// M, N and K each stand for several loops of the source (a convolution's K is channel x kernel row x kernel column).
// Every element address is linear in the loops, so it is a sum of a part per side:  address(A) = base(batch) + am[m] +
// ak[k]. The parts are tables, filled once; thus transposes, windows (im2col), strides and batches need no code of
// their own. K is cut in blocks of `blockK`; per block
//
//   pack B panels [k][NR] (converting elements; this is where f16 becomes f32), pack A [k][MR] unless it can be read in
//   place, multiply MR x NR register tiles onto C.
//
// Rows and columns beyond the edge repeat the last one, so the inner loops have no masks. A repeated row writes what
// the row itself writes. A panel whose columns are not neighbours in C (the last one, or a transposed result) has
// accumulators of its own, which are added to C after the last block.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MicroKernel.h"
#include "FlatOperand.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace weft::cpu {
namespace {

/// Elements of K in a block: a packed panel of B (blockK x 32 x 4 bytes = 32 KiB) stays in L1.
constexpr int64_t maxBlockK = 256;
/// Vectors in a row of the register tile.
constexpr unsigned rowVectors = 2;

/// A group of loops seen as one dimension.
struct Side {
  ArrayRef<unsigned> loops;
  Value total;
};

class Emitter {
public:
  Emitter(linalg::GenericOp op, const Contraction &c, RegisterTile tile)
      : b(op), loc(op.getLoc()), op(op), c(c), tile(tile) {}

  LogicalResult run();

private:
  // Index arithmetic, folded where constant.
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value add(Value x, Value y) { return b.createOrFold<arith::AddIOp>(loc, x, y); }
  Value sub(Value x, Value y) { return b.createOrFold<arith::SubIOp>(loc, x, y); }
  Value mul(Value x, Value y) { return b.createOrFold<arith::MulIOp>(loc, x, y); }
  Value ceilDiv(Value x, int64_t y) { return b.createOrFold<arith::CeilDivUIOp>(loc, x, index(y)); }
  Value min(Value x, Value y) { return b.createOrFold<arith::MinUIOp>(loc, x, y); }
  Value alloc(ArrayRef<int64_t> shape, ValueRange sizes, Type element) {
    return memref::AllocOp::create(b, loc, MemRefType::get(shape, element), sizes);
  }
  void loop(Value low, Value high, function_ref<void(Value)> body) {
    auto forOp = scf::ForOp::create(b, loc, low, high, index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    body(forOp.getInductionVar());
  }

  Side makeSide(ArrayRef<unsigned> loops);
  Value fillTable(const Side &side, const FlatOperand &operand, Value padded);
  Value isContiguous(Value table, Value from, int64_t count);
  Value linearStep(const FlatOperand &operand, ArrayRef<unsigned> loops);
  Value evaluate(const Factor &factor, function_ref<Value(unsigned)> address);
  Value baseOf(const FlatOperand &operand, ValueRange batch);

  void emitBatches(unsigned next, SmallVectorImpl<Value> &batch);
  void emitBatch(ValueRange batch);
  void packRows(Value k0, Value kCount);
  void packColumns(Value panel, Value k0, Value kCount);
  void packSegment(Value panel, int64_t segment, Value k0, Value kCount, bool contiguous);
  Value isDense(Value panel);
  void multiplyPanel(Value panel, Value k0, Value kCount);
  void multiplyTile(Value panel, Value block, Value k0, Value kCount, bool dense);
  SmallVector<Value> oldSums(Value memory, ArrayRef<SmallVector<Value>> places, Value k0, bool dense);
  void unpackPanel(Value panel);
  Value accumulate(Value a, Value bVector, Value acc);

  OpBuilder b;
  Location loc;
  linalg::GenericOp op;
  const Contraction &c;
  RegisterTile tile;

  Type element;      ///< Of the accumulators.
  VectorType vector; ///< One register.
  int64_t lanes, panelColumns, tileRows, blockK;
  bool oneBlockK, rowsInPlace;
  bool alwaysDense;           ///< All panels are neighbours in C.
  SmallVector<Value> extents; ///< Of each loop.
  SmallVector<FlatOperand> inputs;
  FlatOperand output;
  Side m, n, k;
  Value paddedRows, rowBlocks, panels;
  // Tables of address parts, by input number; output's are `outM`, `outN`.
  SmallVector<Value> sideTable, kTable;
  Value outM, outN;
  Value accumulators, packedRows, packedColumns;
  SmallVector<Value> inputBase; ///< Addresses of the current batch entry.
  Value outputBase;
};

std::optional<int64_t> constantOf(Value value) { return getConstantIntValue(value); }

Side Emitter::makeSide(ArrayRef<unsigned> loops) {
  Value total = index(1);
  for (unsigned loop : loops)
    total = mul(total, extents[loop]);
  return {loops, total};
}

/// The address parts of a side, row-major over its loops; entries from the side's total up to `padded` repeat the last
/// one.
Value Emitter::fillTable(const Side &side, const FlatOperand &operand, Value padded) {
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
Value Emitter::isContiguous(Value table, Value from, int64_t count) {
  Value first = memref::LoadOp::create(b, loc, table, from);
  Value yes = arith::ConstantIntOp::create(b, loc, 1, 1);
  auto forOp = scf::ForOp::create(b, loc, index(1), index(count), index(1), ValueRange{yes});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  Value j = forOp.getInductionVar();
  Value entry = memref::LoadOp::create(b, loc, table, add(from, j));
  Value same = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, entry, add(first, j));
  scf::YieldOp::create(b, loc, ValueRange{arith::AndIOp::create(b, loc, forOp.getRegionIterArg(0), same)});
  return forOp.getResult(0);
}

/// The step of an operand's address along the loops of a side if it is the same everywhere; null if a table is needed.
Value Emitter::linearStep(const FlatOperand &operand, ArrayRef<unsigned> loops) {
  for (unsigned i = 0; i + 1 < loops.size(); ++i) {
    std::optional<int64_t> outer = operand.step(loops[i]), inner = operand.step(loops[i + 1]);
    std::optional<int64_t> extent = constantOf(extents[loops[i + 1]]);
    if (!outer || !inner || !extent || *outer != *inner * *extent)
      return nullptr;
  }
  return operand.coefficients[loops.back()];
}

/// The factor's scalar from elements of its inputs at `address(input)`.
Value Emitter::evaluate(const Factor &factor, function_ref<Value(unsigned)> address) {
  IRMapping mapping;
  for (unsigned input : factor.inputs)
    mapping.map(op.getBlock()->getArgument(input),
                memref::LoadOp::create(b, loc, inputs[input].memory, address(input)).getResult());
  for (Operation *def : bodySlice(op, factor.scalar))
    b.clone(*def, mapping);
  return mapping.lookupOrDefault(factor.scalar);
}

Value Emitter::baseOf(const FlatOperand &operand, ValueRange batch) {
  Value base = operand.base;
  for (auto [d, value] : llvm::zip(c.batch, batch))
    base = add(base, mul(operand.coefficients[d], value));
  return base;
}

void Emitter::emitBatches(unsigned next, SmallVectorImpl<Value> &batch) {
  if (next == c.batch.size())
    return emitBatch(batch);
  loop(index(0), extents[c.batch[next]], [&](Value i) {
    batch.push_back(i);
    emitBatches(next + 1, batch);
    batch.pop_back();
  });
}

void Emitter::emitBatch(ValueRange batch) {
  inputBase.assign(inputs.size(), Value());
  for (const Factor *factor : {&c.rows, &c.columns})
    for (unsigned input : factor->inputs)
      inputBase[input] = baseOf(inputs[input], batch);
  outputBase = baseOf(output, batch);
  auto block = [&](Value k0) {
    Value kCount = oneBlockK ? k.total : min(index(blockK), sub(k.total, k0));
    if (!rowsInPlace)
      packRows(k0, kCount);
    loop(index(0), panels, [&](Value panel) {
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
  if (alwaysDense)
    return;
  // Without a block of K the accumulators hold nothing.
  Value some = oneBlockK ? panels : mul(panels, min(k.total, index(1)));
  loop(index(0), some, [&](Value panel) { unpackPanel(panel); });
}

void Emitter::packRows(Value k0, Value kCount) {
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

void Emitter::packColumns(Value panel, Value k0, Value kCount) {
  for (int64_t segment = 0; segment < rowVectors; ++segment) {
    if (c.columns.inputs.size() > 1) {
      packSegment(panel, segment, k0, kCount, /*contiguous=*/false);
      continue;
    }
    Value from = add(mul(panel, index(panelColumns)), index(segment * lanes));
    Value contiguous = isContiguous(sideTable[c.columns.inputs.front()], from, lanes);
    auto ifOp = scf::IfOp::create(b, loc, contiguous, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&ifOp.getThenRegion().front());
    packSegment(panel, segment, k0, kCount, true);
    b.setInsertionPointToStart(&ifOp.getElseRegion().front());
    packSegment(panel, segment, k0, kCount, false);
  }
}

/// One vector's width of a panel. `contiguous`: the columns are neighbours in memory.
void Emitter::packSegment(Value panel, int64_t segment, Value k0, Value kCount, bool contiguous) {
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

/// Whether the columns of a panel are neighbours in C.
Value Emitter::isDense(Value panel) { return isContiguous(outN, mul(panel, index(panelColumns)), panelColumns); }

void Emitter::multiplyPanel(Value panel, Value k0, Value kCount) {
  auto tiles = [&](bool dense) {
    loop(index(0), rowBlocks, [&](Value block) { multiplyTile(panel, block, k0, kCount, dense); });
  };
  if (alwaysDense)
    return tiles(true);
  auto ifOp = scf::IfOp::create(b, loc, isDense(panel), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&ifOp.getThenRegion().front());
  tiles(true);
  b.setInsertionPointToStart(&ifOp.getElseRegion().front());
  tiles(false);
}

Value Emitter::accumulate(Value a, Value bVector, Value acc) {
  if (isa<FloatType>(element))
    return vector::FMAOp::create(b, loc, a, bVector, acc);
  return arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, a, bVector), acc);
}

/// What a tile's sums begin with: C, or what the last block of K left in the accumulators (zero before the first).
SmallVector<Value> Emitter::oldSums(Value memory, ArrayRef<SmallVector<Value>> places, Value k0, bool dense) {
  auto load = [&] {
    return llvm::map_to_vector(
        places, [&](ArrayRef<Value> place) -> Value { return vector::LoadOp::create(b, loc, vector, memory, place); });
  };
  auto zeros = [&] {
    return SmallVector<Value>(places.size(), arith::ConstantOp::create(b, loc, b.getZeroAttr(vector)));
  };
  if (dense)
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

void Emitter::multiplyTile(Value panel, Value block, Value k0, Value kCount, bool dense) {
  Value row0 = mul(block, index(tileRows));
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
  Value memory = output.memory, first;
  if (dense)
    first = memref::LoadOp::create(b, loc, outN, mul(panel, index(panelColumns)));
  else
    memory = accumulators;
  auto placeOf = [&](int64_t i, int64_t v) -> SmallVector<Value> {
    if (!dense)
      return {panel, add(row0, index(i)), index(v * lanes)};
    Value row = add(outputBase, memref::LoadOp::create(b, loc, outM, add(row0, index(i))));
    return {add(add(row, first), index(v * lanes))};
  };
  SmallVector<SmallVector<Value>> places;
  for (int64_t i = 0; i < tileRows; ++i)
    for (int64_t v = 0; v < rowVectors; ++v)
      places.push_back(placeOf(i, v));
  SmallVector<Value> initial = oldSums(memory, places, k0, dense);
  auto forOp = scf::ForOp::create(b, loc, index(0), kCount, index(1), initial);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    Value kk = forOp.getInductionVar();
    SmallVector<Value> bVectors, next(forOp.getRegionIterArgs());
    for (int64_t v = 0; v < rowVectors; ++v)
      bVectors.push_back(vector::LoadOp::create(b, loc, vector, packedColumns, ValueRange{kk, index(v * lanes)}));
    Value offset;
    if (rowsInPlace)
      offset =
          step ? mul(step, kk) : memref::LoadOp::create(b, loc, kTable[c.rows.inputs.front()], add(k0, kk)).getResult();
    for (int64_t i = 0; i < tileRows; ++i) {
      Value scalar =
          rowsInPlace ? memref::LoadOp::create(b, loc, inputs[c.rows.inputs.front()].memory, add(rowAddress[i], offset))
                            .getResult()
                      : memref::LoadOp::create(b, loc, packedRows, ValueRange{block, kk, index(i)}).getResult();
      Value broadcast = vector::BroadcastOp::create(b, loc, vector, scalar);
      for (int64_t v = 0; v < rowVectors; ++v)
        next[i * rowVectors + v] = accumulate(broadcast, bVectors[v], next[i * rowVectors + v]);
    }
    scf::YieldOp::create(b, loc, next);
  }
  for (auto [sum, place] : llvm::zip(forOp.getResults(), places))
    vector::StoreOp::create(b, loc, sum, memory, place);
}

/// Adds the accumulators of a panel to C, unless its sums are there already.
void Emitter::unpackPanel(Value panel) {
  Value from = mul(panel, index(panelColumns));
  Value columns = min(index(panelColumns), sub(n.total, from));
  auto ifOp = scf::IfOp::create(b, loc, isDense(panel), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&ifOp.getElseRegion().front());
  loop(index(0), m.total, [&](Value row) {
    Value rowBase = add(outputBase, memref::LoadOp::create(b, loc, outM, row));
    loop(index(0), columns, [&](Value j) {
      Value address = add(rowBase, memref::LoadOp::create(b, loc, outN, add(from, j)));
      Value old = memref::LoadOp::create(b, loc, output.memory, address);
      Value more = memref::LoadOp::create(b, loc, accumulators, ValueRange{panel, row, j});
      Value sum = isa<FloatType>(element) ? arith::AddFOp::create(b, loc, old, more).getResult()
                                          : arith::AddIOp::create(b, loc, old, more).getResult();
      memref::StoreOp::create(b, loc, sum, output.memory, address);
    });
  });
}

LogicalResult Emitter::run() {
  element = cast<MemRefType>(op.getDpsInits()[0].getType()).getElementType();
  if (!element.isF32() && !element.isF64() && !element.isInteger(32) && !element.isInteger(64))
    return failure();
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
        return failure();
      inputs[input] = *flat;
    }
  FailureOr<FlatOperand> flat = flatten(b, op, *op.getDpsInitOperand(0));
  if (failed(flat))
    return failure();
  output = *flat;

  m = makeSide(c.m);
  n = makeSide(c.n);
  k = makeSide(c.k);
  std::optional<int64_t> rows = constantOf(m.total), depth = constantOf(k.total);
  tileRows = tile.rows;
  if (rows && *rows > 0)
    tileRows = llvm::divideCeil(*rows, llvm::divideCeil(*rows, int64_t(tile.rows)));
  oneBlockK = depth && *depth <= maxBlockK;
  blockK =
      depth ? llvm::divideCeil(std::max<int64_t>(*depth, 1), llvm::divideCeil(std::max<int64_t>(*depth, 1), maxBlockK))
            : maxBlockK;
  rowBlocks = ceilDiv(m.total, tileRows);
  paddedRows = mul(rowBlocks, index(tileRows));
  panels = ceilDiv(n.total, panelColumns);
  rowsInPlace = c.rows.inputs.size() == 1 && c.rows.scalar == op.getBlock()->getArgument(c.rows.inputs.front());

  sideTable.resize(inputs.size());
  kTable.resize(inputs.size());
  for (unsigned input : c.rows.inputs)
    sideTable[input] = fillTable(m, inputs[input], paddedRows);
  Value paddedColumns = mul(panels, index(panelColumns));
  for (unsigned input : c.columns.inputs)
    sideTable[input] = fillTable(n, inputs[input], paddedColumns);
  for (const Factor *factor : {&c.rows, &c.columns})
    for (unsigned input : factor->inputs)
      kTable[input] = fillTable(k, inputs[input], k.total);
  outM = fillTable(m, output, paddedRows);
  outN = fillTable(n, output, paddedColumns);

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
  Value stepN = linearStep(output, c.n);
  std::optional<int64_t> columns = constantOf(n.total);
  alwaysDense = stepN && constantOf(stepN) == 1 && columns && *columns % panelColumns == 0;
  if (!alwaysDense)
    accumulators = shaped({panels, paddedRows, index(panelColumns)});
  packedColumns = shaped({index(blockK), index(panelColumns)});
  if (!rowsInPlace)
    packedRows = shaped({rowBlocks, index(blockK), index(tileRows)});
  SmallVector<Value> batch;
  emitBatches(0, batch);
  op.erase();
  return success();
}

} // namespace

LogicalResult lowerContraction(linalg::GenericOp op, const Contraction &contraction, RegisterTile tile) {
  return Emitter(op, contraction, tile).run();
}

} // namespace weft::cpu
