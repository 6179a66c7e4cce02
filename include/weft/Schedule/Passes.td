// Passes of the Schedule room, on a kernel module of `tk` ops (docs/gpu.md).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SCHEDULE_PASSES_TD
#define WEFT_SCHEDULE_PASSES_TD

include "mlir/Pass/PassBase.td"

def TkFuseMaps : Pass<"weft-tk-fuse-maps", "::mlir::ModuleOp"> {
  let summary = "merge tk.map ops into the tk.map that reads them";
  let description = [{
    A `tk.map` that one other `tk.map` of the same block reads, and nothing else, becomes part of it; tiles of one value (`tk.constant`) become
    constants of the region. Chains are then emitted element by element, with few registers. Exact.

    ```mlir
    func.func @chain(%x: !tk.tile<64xf32>) -> !tk.tile<64xf32> {
      %two = tk.constant 2.0 : f32 : !tk.tile<64xf32>
      %0 = tk.map (%x, %two : !tk.tile<64xf32>, !tk.tile<64xf32>) -> !tk.tile<64xf32> {
      ^bb0(%a: f32, %b: f32):
        %p = arith.mulf %a, %b : f32
        tk.yield %p : f32
      }
      %1 = tk.map (%0 : !tk.tile<64xf32>) -> !tk.tile<64xf32> { // the one that is left: -(x * 2)
      ^bb0(%a: f32):
        %n = arith.negf %a : f32
        tk.yield %n : f32
      }
      return %1 : !tk.tile<64xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numFused", "fused", "maps merged into their reader">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TkNarrowMaps : Pass<"weft-tk-narrow-maps", "::mlir::ModuleOp"> {
  let summary = "arithmetic on small integers that is rounded to 16 bits, in 16 bits";
  let description = [{
    Where the region of a `tk.map` computes in f32 what it then rounds to f16 or bf16, and that is a sum of small integers, or one times a
    number of the narrow type (a dequantised weight), it is computed in the narrow type. f32 rounds none of it, so the result is the same: exact.
    Maps that read integers from memory byte by byte stay as they are.

    ```mlir
    func.func @weights(%q: !tk.tile<64xi8>, %s: !tk.tile<64xf16>) -> !tk.tile<64xf16> {
      %0 = tk.map (%q, %s : !tk.tile<64xi8>, !tk.tile<64xf16>) -> !tk.tile<64xf16> {
      ^bb0(%a: i8, %b: f16):
        %n = arith.uitofp %a : i8 to f32
        %w = arith.extf %b : f16 to f32
        %p = arith.mulf %n, %w : f32
        %r = arith.truncf %p : f32 to f16
        tk.yield %r : f16 // the product of %b and of %a as f16
      }
      return %0 : !tk.tile<64xf16>
    }
    ```
  }];
  let statistics = [Statistic<"numNarrowed", "narrowed", "values computed in 16 bits">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TkFuseLoops : Pass<"weft-tk-fuse-loops", "::mlir::ModuleOp"> {
  let summary = "merge independent loops over the same steps";
  let description = [{
    Two `scf.for` of one block with the same bounds, neither of which needs a result of the other or writes memory, become one in the place of the first.
    Equal loads and equal arithmetic in it are done once: two GEMMs with a common left operand read it once, and their loop carries two accumulators. Exact.

    ```mlir
    #row = affine_map<(d0)[s0] -> (s0 * 64 + d0)>
    module {
      func.func @kernel(%x: !tk.global<tensor<256xf32>>, %s: !tk.global<tensor<64xf32>>, %p: !tk.global<tensor<64xf32>>) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %zero = tk.constant 0.0 : f32 : !tk.tile<64xf32>
        tk.for_tiles (%t) in affine_map<() -> (1)> {
          %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!tk.tile<64xf32>) {
            %a = tk.load %x[%k] map #row : !tk.global<tensor<256xf32>> -> !tk.tile<64xf32>
            %n = tk.map (%acc, %a : !tk.tile<64xf32>, !tk.tile<64xf32>) -> !tk.tile<64xf32> {
            ^bb0(%l: f32, %r: f32):
              %0 = arith.addf %l, %r : f32
              tk.yield %0 : f32
            }
            scf.yield %n : !tk.tile<64xf32>
          }
          %most = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!tk.tile<64xf32>) { // the same loads: part of the loop above
            %a = tk.load %x[%k] map #row : !tk.global<tensor<256xf32>> -> !tk.tile<64xf32>
            %n = tk.map (%acc, %a : !tk.tile<64xf32>, !tk.tile<64xf32>) -> !tk.tile<64xf32> {
            ^bb0(%l: f32, %r: f32):
              %0 = arith.maximumf %l, %r : f32
              tk.yield %0 : f32
            }
            scf.yield %n : !tk.tile<64xf32>
          }
          tk.store %sum, %s map affine_map<(d0) -> (d0)> : !tk.tile<64xf32>, !tk.global<tensor<64xf32>>
          tk.store %most, %p map affine_map<(d0) -> (d0)> : !tk.tile<64xf32>, !tk.global<tensor<64xf32>>
          tk.yield
        }
        return
      }
    }
    ```
  }];
  let statistics = [Statistic<"numFused", "fused", "loops merged into an earlier one">];
  let dependentDialects = ["::mlir::scf::SCFDialect"];
}

def TkSplitMasks : Pass<"weft-tk-split-masks", "::mlir::ModuleOp"> {
  let summary = "cut loops with GEMMs where the masks of their maps hold for whole tiles";
  let description = [{
    A mask is a `tk.guard`, as it is or stretched, that a `tk.map` selects by and uses for nothing else. Where its constraints are linear in the indices of
    the tile and in the loop's step, the steps in which it holds for the whole tile are an interval: the loop becomes one ahead of it, one without the masks
    and one behind it, those that are empty by the constraints' signs left out. Maps of a first step that stands ahead of the loop are put in both branches of
    an `scf.if`. Loops without a `tk.dot` wait for what they load and stay as they are. Runs behind `--weft-tk-pipeline`. Exact.

    ```mlir
    module {
      func.func @kernel(%a: !tk.tile<32x16xf16>, %b: !tk.tile<16x64xf16>, %x: !tk.tile<32x64xf32>, %row: index, %n: index) -> !tk.tile<32x64xf32> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %r = scf.for %k = %c0 to %n step %c1 iter_args(%s = %x) -> (!tk.tile<32x64xf32>) { // two loops: up to (row * 32 + 1) / 64, and from there on
          %d = tk.dot %a, %b, %s : !tk.tile<32x16xf16>, !tk.tile<16x64xf16>, !tk.tile<32x64xf32>
          %g = tk.guard affine_set<(d0, d1)[s0, s1] : (s0 * 32 + d0 - s1 * 64 - d1 >= 0)> [%row, %k] : !tk.tile<32x64xi1>
          %m = tk.map (%g, %d : !tk.tile<32x64xi1>, !tk.tile<32x64xf32>) -> !tk.tile<32x64xf32> {
          ^bb0(%c: i1, %v: f32):
            %z = arith.constant 0.0 : f32
            %0 = arith.select %c, %v, %z : f32
            tk.yield %0 : f32
          }
          scf.yield %m : !tk.tile<32x64xf32>
        }
        return %r : !tk.tile<32x64xf32>
      }
    }
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "maps that have a form without their mask">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TkSplitSteps : Pass<"weft-tk-split-steps", "::mlir::ModuleOp"> {
  let summary = "share the steps of a tile's GEMM among CTAs";
  let description = [{
    Where `#tg.schedule` has `split` = s > 1 and no warpgroup multiplies (weft-tk-roles divides those loops), CTA r of s takes steps r, r + s, ... of a tile: CTAs of a cluster, or, where the target has none, neighbours.
    Each CTA then gets the sums of its share of the rows (`tk.cluster_send`), adds them in the order of the CTAs, and does what comes behind the sum for these rows
    only; what that loads is asked for ahead of the loop. So what a step computes of its operands (a window in front of a pointwise convolution) is computed once, and steps
    do not wait for each other. Where the steps do not come out even the first CTAs have one more. Left alone are loops that would leave half of the CTAs without a step, and without clusters those whose
    launch would have more than 16 MiB of sums to pass on.

    ```mlir
    #xa = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
    #wa = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
    module attributes {tk.target = "sm_90a", tg.schedule = #tg.schedule<tile = [16, 32], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 2>} {
      func.func @kernel(%x: !tk.global<tensor<16x256xf16>>, %w: !tk.global<tensor<256x32xf16>>, %y: !tk.global<tensor<16x32xf32>>) attributes {tk.warps = 4 : i64} {
        tk.for_tiles (%t) in affine_map<() -> (1)> {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c4 = arith.constant 4 : index
          %zero = tk.constant 0.0 : f32 : !tk.tile<16x32xf32>
          %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!tk.tile<16x32xf32>) {
            %a = tk.load %x[%k] map #xa : !tk.global<tensor<16x256xf16>> -> !tk.tile<16x64xf16>
            %b = tk.load %w[%k] map #wa : !tk.global<tensor<256x32xf16>> -> !tk.tile<64x32xf16>
            %d = tk.dot %a, %b, %acc : !tk.tile<16x64xf16>, !tk.tile<64x32xf16>, !tk.tile<16x32xf32>
            scf.yield %d : !tk.tile<16x32xf32>
          }
          tk.store %sum, %y map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<16x32xf32>, !tk.global<tensor<16x32xf32>>
          tk.yield
        }
        return
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def TkSliceSteps : Pass<"weft-tk-slice-steps", "::mlir::ModuleOp"> {
  let summary = "share each step of a tile's GEMM among groups of warps";
  let description = [{
    A GEMM by mma.sync whose tile is small for its warps: with more warps than pieces of 32 x 32, groups of warps take equal slices of each step along k, and every group has sums
    of the whole tile. Then an element that a warp reads of shared memory is for two instructions, and instructions do not wait for one another's sums. A loop's sum that starts at zero
    and only dots change gets a dimension of slices; a `tk.reduce` behind the loop adds them up. How many: `include/weft/Target/Slices.h`, by which the planner prices such tiles.
    Reassociating.

    ```mlir
    %sum = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zero) -> (!tk.tile<32x32xf32>) {
      %d = tk.dot %a, %b, %acc : !tk.tile<32x64xf16>, !tk.tile<64x32xf16>, !tk.tile<32x32xf32>
      scf.yield %d : !tk.tile<32x32xf32>
    }
    // becomes, with four warps
    %sums = scf.for %k = %c0 to %c12 step %c1 iter_args(%acc = %zeros) -> (!tk.tile<32x32x4xf32>) {
      %d = tk.dot %a, %b, %acc : !tk.tile<32x64xf16>, !tk.tile<64x32xf16>, !tk.tile<32x32x4xf32>
      scf.yield %d : !tk.tile<32x32x4xf32>
    }
    %sum = tk.reduce (%sums : !tk.tile<32x32x4xf32>) dims [2] -> !tk.tile<32x32xf32> { ... addf ... }
    ```
  }];
  let statistics = [Statistic<"numSliced", "sliced", "GEMMs whose steps groups of warps share">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::weft::tk::TileKernelDialect"];
}

def TkStage : Pass<"weft-tk-stage", "::mlir::ModuleOp"> {
  let summary = "put the operands of tk.dot into shared memory";
  let description = [{
    An operand of `tk.dot` that is a plain `tk.load` (a `tk.broadcast` that transposes it becomes part of the access) is copied asynchronously
    through a channel of `stages` slots of `#tg.schedule` (module attribute `tg.schedule`; one slot where nothing repeats the copy); operands of dots
    that share one, or add to each other's sum, wait together. Boxes of one tensor that lie a constant number of rows apart (elements of a window in one step) share
    a buffer whose slots are rows (`tk.slot`). The engine is tma if `engine = wgmma`
    and the access is a box: each index is one tile dimension or none plus multiples of symbols, strides are multiples of 16 bytes; and, where the target has TMA, if `engine = mma`, all operands of
    the kernel are boxes of 16-bit elements, and steps read overlapping boxes of one (the window of a convolution slides). Else it is cp_async, in vectors of
    4, 8 or 16 bytes along the dimension of the tile that is contiguous in memory.

    Other operands are stored from registers into one of two slots, and a barrier follows. Left operands that are computed from the result of another dot stay in
    registers if `engine` is mma or wgmma. All arithmetic stays as it was.

    ```mlir
    #xa = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
    #wa = affine_map<(d0, d1)[s0] -> (s0 * 64 + d0, d1)>
    module attributes {tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = mma, warps = 4, stages = 3, order = "row", persistent = false, split = 1>} {
      func.func @kernel(%x: !tk.global<tensor<128x256xf16>>, %w: !tk.global<tensor<256x128xf16>>, %y: !tk.global<tensor<128x128xf32>>) attributes {tk.warps = 4 : i64} {
        tk.for_tiles (%t) in affine_map<() -> (1)> {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c4 = arith.constant 4 : index
          %zero = tk.constant 0.0 : f32 : !tk.tile<128x128xf32>
          %sum = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x128xf32>) {
            %a = tk.load %x[%k] map #xa : !tk.global<tensor<128x256xf16>> -> !tk.tile<128x64xf16>
            %b = tk.load %w[%k] map #wa : !tk.global<tensor<256x128xf16>> -> !tk.tile<64x128xf16>
            %d = tk.dot %a, %b, %acc : !tk.tile<128x64xf16>, !tk.tile<64x128xf16>, !tk.tile<128x128xf32>
            scf.yield %d : !tk.tile<128x128xf32>
          }
          tk.store %sum, %y map affine_map<(d0, d1) -> (d0, d1)> : !tk.tile<128x128xf32>, !tk.global<tensor<128x128xf32>>
          tk.yield
        }
        return
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::weft::tk::TileKernelDialect"];
}

def TkRoles : Pass<"weft-tk-roles", "::mlir::ModuleOp"> {
  let summary = "producer and consumer warps (sm_90a)";
  let description = [{
    Where every `tk.copy` of a kernel is TMA's, the loop over tiles becomes two: a warpgroup of four warps issues the copies, the others do the rest
    (`tk.roles`); where no dot is wgmma's, one warp issues them, and no registers go from it to the others. Iterations of channels go on from tile to tile of a CTA (`tk.cursor`). Each warp of the consumers gives a slot back.

    Dots by wgmma are asynchronous. In a loop that only accumulates, slots come back one iteration later, after `tk.dot_wait`, and an accumulator that starts as zero is
    left undefined and ignored in the first iteration (`accumulate`); elsewhere every dot is waited for at once. Stores of accumulators that are boxes of their tensor become
    `tk.store_box`.

    Where a copy is of another kind, or the address of a copy depends on a tile, all warps copy and compute, and a fence orders copies before wgmma. Exact.

    ```mlir
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tk.tile<128x256xf32>) {
      tk.acquire %c[%k] : !tk.channel<4>
      tk.copy %x[%i, %k] map #a, %p channel %c[%k] : !tk.channel<4> engine tma : ...
      tk.wait %c[%k] : !tk.channel<4>
      %d = tk.dot %p, %q, %acc : ...
      tk.release %c[%k] : !tk.channel<4>
      scf.yield %d : !tk.tile<128x256xf32>
    }
    // becomes
    tk.roles warps [4, 8] registers [40, 232] { ... tk.acquire, tk.copy ... }, { ... tk.wait, tk.dot, tk.dot_wait, tk.release ... }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::mlir::LLVM::LLVMDialect", "::weft::tk::TileKernelDialect"];
}


