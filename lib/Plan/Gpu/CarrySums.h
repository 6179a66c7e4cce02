// A norm's sums as extra results of the product in front of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// rms(x) g = x g s with s = f(sum of x^2), and contract(x g s, w) = contract(x g, w) s. Where x is what a product and
// its epilogue make, that kernel also stores x g, and of each of its tiles the sums of x^2 along its columns: parts of
// rows (tg::findTileParts). The kernels of the products behind add up a row's parts and scale their rows: no kernel
// reads x for the norm.
#ifndef WEFT_LIB_PLAN_GPU_CARRYSUMS_H
#define WEFT_LIB_PLAN_GPU_CARRYSUMS_H

#include "mlir/IR/IRMapping.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Target/Device.h"
#include "llvm/ADT/SetVector.h"
#include <optional>
#include <string>

namespace weft::plan {

class CarriedSums {
public:
  /// `operand` is the product of `kept`, which vary along its last dimension, and of what `scaling` makes of sums;
  /// `kernels` other kernels read it.
  CarriedSums(mlir::Value operand, llvm::ArrayRef<mlir::Value> kept, const llvm::SetVector<mlir::Operation *> &scaling,
              size_t kernels, const Device &device)
      : operand(operand), kept(kept), scaling(scaling), kernels(kernels), device(device) {}

  /// Why not, or an empty string. `text` has the numbers that decided.
  std::string check(std::string &text);
  /// x g in the operand's type, times a power of two that keeps 16-bit floats finite; and the parts. At `builder`,
  /// which stands behind the operand.
  mlir::Value build(mlir::OpBuilder &builder);
  /// The sum of the parts, in the place of the reduction; one for each kernel that needs it.
  void addUp(mlir::OpBuilder &builder, mlir::IRMapping &clones) const;
  /// What undoes the power of two in the products; 1 if there is none.
  double getFactor() const { return factor; }

private:
  std::string findRow();
  std::string findSum();
  std::string boundRow();
  bool pays(std::string &text);
  double loseToParts(unsigned side, std::optional<int64_t> extent);

  mlir::Value operand;
  llvm::ArrayRef<mlir::Value> kept;
  const llvm::SetVector<mlir::Operation *> &scaling;
  size_t kernels;
  const Device &device;
  mlir::Value row;        ///< x.
  tg::ContractOp product; ///< Whose epilogue makes it.
  tg::ReduceOp sum;       ///< Of the row.
  int64_t places = 0;     ///< Of a part.
  double apart = 0;       ///< Seconds of the product without them.
  double factor = 1;
  mlir::Value parts;
};

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GPU_CARRYSUMS_H
