// What emits a streamed contraction (StreamContraction.cpp): its loops, its elements, and the ways to vectorise it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_CPU_STREAMEMITTER_H
#define WEFT_LIB_LOWER_CPU_STREAMEMITTER_H

#include "Epilogue.h"
#include "FlatOperand.h"
#include "MicroKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace weft::cpu {

/// Accumulator vectors: enough to hide the latency of multiply-adds, few enough for 16 registers.
inline constexpr int64_t maxAccumulators = 8;
/// Extents below this do not fill enough of a vector.
inline constexpr int64_t minVectorExtent = 4;
/// Elements of K that are written out, so that windows of neighbours read what they share once.
inline constexpr int64_t maxWrittenOut = 8;

class StreamEmitter {
public:
  StreamEmitter(mlir::linalg::GenericOp op, const Contraction &c, RegisterTile tile, bool eachRow)
      : around(findSurroundings(op)), b(around.epilogue ? around.epilogue : op), loc(op.getLoc()), op(op), c(c),
        tile(tile), eachRow(eachRow) {}

  mlir::LogicalResult run();

private:
  mlir::Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(b, loc, value); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::AddIOp>(loc, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::SubIOp>(loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MulIOp>(loc, x, y); }

  bool canVectorize(const Factor &factor);
  bool walks(const Factor &factor, unsigned loop, int64_t maxStep) const;
  bool isLong(unsigned loop) const;
  bool chooseLoop();

  // Loops; the present index of loop d is `place[d]`, null before its loop is entered.
  void nest(llvm::ArrayRef<unsigned> loops, unsigned except, llvm::function_ref<void()> body);
  std::optional<int64_t> countFields(unsigned d);
  llvm::SmallVector<mlir::Value> nestK(llvm::ArrayRef<unsigned> loops, mlir::ValueRange state,
                                       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> body);
  /// Calls `block(count, mask)` for pieces of loop `loop`, whose start is then `place[loop]`: pieces of `width`
  /// vectors, then the rest, whose last vector has a mask.
  using Block = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange state, int64_t vectors,
                                                                  mlir::Value lanesLeft)>;
  llvm::SmallVector<mlir::Value> pieces(unsigned loop, int64_t width, mlir::ValueRange state, Block block);
  void setRow(int64_t row);

  // Elements.
  mlir::Value address(const FlatOperand &operand);
  /// Elements in memory from an element of a factor to its neighbour.
  int64_t unit() const { return c.quad ? 4 : 1; }
  mlir::Value loadWords(unsigned input, mlir::Value at, bool isVector, mlir::Value lanesLeft);
  mlir::Value mask(mlir::Value count, int64_t each = 1);
  mlir::Value loadVector(const FlatOperand &operand, mlir::Value at, int64_t step, mlir::Value lanesLeft);
  mlir::Value evaluate(const Factor &factor, mlir::Value offset, mlir::Value lanesLeft, bool asVector);
  mlir::Value asVector(mlir::Value value);
  mlir::Value accumulate(mlir::Value x, mlir::Value y, mlir::Value sum);

  void setUpEpilogue();
  mlir::Value oldSum(mlir::Value at, mlir::Value lanesLeft, bool wantsVector);
  void storeSum(mlir::Value sum, mlir::Value offset, mlir::Value lanesLeft);

  void prefetchColumns(llvm::ArrayRef<unsigned> loops, int64_t vectors);
  int64_t countVectors() const;
  void choosePanels();
  void forPanels(llvm::function_ref<void()> body);
  void multiplyPanels();
  void alongColumns();
  void alongDepth();
  void alongBatch();
  void multiplyBatch(int64_t width);
  llvm::SmallVector<mlir::Value> multiplyPlaces(int64_t width, mlir::ValueRange sums, mlir::Value lanesLeft);
  llvm::SmallVector<mlir::Value> multiplyColumns(mlir::ValueRange sums, int64_t vectors, mlir::Value lanesLeft);

  Surroundings around;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::linalg::GenericOp op;
  const Contraction &c;
  RegisterTile tile;
  bool eachRow; ///< Rows go one after the other.

  mlir::Type element; ///< Of the accumulators.
  int64_t lanes, rows = 1;
  unsigned loop = 0;                             ///< The vectorised one,
  unsigned panel = 0;                            ///< The loop of N around it,
  int64_t panels = 1;                            ///< of which so many go side by side.
  enum { Columns, Depth, Batch } side = Columns; ///< of N, K or the batch.
  llvm::SmallVector<mlir::Value> extents, place;
  llvm::SmallVector<FlatOperand> inputs;
  FlatOperand output;
  std::optional<Epilogue> epilogue;
};

} // namespace weft::cpu

#endif // WEFT_LIB_LOWER_CPU_STREAMEMITTER_H
