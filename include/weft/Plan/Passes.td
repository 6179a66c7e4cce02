// Passes of the Plan room.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_PASSES_TD
#define WEFT_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormKernels : Pass<"weft-form-kernels", "::mlir::func::FuncOp"> {
  let summary = "put the ops of a function into tg.kernel groups";
  let description = [{
    Chooses groups (lib/Plan/Groups) and applies them: every primitive ends up in exactly one `tg.kernel`; host ops (constants,
    weights, checks, and reshapes and bitcasts, which only rename dense memory) stay outside. Exact: no op changes.

    Each producer-consumer edge gets a remark of category `fusion`: passed, or missed with the rule that refused it; with the bytes of the results on it and
    the bytes of traffic that fusing saves. So does each other pair that was considered and refused. A remark `planner` of the function has the number of
    ops and groups, and what the model of groups (lib/Plan/Groups/GroupCost.h) says of them and of one kernel an op, in microseconds. With `exact`, each region
    gets a remark `exact` of category `plan`: what its groups cost before and after the search, or that the search was given up.

    ```mlir
    %0 = tg.exp %x : tensor<4x8xf32>
    %1 = tg.neg %0 : tensor<4x8xf32>
    // becomes
    %1 = tg.kernel "exp_neg" -> tensor<4x8xf32> {
      %2 = tg.exp %x : tensor<4x8xf32>
      %3 = tg.neg %2 : tensor<4x8xf32>
      tg.yield %3 : tensor<4x8xf32>
    }
    ```
  }];
  let options = [
    Option<"fuse", "fuse", "bool", /*default=*/"true", "form groups of several ops; otherwise one kernel an op">,
    Option<"gpu", "gpu", "bool", /*default=*/"false", "rules G of weft/Plan/Groups.h: what pays on a GPU">,
    Option<"target", "target", "std::string", /*default=*/"\"sm_90a\"", "architecture, or device of the table in lib/Target, that the rules G weigh for">,
    Option<"maxRowBytes", "max-row-bytes", "int64_t", /*default=*/"1048576",
           "largest working set, in bytes, of one row of a group with reductions">,
    Option<"planner", "planner", "std::string", /*default=*/"\"weft\"",
           "who chooses among legal groups: weft, dnnfusion (seeds and the combination table), tvm-rules (kinds and post-dominators), or "
           "exact (weft, then the cheapest plan of each region of up to 25 ops)">,
    Option<"noFuse", "no-fuse", "std::string", /*default=*/"",
           "nodes that share no kernel: A alone, or A and B apart (A,B); several requests are separated by semicolons">,
    Option<"forceFuse", "force-fuse", "std::string", /*default=*/"",
           "nodes that share a kernel with what is between them (A,B), or an error; several separated by semicolons">,
    Option<"plan", "plan", "std::string", /*default=*/"", "file with the groups to form, which emit-plan wrote">,
    Option<"records", "records", "std::string", /*default=*/"", "file of measured times, which override the rules' estimates (docs/records.md)">,
    Option<"nameSubgraphs", "name-subgraphs", "bool", /*default=*/"false", "kernels get the names of their subgraphs in records, as attributes">,
    Option<"emitPlan", "emit-plan", "std::string", /*default=*/"", "file to print the module to, as a plan">,
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "kernels formed">,
    Statistic<"numFused", "fused-ops", "ops that share a kernel with another">,
  ];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def SetDomains : Pass<"weft-set-domains", "::mlir::ModuleOp"> {
  let summary = "say of every kernel over which domain it iterates";
  let description = [{
    Sets `domain` and `access` of each `tg.kernel` by composing the maps of its ops. Last of `--weft-plan` for a GPU, when kernels change no more.

    ```mlir
    %r = tg.kernel "reduce" domain <d0: 4 parallel, d1: 8 reduce> access [[affine_map<(d0, d1) -> (d0, d1)>], [affine_map<(d0, d1) -> (d0)>]] -> tensor<4xf32> {
      %0 = tg.reduce add %x axes = [1] : tensor<4x8xf32>
      tg.yield %0 : tensor<4xf32>
    }
    ```
  }];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def PlanLayouts : Pass<"weft-plan-layouts", "::mlir::func::FuncOp"> {
  let summary = "choose the order in memory of tensors between kernels";
  let description = [{
    Each tensor that only kernels use (results of kernels, weights) may lie in memory with any of its dimensions innermost. The order with the
    least cost is chosen: bytes read or written by all accesses, each times 16 / (bytes of the widest vector it allows), and a price for kernels whose
    tensors are contiguous along different dimensions. So channels become innermost around convolutions. Where an order changes, the kernel that makes
    the tensor transposes its result, those that read it transpose it back, and a weight (its `order`) is transposed by the runtime when it
    loads it. Exact. Inputs and outputs of the function keep their order.

    With a `target`, a tensor that keeps its order although GEMMs read it element by element, again and again (the image under a convolution,
    whose windows slide along what is contiguous), is copied in the order that they like by a kernel of its own, where that kernel (a read, a
    write, a launch) takes less than it saves. So are operands whose rows run along the sum of a GEMM and are no multiple of 16 bytes, behind
    zeros up to whole lines of 128 bytes (up to 16, where that makes them a sixteenth longer): wide copies and TMA then bring them, and the GEMM
    sums over the zeros of both operands, too.

    With `target=cpu`, vectors have 64 bytes and begin anywhere, so that rows of odd length are as good as others; small weights change, too, elements
    of less than 4 bytes do not (products convert them as they pack), and a window over each channel alone is priced as a map is: its vectors go along what is
    contiguous in its image, its weight and its result. A kernel's loops go as what it writes: what it reads is held against that alone. Transpositions move in front of poolings, and what several ops read is transposed once.

    Each changed order and each copy gets a remark of category `plan`.

    ```mlir
    %1 = tg.kernel -> tensor<2x64x56x56xf16> { ... tg.yield %y : tensor<2x64x56x56xf16> }
    // becomes
    %1 = tg.kernel -> tensor<2x56x56x64xf16> { ... %t = tg.transpose %y [0, 2, 3, 1] ... tg.yield %t : tensor<2x56x56x64xf16> }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"\"", "architecture, or device of the table in lib/Target, that copies are weighed for (none: no copies), or cpu">,
  ];
  let statistics = [Statistic<"numReordered", "reordered", "tensors whose order changed">,
                    Statistic<"numCopied", "copied", "tensors copied in another order, or with rows of whole lines">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def OutlineKernels : Pass<"weft-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "move each tg.kernel into a module of its own, equal ones once";
  let description = [{
    Every `tg.kernel` of `@main` becomes a nested module with one function `@kernel`: first the tensors it uses from outside, in order of
    first use, then one `index` argument for each symbol its types and maps mention (function attribute `tg.num_symbols`); symbol N of
    the function's types is its N-th index argument. Constants that are splats or at most 64 bytes are cloned into the kernel. The module
    attributes `tg.operand_dims` and `tg.result_dims` give the extents of arguments and results over those symbols. Kernels whose modules
    print equally (locations apart) share one module. `tg.steady_operands` lists the operands that are inputs, weights or constants at every
    dispatch, so that no kernel writes them. `@main` keeps a `tg.dispatch` with the names of the ONNX nodes that the
    kernel computes in `tg.nodes`.

    ```mlir
    module @exp_neg { func.func @kernel(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {tg.num_symbols = 0 : i64} { ... } }
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = tg.dispatch @exp_neg::@kernel(%x) symbols = affine_map<() -> ()> : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numDispatches", "dispatches", "kernels dispatched">,
    Statistic<"numModules", "modules", "distinct kernels">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect", "::weft::tg::TileGraphDialect"];
}

def SplitFolds : Pass<"weft-split-folds", "::mlir::ModuleOp"> {
  let summary = "cut folds that leave the device idle into parts";
  let description = [{
    A `tg.fold` over N elements with a `merge` becomes a fold in s parts, which returns its states for each of them, and a fold over the s parts that merges
    them and finishes: two kernels. s is the cheapest by the model of weft/Plan/FoldSplit.h: CTAs against SMs, the bytes of the stream and of the partial states, and a second
    launch. N is any number: parts have whole units of 64 elements, as equally many as that allows. Where N is not known, s is the cheapest over lengths up to 32,768, and the
    kernel shares the units out when it runs; then some parts may be empty, so merging the initial states must be proved to change nothing. Equal up to rounding, by the law of the
    fold's merge.

    Each fold gets a remark of category `plan`: `split` with the numbers that decided, or `no-split` with the reason.

    ```mlir
    %r = tg.fold over affine_map<() -> (2053)> init [0xFF800000 : f32, 0.0 : f32] ... : tensor<8x4x128xbf16>
    // becomes
    %p:3 = tg.fold over affine_map<() -> (2053)> in 16 parts of 64 init ... : tensor<16x8x4x128xf32>, tensor<16x8x4x1xf32>, tensor<16x8x4x1xf32>
    %r = tg.fold over affine_map<() -> (16)> init ... : tensor<8x4x128xbf16>
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_90a\"", "architecture, or device of the table in lib/Target">,
  ];
  let statistics = [Statistic<"numSplits", "splits", "folds cut into parts">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def SplitReductions : Pass<"weft-split-reductions", "::mlir::ModuleOp"> {
  let summary = "cut reductions to few elements into parts";
  let description = [{
    A `tg.reduce` of many elements to fewer elements than the device has SMs becomes a reduction of each of s parts of one of its axes, in the
    accumulator's type, and a reduction of the parts: two kernels. s divides the axis and is the cheapest by bandwidth: one SM alone gets a small part of
    it. Equal up to the rounding of sums.

    The mean m of at most as many rows as there are SMs, and the sum q of squared deviations from it, of what is stored (or casts of it), are cut together, into at most
    32 parts of n elements: with the parts' means and sums m = mean(m_p), q = sum(q_p + n (m_p - m)^2). What else reads the deviations reads the input again. Taken where the
    model finds reading rows once, in parts, and a kernel more faster than three passes of a CTA; sums with `tg.numerics = "exact"` stay. Where a GEMM makes what is stored, and
    its last dimensions, all of them reduced, are cut by tiles of 64 to 256 elements of it, the parts are those (`tg::findTileParts`), if the GEMM loses less by them than a kernel.

    Each reduction that is cut gets a remark `split` of category `plan` with the numbers that decided.

    ```mlir
    func.func @main(%x: tensor<16777216xf32>) -> tensor<f32> {
      %r = tg.reduce add %x axes = [0] : tensor<16777216xf32>
      return %r : tensor<f32>
    }
    ```
    becomes
    ```mlir
    func.func @main(%x: tensor<16777216xf32>) -> tensor<f32> {
      %0 = tg.reshape %x : tensor<16777216xf32> to tensor<512x32768xf32>
      %1 = tg.reduce add %0 axes = [1] : tensor<512x32768xf32>
      %2 = tg.reduce add %1 axes = [0] : tensor<512xf32>
      return %2 : tensor<f32>
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_90a\"", "architecture, or device of the table in lib/Target">,
  ];
  let statistics = [Statistic<"numSplits", "splits", "reductions cut into parts">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def CollapseDims : Pass<"weft-collapse-dims", "::mlir::ModuleOp"> {
  let summary = "merge dimensions that every access of a kernel treats as one";
  let description = [{
    For a kernel module (or each one nested in the module) without a schedule: dimensions of extent 1 are dropped and neighbouring dimensions
    merged wherever all ops of the kernel allow it. The partition follows from how each op relates the dimensions of its operands and results; symbolic
    extents multiply. Types of arguments and results change (row-major memory is only renamed), and with them `tg.operand_dims` and
    `tg.result_dims`. Exact.

    ```mlir
    func.func @kernel(%x: tensor<2x320x64x64xf16>) -> tensor<2x320x64x64xf16> { %0 = tg.neg %x : tensor<2x320x64x64xf16> ... }
    // becomes
    func.func @kernel(%x: tensor<2621440xf16>) -> tensor<2621440xf16> { %0 = tg.neg %x : tensor<2621440xf16> ... }
    ```
  }];
  let statistics = [Statistic<"numCollapsed", "collapsed", "kernels with fewer dimensions">];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

def PlanGpu : Pass<"weft-plan-gpu", "::mlir::ModuleOp"> {
  let summary = "choose the GPU schedule of each kernel module";
  let description = [{
    Sets the module attribute `tg.schedule` of a kernel module (or of each one nested in the module) that has none yet: a legal schedule for every
    kernel of tg primitives, a good one by the model of weft/Plan/ChooseSchedule.h, and `tk.target`, its architecture. Nothing else changes.

    Each choice gets a remark of category `plan` with the numbers that decided. The order of the tiles of one GEMM is the one that moves the fewest
    bytes between DRAM and the L2: by formula, and of the best few by simulation (weft/Plan/OrderModel.h). Those of all other kernels (folds, windows,
    batches, any rank) are followed by their access maps, and all candidates simulated (weft/Plan/KernelLaunch.h). The remark has the numbers of all.

    ```mlir
    module @scale attributes {tg.schedule = #tg.schedule<tile = [1024], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {
      func.func @kernel(%x: tensor<1048576xf16>) -> tensor<1048576xf16> { ... }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"sm_90a\"", "architecture, or device of the table in lib/Target">,
    Option<"allowTf32", "allow-tf32", "bool", /*default=*/"false", "GEMMs of f32 may round their operands to tf32">,
    Option<"traversal", "traversal", "std::string", /*default=*/"\"\"", "order of the tiles of every contraction and fold with rows and columns of them (docs/traversal.md), instead of the model's choice">,
    Option<"records", "records", "std::string", /*default=*/"", "file of measured times: a kernel takes the schedule of its record (docs/records.md)">,
    Option<"nameSubgraphs", "name-subgraphs", "bool", /*default=*/"false", "kernels get the names of their subgraphs in records, as attributes">,
  ];
  let dependentDialects = ["::weft::tg::TileGraphDialect"];
}

#endif // WEFT_PLAN_PASSES_TD
