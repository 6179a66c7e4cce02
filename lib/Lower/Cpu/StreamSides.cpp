// Vectors of a streamed contraction along N, K or the batch (StreamContraction.cpp says when).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StreamEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"

using namespace mlir;

namespace weft::cpu {

//===--- Vectors along N ---===//

/// `sums`, panels x rows x vectors, after the multiply-adds of one element in K.
SmallVector<Value> StreamEmitter::multiplyColumns(ValueRange sums, int64_t vectors, Value lanesLeft) {
  SmallVector<Value> next(sums);
  auto sum = next.begin();
  forPanels([&] {
    SmallVector<Value> columns;
    for (int64_t v = 0; v < vectors; ++v)
      columns.push_back(evaluate(c.columns, index(v * lanes), v + 1 == vectors ? lanesLeft : Value(), true));
    for (int64_t row = 0; row < rows; ++row) {
      setRow(row);
      Value factor = asVector(evaluate(c.rows, {}, {}, false));
      for (Value column : columns) {
        *sum = accumulate(factor, column, *sum);
        ++sum;
      }
    }
  });
  return next;
}

/// Calls `body` for each of the panels that are multiplied side by side, which `panel` is at then.
void StreamEmitter::forPanels(function_ref<void()> body) {
  if (panels == 1)
    return body();
  Value first = place[panel];
  for (int64_t i = 0; i < panels; ++i) {
    place[panel] = add(first, index(i));
    body();
  }
  place[panel] = first;
}

/// At a position of the first of `loops`: what positions further on read of the columns comes nearer. Rows of a matrix
/// lie in a page each, which the prefetchers of the hardware do not leave.
void StreamEmitter::prefetchColumns(ArrayRef<unsigned> loops, int64_t vectors) {
  constexpr int64_t ahead = 8, cacheLine = 64, nearBytes = 1024;
  for (unsigned input : c.columns.inputs) {
    const FlatOperand &operand = inputs[input];
    int64_t bytes = cast<MemRefType>(operand.memory.getType()).getElementTypeBitWidth() / 8;
    std::optional<int64_t> step = operand.step(loops.front()), own = operand.step(loop);
    bool isInner = llvm::all_of(loops.drop_front(), [&](unsigned d) { return operand.step(d) == 0; });
    if (!step || *step * bytes < nearBytes || own != unit() || !isInner)
      continue;
    Value at = add(address(operand), index(ahead * *step));
    for (int64_t line = 0; line < vectors * lanes * bytes * unit(); line += cacheLine)
      memref::PrefetchOp::create(b, loc, operand.memory, add(at, index(line / bytes)), /*isWrite=*/false,
                                 /*localityHint=*/3, /*isDataCache=*/true);
  }
}

/// Vectors side by side: what innermost elements of K share of the columns stays in registers, with the sums.
int64_t StreamEmitter::countVectors() const {
  constexpr int64_t least = 2; // With one, a register of the columns would serve five or six multiply-adds only.
  int64_t most = std::max<int64_t>(maxAccumulators / rows, least), registers = tile.vectorBits >= 512 ? 28 : 14;
  int64_t kept = llvm::count_if(c.columns.inputs, [&](unsigned input) {
    return inputs[input].step(loop) != 0 && inputs[input].step(c.k.back()) == 0;
  });
  if (kept == 0)
    return most;
  return std::min(most, int64_t(llvm::bit_floor(uint64_t(std::max<int64_t>(registers / (rows + kept + 1), 1)))));
}

/// Where the vectorised loop has too few vectors for the accumulators, because columns are split into panels, panels of
/// the loop around it go side by side.
void StreamEmitter::choosePanels() {
  std::optional<int64_t> extent = getConstantIntValue(extents[loop]);
  auto at = llvm::find(c.n, loop);
  if (!extent || *extent % lanes || at == c.n.begin())
    return;
  panel = *std::prev(at);
  std::optional<int64_t> count = getConstantIntValue(extents[panel]);
  panels = std::max<int64_t>(countVectors() / (*extent / lanes), 1);
  if (count)
    panels = std::max<int64_t>(std::min(panels, *count), 1);
}

/// The columns from the present position on.
void StreamEmitter::multiplyPanels() {
  auto block = [&](ValueRange, int64_t vectors, Value lanesLeft) -> SmallVector<Value> {
    SmallVector<Value> sums;
    auto forEach = [&](function_ref<void(int64_t, Value)> body) {
      forPanels([&] {
        for (int64_t row = 0; row < rows; ++row) {
          setRow(row);
          for (int64_t v = 0; v < vectors; ++v)
            body(v, v + 1 == vectors ? lanesLeft : Value());
        }
      });
    };
    forEach([&](int64_t v, Value mask) {
      sums.push_back(oldSum(add(address(output), index(v * lanes)), mask, /*wantsVector=*/true));
    });
    setRow(0);
    sums = nestK(c.k, sums, [&](ValueRange state) { return multiplyColumns(state, vectors, lanesLeft); });
    auto sum = sums.begin();
    forEach([&](int64_t v, Value mask) { storeSum(*sum++, index(v * lanes), mask); });
    return {};
  };
  pieces(loop, countVectors(), {}, block);
}

void StreamEmitter::alongColumns() {
  choosePanels();
  if (panels == 1)
    return nest(c.n, loop, [&] { multiplyPanels(); });
  auto tiles = [&](Value from, Value to, int64_t count) {
    auto forOp = scf::ForOp::create(b, loc, from, to, index(count));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    place[panel] = forOp.getInductionVar();
    panels = count;
    multiplyPanels();
    place[panel] = {};
  };
  SmallVector<unsigned> others = llvm::filter_to_vector(c.n, [&](unsigned d) { return d != panel; });
  nest(others, loop, [&] {
    int64_t beside = panels;
    Value whole = mul(b.createOrFold<arith::DivUIOp>(loc, extents[panel], index(beside)), index(beside));
    tiles(index(0), whole, beside);
    tiles(whole, extents[panel], 1);
  });
}

//===--- Vectors along K ---===//

void StreamEmitter::alongDepth() {
  auto type = VectorType::get({lanes}, element);
  unsigned inner = c.n.back();
  // `width` neighbours in N share the rows' vectors.
  auto tileOf = [&](int64_t width) {
    Value first = place[inner];
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
    SmallVector<Value> sums(rows * width, zero);
    auto block = [&](ValueRange state, int64_t vectors, Value lanesLeft) {
      SmallVector<Value> next(state);
      for (int64_t v = 0; v < vectors; ++v) {
        Value offset = index(v * lanes), left = v + 1 == vectors ? lanesLeft : Value();
        // A masked lane must add nothing, whatever the factors make of a zero.
        auto masked = [&](Value x) -> Value {
          Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(x.getType()));
          return left ? arith::SelectOp::create(b, loc, mask(left), x, zero).getResult() : x;
        };
        SmallVector<Value> columns;
        for (int64_t j = 0; j < width; ++j) {
          place[inner] = add(first, index(j));
          columns.push_back(masked(evaluate(c.columns, offset, left, true)));
        }
        place[inner] = first;
        for (int64_t row = 0; row < rows; ++row) {
          setRow(row);
          Value factor = masked(evaluate(c.rows, offset, left, true));
          for (int64_t j = 0; j < width; ++j)
            next[row * width + j] = accumulate(factor, columns[j], next[row * width + j]);
        }
      }
      return next;
    };
    setRow(0);
    sums = nestK(c.k, sums, [&](ValueRange state) { return pieces(loop, 1, state, block); });
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = 0; j < width; ++j) {
        setRow(row);
        place[inner] = add(first, index(j));
        Value old = oldSum(address(output), {}, /*wantsVector=*/false);
        auto flags = isa<FloatType>(element) ? arith::FastMathFlags::reassoc : arith::FastMathFlags::none;
        Value sum = vector::ReductionOp::create(b, loc, vector::CombiningKind::ADD, sums[row * width + j], old, flags);
        storeSum(sum, {}, {});
      }
    place[inner] = first;
  };
  auto tiles = [&](Value from, Value to, int64_t width) {
    auto forOp = scf::ForOp::create(b, loc, from, to, index(width));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    place[inner] = forOp.getInductionVar();
    tileOf(width);
    place[inner] = {};
  };
  int64_t width = std::max<int64_t>(maxAccumulators / rows / 2, 1);
  nest(c.n, inner, [&] {
    Value whole = mul(b.createOrFold<arith::DivUIOp>(loc, extents[inner], index(width)), index(width));
    tiles(index(0), whole, width);
    if (width > 1)
      tiles(whole, extents[inner], 1);
  });
}

