// One contraction on memory with few rows: C[m, n] += sum over k of A[m, k] * B[k, n], for each batch index, B read
// once, in place.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a register tile has all rows, packing B would copy each element to use it once. Instead one loop is vectorised
// whose neighbours lie side by side in B (StreamSides.cpp):
//
//   along a loop of N (B and C contiguous): accumulators of M x a few vectors, K inside; A's elements are broadcast. A
//     step of two in B (a convolution's stride) loads two vectors and keeps the even elements.
//   along a loop of K (A and B contiguous): an accumulator vector for each of M x a few neighbours in N, summed up at
//     the end.
//   along a batch loop (A, B and C contiguous: windows over channels that are innermost): accumulators of M x a few
//     neighbours in N; a vector of A serves all of them, and neighbours share what their windows have in common.
//
// Zeros before it and an elementwise op behind it join it as in the register tile (Epilogue.h): K is never cut here.
//
// What does not fill a vector at the end of the loop is masked. GEMV, a decoder's GEMMs, and depthwise convolutions
// (batch: channel, N: image, K: window) of either order in memory come out of this.
#include "StreamEmitter.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace weft::cpu {

//===--- What is possible ---===//

/// Whether the factor's body can be computed a vector at a time, from element types that vectors can be loaded of.
bool StreamEmitter::canVectorize(const Factor &factor) {
  for (unsigned input : factor.inputs)
    if (cast<MemRefType>(op.getDpsInputs()[input].getType()).getElementTypeBitWidth() < 8)
      return false;
  return llvm::all_of(bodySlice(op, factor.scalar), [](Operation *def) {
    return isa<arith::ConstantOp>(def) ||
           (isa<arith::ArithDialect>(def->getDialect()) && OpTrait::hasElementwiseMappableTraits(def));
  });
}

/// Whether `loop` takes each input of the factor by a step from 0 to `maxStep`, not all by 0.
bool StreamEmitter::walks(const Factor &factor, unsigned loop, int64_t maxStep) const {
  bool moves = false;
  for (unsigned input : factor.inputs) {
    std::optional<int64_t> step = inputs[input].step(loop);
    if (!step || *step < 0 || *step > maxStep * unit() || *step % unit())
      return false;
    moves |= *step != 0;
  }
  return moves;
}

bool StreamEmitter::isLong(unsigned loop) const {
  std::optional<int64_t> extent = getConstantIntValue(extents[loop]);
  return !extent || *extent >= minVectorExtent;
}

bool StreamEmitter::chooseLoop() {
  for (unsigned d : llvm::reverse(c.batch))
    if (!c.quad && isLong(d) && !c.n.empty() && canVectorize(c.rows) && output.step(d) == 1 && walks(c.rows, d, 1) &&
        walks(c.columns, d, 1)) {
      loop = d;
      side = Batch;
      return true;
    }
  auto columns = [&](int64_t maxStep) {
    for (unsigned d : llvm::reverse(c.n))
      if (isLong(d) && output.step(d) == 1 && walks(c.columns, d, maxStep)) {
        loop = d;
        return true;
      }
    return false;
  };
  if (columns(1))
    return true;
  // Steps of two are of elements that are no words.
  bool mayStep = !c.quad;
  for (unsigned d : llvm::reverse(c.k))
    if (isLong(d) && canVectorize(c.rows) && walks(c.columns, d, 1) && walks(c.rows, d, 1)) {
      loop = d;
      side = Depth;
      return true;
    }
  return mayStep && columns(2);
}

//===--- Loops ---===//

