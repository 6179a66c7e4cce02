// Shared by the CPU passes: the kernel function, its symbols, index values as expressions of the symbols.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_LOWER_CPU_KERNEL_H
#define WEFT_LIB_LOWER_CPU_KERNEL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinOps.h"

namespace weft::cpu {

/// The one public function of a kernel module; null if there is none or several.
mlir::func::FuncOp getKernelFunc(mlir::ModuleOp module);

/// The kernel's symbols: its arguments of index type, in order.
llvm::SmallVector<mlir::Value> getSymbols(mlir::func::FuncOp func);

/// `value` as an expression of `func`'s symbols (symbol N is the N-th index argument), through constants and index
/// arithmetic; null if it is not one.
mlir::AffineExpr asSymbolExpr(mlir::func::FuncOp func, mlir::OpFoldResult value);

/// An upper bound of `value` as an expression of `func`'s symbols; null if none is found.
mlir::AffineExpr upperBound(mlir::func::FuncOp func, mlir::Value value);

} // namespace weft::cpu

#endif // WEFT_LIB_LOWER_CPU_KERNEL_H
