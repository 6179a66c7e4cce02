// Structure: constants, weights, symbol arithmetic, kernels and dispatches.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_STRUCTUREOPS_TD
#define WEFT_DIALECT_TILEGRAPH_IR_STRUCTUREOPS_TD

include "weft/Dialect/TileGraph/IR/TileGraphBase.td"
include "weft/Dialect/TileGraph/IR/TileGraphAttrs.td"
include "weft/Dialect/TileGraph/IR/TileGraphInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def TG_ConstantOp : TG_InferredOp<"constant", [Pure, ConstantLike],
    "results.push_back(adaptor.getValue().getType()); return ::llvm::success();"> {
  let summary = "small tensor held in the IR";
  let description = [{
    ```mlir
    %c = tg.constant dense<[1, 2]> : tensor<2xi64>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
}

def TG_WeightOp : TG_Op<"weight", [Pure]> {
  let summary = "tensor whose bytes lie outside the IR";
  let description = [{
    The size of the range equals the size of the tensor. Element i1 is one byte. With `order`, a permutation, dimension i of the result is dimension order[i]
    of the stored tensor: the result is its transpose, which the runtime writes when it loads the weight (whole bytes an element only).

    ```mlir
    %w = tg.weight #tg.data<"bert.weights.bin", 0, 128> : tensor<4x8xf32>
    %t = tg.weight #tg.data<"bert.weights.bin", 0, 128> order [1, 0] : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins TG_DataAttr:$data, OptionalAttr<DenseI64ArrayAttr>:$order);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = "$data (`order` $order^)? attr-dict `:` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::weft::tg::DataAttr":$data), "build($_builder, $_state, type, data, {});">];
  let hasVerifier = 1;
}

def TG_ExtentsOp : TG_InferredOp<"extents", [Pure],
    [{results.push_back(::weft::tg::detail::extentsType(context, adaptor.getMap())); return ::llvm::success();}]> {
  let summary = "values of symbol expressions as an i64 tensor";
  let description = [{
    Element i is result i of `map`, a map of the module's symbols without dimensions.

    ```mlir
    %e = tg.extents affine_map<()[s0, s1] -> (s0, 12, s1 * 2)>
    ```
  }];
  let arguments = (ins AffineMapAttr:$map);
  let results = (outs TG_IndexTensor:$result);
  let assemblyFormat = "$map attr-dict";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TG_IotaOp : TG_Op<"iota", [Pure]> {
  let summary = "index along an axis";
  let description = [{
    r[i_0, ...] = i_axis, converted to the element type.

    ```mlir
    %r = tg.iota 1 : tensor<4x8xi64>
    ```
  }];
  let arguments = (ins I64Attr:$axis);
  let results = (outs TG_Tensor:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TG_AssumeEqualOp : TG_Op<"assume_equal", []> {
  let summary = "run-time check that symbol expressions agree";
  let description = [{
    All results of `map` must be equal when the model runs; else the run fails with `message`.

    ```mlir
    tg.assume_equal affine_map<()[s0, s1] -> (s0, s1)>, "input `b` dimension 1"
    ```
  }];
  let arguments = (ins AffineMapAttr:$map, StrAttr:$message);
  let assemblyFormat = "$map `,` $message attr-dict";
  let hasVerifier = 1;
}

def TG_KernelOp : TG_Op<"kernel", [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "ops that run as one kernel";
  let description = [{
    The region may use values from outside; those, and the results, live in memory. Values inside live in registers or on-chip.

    A planned kernel says over which `domain` it iterates, and of each value in `access` at which places of it the value is wanted: maps from
    the domain, in which a symbol stands for a place that depends on data. Values are those that the ops use, make, or have as arguments of their regions,
    in the order in which they first appear; one that is wanted at more than 8 places has no map, as one that nothing wants. Both follow from the maps of
    the ops (`TileOpInterface`), which the verifier composes again.

    ```mlir
    %r = tg.kernel "exp_transpose" domain <d0: 8 parallel, d1: 4 parallel>
        access [[affine_map<(d0, d1) -> (d1, d0)>], [affine_map<(d0, d1) -> (d1, d0)>], [affine_map<(d0, d1) -> (d0, d1)>]] -> tensor<8x4xf32> {
      %0 = tg.exp %x : tensor<4x8xf32>
      %1 = tg.transpose %0 [1, 0] : tensor<4x8xf32>
      tg.yield %1 : tensor<8x4xf32>
    }
    ```
  }];
  let arguments = (ins OptionalAttr<StrAttr>:$label, OptionalAttr<TG_DomainAttr>:$domain, OptionalAttr<ArrayAttr>:$access);
  let regions = (region SizedRegion<1>:$body);
  let results = (outs Variadic<TG_AnyTensor>:$results);
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::StringAttr":$label),
                            "build($_builder, $_state, results, label, {}, {});">];
  let assemblyFormat = "($label^)? (`domain` $domain^ `access` $access)? attr-dict-with-keyword (`->` type($results)^)? $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def TG_YieldOp : TG_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "results of a kernel";
  let description = [{
    Ends the region of `tg.kernel`; the operands are the kernel's results, in memory.

    ```mlir
    tg.yield %r : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Variadic<TG_AnyTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def TG_DispatchOp : TG_Op<"dispatch", [Pure]> {
  let summary = "call of an outlined kernel";
  let description = [{
    Runs the kernel function `callee` (`@module::@function`) on whole tensors. Kernels are pure; `symbols` gives the values of the
    kernel's symbol parameters as expressions of this module's symbols.

    ```mlir
    %r = tg.dispatch @softmax_0::@kernel(%x) symbols = affine_map<()[s0] -> (s0)>
        : (tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>) -> tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>
    ```
  }];
  let arguments = (ins SymbolRefAttr:$callee, Variadic<TG_AnyTensor>:$operands_, AffineMapAttr:$symbols);
  let results = (outs Variadic<TG_AnyTensor>:$results);
  let assemblyFormat = [{$callee `(` $operands_ `)` `symbols` `=` $symbols attr-dict `:` functional-type($operands_, $results)}];
}

#endif // WEFT_DIALECT_TILEGRAPH_IR_STRUCTUREOPS_TD