void StreamEmitter::nest(ArrayRef<unsigned> loops, unsigned except, function_ref<void()> body) {
  if (loops.empty())
    return body();
  if (loops.front() == except)
    return nest(loops.drop_front(), except, body);
  auto forOp = scf::ForOp::create(b, loc, index(0), extents[loops.front()], index(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  place[loops.front()] = forOp.getInductionVar();
  nest(loops.drop_front(), except, body);
  place[loops.front()] = {};
}

/// The extent of a short loop whose iterations share what the columns read as vectors, which differ in constants: by
/// how far a field of a word is moved. Each iteration gets code of its own then. None for other loops.
std::optional<int64_t> StreamEmitter::countFields(unsigned d) {
  constexpr int64_t most = 16;
  std::optional<int64_t> extent = getConstantIntValue(extents[d]);
  bool isShort = side == Columns && extent && *extent > 1 && *extent <= most && c.columns.inputs.size() > 1;
  return isShort && llvm::all_of(
                        c.columns.inputs,
                        [&](unsigned input) { return inputs[input].step(d) == 0 || inputs[input].step(loop) == 0; })
             ? extent
             : std::nullopt;
}

SmallVector<Value> StreamEmitter::nestK(ArrayRef<unsigned> loops, ValueRange state,
                                        function_ref<SmallVector<Value>(ValueRange)> body) {
  if (loops.empty())
    return body(state);
  if (side == Depth && loops.front() == loop)
    return nestK(loops.drop_front(), state, body);
  if (std::optional<int64_t> fields = countFields(loops.front())) {
    SmallVector<Value> results = llvm::to_vector(state);
    for (int64_t i = 0; i < *fields; ++i) {
      place[loops.front()] = index(i);
      results = nestK(loops.drop_front(), results, body);
    }
    place[loops.front()] = {};
    return results;
  }
  auto forOp = scf::ForOp::create(b, loc, index(0), extents[loops.front()], index(1), state);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forOp.getBody());
  place[loops.front()] = forOp.getInductionVar();
  if (side == Columns)
    prefetchColumns(loops, int64_t(state.size()) / rows);
  SmallVector<Value> results = nestK(loops.drop_front(), forOp.getRegionIterArgs(), body);
  scf::YieldOp::create(b, loc, results);
  place[loops.front()] = {};
  return llvm::to_vector(ValueRange(forOp.getResults()));
}

SmallVector<Value> StreamEmitter::pieces(unsigned loop, int64_t width, ValueRange state, Block block) {
  std::optional<int64_t> extent = getConstantIntValue(extents[loop]);
  auto run = [&](Value from, Value to, int64_t vectors, ValueRange state, bool masked) -> SmallVector<Value> {
    auto forOp = scf::ForOp::create(b, loc, from, to, index(vectors * lanes), state);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    place[loop] = forOp.getInductionVar();
    Value left = masked ? sub(extents[loop], place[loop]) : Value();
    SmallVector<Value> results = block(forOp.getRegionIterArgs(), vectors, left);
    // A loop that carries nothing has its terminator already.
    if (!state.empty())
      scf::YieldOp::create(b, loc, results);
    place[loop] = {};
    return llvm::to_vector(ValueRange(forOp.getResults()));
  };
  if (extent) {
    int64_t whole = *extent / (width * lanes) * (width * lanes), left = *extent - whole;
    SmallVector<Value> results = llvm::to_vector(state);
    if (whole)
      results = run(index(0), index(whole), width, results, false);
    if (left == 0)
      return results;
    place[loop] = index(whole);
    int64_t vectors = llvm::divideCeil(left, lanes);
    results = block(results, vectors, left % lanes ? index(left - (vectors - 1) * lanes) : Value());
    place[loop] = {};
    return results;
  }
  Value step = index(width * lanes);
  Value whole = mul(b.createOrFold<arith::DivUIOp>(loc, extents[loop], step), step);
  SmallVector<Value> results = run(index(0), whole, width, state, false);
  return run(whole, extents[loop], 1, results, true);
}

/// Row `row` of the tile as indices of the loops of M, whose extents are constant.
void StreamEmitter::setRow(int64_t row) {
  if (eachRow)
    return;
  for (unsigned d : llvm::reverse(c.m)) {
    int64_t extent = *getConstantIntValue(extents[d]);
    place[d] = index(row % extent);
    row /= extent;
  }
}

//===--- Elements ---===//

Value StreamEmitter::address(const FlatOperand &operand) {
  Value at = operand.base;
  for (unsigned d = 0; d < place.size(); ++d)
    if (place[d])
      at = add(at, mul(operand.coefficients[d], place[d]));
  return at;
}

/// The first `count` lanes, of `each` elements.
Value StreamEmitter::mask(Value count, int64_t each) {
  return vector::CreateMaskOp::create(b, loc, VectorType::get({lanes * each}, b.getI1Type()),
                                      ValueRange{mul(count, index(each))});
}

/// Words of four bytes: neighbours, or one.
Value StreamEmitter::loadWords(unsigned input, Value at, bool isVector, Value lanesLeft) {
  Value memory = inputs[input].memory;
  if (!isVector)
    return loadWord(b, loc, memory, at);
  auto type = VectorType::get({lanes * unit()}, b.getI8Type());
  Value bytes;
  if (lanesLeft) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    bytes = vector::MaskedLoadOp::create(b, loc, type, memory, at, mask(lanesLeft, unit()), zero);
  } else {
    bytes = vector::LoadOp::create(b, loc, type, memory, at);
  }
  return vector::BitCastOp::create(b, loc, VectorType::get({lanes}, b.getI32Type()), bytes);
}

