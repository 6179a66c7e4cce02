// The attribute of conditions that say where a mask keeps nothing (weft-bound-masks).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_IMPLIED_H
#define WEFT_DIALECT_TILEGRAPH_IR_IMPLIED_H

#include "llvm/ADT/StringRef.h"

namespace weft::tg {

/// Of a `tg.and` (`tg.or`) whose right operand holds (does not hold) wherever the left one does (does not): it need not
/// be computed.
constexpr llvm::StringLiteral impliedAttr = "tg.implied";

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_IMPLIED_H
