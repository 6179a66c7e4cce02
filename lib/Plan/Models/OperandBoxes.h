// What tiles of a product's operands are in memory: boxes that TMA fetches, or vectors of how many bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_MODELS_OPERANDBOXES_H
#define WEFT_LIB_PLAN_MODELS_OPERANDBOXES_H

#include "weft/Plan/Schedule.h"

namespace weft::plan {

/// The argument whose elements an operand has, seen through views that a copy can follow.
mlir::Value sourceOf(mlir::Value operand);

/// Whether rows of the tensor start at multiples of 16 bytes: what tensor maps demand.
bool hasAlignedRows(mlir::Value value);

/// Whether every index is another dimension, plus a constant where the operand is a slice: a box of the tensor.
bool readsBoxes(mlir::AffineMap map);

/// Whether tiles of an operand are boxes of a tensor in memory, whatever their extents up to findMostBox: its elements
/// are sums of dimensions, those of one side, by steps of 8 at most, in the order in which a tile has them, and one
/// alone is innermost.
bool hasBoxes(const KernelToSchedule &kernel, mlir::Value operand, std::optional<unsigned> depth);

/// The most elements of a tile over `side`, dimensions of the kernel, whose boxes reach over 256 elements at most.
int64_t findMostBox(const KernelToSchedule &kernel, mlir::Value operand, llvm::ArrayRef<unsigned> side);

/// Whether windows slide along what is contiguous in the operand: it comes element by element, each with a mask.
bool slidesAlongRows(const KernelToSchedule &kernel, mlir::Value operand);

/// Bytes that all vectors of the operand start at multiples of, a line (128) at most; of one element where
/// windows slide, or steps lead, along what is contiguous.
int64_t findVectorAlignment(const KernelToSchedule &kernel, mlir::Value operand);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_MODELS_OPERANDBOXES_H
