// Enumerations of the `tk` dialect.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_TILEKERNELENUMS_TD
#define WEFT_DIALECT_TILEKERNEL_IR_TILEKERNELENUMS_TD

include "mlir/IR/EnumAttr.td"

def TK_CopyCpAsync : I32EnumAttrCase<"CpAsync", 0, "cp_async">;
def TK_CopyTma : I32EnumAttrCase<"Tma", 1, "tma">;
def TK_CopyEngine : I32EnumAttr<"CopyEngine", "what moves a tile from global to shared memory", [TK_CopyCpAsync, TK_CopyTma]> {
  let cppNamespace = "::weft::tk";
  let genSpecializedAttr = 0;
}

#endif // WEFT_DIALECT_TILEKERNEL_IR_TILEKERNELENUMS_TD
