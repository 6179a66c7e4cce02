// Passes that print what analyses of `tg` found.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_ANALYSIS_PASSES_TD
#define WEFT_DIALECT_TILEGRAPH_ANALYSIS_PASSES_TD

include "mlir/Pass/PassBase.td"

def Classify : Pass<"weft-classify"> {
  let summary = "print DNNFusion's classification as attributes";
  let description = [{
    Sets the attribute `tg.class` of every `tg` op that computes or moves tensors: the op's mapping type and that of each operand, both derived from
    the op's maps; for each operand what the combination table (weft/Dialect/TileGraph/Analysis/Classify.h) says of fusing its producer
    with the op (`none` where no op produces it); the bytes of the result (IRS) where they are static; whether fusion can remove the result
    (every user may be fused and none is a terminator); and the mathematical properties of elementwise ops. Changes nothing else. Many-to-Many
    is printed refined: `contraction`, `reduction` or `window`.

    ```mlir
    func.func @main(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> tensor<8x4xf32> {
      %0 = tg.add %x, %y : tensor<4x8xf32>, tensor<8xf32>
      // gets {tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"],
      //                   properties = ["associative", "commutative"], removable}}
      %1 = tg.transpose %0 [1, 0] : tensor<4x8xf32>
      // gets {tg.class = {edges = ["profile: one_to_many"], irs = 128 : i64, mapping = "shuffle", operands = ["shuffle"]}}
      return %1 : tensor<8x4xf32>
    }
    ```
  }];
}

#endif // WEFT_DIALECT_TILEGRAPH_ANALYSIS_PASSES_TD
