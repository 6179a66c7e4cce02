// The `tk` dialect: dialect class, attributes, types, ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_TILEKERNEL_H
#define WEFT_DIALECT_TILEKERNEL_IR_TILEKERNEL_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IntegerSet.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileKernel/Layout/LinearLayout.h"

namespace weft::layout {
inline llvm::hash_code hash_value(const LinearLayout &layout) {
  return llvm::hash_combine(llvm::hash_combine_range(layout.columns().begin(), layout.columns().end()),
                            layout.ins().size());
}
} // namespace weft::layout

#include "weft/Dialect/TileKernel/IR/TileKernelDialect.h.inc"
#include "weft/Dialect/TileKernel/IR/TileKernelEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "weft/Dialect/TileKernel/IR/TileKernelAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "weft/Dialect/TileKernel/IR/TileKernelTypes.h.inc"
#define GET_OP_CLASSES
#include "weft/Dialect/TileKernel/IR/TileKernelOps.h.inc"

namespace weft::tk {

/// Of a kernel module: the compute target, a string such as "sm_90a".
constexpr llvm::StringLiteral targetAttr = "tk.target";
/// Of a kernel function: warps of a CTA (i64).
constexpr llvm::StringLiteral warpsAttr = "tk.warps";
/// Of a kernel function, from allocation: bytes of dynamic shared memory (i64).
constexpr llvm::StringLiteral sharedBytesAttr = "tk.shared_bytes";

/// Bits of an element as tiles hold it.
unsigned getElementBits(mlir::Type element);

/// The layout of slots of `part` elements that lie one behind the other and are seen as `whole`, longer along one
/// dimension; null without a layout.
LayoutAttr joinSlots(LayoutAttr slot, llvm::ArrayRef<int64_t> part, llvm::ArrayRef<int64_t> whole);
/// The layout of slots that are `joined` together; null if no layout of slots is that.
LayoutAttr getSlotLayout(LayoutAttr joined, llvm::ArrayRef<int64_t> part, llvm::ArrayRef<int64_t> whole);

} // namespace weft::tk

#endif // WEFT_DIALECT_TILEKERNEL_IR_TILEKERNEL_H
