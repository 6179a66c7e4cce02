// Passes that choose what starts together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLAN_LAUNCHES_PASSES_TD
#define WEFT_PLAN_LAUNCHES_PASSES_TD

include "mlir/Pass/PassBase.td"

def ChooseLaunches : Pass<"weft-choose-launches", "::mlir::ModuleOp"> {
  let summary = "choose which kernels start as one";
  let description = [{
    On a program of kernels with offsets in shared memory, which say what they need of a launch. A program whose dispatches have launches keeps them. Independent dispatches (equally many dependent kernels in front of them) get one
    launch: `tg.launch = array<i64: number, position>`, whose CTAs begin in the order of positions, GEMMs before maps. A dispatch stays alone where it or another
    one would lose CTAs of an SM that it can fill, where registers do not suffice beside more warps, where its grid depends on symbols, and where its CTAs meet (in clusters, or in memory).

    With `chains`, a launch also goes behind the launch whose results it reads, if no other kernel has to run between them: a chain. The CTAs of a chain of two
    that go by rows then have an order, `tg.launch_order = "chain<g>"`: g blocks of the first, then the rows of the second that need them. g is the one of the
    fewest bytes by the simulation of both parts' CTAs in the L2, if it moves 5 % fewer than all of the first before the second in no more time (the remark
    `chain-order`, category `plan`, has the numbers); `chain-height` sets it. A program without such a chain is an error then.

    Each launch of several gets a remark `merged` of category `fusion`, each pair that was refused `not-merged` with the reason. `--weft-tk-make-launches` makes the launches.

    ```mlir
    %0 = tg.dispatch @query::@kernel(%x, %wq) ...
    %1 = tg.dispatch @key::@kernel(%x, %wk) ...
    ```
    becomes
    ```mlir
    %0 = tg.dispatch @query::@kernel(%x, %wq) {tg.launch = array<i64: 0, 0>} ...
    %1 = tg.dispatch @key::@kernel(%x, %wk) {tg.launch = array<i64: 0, 1>} ...
    ```
  }];
  let options = [
    Option<"deviceName", "device", "std::string", /*default=*/"\"\"", "architecture, or device of the table in lib/Target (none: the kernels' target)">,
    Option<"chainMode", "chains", "std::string", /*default=*/"\"model\"", "kernels that read each other's results: none, where the model says that it pays (model), or all that can, whatever it costs (all)">,
    Option<"chainHeight", "chain-height", "int64_t", /*default=*/"0", "blocks of rows of the first kernel of a chain of two that are followed by the rows of the second which need them; 0: as the simulation says">,
  ];
}

#endif // WEFT_PLAN_LAUNCHES_PASSES_TD
