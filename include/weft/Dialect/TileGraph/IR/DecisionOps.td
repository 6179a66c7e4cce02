// What the planner decided and why, as ops of a printed plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_DECISIONOPS_TD
#define WEFT_DIALECT_TILEGRAPH_IR_DECISIONOPS_TD

include "weft/Dialect/TileGraph/IR/TileGraphBase.td"

def TG_DecisionsOp : TG_Op<"decisions", [NoTerminator, SingleBlock, NoRegionArguments, HasParent<"::mlir::ModuleOp">]> {
  let summary = "why a planned program is as it is";
  let description = [{
    The reasons behind a plan, of the program in `@main` or of the variant of it in `program`: `tg.planner`, `tg.edge` and `tg.remark`. What was decided is in
    the plan's fields (kernels, `tg.schedule`, `tg.launch`) and is not repeated here, so an edited plan is explained as it is now. `weft explain`, the
    report and `--why-not` are written from this op and the kernels; no pass reads it, and no code depends on it.

    `nodes` (of the ONNX model), `ops`, `flops`, `bytes` and `intermediate_bytes` are of the program with each op a kernel; `left_out` counts edges and remarks that there was no room for.

    ```mlir
    tg.decisions attributes {nodes = 2 : i64, ops = 2 : i64, flops = 1000000 : i64, bytes = 6000000 : i64, intermediate_bytes = 2000000 : i64} {
      tg.planner "weft" groups 1 of 2 costs 2.1 alone 5.0
      tg.edge "tg.exp" "Exp_0" in 0 -> "tg.neg" "Neg_1" in 0 moves 1000000 saves 2000000 level "register" of 4096 because "element by element"
    }
    ```
  }];
  let arguments = (ins OptionalAttr<FlatSymbolRefAttr>:$program, DefaultValuedAttr<I64Attr, "0">:$nodes, DefaultValuedAttr<I64Attr, "0">:$ops,
                       DefaultValuedAttr<I64Attr, "0">:$flops, DefaultValuedAttr<I64Attr, "0">:$bytes, DefaultValuedAttr<I64Attr, "0">:$intermediate_bytes,
                       DefaultValuedAttr<I64Attr, "0">:$edges_left_out, DefaultValuedAttr<I64Attr, "0">:$remarks_left_out);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`of` $program^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def TG_PlannerOp : TG_Op<"planner", [HasParent<"DecisionsOp">]> {
  let summary = "who formed the groups, and what they cost by its model";
  let description = [{
    The planner (`none` where nothing is fused, `given` for a plan of the user's), into how many groups of how many ops, and what these cost, and each op alone, in microseconds.

    ```mlir
    tg.planner "weft" groups 1 of 2 costs 2.1 alone 5.0
    ```
  }];
  let arguments = (ins StrAttr:$planner, I64Attr:$groups, I64Attr:$ops, F64Attr:$microseconds, F64Attr:$alone);
  let assemblyFormat = "$planner `groups` $groups `of` $ops `costs` $microseconds `alone` $alone attr-dict";
}

def TG_EdgeOp : TG_Op<"edge", [HasParent<"DecisionsOp">]> {
  let summary = "whether two ops share a kernel, and why not";
  let description = [{
    `producer` (an op's name) of ONNX node `producer_node` (empty: of none), in dispatch number `from` of the program (-1: in none), and who reads its result. `bytes` go along the edge (-1: none,
    they share an operand); fusing saves `saved` of traffic. `apart`: they are in different groups, by that rule. Else `level` is where the tensor is, `tile_bytes` of it (-1: not
    known) for a tile, and why there. `in_fold`: one fold has both.

    ```mlir
    tg.edge "tg.contract" "scores" in 0 -> "tg.mul" "mix" in 1 moves 18874368 saves 37748736 apart "R2: two contractions"
    ```
  }];
  let arguments = (ins StrAttr:$producer, StrAttr:$producer_node, I64Attr:$from, StrAttr:$consumer, StrAttr:$consumer_node, I64Attr:$to,
                       I64Attr:$bytes, I64Attr:$saved, OptionalAttr<StrAttr>:$apart, OptionalAttr<StrAttr>:$level, OptionalAttr<I64Attr>:$tile_bytes,
                       OptionalAttr<StrAttr>:$level_reason, UnitAttr:$in_fold);
  let assemblyFormat = [{
    $producer $producer_node `in` $from `->` $consumer $consumer_node `in` $to `moves` $bytes `saves` $saved (`apart` $apart^)?
    (`level` $level^ `of` $tile_bytes `because` $level_reason)? (`in_fold` $in_fold^)? attr-dict
  }];
  let hasVerifier = 1;
}

def TG_RemarkOp : TG_Op<"remark", [HasParent<"DecisionsOp">]> {
  let summary = "what a pass said of a decision";
  let description = [{
    `kind` is `Passed`, `Missed`, `Failure` or `Analysis`, `category` one of `fusion`, `fold`, `plan` and `rewrite`; `function` a kernel or `main`, `node` an ONNX node; both may be empty.

    ```mlir
    tg.remark "Missed" "no-split" of "fold" in "main" at "mix" : "it has no merge"
    ```
  }];
  let arguments = (ins StrAttr:$kind, StrAttr:$name, StrAttr:$category, StrAttr:$function, StrAttr:$node, StrAttr:$text);
  let assemblyFormat = "$kind $name `of` $category `in` $function `at` $node `:` $text attr-dict";
}

#endif // WEFT_DIALECT_TILEGRAPH_IR_DECISIONOPS_TD