/// A vector of elements `step` apart; from lane `lanesLeft` on (if given) nothing is read.
Value StreamEmitter::loadVector(const FlatOperand &operand, Value at, int64_t step, Value lanesLeft) {
  auto type = VectorType::get({lanes}, cast<MemRefType>(operand.memory.getType()).getElementType());
  auto masked = [&](Value from, Value count) -> Value {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    return vector::MaskedLoadOp::create(b, loc, type, operand.memory, from, mask(count), zero);
  };
  if (step == 1)
    return lanesLeft ? masked(at, lanesLeft) : vector::LoadOp::create(b, loc, type, operand.memory, at).getResult();
  // 2 * count - 1 elements hold the even ones.
  Value count = lanesLeft ? sub(mul(lanesLeft, index(2)), index(1)) : index(2 * lanes - 1);
  Value second = lanesLeft ? b.createOrFold<arith::MaxSIOp>(loc, sub(count, index(lanes)), index(0)) : index(lanes - 1);
  Value low = lanesLeft ? masked(at, count) : vector::LoadOp::create(b, loc, type, operand.memory, at).getResult();
  Value high = masked(add(at, index(lanes)), second);
  SmallVector<int64_t> even;
  for (int64_t i = 0; i < lanes; ++i)
    even.push_back(2 * i);
  return vector::ShuffleOp::create(b, loc, low, high, even);
}

Value StreamEmitter::asVector(Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(b, loc, VectorType::get({lanes}, value.getType()), value);
}

/// The factor at the present position, `offset` elements further along the vectorised loop: a vector along that loop,
/// or a scalar.
Value StreamEmitter::evaluate(const Factor &factor, Value offset, Value lanesLeft, bool wantsVector) {
  IRMapping mapping;
  for (unsigned input : factor.inputs) {
    int64_t step = wantsVector ? *inputs[input].step(loop) : 0;
    Value at = address(inputs[input]);
    if (step)
      at = add(at, mul(index(step), offset));
    if (c.quad) {
      Value words = loadWords(input, at, step != 0, lanesLeft);
      return wantsVector ? asVector(words) : words;
    }
    Value value = step ? loadVector(inputs[input], at, step, lanesLeft)
                       : memref::LoadOp::create(b, loc, inputs[input].memory, at).getResult();
    mapping.map(op.getBlock()->getArgument(input), value);
  }
  cloneFactor(b, op, factor.scalar, tile, mapping);
  Value value = mapping.lookupOrDefault(factor.scalar);
  return wantsVector ? asVector(value) : value;
}

/// x, of the rows, times y, of the columns.
Value StreamEmitter::accumulate(Value x, Value y, Value sum) {
  if (c.quad)
    return addQuads(b, loc, tile, c.rowsUnsigned ? x : y, c.rowsUnsigned ? y : x, sum);
  if (isa<FloatType>(element))
    return vector::FMAOp::create(b, loc, x, y, sum);
  return arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, x, y), sum);
}

/// What the sum at `at` begins with.
Value StreamEmitter::oldSum(Value at, Value lanesLeft, bool wantsVector) {
  if (around.zero) {
    Type type = wantsVector ? Type(VectorType::get({lanes}, element)) : element;
    return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  }
  return wantsVector ? loadVector(output, at, 1, lanesLeft)
                     : memref::LoadOp::create(b, loc, output.memory, at).getResult();
}

