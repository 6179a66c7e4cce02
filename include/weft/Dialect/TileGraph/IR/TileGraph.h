// The `tg` dialect: dialect class, attributes, interfaces, ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPH_H
#define WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPH_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "weft/Dialect/TileGraph/IR/Inference.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "weft/Dialect/TileGraph/IR/WeightStore.h"

#include "weft/Dialect/TileGraph/IR/TileGraphDialect.h.inc"
#include "weft/Dialect/TileGraph/IR/TileGraphEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "weft/Dialect/TileGraph/IR/TileGraphAttrs.h.inc"

#include "weft/Dialect/TileGraph/IR/TileGraphInterfaces.h.inc"

#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/PointwiseOps.h.inc"
#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/ReductionOps.h.inc"
#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/DataOps.h.inc"
#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/CompositeOps.h.inc"
#define GET_OP_CLASSES
#include "weft/Dialect/TileGraph/IR/StructureOps.h.inc"

namespace weft::tg {

/// Names of the module's symbols (attribute `tg.symbols`); empty if it has none.
llvm::SmallVector<std::string> getSymbolNames(mlir::Operation *module);

/// The value's constant contents: a `tg.constant`, or a `tg.weight` whose bytes are in the store and at most `maxBytes`
/// long.
mlir::ElementsAttr getConstantElements(mlir::Value value, int64_t maxBytes);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_TILEGRAPH_H
