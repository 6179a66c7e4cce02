// The mapping type of an operand, derived from the maps of its op.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_MAPPING_H
#define WEFT_DIALECT_TILEGRAPH_IR_MAPPING_H

#include "weft/Dialect/TileGraph/IR/TileGraph.h"

namespace weft::tg {

/// The mapping type that follows from the maps of `operand` and of the result, by the first rule that holds:
///
///  * a map is missing: Opaque;
///  * the domain has reductions: Window if the operand's map is not a projected permutation (elements are shared
///  between
///    neighbours of the result), else Contraction if the op has several operands, else Reduction;
///  * the map divides (delinearises): Reorganize;
///  * a result dimension of extent other than 1 is not read, or two are added: One-to-Many;
///  * the dimensions of extent other than 1 appear out of order, or one runs backwards: Shuffle; in order but at other
///    indices: Reorganize; at their indices (strides and offsets allowed: an element has at most one copy): One-to-One.
MappingType deriveMappingType(TileOpInterface op, unsigned operand);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_MAPPING_H
