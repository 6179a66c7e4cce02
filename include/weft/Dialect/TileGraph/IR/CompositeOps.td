// Composite ops: named functions of several primitives, kept until --weft-normalize decomposes them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_COMPOSITEOPS_TD
#define WEFT_DIALECT_TILEGRAPH_IR_COMPOSITEOPS_TD

include "weft/Dialect/TileGraph/IR/TileGraphBase.td"
include "weft/Dialect/TileGraph/IR/TileGraphAttrs.td"
include "weft/Dialect/TileGraph/IR/TileGraphInterfaces.td"

/// Composites compute in f32 (f64 for f64) and round their results once.
class TG_Composite<string mnemonic, string infer> : TG_InferredOp<mnemonic, [Pure], infer> {}
class TG_CompositeLike<string mnemonic, string input = "getInput"> : TG_Composite<mnemonic,
    "results.push_back(adaptor." # input # "().getType()); return ::llvm::success();"> {
  let results = (outs TG_FloatTensor:$result);
}

def TG_GeluOp : TG_CompositeLike<"gelu"> {
  let summary = "Gaussian error linear unit";
  let description = [{
    r = x/2 * (1 + erf(x / sqrt 2)), or with `tanh`: r = x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).

    ```mlir
    %r = tg.gelu %x {tanh} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TG_FloatTensor:$input, UnitAttr:$tanh);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def TG_SoftmaxOp : TG_CompositeLike<"softmax"> {
  let summary = "softmax, or its logarithm, along an axis";
  let description = [{
    r = e^(x - m) / sum e^(x - m) with m = max x along `axis`; with `log`: r = x - m - ln sum e^(x - m). A row of only -inf gives NaN.

    ```mlir
    %r = tg.softmax %x axis = 1 {log} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TG_FloatTensor:$input, I64Attr:$axis, UnitAttr:$log);
  let assemblyFormat = "$input `axis` `=` $axis attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def TG_LayerNormOp : TG_Composite<"layer_norm",
    [{return ::weft::tg::detail::inferLayerNorm(location, adaptor.getInput().getType(), adaptor.getAxis(), adaptor.getStashType(),
                                               results);}]> {
  let summary = "layer normalisation over the dimensions from an axis on";
  let description = [{
    With mu, v the mean and (biased) variance over dimensions `axis`..: result = (x - mu) / sqrt(v + epsilon) * scale + bias;
    mean = mu and inv_std = 1 / sqrt(v + epsilon), of element type `stash_type`, with extents 1 in the normalised dimensions.
    scale and bias broadcast to the operand. Computes in `stash_type`; (x - mu) * inv_std rounds to the operand's type before scale.

    ```mlir
    %r, %mean, %inv = tg.layer_norm %x, %scale, %bias axis = 1 epsilon = 1.0e-5 stash = f32
        : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
    ```
  }];
  let arguments = (ins TG_FloatTensor:$input, TG_FloatTensor:$scale, Optional<TG_FloatTensor>:$bias, I64Attr:$axis, F64Attr:$epsilon,
                       TypeAttr:$stash_type);
  let results = (outs TG_FloatTensor:$result, TG_FloatTensor:$mean, TG_FloatTensor:$inv_std);
  let assemblyFormat = [{$input `,` $scale (`,` $bias^)? `axis` `=` $axis `epsilon` `=` $epsilon `stash` `=` $stash_type attr-dict `:`
                         type($input) `,` type($scale) (`,` type($bias)^)?}];
  let hasVerifier = 1;
}

def TG_RmsNormOp : TG_CompositeLike<"rms_norm"> {
  let summary = "root-mean-square normalisation over the dimensions from an axis on";
  let description = [{
    r = x / sqrt(mean(x^2) + epsilon) * scale. Computes in `stash_type`; the normalised value rounds to the operand's type before scale.

    ```mlir
    %r = tg.rms_norm %x, %scale axis = 1 epsilon = 1.0e-5 stash = f32 : tensor<4x8xf32>, tensor<8xf32>
    ```
  }];
  let arguments = (ins TG_FloatTensor:$input, TG_FloatTensor:$scale, I64Attr:$axis, F64Attr:$epsilon, TypeAttr:$stash_type);
  let assemblyFormat = [{$input `,` $scale `axis` `=` $axis `epsilon` `=` $epsilon `stash` `=` $stash_type attr-dict `:` type($input) `,`
                         type($scale)}];
  let hasVerifier = 1;
}

def TG_GroupNormOp : TG_CompositeLike<"group_norm"> {
  let summary = "normalisation over groups of channels";
  let description = [{
    The operand is N x C x spatial. Channels fall into `groups` equal groups; mean and (biased) variance are over a group's channels and all
    spatial dimensions of one batch entry: r = (x - mu) / sqrt(v + epsilon) * scale[c] + bias[c]. `groups` = C is instance
    normalisation. Computes in `stash_type`.

    ```mlir
    %r = tg.group_norm %x, %scale, %bias groups = 2 epsilon = 1.0e-5 stash = f32 : tensor<1x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>
    ```
  }];
  let arguments = (ins TG_FloatTensor:$input, TG_FloatTensor:$scale, TG_FloatTensor:$bias, I64Attr:$groups, F64Attr:$epsilon,
                       TypeAttr:$stash_type);
  let assemblyFormat = [{$input `,` $scale `,` $bias `groups` `=` $groups `epsilon` `=` $epsilon `stash` `=` $stash_type attr-dict `:`
                         type($input) `,` type($scale) `,` type($bias)}];
  let hasVerifier = 1;
}

def TG_AttentionOp : TG_Composite<"attention",
    [{return ::weft::tg::detail::inferAttention(location, adaptor.getQuery().getType(), adaptor.getKey().getType(),
                                               adaptor.getValue().getType(), results);}]> {
  let summary = "scaled dot-product attention";
  let description = [{
    query is B x H x S x D, key B x G x T x D, value B x G x T x E, with H a multiple of G (query head h reads key head h / (H / G)).
    s = scale * q k^T; if `softcap` c > 0: s = c tanh(s / c); a float `mask` is added, a boolean one keeps where true (else -inf);
    with `causal_offset` o, position (i, j) is kept where j <= i + o. p = softmax of s over j in `softmax_type`; result = p v. A
    fully masked row gives NaN, or zeros with `zero_masked_rows`. The mask broadcasts to B x H x S x T. `scores` is s at the stage
    `scores_stage` (0 scaled product, 1 after softcap, 2 after masks, 3 p), and unused results cost nothing.

    ```mlir
    %r, %s = tg.attention %q, %k, %v scale = 0.5 softmax = f32 {causal_offset = 0 : i64}
        : tensor<1x8x4x16xf32>, tensor<1x2x6x16xf32>, tensor<1x2x6x16xf32>
    ```
  }];
  let arguments = (ins TG_FloatTensor:$query, TG_FloatTensor:$key, TG_FloatTensor:$value, Optional<TG_Tensor>:$mask, F64Attr:$scale,
                       TypeAttr:$softmax_type, DefaultValuedAttr<F64Attr, "0.0">:$softcap, OptionalAttr<I64Attr>:$causal_offset,
                       UnitAttr:$zero_masked_rows, DefaultValuedAttr<I64Attr, "0">:$scores_stage);
  let results = (outs TG_FloatTensor:$result, TG_FloatTensor:$scores);
  let assemblyFormat = [{$query `,` $key `,` $value (`mask` $mask^)? `scale` `=` $scale `softmax` `=` $softmax_type attr-dict `:`
                         type($query) `,` type($key) `,` type($value) (`,` type($mask)^)?}];
  let hasVerifier = 1;
}

#endif // WEFT_DIALECT_TILEGRAPH_IR_COMPOSITEOPS_TD
