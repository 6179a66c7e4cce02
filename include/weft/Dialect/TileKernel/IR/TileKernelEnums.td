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

def TK_SignalAll : I32EnumAttrCase<"All", 0, "all">;
def TK_SignalRow : I32EnumAttrCase<"Row", 1, "row">;
def TK_SignalRowBlock : I32EnumAttrCase<"RowBlock", 2, "row_block">;
def TK_SignalConsecutive : I32EnumAttrCase<"Consecutive", 3, "consecutive">;
def TK_SignalWindow : I32EnumAttrCase<"Window", 4, "window">;
def TK_SignalStrided : I32EnumAttrCase<"Strided", 5, "strided">;
def TK_SignalPolicy : I32EnumAttr<"SignalPolicy", "for which CTAs of a task one of a later task waits",
                                  [TK_SignalAll, TK_SignalRow, TK_SignalRowBlock, TK_SignalConsecutive, TK_SignalWindow, TK_SignalStrided]> {
  let cppNamespace = "::weft::tk";
  let genSpecializedAttr = 0;
}

#endif // WEFT_DIALECT_TILEKERNEL_IR_TILEKERNELENUMS_TD
