// Data movement: affine views, padding, concatenation, gather and scatter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEGRAPH_IR_DATAOPS_TD
#define WEFT_DIALECT_TILEGRAPH_IR_DATAOPS_TD

include "weft/Dialect/TileGraph/IR/TileGraphBase.td"
include "weft/Dialect/TileGraph/IR/TileGraphAttrs.td"
include "weft/Dialect/TileGraph/IR/TileGraphInterfaces.td"

def TG_TransposeOp : TG_InferredOp<"transpose", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface>],
    "return ::weft::tg::detail::inferTranspose(location, adaptor.getInput().getType(), adaptor.getPermutation(), results);"> {
  let summary = "permutation of dimensions";
  let description = [{
    r[i_0, ...] has dimension d of extent `input.dim(permutation[d])`.

    ```mlir
    %r = tg.transpose %x [1, 0] : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def TG_ReshapeOp : TG_Op<"reshape", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface>]> {
  let summary = "the same elements in row-major order under another shape";
  let description = [{
    The numbers of elements are equal (checked where both are static). Moves no data.

    ```mlir
    %r = tg.reshape %x : tensor<4x8xf32> to tensor<2x16xf32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$input);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def TG_BitcastOp : TG_Op<"bitcast", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface>]> {
  let summary = "the same bits under another element type of the same width";
  let description = [{
    ```mlir
    %r = tg.bitcast %x : tensor<4xf32> to tensor<4xi32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$input);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def TG_BroadcastOp : TG_Op<"broadcast", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface>]> {
  let summary = "numpy broadcast to a larger shape";
  let description = [{
    Shapes align at the last dimension; operand dimensions of extent 1 and missing leading dimensions stretch.

    ```mlir
    %r = tg.broadcast %x : tensor<1x8xf32> to tensor<2x4x8xf32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$input);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TG_SliceOp : TG_Op<"slice", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface>]> {
  let summary = "strided box of a tensor";
  let description = [{
    r[i_0, ...] = x[offsets[0] + i_0 * strides[0], ...]. Strides are not zero and may be negative; offsets are not negative. Extents
    are those of the result type; all reads are in bounds.

    ```mlir
    %r = tg.slice %x offsets = [0, 7] strides = [1, -1] : tensor<4x8xf32> to tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$input, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = "$input `offsets` `=` $offsets `strides` `=` $strides attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TG_PadOp : TG_InferredOp<"pad", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface>],
    [{return ::weft::tg::detail::inferPad(location, adaptor.getInput().getType(), adaptor.getLow(), adaptor.getHigh(),
                                          adaptor.getInterior(), results);}]> {
  let summary = "tensor surrounded by and interspersed with a value";
  let description = [{
    Dimension d has extent `low[d] + n + (n - 1) * interior[d] + high[d]` (n the operand's; n = 0 has no interior). `low` and
    `high` are not negative (crop with `tg.slice`). `value` is a tensor of one element and rank 0.

    ```mlir
    %r = tg.pad %x, %v low = [1, 0] high = [1, 2] interior = [0, 0] : tensor<4x8xf32>, tensor<f32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$input, TG_AnyTensor:$value, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       DenseI64ArrayAttr:$interior);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = [{$input `,` $value `low` `=` $low `high` `=` $high `interior` `=` $interior attr-dict `:` type($input) `,`
                         type($value)}];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TG_ConcatOp : TG_InferredOp<"concat", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface>],
    "return ::weft::tg::detail::inferConcat(location, adaptor.getInputs().getTypes(), adaptor.getAxis(), results);"> {
  let summary = "tensors one after another along an axis";
  let description = [{
    ```mlir
    %r = tg.concat %a, %b axis = 0 : tensor<4x8xf32>, tensor<2x8xf32>
    ```
  }];
  let arguments = (ins Variadic<TG_AnyTensor>:$inputs, I64Attr:$axis);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = "$inputs `axis` `=` $axis attr-dict `:` type($inputs)";
  let hasFolder = 1;
}

def TG_WindowOp : TG_InferredOp<"window", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface>],
    [{return ::weft::tg::detail::inferWindow(location, adaptor.getInput().getType(), adaptor.getDims(), adaptor.getSizes(),
                                             adaptor.getStrides(), adaptor.getDilations(), results);}]> {
  let summary = "sliding windows as extra trailing dimensions";
  let description = [{
    For each j, dimension dims[j] of extent n becomes the window positions, (n - (sizes[j] - 1) * dilations[j] - 1) / strides[j] + 1
    of them, and a trailing dimension of extent sizes[j] is added: r[.., o, .., w] = x[.., o * strides[j] + w * dilations[j], ..].
    A reduction over the trailing dimensions is a pooling, a contraction with weights a convolution. Moves no data when fused.

    ```mlir
    %r = tg.window %x dims = [2, 3] sizes = [3, 3] strides = [2, 2] dilations = [1, 1] : tensor<1x8x11x11xf32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$input, DenseI64ArrayAttr:$dims, DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = [{$input `dims` `=` $dims `sizes` `=` $sizes `strides` `=` $strides `dilations` `=` $dilations attr-dict `:`
                         type($input)}];
  let hasVerifier = 1;
}

def TG_GatherOp : TG_Op<"gather", [Pure, DeclareOpInterfaceMethods<TG_TileOpInterface>]> {
  let summary = "elements at places that another tensor gives";
  let description = [{
    The domain is the result's index space d. With `s_j = indices[index_maps[j](d)]`: `r[d] = data[data_map(d)[s]]`. `data_map` has one
    symbol per entry of `index_maps`, and each of its results is an affine function of d or exactly one symbol. A negative s_j counts from
    the end of the dimension it indexes; after that it is clamped to the dimension, so a read is always in bounds.
    Covers take (ONNX Gather), GatherElements and GatherND.

    ```mlir
    // r[i, j] = data[indices[i], j]
    %r = tg.gather %data, %indices data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i)>]
        : tensor<100x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$data, TG_IndexTensor:$indices, AffineMapAttr:$data_map, AffineMapArrayAttr:$index_maps);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = [{$data `,` $indices `data_map` `=` $data_map `index_maps` `=` $index_maps attr-dict `:` type($data) `,`
                         type($indices) `->` type($result)}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::AffineMap getIndexMap(unsigned j) { return ::llvm::cast<::mlir::AffineMapAttr>(getIndexMaps()[j]).getValue(); }
  }];
}

