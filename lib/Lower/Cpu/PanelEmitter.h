// The emitter of one contraction on memory as packed panels and register tiles: MicroKernel.cpp has its operands,
// tables and loops, PackPanels.cpp the packing, RegisterTile.cpp the tile, its sums and results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_CPU_PANELEMITTER_H
#define WEFT_LIB_LOWER_CPU_PANELEMITTER_H

#include "Epilogue.h"
#include "FlatOperand.h"
#include "MicroKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace weft::cpu {

/// Bytes of a packed panel of B, a block of K by the columns of a register tile: half of an L1 of 32 KiB, so that
/// neither rows of A nor the packing of the next panel drive it out. Deeper blocks load and store partial sums less
/// often.
constexpr int64_t maxPanelBytes = 16 * 1024;
/// Vectors in a row of the register tile.
constexpr unsigned rowVectors = 2;

/// A group of loops seen as one dimension.
struct Side {
  llvm::ArrayRef<unsigned> loops;
  mlir::Value total;
};

/// An operand over M and N, with the tables of both sides (null: the side has no part in its address).
struct Place {
  FlatOperand flat;
  mlir::Value rows, columns;
  mlir::Value base; ///< Of the current batch entry.
};

/// Transposes the square of as many vectors as each has elements.
void transpose(mlir::OpBuilder &b, mlir::Location loc, llvm::MutableArrayRef<mlir::Value> square);

class PanelEmitter {
public:
  PanelEmitter(mlir::linalg::GenericOp op, const Contraction &c, RegisterTile tile)
      : around(findSurroundings(op)), b(around.epilogue ? around.epilogue : op), loc(op.getLoc()), op(op), c(c),
        tile(tile) {}

