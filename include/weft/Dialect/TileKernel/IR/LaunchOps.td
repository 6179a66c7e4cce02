// Several kernels in one launch: tasks, and what binds them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_IR_LAUNCHOPS_TD
#define WEFT_DIALECT_TILEKERNEL_IR_LAUNCHOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "weft/Dialect/TileKernel/IR/TileOps.td"

def TK_AwaitAttr : TK_Attr<"Await", "await"> {
  let summary = "what a CTA of a task waits for in an earlier task of its launch";
  let description = [{
    `policy` is the name of what the numbers say. With `all` it is the whole of task `task`. Else CTA c of the reader has block b = c / `ctas` and reads elements `step` b + `first` to
    `step` b + `last` of what `task` writes (as far as that goes), `written` of which a counter of `task` stands for: it waits for the counters of those.

    | policy | a block of the reader waits for |
    |---|---|
    | row | one counter of its own |
    | row_block | several, which no other block waits for |
    | consecutive | one that it shares with its neighbours |
    | window | several, some of which its neighbours wait for too |
    | strided | counters between which there are others |
    | all | everything |

    ```mlir
    #tk.await<row of 0, ctas = 4, step = 8192, first = 0, last = 8191, written = 8192>
    ```
  }];
  let parameters = (ins "::weft::tk::SignalPolicy":$policy, "int64_t":$task, "int64_t":$ctas, "int64_t":$step, "int64_t":$first, "int64_t":$last,
                        "int64_t":$written);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def TK_LaunchOp : TK_Op<"launch", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "kernels that start as one: their CTAs are tasks, in the order of the region";
  let description = [{
    The body of a kernel function in whose place several have come; nothing else is in it. The tasks of a launch are the CTAs of its `tk.task` ops one op after the other, or, with `turns` = [w, r, g] of
    two ops, in g groups, each w CTAs of the first one and then r of the second (what is left over goes to the last group).

    Without `resident` no task waits for another one: the launch has a CTA for each task. With `resident` = n it has at most n CTAs, all of which the card holds at once, and CTA c runs
    tasks c, c + n', c + 2 n', ... (n': how many it has), one after the other. A task waits for earlier ones only (verified), so the first task of all that are not done is one whose CTA has done what came before it, and
    which waits for nothing that is not done: it runs to its end, and so do all, in whichever order CTAs begin.

    ```mlir
    func.func @kernel(%x: !tk.global<tensor<64x256xf32>>, %s: !tk.global<tensor<64xf32>>, %y: !tk.global<tensor<64xf32>>) attributes {tk.warps = 4 : i64} {
      tk.launch resident 132 {
        tk.task @sums(%x, %s) ctas affine_map<() -> (16)> signals each 1 : !tk.global<tensor<64x256xf32>>, !tk.global<tensor<64xf32>>
        tk.task @scale(%s, %y) ctas affine_map<() -> (16)> awaits [#tk.await<row of 0, ctas = 1, step = 4, first = 0, last = 3, written = 4>]
          : !tk.global<tensor<64xf32>>, !tk.global<tensor<64xf32>>
      }
      return
    }
    ```
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$resident, OptionalAttr<DenseI64ArrayAttr>:$turns);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`resident` $resident^)? (`turns` $turns^)? attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

def TK_TaskOp : TK_Op<"task", [HasParent<"LaunchOp">, MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "the CTAs of a kernel in a launch of several";
  let description = [{
    `callee` is a kernel function of the module, private, that takes `operands` (tensors, then symbols). `ctas`, a map of the symbols among the operands, is how many CTAs compute it: the least of its results.
    `signals each n`: what n CTAs in a row have written can be seen when they have all raised a counter, one for each n; the last one counts the CTAs that are left. `awaits`: for what each CTA waits before it begins.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$operands_, AffineMapAttr:$ctas, OptionalAttr<I64Attr>:$signal,
                       OptionalAttr<TypedArrayAttrBase<TK_AwaitAttr, "array of #tk.await">>:$awaits);
  let assemblyFormat = [{$callee `(` $operands_ `)` `ctas` $ctas (`signals` `each` $signal^)? (`awaits` $awaits^)? attr-dict `:` type($operands_)}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many CTAs there are; none if that depends on symbols.
    std::optional<int64_t> getStaticCtas();
  }];
}

#endif // WEFT_DIALECT_TILEKERNEL_IR_LAUNCHOPS_TD