def TkLayouts : Pass<"weft-tk-layouts", "::mlir::ModuleOp"> {
  let summary = "give every register tile and every buffer a layout";
  let description = [{
    Dots and accesses of global memory are anchors; layouts are propagated between them through maps, broadcasts, reductions and loops, and where they
    meet a `tk.convert` is placed. Each conversion that moves data between threads is reported by a remark of category `layout`. Buffers that dots read are laid out as their instruction wants, others
    row by row. Layouts that are there already are kept. Exact.

    ```mlir
    module attributes {tk.target = "sm_80"} {
      func.func @kernel(%x: !tk.global<tensor<1024xf32>>, %y: !tk.global<tensor<1024xf32>>) attributes {tk.warps = 4 : i64} {
        tk.for_tiles (%t) in affine_map<() -> (1)> {
          %0 = tk.load %x map affine_map<(d0) -> (d0)> : !tk.global<tensor<1024xf32>> -> !tk.tile<1024xf32> // blocked: four elements to a thread
          tk.store %0, %y map affine_map<(d0) -> (d0)> : !tk.tile<1024xf32>, !tk.global<tensor<1024xf32>>
          tk.yield
        }
        return
      }
    }
    ```
  }];
  let statistics = [Statistic<"numConverts", "converts", "conversions that move data between threads">];
  let dependentDialects = ["::weft::tk::TileKernelDialect"];
}