  llvm::LogicalResult run();

private:
  // Index arithmetic, folded where constant.
  mlir::Value index(int64_t value) { return mlir::arith::ConstantIndexOp::create(b, loc, value); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::AddIOp>(loc, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::SubIOp>(loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MulIOp>(loc, x, y); }
  mlir::Value ceilDiv(mlir::Value x, int64_t y) { return b.createOrFold<mlir::arith::CeilDivUIOp>(loc, x, index(y)); }
  mlir::Value min(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MinUIOp>(loc, x, y); }
  mlir::Value alloc(llvm::ArrayRef<int64_t> shape, mlir::ValueRange sizes, mlir::Type element) {
    return mlir::memref::AllocOp::create(b, loc, mlir::MemRefType::get(shape, element), sizes);
  }
  void loop(mlir::Value low, mlir::Value high, llvm::function_ref<void(mlir::Value)> body) {
    auto forOp = mlir::scf::ForOp::create(b, loc, low, high, index(1));
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    body(forOp.getInductionVar());
  }

  Side makeSide(llvm::ArrayRef<unsigned> loops);
  mlir::Value fillTable(const Side &side, const FlatOperand &operand, mlir::Value padded);
  mlir::Value isContiguous(mlir::Value table, mlir::Value from, mlir::Value count);
  mlir::Value linearStep(const FlatOperand &operand, llvm::ArrayRef<unsigned> loops);
  bool hasNoPart(const FlatOperand &operand, llvm::ArrayRef<unsigned> loops);
  bool hasNeighbours(const FlatOperand &operand);
  bool hasPanels(const FlatOperand &operand);
  mlir::Value evaluate(const Factor &factor, llvm::function_ref<mlir::Value(unsigned)> address);
  mlir::Value baseOf(const FlatOperand &operand, mlir::ValueRange batch);

  void emitBatches(unsigned next, llvm::SmallVectorImpl<mlir::Value> &batch);
  void emitBatch(mlir::ValueRange batch);
  bool setUp();
  void setUpEpilogue();
  void fillTables();
  void allocate();
  void packRows(mlir::Value k0, mlir::Value kCount);
  bool canPackRowVectors();
  void packRowVectors(mlir::Value k0, mlir::Value kCount);
  void packColumns(mlir::Value panel, mlir::Value k0, mlir::Value kCount);
  void packSegment(mlir::Value panel, int64_t segment, mlir::Value k0, mlir::Value kCount, bool contiguous);
  bool canPackVectors();
  bool canPackTransposed();
  void packTransposed(mlir::Value panel, mlir::Value k0, mlir::Value kCount);
  void packVectors(mlir::Value panel, mlir::Value k0, mlir::Value kCount);
  mlir::Value isDense(mlir::Value panel);
  void multiplyPanel(mlir::Value panel, mlir::Value k0, mlir::Value kCount);
  void prefetchNext(mlir::Value panel, mlir::Value block, mlir::Value k0, mlir::Value kCount);
  void prefetchEpilogue(mlir::Value panel, mlir::Value row0, mlir::Value k0, mlir::Value kCount);
  void multiplyTile(mlir::Value panel, mlir::Value block, mlir::Value k0, mlir::Value kCount, bool dense);
  llvm::SmallVector<mlir::Value> oldSums(mlir::Value memory, llvm::ArrayRef<llvm::SmallVector<mlir::Value>> places,
                                         mlir::Value k0, bool dense);
  mlir::Value maskOf(mlir::Value panel, int64_t v, int64_t unit = 1);
  mlir::Value loadVector(mlir::VectorType type, mlir::Value memory, mlir::ValueRange at, mlir::Value mask);
  void storeVector(mlir::Value value, mlir::Value memory, mlir::ValueRange at, mlir::Value mask);
  mlir::Value addressOf(const Place &place, mlir::Value row, mlir::Value panel, int64_t v);
  void storeResults(mlir::ValueRange sums, mlir::Value row0, mlir::Value panel);
  void storeAcross(mlir::ValueRange sums, mlir::Value row0, mlir::Value panel);
  void storeColumn(mlir::Value column, mlir::Value row0, mlir::Value rowCount, mlir::Value j, bool adjacent);
  void transposeSums(mlir::ValueRange sums);
  mlir::Value areRowsAdjacent(mlir::Value row0, mlir::Value rowCount);
  void unpackPanel(mlir::Value panel);
  mlir::Value accumulate(mlir::Value a, mlir::Value bVector, mlir::Value acc);
  int64_t chooseTileRows(std::optional<int64_t> rows);
  bool arePanelsWhole();
  bool hasDensePanels();
  bool canMultiplyInPlace();
  mlir::Value loadColumns(mlir::Value first, mlir::Value panel, mlir::Value kk, mlir::Value k0, int64_t v);
  /// Elements in memory from an element of a factor to its neighbour.
  int64_t unit() const { return c.quad ? 4 : 1; }

  Surroundings around;
  mlir::OpBuilder b;
  mlir::Location loc;
  mlir::linalg::GenericOp op;
  const Contraction &c;
  RegisterTile tile;

  mlir::Type element;      ///< Of the accumulators.
  mlir::VectorType vector; ///< One register.
  int64_t lanes, panelColumns, tileRows, blockK;
  bool oneBlockK, rowsInPlace;
  bool columnsInPlace = false;            ///< Columns are multiplied where they lie.
  bool rowsAlongK;                        ///< Packed rows are [block][row][k], not [block][k][row].
  bool alwaysDense;                       ///< All panels are neighbours in C,
  bool hasTail = false;                   ///< the last one maybe not whole.
  llvm::SmallVector<mlir::Value> extents; ///< Of each loop.
  llvm::SmallVector<FlatOperand> inputs;
  Side m, n, k;
  mlir::Value paddedRows, paddedColumns, rowBlocks, panels;
  llvm::SmallVector<mlir::Value> sideTable, kTable; ///< Tables of address parts, by input number.
  Place output;
  std::optional<Epilogue> epilogue;
  Place result;                   ///< Of the epilogue,
  llvm::SmallVector<Place> extra; ///< and its operands.
  mlir::Value accumulators, packedRows, packedColumns;
  mlir::Value transposedSums;               ///< [column][row] of a tile, if rows are neighbours in C.
  llvm::SmallVector<mlir::Value> inputBase; ///< Addresses of the current batch entry.
  llvm::SmallVector<mlir::Value> tailMasks; ///< Of the current panel's vectors; null: whole.
};

} // namespace weft::cpu

#endif // WEFT_LIB_LOWER_CPU_PANELEMITTER_H