def TG_ScatterOp : TG_Op<"scatter", [Pure, AllTypesMatch<["data", "result"]>,
                                     DeclareOpInterfaceMethods<TG_TileOpInterface, ["getCombiner"]>]> {
  let summary = "a tensor with elements replaced or combined at places that another tensor gives";
  let description = [{
    The domain is the index space d of `updates`. r starts as `data`; in row-major order of d, with `s_j = indices[index_maps[j](d)]`, element
    data_map(d)[s] becomes updates[d], or, with `kind`, its combination with updates[d]. Negative indices count from the end;
    an update whose index is still out of bounds is dropped.

    ```mlir
    // r = data; r[indices[i], j] += updates[i, j]
    %r = tg.scatter %data, %indices, %updates data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i)>]
        {kind = #tg<monoid add>} : tensor<100x8xf32>, tensor<4xi64>, tensor<4x8xf32>
    ```
  }];
  let arguments = (ins TG_AnyTensor:$data, TG_IndexTensor:$indices, TG_AnyTensor:$updates, AffineMapAttr:$data_map,
                       AffineMapArrayAttr:$index_maps, OptionalAttr<TG_MonoidAttr>:$kind);
  let results = (outs TG_AnyTensor:$result);
  let assemblyFormat = [{$data `,` $indices `,` $updates `data_map` `=` $data_map `index_maps` `=` $index_maps attr-dict `:`
                         type($data) `,` type($indices) `,` type($updates)}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::AffineMap getIndexMap(unsigned j) { return ::llvm::cast<::mlir::AffineMapAttr>(getIndexMaps()[j]).getValue(); }
  }];
}

#endif // WEFT_DIALECT_TILEGRAPH_IR_DATAOPS_TD
