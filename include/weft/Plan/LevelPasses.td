// Passes of the Plan room about where data lies and what moves, and about independent kernels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_LEVELPASSES_TD
#define WEFT_PLAN_LEVELPASSES_TD

include "mlir/Pass/PassBase.td"

def FuseGemmChains : Pass<"weft-fuse-gemm-chains", "::mlir::ModuleOp"> {
  let summary = "GEMMs of a GEMM's result as one fold, where that moves fewer bytes";
  let description = [{
    A `tg.contract` E = f(A B) D of m x k x l x n elements, f element by element, becomes a `tg.fold` over l with one state, E so far, if that pays: rows of
    A and E stay in shared memory (S elements) while B and D pass by, which moves fewer bytes than tiles do where k + n < 2 sqrt S; and by the model of
    lib/Plan/Gpu/FuseGemmChains.cpp one kernel takes less time than two. Equal up to the order of E's sum.

    Each chain of GEMMs gets a remark of category `plan` with the numbers that decided: `gemm-chain` (passed) or `no-gemm-chain` (missed). A fold that is there already, with
    a softmax between its GEMMs, gets `gemm-chain` (analysis).

    ```mlir
    func.func @main(%a: tensor<8192x64xbf16>, %b: tensor<64x2048xbf16>, %d: tensor<2048x64xbf16>) -> tensor<8192x64xbf16> {
      %c = tg.contract %a, %b [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
          : tensor<8192x64xbf16>, tensor<64x2048xbf16> -> tensor<8192x2048xbf16>
      %e = tg.contract %c, %d [affine_map<(i, n, j) -> (i, j)>, affine_map<(i, n, j) -> (j, n)>, affine_map<(i, n, j) -> (i, n)>]
          : tensor<8192x2048xbf16>, tensor<2048x64xbf16> -> tensor<8192x64xbf16>
      return %e : tensor<8192x64xbf16> // of one tg.fold
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_90a\"", "architecture, or device of the table in lib/Target">,
  ];
  let statistics = [Statistic<"numChains", "chains", "chains of GEMMs that became folds">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def ReadRouted : Pass<"weft-read-routed", "::mlir::ModuleOp"> {
  let summary = "sums over experts read those that a router chose";
  let description = [{
    A contraction that sums over experts with a factor that is `tg.scatter` of 0 and `kind` add, at places p[t, c] that a router chose for token t, becomes a sum over choices c: the
    factor is what was scattered (0 where p is no place), and all else that depends on experts is read at p[t, c]. Arithmetic, views and products per expert are computed there; what is in
    memory goes through a `tg.gather`, which the products' kernels read through. Done where that takes less time, by bytes read and points multiplied: a few tokens. Equal up to the
    order of the sum; what experts compute that nobody chose is not computed (0 times infinity).

    Each sum gets a remark of category `plan`: `chosen-experts` (passed) or `all-experts` (missed).

    ```mlir
    func.func @main(%x: tensor<1x32xf16>, %w: tensor<8x64x32xf16>, %p: tensor<1x2xi64>, %g: tensor<1x2xf16>) -> tensor<1x64xf16> {
      %none = tg.constant dense<0.0> : tensor<1x8xf16>
      %gate = tg.scatter %none, %p, %g data_map = affine_map<(t, c)[e] -> (t, e)> index_maps = [affine_map<(t, c) -> (t, c)>] {kind = #tg<monoid add>}
          : tensor<1x8xf16>, tensor<1x2xi64>, tensor<1x2xf16>
      %y = tg.contract %x, %w [affine_map<(t, e, o, i) -> (t, i)>, affine_map<(t, e, o, i) -> (e, o, i)>, affine_map<(t, e, o, i) -> (t, e, o)>]
          : tensor<1x32xf16>, tensor<8x64x32xf16> -> tensor<1x8x64xf16> // of tensor<1x2x64x32xf16>, gathered
      %r = tg.contract %gate, %y [affine_map<(t, e, o) -> (t, e)>, affine_map<(t, e, o) -> (t, e, o)>, affine_map<(t, e, o) -> (t, o)>]
          : tensor<1x8xf16>, tensor<1x8x64xf16> -> tensor<1x64xf16>
      return %r : tensor<1x64xf16>
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"", "architecture, or device of the table in lib/Target; none: the CPU">,
  ];
  let statistics = [Statistic<"numSums", "sums", "sums over experts that became sums over choices">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def PackFields : Pass<"weft-pack-fields"> {
  let summary = "narrow weights of a product in the order in which a CPU's vectors unpack them";
  let description = [{
    For the CPU. A factor of a `tg.contract` of floats that is computed place by place, through views, from stored integers of at most 8 bits and from
    tensors that blocks along the summed dimension k share (scales, zero points) is computed from tensors written anew: k becomes blocks x words x fields, each
    tensor has these and the factor's own dimensions behind, or 1 where it does not change, and no view is left. Integers of fewer than 8 bits become
    words whose fields are neighbours along k, and a shift and a mask in the graph take them out; so kernels read words. The other operand is reshaped, behind zeros where k is
    no whole number of blocks or words (only if sums and products of the stored numbers cannot be infinite). The factor's last own dimension comes in panels of 64
    where these come out even. The order of the sum stays. Exact.

    Not rewritten: factors that gather (`g_idx`), blocks of which no whole number of bytes is a word, several summed dimensions, results whose neighbours are the other
    operand's, numbers of fewer than 8 bits that are cast to booleans or to floats of 8 bits.

    ```mlir
    // %w: tensor<2048x1024xui4>, %s: tensor<2048x1xf32>; tg.mul (tg.cast %w), %s is the second factor [(m, n, k) -> (n, k)]
    // %p: tensor<128x1x2048xui32>, %t: tensor<1x1x2048xf32>
    %m = tg.shr %p, %places : tensor<128x1x2048xui32>, tensor<8x1xui32>
    %q = tg.and %m, %fifteen : tensor<128x8x2048xui32>, tensor<ui32>
    %f = tg.cast %q : tensor<128x8x2048xui32> to tensor<128x8x2048xf32>
    %r = tg.mul %f, %t : tensor<128x8x2048xf32>, tensor<1x1x2048xf32>
    // tg.contract %x, %r [(m, n, k, f) -> (m, k, f), (m, n, k, f) -> (k, f, n), (m, n, k, f) -> (m, n)]
    ```
  }];
  let statistics = [Statistic<"numPacked", "packed", "products of packed weights">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def PackQuads : Pass<"weft-pack-quads"> {
  let summary = "contractions of bytes by words of four";
  let description = [{
    For the CPU. In a contraction of 8-bit integers in i32, the longest summed dimension of a static extent k that each operand has by itself
    becomes k/4 x 4 (rounded up: zeros are added), the four the innermost dimension of both operands. A constant is written anew, batch dimensions first, then summed
    ones, then its own. `weft-cpu-contract` takes the four as one element. Constants of f32 (to 16 MiB each) get the same order if the result's
    neighbours are the other operand's, as in convolutions. In other products of f32 the columns of a constant become panels as wide as a register
    tile (two vectors of `vector-bits`), each contiguous in memory, where they come out even.

    ```mlir
    // tg.contract %a, %b [(m, n, k) -> (m, k), (m, n, k) -> (k, n), (m, n, k) -> (m, n)] : tensor<8x64xui8>, tensor<64x32xi8>
    %0 = tg.reshape %a : tensor<8x64xui8> to tensor<8x16x4xui8>
    // and a weight of tensor<16x32x4xi8>:
    // tg.contract %0, %w [(m, n, k, q) -> (m, k, q), (m, n, k, q) -> (k, n, q), (m, n, k, q) -> (m, n)]
    ```
  }];
  let options = [
    Option<"vectorBits", "vector-bits", "unsigned", "512", "width of a vector register in bits">,
    Option<"panels", "panels", "bool", "true", "write columns of f32 in panels; otherwise they stay in the model's file">
  ];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def SinkReshapes : Pass<"weft-sink-reshapes", "::mlir::ModuleOp"> {
  let summary = "the epilogue of a contraction comes before the reshape of its result";
  let description = [{
    Elementwise ops of a reshaped contraction are computed in the contraction's extents, and the reshape follows the last of them; so they can
    share its kernel on the CPU, whose kernels have no reshapes. Where all readers of the reshaped tensor are elementwise ops that come together in one
    result, none of which widens elements, and the other operands have all extents of those that the reshape merges or divides, or 1 in place of all. Exact.

    ```mlir
    func.func @main(%a: tensor<8x4xf32>, %b: tensor<4x6xf32>, %r: tensor<1x8x6xf32>) -> tensor<1x8x6xf32> {
      %c = tg.contract %a, %b [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
          : tensor<8x4xf32>, tensor<4x6xf32> -> tensor<8x6xf32>
      %d = tg.reshape %c : tensor<8x6xf32> to tensor<1x8x6xf32>
      %e = tg.add %d, %r : tensor<1x8x6xf32>, tensor<1x8x6xf32> // becomes one of tensor<8x6xf32>
      return %e : tensor<1x8x6xf32>
    }
    ```
  }];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def DelayScales : Pass<"weft-delay-scales", "::mlir::ModuleOp"> {
  let summary = "scales of a norm behind the GEMMs of its rows, where that saves a kernel";
  let description = [{
    contract(x g s, w) = contract(x g, w) s for a scale s that a reduction of the row makes: RMSNorm before projections, if only GEMMs read the norm. GEMMs
    over equal extents share the factors and the scale; others get their own.

    One row (decoding): behind the GEMM the reduction is a second sum of the GEMM's loop, so the norm needs no kernel. Done where reading g and squaring beside the
    matrices costs less than a kernel. x g is made in f32, and so is the sum until it is scaled: 16-bit values are rounded less often than before, and what is large without
    its scale has room.

    Many rows, and one that GEMMs take in 16 bits since they unpack their matrix in registers: x must be what a GEMM and its epilogue make. Its kernel stores x g too, and sums over
    64 to 256 columns of each row (16 or 32 where it unpacks its own matrix), which the GEMMs behind add up
    (lib/Plan/Gpu/CarrySums.h). Done where the model finds that cheaper than the norm's kernel. x g is rounded to the type of the norm; of f16 times a power of
    two that brings the greatest g, which must be known and at most 64, to 1: so it overflows no sooner than x.

    A GEMM with `tg.numerics = "exact"` stays.

    Each operand with such a scale gets a remark of category `plan`: `delayed-scale` (passed) or `no-delayed-scale` (missed), with the numbers or the reason.

    ```mlir
    func.func @main(%x: tensor<1x512xf32>, %w: tensor<512x768xf32>) -> tensor<1x768xf32> {
      %q = tg.mul %x, %x : tensor<1x512xf32>, tensor<1x512xf32>
      %s = tg.reduce add %q axes = [1] keep_dims : tensor<1x512xf32>
      %r = tg.rsqrt %s : tensor<1x1xf32>
      %a = tg.mul %x, %r : tensor<1x512xf32>, tensor<1x1xf32>
      %y = tg.contract %a, %w [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>]
          : tensor<1x512xf32>, tensor<512x768xf32> -> tensor<1x768xf32>
      return %y : tensor<1x768xf32> // tg.mul of the GEMM's result with %x, and %r
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_90a\"", "architecture, or device of the table in lib/Target">,
  ];
  let statistics = [Statistic<"numScales", "scales", "norms whose scale went behind their GEMMs">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def ReadThrough : Pass<"weft-read-through", "::mlir::ModuleOp"> {
  let summary = "folds read the parts of a concatenation that is stored for others";
  let description = [{
    A fold with few rows streams a `tg.concat` (a cache and what is appended to it) which others read too, or whose small parts others read: the concatenation,
    and at most 16 ops that make its parts of less than a sixteenth of it, are repeated for the fold. It needs the kernel that stores the
    new cache no more; the two can start as one.

    ```mlir
    func.func @main(%cache: tensor<8x511x128xf16>, %row: tensor<8x1x128xf16>) -> tensor<8x512x128xf16> {
      %all = tg.concat %cache, %row axis = 1 : tensor<8x511x128xf16>, tensor<8x1x128xf16>
      return %all : tensor<8x512x128xf16> // a fold that reads %all, too, would read a tg.concat of its own
    }
    ```

    Each gets a remark `read-through` of category `plan`.
  }];
  let statistics = [Statistic<"numConcats", "concats", "concatenations that were repeated for a fold">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def MemoryLevels : Pass<"weft-memory-levels", "::mlir::ModuleOp"> {
  let summary = "say in which memory every tensor is between the op that makes it and the one that reads it";
  let description = [{
    For each kernel module with a schedule: the tile of the result is propagated to every value of the kernel (Welder's propagation), and
    `tg.levels` lists them, results first: the level (`register`, `shared`, `cluster`; of arguments that a GEMM reads the level they are staged in), elements
    of the tile, its bytes, the reason. `tg.level_traffic` has the bytes that cross between the L2 and all SMs (whole sectors of 32 bytes), and what a CTA
    holds in shared memory and registers. For each `tg.dispatch` of @main: `tg.operand_levels`, where each operand is read from: `L2` if all that
    kernels move from its making on fits what the L2 keeps, else `memory`. Nothing else changes.

    Each kernel gets a remark `levels` (analysis) of category `plan` with the sums, each operand that a kernel made one with the bytes that decided.

    ```mlir
    module attributes {tg.levels = [{bytes = 32768 : i64, level = "shared", of = "argument 0", reason = "a GEMM reads it", tile = array<i64: 128, 128>} ]} {}
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_90a\"", "architecture, or device of the table in lib/Target">,
  ];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def PlanLaunches : Pass<"weft-plan-launches", "::mlir::ModuleOp"> {
  let summary = "choose one tile shape for GEMMs that start as one launch";
  let description = [{
    Independent GEMMs with a left operand in common start as one launch (`--weft-tk-make-launches`) unless one of them would lose CTAs of an
    SM. Where it would, in the tiles that each GEMM would choose for itself, and where one launch in tiles of one shape takes less than theirs, beyond what estimates resolve, by the
    model of weft/Plan/GemmLaunch.h, each kernel module gets that tile as `tg.launch_tile`, a `#tg.schedule` of rows and columns, which `--weft-plan-gpu` obeys. Nothing else changes.

    Each choice gets a remark of category `plan`: `launch-tile` or `no-launch-tile`, with the numbers that decided.

    ```mlir
    module @queries attributes {tg.launch_tile = #tg.schedule<tile = [128, 128], stream = [64], engine = mma, warps = 8, stages = 3, ...>} { ... }
    module @keys_values attributes {tg.launch_tile = #tg.schedule<tile = [128, 64], stream = [64], engine = mma, warps = 8, stages = 3, ...>} { ... }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_90a\"", "architecture, or device of the table in lib/Target">,
    Option<"allowTf32", "allow-tf32", "bool", /*default=*/"false", "GEMMs of f32 may round their operands to tf32">,
  ];
  let statistics = [Statistic<"numTiles", "tiles", "kernels whose tile was chosen for their launch">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

/// Options of both passes about collectives.
defvar CollectiveOptions = [
  Option<"mode", "mode", "std::string", /*default=*/"\"on\"", "on: where the model says that it pays; off; or N: everywhere, GEMMs in N parts">,
  Option<"target", "target", "std::string", /*default=*/"\"\"", "device by whose rates it is priced; empty: the CPU">,
  Option<"linkRate", "link-rate", "double", "0", "as that of --weft-shard">,
  Option<"linkLatency", "link-latency", "double", "-1", "as that of --weft-shard">,
];

def SplitCollectives : Pass<"weft-split-collectives", "::mlir::ModuleOp"> {
  let summary = "GEMMs that ranks add up in parts of rows, with a collective each";
  let description = [{
    A `tg.all_reduce` behind a GEMM waits for all of it. In parts of rows, the links move one part while the next is computed. The results are made in one tensor: a `tg.concat` with the
    attribute `tg.joined`, which moves nothing. Exact: all elements are summed as before, unless the GEMM's kernel for fewer rows sums in another order.

    Done where it takes less time by the rates of `weft-shard`: of n parts, part i's GEMM ends at t_i = t_(i-1) + max(bytes / memory's rate, operations / theirs) + a launch, and its
    collective at c_i = max(t_i, c_(i-1)) + seconds beside bytes + bytes / the links' rate. What has to be read again, such as all weights for each part, is part of it. The number of parts is the one of 2 to 8 whose last
    collective ends first. Each `tg.all_reduce` gets a remark of the category `overlap`: `parts` (passed) or `whole` (missed), with the reason.

    ```mlir
    func.func @main(%x: tensor<4096x64xf32>, %w: tensor<64x4096xf32>) -> tensor<4096x4096xf32> {
      %p = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
         : tensor<4096x64xf32>, tensor<64x4096xf32> -> tensor<4096x4096xf32>
      %r = tg.all_reduce add %p ranks = 2 : tensor<4096x4096xf32>
      return %r : tensor<4096x4096xf32> // tg.concat {tg.joined} of all_reduces
    }
    ```
  }];
  let options = CollectiveOptions;
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def OverlapCollectives : Pass<"weft-overlap-collectives", "::mlir::ModuleOp"> {
  let summary = "an order of kernels and collectives in which the former run beside the latter";
  let description = [{
    Of an outlined program: a collective with the attribute `tg.overlap` starts where it stands and runs, behind those before it, beside the kernels behind it; the first op that reads its result waits. The ops of @main
    get the order in which that hides most: along the program, and where an op needs a collective that is under way, the next one that needs none goes first. A program that is printed as a plan has that order and those attributes, and both can be edited.

    Kernels are priced by their bytes and operations, collectives by the links (`weft-shard`). A collective is taken out of the kernels' order if that hides more than a launch, which is what starting another stream and waiting for it is taken to cost; one that
    reads an argument of the program is not. Exact. Each collective gets a remark of the category `overlap`: `beside` (passed) or `alone` (missed), with the reason, and the program one, `order`, with its time by the model.

    ```mlir
    func.func @main(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
      %a = tg.dispatch @kernel::@kernel(%x) symbols = affine_map<() -> ()> : (tensor<8x8xf32>) -> tensor<8x8xf32>
      %r = tg.all_reduce add %a ranks = 2 {tg.overlap} : tensor<8x8xf32>
      %b = tg.dispatch @kernel::@kernel(%y) symbols = affine_map<() -> ()> : (tensor<8x8xf32>) -> tensor<8x8xf32> // beside it
      return %r, %b : tensor<8x8xf32>, tensor<8x8xf32>
    }
    ```
  }];
  let options = CollectiveOptions;
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

#endif // WEFT_PLAN_LEVELPASSES_TD