//===--- Vectors along a batch loop ---===//

/// `sums`, rows x width neighbours of the innermost loop of N, after the multiply-adds of one element in K.
SmallVector<Value> StreamEmitter::multiplyPlaces(int64_t width, ValueRange sums, Value lanesLeft) {
  SmallVector<Value> next(sums), columns;
  unsigned inner = c.n.back();
  Value first = place[inner];
  for (int64_t j = 0; j < width; ++j) {
    place[inner] = add(first, index(j));
    columns.push_back(evaluate(c.columns, index(0), lanesLeft, true));
  }
  place[inner] = first;
  for (int64_t row = 0; row < rows; ++row) {
    setRow(row);
    Value factor = evaluate(c.rows, index(0), lanesLeft, true);
    for (int64_t j = 0; j < width; ++j)
      next[row * width + j] = accumulate(factor, columns[j], next[row * width + j]);
  }
  setRow(0);
  return next;
}

/// `width` neighbours in N, from the present position on, for all of the batch loop.
void StreamEmitter::multiplyBatch(int64_t width) {
  unsigned inner = c.n.back(), last = c.k.back();
  std::optional<int64_t> depth = getConstantIntValue(extents[last]);
  bool isWrittenOut = depth && *depth <= maxWrittenOut;
  ArrayRef<unsigned> outer = ArrayRef(c.k).drop_back(isWrittenOut);
  auto block = [&](ValueRange, int64_t, Value lanesLeft) -> SmallVector<Value> {
    Value first = place[inner];
    SmallVector<Value> sums;
    auto forEach = [&](function_ref<void()> body) {
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t j = 0; j < width; ++j) {
          setRow(row);
          place[inner] = add(first, index(j));
          body();
        }
      setRow(0);
      place[inner] = first;
    };
    forEach([&] { sums.push_back(oldSum(address(output), lanesLeft, /*wantsVector=*/true)); });
    sums = nestK(outer, sums, [&](ValueRange state) {
      SmallVector<Value> next(state);
      for (int64_t i = 0; i < (isWrittenOut ? *depth : 1); ++i) {
        if (isWrittenOut)
          place[last] = index(i);
        next = multiplyPlaces(width, next, lanesLeft);
      }
      if (isWrittenOut)
        place[last] = {};
      return next;
    });
    unsigned stored = 0;
    forEach([&] { storeSum(sums[stored++], index(0), lanesLeft); });
    return {};
  };
  pieces(loop, 1, {}, block);
}

void StreamEmitter::alongBatch() {
  unsigned inner = c.n.back();
  auto tiles = [&](Value from, Value to, int64_t width) {
    auto forOp = scf::ForOp::create(b, loc, from, to, index(width));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    place[inner] = forOp.getInductionVar();
    multiplyBatch(width);
    place[inner] = {};
  };
  int64_t width = std::max<int64_t>(maxAccumulators / rows, 1);
  if (std::optional<int64_t> extent = getConstantIntValue(extents[inner]); extent && *extent > 0)
    width = llvm::divideCeil(*extent, llvm::divideCeil(*extent, width)); // 14 is 2 of 7, not 8 and 6 of 1.
  nest(c.n, inner, [&] {
    Value whole = mul(b.createOrFold<arith::DivUIOp>(loc, extents[inner], index(width)), index(width));
    tiles(index(0), whole, width);
    std::optional<int64_t> extent = getConstantIntValue(extents[inner]);
    int64_t rest = extent ? *extent % width : 1;
    if (width > 1 && rest > 0)
      tiles(whole, extents[inner], rest);
  });
}

} // namespace weft::cpu
