// The pass that makes tiles of a kernel's tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_KERNELIZE_PASSES_TD
#define WEFT_KERNELIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Kernelize : Pass<"weft-kernelize", "::mlir::ModuleOp"> {
  let summary = "turn a kernel of tg ops on tensors into tk ops on tiles without layouts";
  let description = [{
    On a kernel module (docs/kernel-module.md) with one function `@kernel`. The module attribute `tg.schedule` says how; without it a simple one is made up.
    The result tensors are asked for their tiles, and each op asks for the tiles of its operands at the coordinates it needs: one
    affine expression for each dimension. Equal (value, coordinates) are computed once, in the outermost loop that the coordinates allow.

    * A coordinate in which a tile dimension does not occur makes a tile without it, which is broadcast where it is used: statistics of a row are computed once a row.
    * A reduction or contraction whose reduced extents exceed the schedule's steps becomes one `scf.for` over all its steps; what lies past the end of
      a reduced dimension is the neutral element (fill of a bare load, select of a computed tile).
    * A contraction whose operands each have one tile dimension of their own becomes `tk.dot`; any other a multiplication and `tk.reduce`.
    * `tg.scatter` is computed where its result is: each element looks through the updates in their order. The same holds for a `tg.scan` whose axis no tile
      covers. Both are exact, and slow for many updates (long axes).
    * 4-bit and 2-bit elements lie packed in bytes; a packed result is computed byte by byte.

    The first result and its tiles are the domain. Along a dimension of the same extent a further result is stored where the domain is; dimensions that the
    domain lacks are gone through in a loop.

    Where tiles are computed in the order of rows, one by each CTA, the module's `tk.tile_rows` says which elements each writes and reads.

    An op it cannot do is an error at the op. `schedule.split` other than 1 is refused.

    ```mlir
    func.func @kernel(%x: tensor<1000xf16>) -> tensor<1000xf16> {
      %0 = tg.exp %x : tensor<1000xf16>
      return %0 : tensor<1000xf16>
    }
    ```
    becomes
    ```mlir
    func.func @kernel(%x: !tk.global<tensor<1000xf16>>, %r: !tk.global<tensor<1000xf16>>) attributes {tk.warps = 4 : i64} {
      tk.for_tiles (%i) in affine_map<() -> (1)> order "row" {
        %0 = tk.load %x map affine_map<(d0) -> (d0)> guard affine_set<(d0) : (-d0 + 999 >= 0)> : !tk.global<tensor<1000xf16>> -> !tk.tile<1024xf16>
        %1 = tk.map (%0 : !tk.tile<1024xf16>) -> !tk.tile<1024xf16> {
        ^bb0(%a: f16):
          %2 = arith.extf %a : f16 to f32
          %3 = math.exp %2 : f32
          %4 = arith.truncf %3 : f32 to f16
          tk.yield %4 : f16
        }
        tk.store %1, %r map affine_map<(d0) -> (d0)> guard affine_set<(d0) : (-d0 + 999 >= 0)> : !tk.tile<1024xf16>, !tk.global<tensor<1000xf16>>
        tk.yield
      }
      return
    }
    ```
  }];
  let options = [Option<"allowTf32", "allow-tf32", "bool", /*default=*/"false", "f32 contractions may round their operands to tf32">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
                           "::weft::tk::TileKernelDialect"];
}

#endif // WEFT_KERNELIZE_PASSES_TD