def TkLateSums : Pass<"weft-tk-late-sums", "::mlir::ModuleOp"> {
  let summary = "combine the lanes' parts of a carried sum behind its loop";
  let description = [{
    A state of an `scf.for` that each iteration multiplies by a number for each element and adds `tk.reduce`s of tiles to (a softmax's sum) is carried as what each
    thread adds up of it: a tile with one dimension more, as long as lanes and warps share an element. `tk.relabel` gives the operand's elements these coordinates. The
    reduction over that dimension, by shuffles and through shared memory, stands behind the loop, once. Runs behind `--weft-tk-layouts`. Reassociating.

    ```mlir
    %s = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tk.tile<128xf32, #rows>) {
      %part = tk.reduce (%x : !tk.tile<128x64xf32, #acc>) dims [1] -> !tk.tile<128xf32, #rows> { ... addf ... }
      %next = tk.map (%sum, %f, %part : ...) -> !tk.tile<128xf32, #rows> { ... fma ... }
      scf.yield %next : !tk.tile<128xf32, #rows>
    }
    // becomes: four lanes share a row of an accumulator
    %p = scf.for %k = %c0 to %n step %c1 iter_args(%sum = %zeros) -> (!tk.tile<128x4xf32, #parts>) {
      %split = tk.relabel %x : !tk.tile<128x64xf32, #acc> -> !tk.tile<128x16x4xf32, #split>
      %part = tk.reduce (%split : !tk.tile<128x16x4xf32, #split>) dims [1] -> !tk.tile<128x4xf32, #parts> { ... addf ... }
      ...
    }
    %s = tk.reduce (%p : !tk.tile<128x4xf32, #parts>) dims [1] -> !tk.tile<128xf32, #rows> { ... addf ... }
    ```
  }];
  let statistics = [Statistic<"numSums", "sums", "states carried in parts">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::weft::tk::TileKernelDialect"];
}

def TkPipeline : Pass<"weft-tk-pipeline", "::mlir::ModuleOp"> {
  let summary = "let asynchronous copies run ahead";
  let description = [{
    In a loop whose channels are of cp_async, the copies of an iteration are started `slots - 1` iterations earlier: those of the first iterations before
    the loop, the others in the loop behind the wait of their channel, whose barrier says that nobody reads their slot any more. So there is one barrier for
    each channel and iteration. A channel of one slot has its copies behind the first wait that follows its reads, that of another channel: values are copied
    while keys are multiplied, and the next keys while values are. The first copies start ahead of the wait for what is copied once, right before the loop. Copies beyond the last iteration fetch nothing (their guard says so, they write zeros), and a wait after the loop ends them. Where
    all iterations have slots of their own, all copies stand before the loop, which commits empty groups. The count of groups
    that may be under way at a wait follows from the order of all commits. What was copied ahead of the loop for the loop alone (an attention's queries) has no
    wait of its own: the loop's first one waits for copies that are committed later. `tk.schedule` on the ops of a channel and on dots says `latency` (iterations), `stage` and
    `cluster` (the order within an iteration); with `expand=false` nothing else happens.

    A loop without channels that loads from global memory into registers, and whose number of steps is known, gets `stages` bodies (module attribute
    `tg.schedule`, engine simt), one behind the other: so many steps' loads are under way together. Where its dots multiply what warps unpack in registers, the loads of that
    operand are carried: they begin `stages - 1` steps ahead, as far as registers last, and there are as many bodies, so that no register is moved to another one, which would wait for its load.
    Exact.

    Where threads store operands of dots that they compute or choose (keys of a cache with a new one behind them), the loads of a later iteration begin first of
    all in an iteration, as many iterations ahead as 64 registers of a thread last (32 where the number of steps is not known), and the loop carries their
    tiles. Past the end they read nothing. Exact.

    Where nothing in such a loop writes and it has no dots, its loads stand ahead of its first reduction if they do not need it: a decoder's values are under
    way while its keys become scores. Exact.

    ```mlir
    #xa = affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>
    func.func @kernel(%x: !tk.global<tensor<64x256xf16>>) {
      %b = tk.alloc : !tk.shared<2 x 64x64xf16>
      %c = tk.make_channel engine cp_async consumers 1 bytes 8192 : !tk.channel<2>
      tk.for_tiles (%t) in affine_map<() -> (1)> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %c4 = arith.constant 4 : index
        scf.for %k = %c0 to %c4 step %c1 {
          %n = arith.remui %k, %c2 : index
          tk.acquire %c[%k] : !tk.channel<2>
          %s = tk.slot %b[%n] : !tk.shared<2 x 64x64xf16> -> !tk.shared<1 x 64x64xf16>
          tk.copy %x[%k] map #xa, %s channel %c[%k] : !tk.channel<2> engine cp_async : !tk.global<tensor<64x256xf16>>, !tk.shared<1 x 64x64xf16>
          tk.commit %c[%k] : !tk.channel<2>
          tk.wait %c[%k] : !tk.channel<2>
          %v = tk.local_load %s : !tk.shared<1 x 64x64xf16> -> !tk.tile<64x64xf16>
          tk.release %c[%k] : !tk.channel<2>
        }
        tk.yield
      }
      return
    }
    ```
  }];
  let options = [Option<"expand", "expand", "bool", /*default=*/"true", "move the ops; otherwise only annotate them">];
  let statistics = [Statistic<"numLoops", "loops", "loops pipelined">, Statistic<"numStreams", "streams", "loops with several bodies">,
                    Statistic<"numHoisted", "hoisted", "loads ahead of reductions">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::weft::tk::TileKernelDialect"];

}

def TkAllocate : Pass<"weft-tk-allocate", "::mlir::ModuleOp"> {
  let summary = "give buffers, mbarriers and scratch memory their offsets in shared memory";
  let description = [{
    Sets `offset` of `tk.alloc` and `tk.make_channel`, `tk.scratch` of ops that pass tiles through shared memory, and the function's `tk.shared_bytes`. What is
    live in different ops of the loop over tiles (a loop counts as one) shares bytes; a `tk.barrier` comes before the first use of a buffer
    that lies where another was. More than the device of `tk.target` has is an error that lists who needs what.

    ```mlir
    func.func @kernel(%x: !tk.global<tensor<64x64xf16>>) {
      %b = tk.alloc : !tk.shared<1 x 64x64xf16>
      tk.for_tiles (%t) in affine_map<() -> (1)> {
        %v = tk.local_load %b : !tk.shared<1 x 64x64xf16> -> !tk.tile<64x64xf16>
        tk.yield
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::weft::tk::TileKernelDialect"];
}

def TkBanks : Pass<"weft-tk-banks", "::mlir::ModuleOp"> {
  let summary = "prove that accesses to shared memory in loops are free of bank conflicts";
  let description = [{
    Changes nothing. Each access to shared memory by an op in a loop (operands of dots, copies by cp.async, tiles stored and loaded, changes of layout and reductions across
    warps that pass through scratch) has a remark `banks` of category `layout`: passed where the banks of its lanes are proved to differ, missed with the number of
    wavefronts where they do not, failed where nothing is known. Copies by TMA write whole lines and have none. Without a consumer of remarks nothing is computed.

    ```mlir
    func.func @kernel(%x: !tk.global<tensor<64x64xf16>>) {
      %b = tk.alloc : !tk.shared<1 x 64x64xf16>
      tk.for_tiles (%t) in affine_map<() -> (1)> {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        scf.for %i = %c0 to %c1 step %c1 {
          %v = tk.local_load %b : !tk.shared<1 x 64x64xf16> -> !tk.tile<64x64xf16> // no layouts: not known
        }
        tk.yield
      }
      return
    }
    ```
  }];
}

def TkMakeLaunches : Pass<"weft-tk-make-launches", "::mlir::ModuleOp"> {
  let summary = "make one kernel of those that start as one";
  let description = [{
    For a program of kernels with offsets in shared memory: the dispatches of one launch (`tg.launch`, of `--weft-choose-launches` or by hand) become one dispatch of a kernel module whose body is a
    `tk.launch` of their kernels. Operands, results and symbols are those of the parts in turn; the CTA has the most warps and the most shared memory of a part. Exact.

    What a part reads of another one is no operand, but its result's buffer. Where both parts go by rows (`tk.tile_rows`, from `--weft-kernelize`), a CTA waits for the blocks of rows that hold what it reads (the policy of
    `#tk.await` follows from both kernels' accesses, and so does the number of CTAs that raise a counter), else for all CTAs of the part. `tg.launch_order = "chain<g>"` of the first of two: g blocks of the first one's
    rows, then the rows of the second that need them. A launch in which CTAs wait has at most as many as the GPU holds at once (`resident`).

    It decides nothing: a launch that cannot be made is an error at a dispatch.

    ```mlir
    %0 = tg.dispatch @query::@kernel(%x, %wq) {tg.launch = array<i64: 0, 0>} ...
    %1 = tg.dispatch @key::@kernel(%x, %wk) {tg.launch = array<i64: 0, 1>} ...
    ```
    becomes
    ```mlir
    %0:2 = tg.dispatch @launch_query::@kernel(%x, %wq, %x, %wk) ...
    ```
  }];
  let statistics = [Statistic<"numMerged", "merged", "launches of several kernels that do not need each other">,
                    Statistic<"numChains", "chains", "launches of kernels that wait for each other">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::weft::tk::TileKernelDialect", "::weft::tg::TileGraphDialect"];
}

#endif // WEFT_SCHEDULE_PASSES_TD