/// Stores the sum at the present position, a scalar or a vector `offset` further along the vectorised loop, or what the
/// epilogue makes of it.
void StreamEmitter::storeSum(Value sum, Value offset, Value lanesLeft) {
  bool isVector = isa<VectorType>(sum.getType());
  auto addressFrom = [&](const FlatOperand &operand) {
    Value at = address(operand);
    return isVector && operand.step(loop) == 1 ? add(at, offset) : at;
  };
  if (epilogue)
    sum = epilogue->apply(b, loc, sum, [&](unsigned i) -> Value {
      const FlatOperand &operand = epilogue->operands[i];
      Value at = addressFrom(operand);
      if (isVector && operand.step(loop) == 1)
        return loadVector(operand, at, 1, lanesLeft);
      return memref::LoadOp::create(b, loc, operand.memory, at);
    });
  const FlatOperand &target = epilogue ? epilogue->result : output;
  Value at = addressFrom(target);
  if (!isVector)
    memref::StoreOp::create(b, loc, sum, target.memory, at);
  else if (lanesLeft)
    vector::MaskedStoreOp::create(b, loc, target.memory, at, mask(lanesLeft), sum);
  else
    vector::StoreOp::create(b, loc, sum, target.memory, at);
}

/// Takes the epilogue in if its operands are vectors or scalars along the vectorised loop.
void StreamEmitter::setUpEpilogue() {
  for (unsigned d : c.k) // Without an element of K nothing would be stored.
    if (std::optional<int64_t> extent = getConstantIntValue(extents[d]); !extent || *extent < 1)
      around.zero = around.epilogue = nullptr;
  if (!around.epilogue)
    return;
  FailureOr<Epilogue> found = Epilogue::create(b, op, around);
  auto suits = [&](const FlatOperand &operand) {
    return side == Depth || operand.step(loop) == 0 || operand.step(loop) == 1;
  };
  if (succeeded(found) && llvm::all_of(found->operands, suits) && (side == Depth || found->result.step(loop) == 1))
    epilogue = std::move(*found);
  else
    around.epilogue = nullptr;
}

LogicalResult StreamEmitter::run() {
  element = cast<MemRefType>(op.getDpsInits()[0].getType()).getElementType();
  if (!element.isF32() && !element.isF64() && !element.isInteger(32) && !element.isInteger(64))
    return failure();
  lanes = tile.vectorBits / element.getIntOrFloatBitWidth();
  for (const Range &range : cast<linalg::LinalgOp>(op.getOperation()).createLoopRanges(b, loc))
    extents.push_back(getValueOrCreateConstantIndexOp(b, loc, range.size));
  for (unsigned d : c.m) {
    std::optional<int64_t> extent = eachRow ? std::optional<int64_t>(1) : getConstantIntValue(extents[d]);
    if (!extent || *extent < 1)
      return failure();
    rows *= *extent;
  }
  place.resize(extents.size());
  inputs.resize(op.getNumDpsInputs());
  for (const Factor *factor : {&c.rows, &c.columns})
    for (unsigned input : factor->inputs) {
      FailureOr<FlatOperand> flat = flatten(b, op, op->getOpOperand(input));
      if (failed(flat))
        return failure();
      inputs[input] = *flat;
      if (c.quad && flat->step(*c.quad) != 1)
        return failure();
    }
  FailureOr<FlatOperand> flat = flatten(b, op, *op.getDpsInitOperand(0));
  if (failed(flat) || rows > tile.rows || !canVectorize(c.columns))
    return failure();
  output = *flat;
  if (!chooseLoop() || (eachRow && side == Depth)) // Along K sums are apart, which those of many rows are not.
    return failure();
  setUpEpilogue();
  SmallVector<unsigned> outer(c.batch);
  if (eachRow)
    llvm::append_range(outer, c.m);
  nest(outer, loop, [&] { side == Depth ? alongDepth() : side == Batch ? alongBatch() : alongColumns(); });
  Value sums = op.getDpsInits()[0];
  op.erase();
  eraseJoined(around, sums);
  return success();
}

LogicalResult streamContraction(linalg::GenericOp op, const Contraction &contraction, RegisterTile tile, bool eachRow) {
  return StreamEmitter(op, contraction, tile, eachRow).run();
}

} // namespace weft::cpu
