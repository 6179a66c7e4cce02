// The pass that turns kernel functions of `tg` into linalg on tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LOWER_TILEGRAPHTOLINALG_PASSES_TD
#define WEFT_LOWER_TILEGRAPHTOLINALG_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToLinalg : Pass<"weft-lower-to-linalg", "::mlir::func::FuncOp"> {
  let summary = "lower the tg primitives of a kernel function to linalg, tensor, arith, math and scf";
  let description = [{
    The function's arguments are tensors followed by one `index` per symbol: symbol sN of `#tg.dims` is index
    argument N. Afterwards its tensors are plain and signless:

    * `#tg.dims` encodings are dropped; extents are computed from the symbol arguments;
    * `ui8` becomes `i8` and so on; signedness lives on in the ops;
    * `i1` tensors become `i8` tensors of 0 and 1 (scalars inside op bodies stay `i1`);
    * 8-bit floats become `i8` tensors of their bits; sub-byte types become `i8` tensors, one element a byte (bits
      above the type's width are zero) inside the function, and packed as ONNX packs them (low bits first, one
      dimension) where they are arguments or results.

    Elementwise ops are `linalg.generic` over the op's own `buildScalar`, with one rounding per op. Reductions and
    contractions accumulate in f32 (f64 for f64) and round in a generic of their own. `tg.transpose`, `tg.broadcast`
    and `tg.window` are composed into the indexing maps of the ops that read them; a window under a reduction is one
    generic with a shape-only operand.

    The order of additions in a reduction is the loop order of its generic. Gathers clamp, scatters drop, as the ops
    say; every operand that a gather reads must have room for one element even if an extent is zero.

    ```mlir
    func.func @kernel(%x: tensor<?x8xf16, #tg.dims<()[s0] -> (s0, 8)>>, %s0: index)
        -> tensor<?x8xf16, #tg.dims<()[s0] -> (s0, 8)>> attributes {tg.num_symbols = 1 : i64} {
      %r = tg.exp %x : tensor<?x8xf16, #tg.dims<()[s0] -> (s0, 8)>>
      return %r : tensor<?x8xf16, #tg.dims<()[s0] -> (s0, 8)>>
    }
    ```
    becomes
    ```mlir
    func.func @kernel(%x: tensor<?x8xf16>, %s0: index) -> tensor<?x8xf16> attributes {tg.num_symbols = 1 : i64} {
      %0 = tensor.empty(%s0) : tensor<?x8xf16>
      %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                           iterator_types = ["parallel", "parallel"]}
          ins(%x : tensor<?x8xf16>) outs(%0 : tensor<?x8xf16>) {
      ^bb0(%in: f16, %out: f16):
        %1 = arith.extf %in : f16 to f32
        %2 = math.exp %1 : f32
        %3 = arith.truncf %2 : f32 to f16
        linalg.yield %3 : f16
      } -> tensor<?x8xf16>
      return %r : tensor<?x8xf16>
    }
    ```
  }];
  let options = [
    Option<"selectionLimit", "selection-limit", "int64_t", /*default=*/"16",
           "largest k of tg.top_k that is found by k passes of selection instead of a merge sort">,
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif // WEFT_LOWER_TILEGRAPHTOLINALG_PASSES_TD
