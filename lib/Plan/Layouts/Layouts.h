// What the order of a tensor's dimensions in memory costs the kernels that read and write it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor's order is told by the dimension that is innermost; the others keep their sequence. An order costs, for all
// accesses of all kernels, bytes read or written times 16 / (bytes of the widest vector that the access allows): a
// window slides along its dimensions by one element, so there it allows none; along the channels of a convolution it
// allows whole vectors. A kernel without a contraction pays for tensors that are contiguous along different dimensions
// too, as does an epilogue; a contraction does not for its operands, since they pass through shared memory, except for
// the matrix of a product of one row, which streams.
#ifndef WEFT_LIB_PLAN_LAYOUTS_LAYOUTS_H
#define WEFT_LIB_PLAN_LAYOUTS_LAYOUTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/GemmModel.h"
#include "weft/Plan/KernelAccess.h"
#include "weft/Target/Device.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace weft::plan {

/// A tensor in memory, and its innermost dimension.
struct Tensor {
  mlir::Value value;
  unsigned inner = 0;
  int64_t bytes = 0, elementBytes = 1;
  bool isFree = false;                  ///< The order may change.
  bool isGiven = false;                 ///< `inner` is not ours to choose (WeightOrder.h).
  llvm::SmallVector<unsigned> accesses; ///< In the order of the kernels.
};

/// One position where a kernel reads or writes a tensor.
struct TensorAccess {
  unsigned tensor, kernel;
  llvm::SmallVector<mlir::AffineExpr> coordinates; ///< Over the kernel's iteration space.
  double reads = 1;                                ///< Of each element; below 1 where strides leave some out.
  bool isOperand = false;                          ///< Of a contraction.
};

/// A copy of a tensor in another order, for windows that slide along what is contiguous in the tensor.
struct LayoutCopy {
  mlir::Value value;
  unsigned inner = 0; ///< Of the copy.
  /// Zeros behind what it has along `inner`, so that its rows are whole vectors, as TMA asks of them. Weights that the
  /// readers multiply it by are read as if they had as many.
  int64_t padding = 0;
  llvm::SmallVector<mlir::Operation *> readers;
  double before = 0, after = 0;       ///< Seconds of the readers, and with the copy.
  llvm::DenseSet<mlir::Value> others; ///< What the readers multiply it by and is copied behind zeros, too.
  bool isOfWindows = false;           ///< The readers sum over windows of each channel alone.
};

/// A GEMM that contracts over rows which are copied behind zeros first (PadRows.cpp).
struct RowPadding {
  tg::ContractOp contract;
  unsigned dim = 0;                      ///< Of the contraction.
  int64_t before = 0, after = 0;         ///< Its extent.
  llvm::SmallVector<unsigned, 2> copied; ///< Operands; the other one gets its zeros where it is read.
};

/// The copies that paddings ask for, each made once, in front of its first reader.
class PaddedRows {
public:
  void apply(const RowPadding &padding);
  bool has(mlir::Value value) const { return copies.contains(value); }

private:
  mlir::Value get(mlir::Value value, int64_t more, mlir::Operation *reader);

  llvm::DenseMap<mlir::Value, mlir::Value> copies;
};

/// An operand of a contraction that is a tensor, seen through paddings along its other dimensions, whose dimension
/// `inner` is summed along; and the dimension of the other operand that this is.
struct SummedOperand {
  tg::ContractOp contract;
  unsigned number, other;
};
/// All reads of a tensor by a kernel; none if there is another.
llvm::SmallVector<SummedOperand> findSummed(mlir::Value tensor, unsigned inner, mlir::Operation *kernel);

/// An operand in a kernel: a value from outside, or that in another order.
struct OutsideOperand {
  mlir::Value value;                ///< Null: neither.
  llvm::SmallVector<int64_t> order; ///< By dimension of the operand, that of the value.
};
OutsideOperand findOutside(mlir::Value operand, mlir::Operation *kernel);

class Layouts {
public:
  Layouts(mlir::func::FuncOp main, const Device *device, bool isCpu = false);

  /// One tensor at a time takes its cheapest order, first without regard to others, then until nothing changes.
  void choose();

  /// Copies of tensors whose order stays, each of which saves its readers more than it takes.
  llvm::SmallVector<LayoutCopy> chooseCopies(const Device &device) const;

  /// Products whose operands' rows had better be copied to whole lines first, in the order of the kernels.
  llvm::SmallVector<RowPadding> choosePaddings(const Device &device) const;

  llvm::ArrayRef<Tensor> getTensors() const { return tensors; }

private:
  struct Kernel {
    mlir::Operation *op = nullptr;
    KernelAccess access;
    llvm::SmallVector<int64_t> extents; ///< Estimates, by dimension of the iteration space.
    /// Of each contraction the reduced dimension that tiles go along: the longest.
    llvm::SmallMapVector<mlir::Operation *, unsigned, 2> depths;
    llvm::SmallVector<unsigned> accesses;
    bool unpacks = false; ///< A product reads numbers that share words (../Models/Unpacked.h).
  };

  void add(mlir::Operation *op);
  void addAccess(unsigned kernel, mlir::Value value, llvm::ArrayRef<mlir::AffineExpr> coordinates);
  unsigned getTensor(mlir::Value value);
  bool mayChange(const Tensor &tensor) const;
  bool improve(Tensor &tensor);
  /// Of a tensor if it had `inner` innermost.
  double getCost(const Tensor &tensor, unsigned inner) const;
  double getCost(const TensorAccess &access, unsigned inner) const;
  double getTransposition(const TensorAccess &a, unsigned inner, const TensorAccess &b) const;
  int64_t getVectorBytes(const TensorAccess &access, unsigned inner) const;
  bool isPacked(const TensorAccess &access) const;
  std::optional<unsigned> getContiguousDim(const TensorAccess &access, unsigned inner) const;
  bool isTiled(const Kernel &kernel, unsigned dim) const;
  unsigned countRowDims(const TensorAccess &access) const;
  bool hasOwnSide(const TensorAccess &access) const;
  double getAcross(const TensorAccess &access) const;
  bool passesThrough(const TensorAccess &access) const;
  bool isStreamed(const TensorAccess &access) const;
  bool isWritten(const TensorAccess &access) const;
  const TensorAccess *findOperand(const Kernel &kernel, mlir::Value operand) const;
  std::optional<RowPadding> makePadding(const Kernel &kernel, tg::ContractOp contract, const Device &device,
                                        const llvm::DenseSet<mlir::Value> &padded) const;
  std::optional<llvm::SmallVector<mlir::Value>> findOthersToCopy(const TensorAccess &access, unsigned inner) const;
  GemmProblem describeProduct(const TensorAccess &access, unsigned inner, int64_t padding) const;
  LayoutCopy alignToLines(LayoutCopy copy, const Tensor &tensor, const Device &device) const;
  bool slides(const TensorAccess &access) const;
  std::optional<unsigned> findWindowInner(const TensorAccess &access) const;
  LayoutCopy makeWindowCopy(const Tensor &tensor, const Device &device) const;
  LayoutCopy makeCopy(const Tensor &tensor, unsigned inner, int64_t padding, const Device &device) const;

  const Device *device; ///< Null: not a GPU's.
  bool isCpu;
  llvm::SmallVector<Tensor> tensors;
  llvm::DenseMap<mlir::Value, unsigned> numbers;
  llvm::SmallVector<TensorAccess> accesses;
  std::vector<Kernel> kernels;
  llvm::DenseSet<mlir::Value> fixed; ///< Of kernels that are not followed.
  bool countsNeighbours = true;
};

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_LAYOUTS_LAYOUTS_H
