// Passes of Normalize: composites to primitives, constant folding, the phase's verifier.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_REWRITE_PASSES_TD
#define WEFT_DIALECT_TILEGRAPH_REWRITE_PASSES_TD

include "mlir/Pass/PassBase.td"

def DecomposeComposites : Pass<"weft-decompose-composites"> {
  let summary = "rewrite composites to primitives";
  let description = [{
    Replaces `tg.gelu`, `tg.softmax`, `tg.layer_norm`, `tg.rms_norm`, `tg.group_norm` and `tg.attention` by primitives that compute
    what their descriptions say, in f32 (f64 for f64) or in the op's stash or softmax type, rounded where they say. Reassociating:
    results agree with the composite's formula up to the rounding of that type.

    ```mlir
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %r = tg.softmax %x axis = 1 : tensor<4x8xf32>
      return %r : tensor<4x8xf32>
    }
    ```

    becomes

    ```mlir
    %max = tg.reduce max %x axes = [1] keep_dims : tensor<4x8xf32>
    %shifted = tg.sub %x, %max : tensor<4x8xf32>, tensor<4x1xf32>
    %e = tg.exp %shifted : tensor<4x8xf32>
    %sum = tg.reduce add %e axes = [1] keep_dims : tensor<4x8xf32>
    %r = tg.div %e, %sum : tensor<4x8xf32>, tensor<4x1xf32>
    ```
  }];
  let statistics = [Statistic<"numDecomposed", "decomposed", "composites rewritten">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def Simplify : Pass<"weft-simplify"> {
  let summary = "canonical form: exact algebra and views";
  let description = [{
    Applies the canonicalisation patterns and folders of all loaded dialects, and rewrites that give the same values for every
    input (each pattern states why): neutral elements, double negation, lossless chains of casts, division by powers of two, squares,
    chains of views, broadcasts that pointwise ops do by themselves, checks that hold at compile time. No rewrite
    reassociates, and none changes a NaN to a number or back.

    ```mlir
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = tg.neg %x : tensor<4x8xf32>
      %1 = tg.neg %0 : tensor<4x8xf32> // becomes %x
      return %1 : tensor<4x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def FoldConstants : Pass<"weft-fold-constants"> {
  let summary = "evaluate ops on constants";
  let description = [{
    Replaces results of pure `tg` ops whose operands are constants or weights by `tg.constant`, evaluated by the Reference (f64
    inside, one rounding per op), or by `tg.weight` in the dialect's WeightStore if they are larger than `max-constant-bytes`.
    A result is left alone if it is larger than `max-result-bytes`, or than its operands together plus `max-growth-bytes`, or
    if an operand is larger than `max-operand-bytes`.

    ```mlir
    func.func @main() -> tensor<2xi64> {
      %0 = tg.constant dense<[1, 2]> : tensor<2xi64>
      %1 = tg.add %0, %0 : tensor<2xi64>, tensor<2xi64> // becomes tg.constant dense<[2, 4]>
      return %1 : tensor<2xi64>
    }
    ```
  }];
  let options = [
    Option<"maxResultBytes", "max-result-bytes", "int64_t", /*default=*/"65536", "largest folded result">,
    Option<"maxGrowthBytes", "max-growth-bytes", "int64_t", /*default=*/"1048576",
           "largest excess of a folded result over its operands">,
    Option<"maxOperandBytes", "max-operand-bytes", "int64_t", /*default=*/"16777216", "largest operand that is read">,
    Option<"maxConstantBytes", "max-constant-bytes", "int64_t", /*default=*/"65536",
           "largest folded result held in the IR; larger ones become weights">,
  ];
  let statistics = [Statistic<"numFolded", "folded", "results replaced by constants">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def VerifyNormalized : Pass<"weft-verify-normalized"> {
  let summary = "check that only primitives remain";
  let description = [{
    Fails if the module holds a composite or an op of a dialect other than builtin, func and tg. Ends the phase `normalize`.

    ```mlir
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = tg.exp %x : tensor<4x8xf32> // a composite such as tg.gelu would be an error
      return %0 : tensor<4x8xf32>
    }
    ```
  }];
}

def MoveViews : Pass<"weft-move-views"> {
  let summary = "transpositions and reshapes go behind arithmetic with scalars";
  let description = [{
    A pointwise op of one moved tensor (and scalars) is computed before the movement, unless its elements are wider than the tensor's; a
    transposition of merged dimensions that were transposed before comes before the merge. So movements meet the contractions that read them, and become their maps.
    Where a transposed tensor is a result of the function, contractions read that one. For GPUs, where the kernel that makes a value should store it as it comes. Exact.

    ```mlir
    func.func @main(%x: tensor<4x8x2xf32>, %c: tensor<f32>) -> tensor<8x8xf32> {
      %t = tg.transpose %x [1, 0, 2] : tensor<4x8x2xf32>
      %r = tg.reshape %t : tensor<8x4x2xf32> to tensor<8x8xf32>
      %s = tg.mul %r, %c : tensor<8x8xf32>, tensor<f32> // becomes the first of the three
      return %s : tensor<8x8xf32>
    }
    ```
  }];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def DeriveFolds : Pass<"weft-derive-folds"> {
  let summary = "cascades of reductions that end in a contraction become one streaming pass";
  let description = [{
    A contraction that sums, over its one reduction dimension, values that depend on earlier reductions of the same dimension, and whose
    streamed operand is made by another contraction, becomes a `tg.fold`: attention comes out as max, sum and accumulator. Proved for each
    derivation: the summed values change by a factor that is the same along the stream when an earlier reduction changes (exp of a
    difference; products), so that sums so far can be repaired; factors that are uniform along the stream are applied at the end. Reassociating: results agree up to the rounding of
    the states' type, f32 for f16 and bf16.

    A contraction that is left alone gets a missed remark of category `fold` with the reason.

    A positive constant factor of the scores goes behind masks and maxima (exact: rounding is monotonic).

    ```mlir
    func.func @main(%q: tensor<4x8xf32>, %k: tensor<16x8xf32>, %v: tensor<16x8xf32>) -> tensor<4x8xf32> {
      %s = tg.contract %q, %k [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
          : tensor<4x8xf32>, tensor<16x8xf32> -> tensor<4x16xf32>
      %m = tg.reduce max %s axes = [1] keep_dims : tensor<4x16xf32>
      %c = tg.sub %s, %m : tensor<4x16xf32>, tensor<4x1xf32>
      %e = tg.exp %c : tensor<4x16xf32>
      %l = tg.reduce add %e axes = [1] keep_dims : tensor<4x16xf32>
      %p = tg.div %e, %l : tensor<4x16xf32>, tensor<4x1xf32>
      %o = tg.contract %p, %v [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
          : tensor<4x16xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
      return %o : tensor<4x8xf32> // of one tg.fold
    }
    ```
  }];
  let statistics = [Statistic<"numFolds", "folds", "folds derived">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

#endif // WEFT_DIALECT_TILEGRAPH_REWRITE_PASSES_TD
