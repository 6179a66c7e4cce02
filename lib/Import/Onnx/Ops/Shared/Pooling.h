// Average pooling, which operators on floats and on quantised tensors share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_POOLING_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_POOLING_H

#include "weft/Import/Onnx/Handler.h"

namespace weft::onnx {

/// AveragePool of `x`, floats N x C x spatial, by the node's attributes; f16 and bf16 give f32. Null after an error.
mlir::Value averagePool(NodeContext &c, mlir::Value x);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_POOLING_H
