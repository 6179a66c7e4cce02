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

def IntegerContractions : Pass<"weft-integer-contractions"> {
  let summary = "contractions of quantised values as contractions of their integers";
  let description = [{
    A contraction whose operands are `(ints - zero)`, in i32, or `(ints - zero) * scale`, in f32, with `ints` of 8 bits, becomes one of the integers
    in i32, less `zero` times the sums of the other operand, times the scales. `zero` is one element; a scale is one element or has one for each index
    of a dimension of the result. Pads (by zero), transpositions and reshapes between are looked through.

    In i32 the result is the same for every input. In f32 it has three roundings where the sum of floats has one a term: the sum in i32 is exact, which
    asks for a static number K of terms with 255 * 255 * K below 2^31. So the pass asks for no licence; it runs before constants are folded.

    ```mlir
    func.func @main(%a: tensor<8x64xui8>, %b: tensor<64x2xi8>, %z: tensor<ui8>) -> tensor<8x2xi32> {
      %0 = tg.cast %a : tensor<8x64xui8> to tensor<8x64xi32>
      %1 = tg.cast %z : tensor<ui8> to tensor<i32>
      %2 = tg.sub %0, %1 : tensor<8x64xi32>, tensor<i32>
      %r = tg.contract %2, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
         : tensor<8x64xi32>, tensor<64x2xi8> -> tensor<8x2xi32>
      return %r : tensor<8x2xi32>
    }
    ```
  }];
  let statistics = [Statistic<"numIntegers", "integers", "contractions rewritten">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def Simplify : Pass<"weft-simplify"> {
  let summary = "canonical form: exact algebra and views";
  let description = [{
    Applies the canonicalisation patterns and folders of all loaded dialects, and rewrites that give the same values for every
    input (each pattern states why): neutral elements, double negation, lossless chains of casts, division by powers of two, squares,
    chains of views, broadcasts that elementwise ops do by themselves, checks that hold at compile time. No rewrite
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

def RewriteAlgebra : Pass<"weft-rewrite"> {
  let summary = "algebraic rules, the ones that gain most first";
  let description = [{
    Applies the rules of docs/reference/rules.md (weft/Dialect/TileGraph/Rewrite/Rules.h) to a fixpoint. A rule is tried wherever its pattern matches: its
    guards and the licence for its numerics contract must hold, and what dies must cost more than what is added, by every price list in
    `prices`. `cpu` and `gpu` count scalar operations by weight, products, and the bytes that DNNFusion's combination table does not keep in
    registers; `dnnfusion` counts FLOPs, then bytes without fusion. In each round the rules with the largest reduction of FLOPs go first.
    New ops on constants are folded at once and cost nothing, within the limits on new weights.

    `licence` is the loosest contract allowed on floats: `exact`, `reassociating` or `approximating`; most rules are exact on integers.
    Remarks of category `rewrite`: passed for each rewrite with FLOPs and bytes before and after, missed for each match that was left
    with the guard that failed or the numbers, analysis for the rules considered.

    ```mlir
    // --weft-rewrite=licence=reassociating
    func.func @main(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = tg.mul %a, %b : tensor<4x8xf32>, tensor<4x8xf32>
      %1 = tg.mul %a, %c : tensor<4x8xf32>, tensor<4x8xf32>
      %2 = tg.add %0, %1 : tensor<4x8xf32>, tensor<4x8xf32> // becomes a * (b + c): flops 96 -> 64
      return %2 : tensor<4x8xf32>
    }
    ```
  }];
  let options = [
    Option<"licence", "licence", "std::string", /*default=*/"\"exact\"", "exact, reassociating or approximating">,
    Option<"prices", "prices", "std::string", /*default=*/"\"cpu,gpu\"", "price lists on all of which a rewrite must pay; none: one round of all that is legal">,
    ListOption<"only", "rules", "std::string", "names of the rules to use (default: all)">,
    Option<"maxWeightBytes", "max-weight-bytes", "int64_t", /*default=*/"16777216", "largest weight that folding may make">,
    Option<"maxTotalWeightBytes", "max-total-weight-bytes", "int64_t", /*default=*/"67108864",
           "most bytes of weights that folding may make in all">,
    ListOption<"disabledGuards", "disable-guard", "std::string", "tests only: guards, as rule:guard, that always hold">,
  ];
  let statistics = [Statistic<"numRewrites", "rewrites", "rules applied">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def PrintRules : Pass<"weft-print-rules"> {
  let summary = "print the table of rewrite rules";
  let description = [{
    Writes the table of rules to the standard output, in Markdown: the source of docs/reference/rules.md. With `json`, one object a rule,
    for test harnesses. The module is not changed.

    ```mlir
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
    ```
  }];
  let options = [Option<"json", "json", "bool", /*default=*/"false", "as JSON">];
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

def SplitRepeats : Pass<"weft-split-repeats"> {
  let summary = "contractions read an operand once that was repeated for them";
  let description = [{
    Keys that are repeated for the query heads of their group (a broadcast dimension that a reshape merges with the one beside it) are another
    tensor to every contraction that reads them. Where a dimension of a contraction's operand is such a merge, the dimension is divided into its
    parts, in the contraction and in all ops from there to the next contraction whose operand is repeated alike (scale, mask and softmax of
    attention), and the operand has no part that repeats: the rows of a group are rows of one GEMM. Exact.

    ```mlir
    func.func @main(%q: tensor<8x3x16xf32>, %k: tensor<2x1x5x16xf32>) -> tensor<8x3x5xf32> {
      %b = tg.broadcast %k : tensor<2x1x5x16xf32> to tensor<2x4x5x16xf32>
      %r = tg.reshape %b : tensor<2x4x5x16xf32> to tensor<8x5x16xf32>
      %s = tg.contract %q, %r [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (h, j, d)>, affine_map<(h, i, j, d) -> (h, i, j)>]
          : tensor<8x3x16xf32>, tensor<8x5x16xf32> -> tensor<8x3x5xf32>
      return %s : tensor<8x3x5xf32>
    }
    ```
  }];
}

def MoveViews : Pass<"weft-move-views"> {
  let summary = "transpositions and reshapes go behind arithmetic with scalars, slices in front of what is sliced";
  let description = [{
    An elementwise op of one moved tensor (and scalars) is computed before the movement, unless its elements are wider than the tensor's; a
    transposition of merged dimensions that were transposed before comes before the merge. So movements meet the contractions that read them, and become their maps.
    Where a transposed tensor is a result of the function, contractions read that one. For GPUs, where the kernel that makes a value should store it as it comes.

    Of elementwise ops, reductions and contractions whose result is only read in part, the part is computed (the rules "slices"): a norm of the tokens
    but the first, the logits of the last one. A result that is read in several parts, none of which has an element of another, is computed part by part where elementwise
    ops bring these together again (the gate and the other half of one GEMM). Exact.

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

def JoinRows : Pass<"weft-join-rows"> {
  let summary = "norms of parts that are concatenated become the norm of the concatenation";
  let description = [{
    Where all parts of a concatenation end in the same elementwise ops and reductions over other axes, and nothing else reads these, the parts are concatenated in front
    of the reductions: `concat(f(a1, w1), f(a2, w2)) = f(concat(a1, a2), concat(w1, w2))`. So the queries of two streams of tokens (text and image) have one norm, whose
    kernel reads both and takes in the rotary embedding behind. Arithmetic in front of what the reductions read stays with the parts, as the epilogues of their
    products. Exact: each row is computed as before. For GPUs, whose kernels read a concatenation in place.

    ```mlir
    func.func @main(%a: tensor<2x64xf32>, %b: tensor<6x64xf32>) -> tensor<8x64xf32> {
      %m = tg.reduce max %a axes = [1] keep_dims : tensor<2x64xf32>
      %n = tg.reduce max %b axes = [1] keep_dims : tensor<6x64xf32>
      %x = tg.sub %a, %m : tensor<2x64xf32>, tensor<2x1xf32>
      %y = tg.sub %b, %n : tensor<6x64xf32>, tensor<6x1xf32>
      %c = tg.concat %x, %y axis = 0 : tensor<2x64xf32>, tensor<6x64xf32> // of %a and %b; then one maximum
      return %c : tensor<8x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def JoinSlices : Pass<"weft-join-slices"> {
  let summary = "what is computed alike of the slices of a tensor is computed once, of the tensor";
  let description = [{
    Exporters unroll a layer that is applied to each step: `concat(f(x[0]), f(x[1]), ..)`, with one `f` of elementwise ops, reductions, contractions without windows, reshapes,
    transpositions and broadcasts. Where the slices follow one another and nothing else reads what is in between, `f` is applied once to all slices, stacked along a new dimension
    in front: that stack is a view of x, and what all parts read (weights, a bias) stays as it is. So a step's layer is one kernel, whatever the number of steps is. Exact: each
    element is computed as before.

    ```mlir
    func.func @main(%x: tensor<2x64xf32>, %b: tensor<64xf32>) -> tensor<2x64xf32> {
      %0 = tg.slice %x offsets = [0, 0] strides = [1, 1] : tensor<2x64xf32> to tensor<1x64xf32>
      %1 = tg.slice %x offsets = [1, 0] strides = [1, 1] : tensor<2x64xf32> to tensor<1x64xf32>
      %2 = tg.add %0, %b : tensor<1x64xf32>, tensor<64xf32>
      %3 = tg.add %1, %b : tensor<1x64xf32>, tensor<64xf32>
      %c = tg.concat %2, %3 axis = 0 : tensor<1x64xf32>, tensor<1x64xf32> // %x + %b
      return %c : tensor<2x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def DeriveFolds : Pass<"weft-derive-folds"> {
  let summary = "cascades of reductions over one dimension become one streaming pass";
  let description = [{
    A sum (`tg.reduce add`, `tg.contract` of one reduction dimension) of values that depend on earlier reductions of the same dimension becomes a
    `tg.fold` with a state for each reduction. Proved for each derivation, of the summed values b(x, r), r the earlier results:

    * b is a sum of at most four products of a factor without r, and factors that do not change along the stream. Each product is summed
      on its own without the latter, which are applied in `finish` (delayed scales, moments).
    * A factor exp(x - r) stays inside, with r a maximum of the x: when r becomes r', what was summed is repaired by exp(r - r').
    * A factor (x - r), once or squared, stays inside too: sums of lower powers are kept, and the repair is the binomial formula in r - r'. Where r is
      the mean of x, the mean so far takes its place, so nothing cancels (Welford, Chan).
    * A maximum or minimum of values that rise or fall monotonically with a factor without r is that of the factor; signs of
      products are proved, or the fold is refused.
    * `tg.top_k` and `tg.arg_reduce` of such values take their order from the factor too (where rounding makes values equal, or all are NaN, the indices are those
      of the factor's order); the sums beside are folds of their own.
    * With `numerics=approximating`: rounded quotients x / r (quantisation) are repaired by r / r', r a multiple of a maximum of absolute values (so that errors
      shrink), and clipped no more on the way than in the end.

    Maxima of rows that are masked so far (-inf) are replaced by 0 where they are subtracted. Every fold has the attribute `tg.numerics`: "reassociating" (results agree
    up to the rounding of the states, f32 for f16 and bf16; where an operand is infinite, products summed apart may give NaN for infinity), "exact" or "approximating". A sum with the attribute `tg.numerics = "exact"` is left as it is.

    `when=pays` derives only folds that end in a contraction whose streamed operand is made by another one (attention): the pass over memory that they save is
    more than what they compute again. Who is left alone gets a missed remark of category `fold` with the reason.

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
  let options = [
    Option<"when", "when", "std::string", /*default=*/"\"pays\"", "pays, or proved: every fold that can be derived">,
    Option<"numerics", "numerics", "std::string", /*default=*/"\"reassociating\"",
           "what ops without `tg.numerics` allow: exact, reassociating or approximating">,
    ListOption<"disabledGuards", "disable-guard", "std::string", "tests only: guards that always hold; a name that is none lists them">,
  ];
  let statistics = [Statistic<"numFolds", "folds", "folds derived">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def BandMasks : Pass<"weft-band-masks"> {
  let summary = "masks of softmax become comparisons of indices";
  let description = [{
    What masks the scores of a softmax is read as exporters spell it: a number far below, added where (or put in the place of scores where) a condition fails, by choices,
    triangles, products with booleans, and sums of these. What of the condition compares functions of indices and extents (known or not), and constants (or slices of them by extents) of which each row keeps
    a band, become comparisons of the streamed index, moved by extents, with the row's: causal masks, windows, lengths. Kernels do not read those, and take the bounds of their
    loops from them. What depends on data stays beside them. Every element is as it was, with -inf.

    A finite number (exporters add -65504 or -3.4e38) becomes -inf if the weights of masked elements are 0 in both: each row keeps an element (from the ranges of symbols
    and what the program checks of them), the masked scores are read by the softmax alone, and scores are bounded by S (from types of 16 bits and the ops between, for inputs that are
    numbers) with 2 S + v < -104, where exp in f32 is 0 (S + v where the number replaces the score). What is not known is tested by each run, as far as tests pay: that the first
    element (or each) of a sequence is no padding, and max|q| max|k| of what the scores are products of. Indices are then moved by U, a number for each sequence and head: 0 where the test holds, else 2^30,
    which makes the comparisons hold everywhere, and the mask stays beside them. With `finite` all that is taken for granted. Who is left alone gets a missed remark `no-band` of category `fold` with the reason.

    ```mlir
    func.func @main(%s: tensor<4x4xf32>) -> tensor<4x1xf32> {
      %c = tg.constant dense<[[0.0, 0xFF800000, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0, 0.0]]> : tensor<4x4xf32>
      %m = tg.add %s, %c : tensor<4x4xf32>, tensor<4x4xf32>
      %r = tg.reduce max %m axes = [1] keep_dims : tensor<4x4xf32>
      return %r : tensor<4x1xf32> // of s + select(j <= i, 0, -inf)
    }
    ```
  }];
  let options = [
    Option<"finite", "finite", "bool", /*default=*/"false", "scores are within what finite numbers of masks leave: they count as -inf">,
    Option<"testKernel", "test-kernel", "double", /*default=*/"-1", "multiply-adds in the time of one more kernel, what tests of scores are weighed by (less than 0: no such tests)">,
    Option<"testByte", "test-byte", "double", /*default=*/"0", "multiply-adds in the time of reading a byte">,
  ];
  let statistics = [Statistic<"numMasks", "masks", "masks that became comparisons">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def BoundMasks : Pass<"weft-bound-masks"> {
  let summary = "masks of folds that compare data get bounds, computed at run time";
  let description = [{
    Where a `select` of -inf in a fold compares integers x of the rows with integers y of the streamed axis (document or segment ids: x = y; positions that are
    data: y <= x), the first and the last index that the mask may keep are computed for blocks of up to 64 rows: those with y within the least and
    greatest x of the block. This holds for any ids; where documents follow each other it leaves the document's elements. The condition gets "first <= index <= last" as an
    operand that it implies (`tg.implied`): it need not be evaluated, and kernels start and end their loops by it. Comparisons of indices alone (causal masks,
    windows) need no data and are left as they are.

    A mask that is data itself (a tensor of booleans) is left alone; one of another form, or of other symbolic extents than the streamed axis and the outermost rows, gets a
    missed remark of category `fold`.

    ```mlir
    func.func @main(%s: tensor<16x64xf32>, %x: tensor<16x1xi64>, %y: tensor<1x64xi64>) -> tensor<16x1xf32> {
      %inf = tg.constant dense<0xFF800000> : tensor<f32>
      %r = tg.fold over affine_map<() -> (64)> init [0xFF800000 : f32] update {
      ^bb0(%m: tensor<16x1xf32>):
        %keep = tg.cmp eq %x, %y : tensor<16x1xi64>, tensor<1x64xi64>
        %k = tg.select %keep, %s, %inf : tensor<16x64xi1>, tensor<16x64xf32>, tensor<f32>
        %b = tg.reduce max %k axes = [1] keep_dims {tg.streamed} : tensor<16x64xf32>
        %m2 = tg.max %m, %b : tensor<16x1xf32>, tensor<16x1xf32>
        tg.fold_yield %m2 : tensor<16x1xf32>
      } merge {
      } finish {
      ^bb0(%m: tensor<16x1xf32>):
        tg.fold_yield %m : tensor<16x1xf32>
      } : tensor<16x1xf32>
      return %r : tensor<16x1xf32>
    }
    ```
  }];
  let options = [
    Option<"leastPlaces", "least-elements", "int64_t", /*default=*/"1024", "streamed elements from which on bounds pay for the kernels that compute them">,
  ];
  let statistics = [Statistic<"numMasks", "masks", "masks with bounds">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def UnrollFolds : Pass<"weft-unroll-folds"> {
  let summary = "folds become their updates, one after the other";
  let description = [{
    Each `tg.fold` becomes `steps` copies of its update, each on its slice of the streamed axis (with `merge`: each from the first states, then merged), and its finish: plain ops. The law of the fold says
    that the number of steps changes no more than rounding. One step (what the CPU gets) works for every fold; several want a constant extent
    and reductions whose operands' streamed dimension is known, else the fold stays and gets a missed remark `no-unroll` of category `fold`.

    ```mlir
    func.func @main(%x: tensor<4x16xf32>) -> tensor<4x1xf32> {
      %r = tg.fold over affine_map<() -> (16)> init [0xFF800000 : f32] update {
      ^bb0(%m: tensor<4x1xf32>):
        %b = tg.reduce max %x axes = [1] keep_dims {tg.streamed} : tensor<4x16xf32>
        %m2 = tg.max %m, %b : tensor<4x1xf32>, tensor<4x1xf32>
        tg.fold_yield %m2 : tensor<4x1xf32>
      } merge {
      } finish {
      ^bb0(%m: tensor<4x1xf32>):
        tg.fold_yield %m : tensor<4x1xf32>
      } : tensor<4x1xf32>
      return %r : tensor<4x1xf32> // of a tg.reduce and a tg.max
    }
    ```
  }];
  let options = [
    Option<"steps", "steps", "unsigned", /*default=*/"1", "slices of the streamed axis">,
    Option<"merge", "merge", "bool", /*default=*/"false", "each slice by itself, then the fold's merge of their states">,
  ];
  let statistics = [Statistic<"numUnrolled", "unrolled", "folds unrolled">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def Shard : Pass<"weft-shard", "::mlir::ModuleOp"> {
  let summary = "a program of ranks from one of the whole";
  let description = [{
    Makes @main the program that each of `ranks` processes runs. A tensor is whole on each rank, or split along a dimension in equal parts, one a rank.
    `requests`, each `PATTERN:DIM`, say where that begins: the nodes, weights, inputs and outputs whose names match a pattern (`*` stands for any
    text) are split along dimension DIM, of a node's result; negative ones count from the end. The first that matches a name counts.

    From there splits go on along the program by one rule for every op, from its access maps: blocks of a dimension of the domain, one a rank, where each
    operand is read whole or block by block (lib/Dialect/TileGraph/Rewrite/ShardAccess.h). A gather can have the rows split that its indices choose, too: other ranks' are zeros then, and
    the sum over the ranks is the result. Of the splits that operands suggest the program takes those with
    the fewest bytes of weights on a rank, then those that cost least, by the bytes over the links, those of memory and the operations; or none (ShardSearch.h).
    Without `requests` the layout is found: products and tables may begin a split wherever that makes a run shorter, or weights fit the card; an input that
    an output goes on from (a concatenation along a dimension that is no constant, a scatter into it) takes the share that costs least, and the output has the same.
    A reduction over a split dimension gives parts that
    `tg.all_reduce` or `tg.reduce_scatter` combines where they are read, the latter for ops that go on with a part each; sums of such parts are summed first. Weights are read in parts, of the same bytes;
    other tensors change their share by `tg.all_gather`, `tg.all_to_all` and `tg.own_part`. Inputs and outputs that no request names are whole.

    The module's attribute `tg.ranks` says that it is made; with it nothing changes. A request that cannot be met is an error. Remarks of the category `shard` say what was split, and what was not, and why.

    Reassociating: what is combined has been rounded to its type on each rank.

    ```mlir
    func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> tensor<4x6xf32> {
      %r = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
         : tensor<4x8xf32>, tensor<8x6xf32> -> tensor<4x6xf32>
      return %r : tensor<4x6xf32>
    }
    ```
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", "1", "ranks of the program; 1: nothing changes">,
    ListOption<"requests", "requests", "std::string", "what is split, each PATTERN:DIM">,
    Option<"isOfModel", "of-model", "bool", "false", "the model itself has the requests: of one that matches nothing any more there is a warning">,
    Option<"target", "target", "std::string", "\"\"", "device by whose rates layouts are priced; empty: the CPU">,
    Option<"linkRate", "link-rate", "double", "0", "GB/s that a rank sends, instead of the device's; 0: the device's">,
    Option<"linkLatency", "link-latency", "double", "-1", "us of a collective beside its bytes, instead of the device's; below 0: the device's">,
  ];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

#endif // WEFT_DIALECT_TILEGRAPH_REWRITE_PASSES_TD
