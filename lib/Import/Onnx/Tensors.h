// Checked access to ONNX element types and tensors: what the messages claim against what they hold.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_TENSORS_H
#define WEFT_LIB_IMPORT_ONNX_TENSORS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "weft/Import/Onnx/ModelReader.h"
#include "llvm/Support/Error.h"

namespace onnx {
class TensorProto;
class TensorShapeProto_Dimension;
} // namespace onnx

namespace weft::onnx {

/// Name of a TensorProto.DataType, or `data type N`.
std::string dataTypeName(int64_t dataType);
/// Bits of one element as stored; 0 for strings, undefined and unknown types.
unsigned dataTypeBits(int64_t dataType);
/// Element type of the tg dialect; null for strings, complex, fp6 and unknown types.
mlir::Type elementTypeOf(int64_t dataType, mlir::MLIRContext *context);

/// Whether a declared dimension is a number; PaddlePaddle writes -1 for one that is open.
bool isFixed(const ::onnx::TensorShapeProto_Dimension &dim);
/// Whether a declared dimension has a name, which stands for one extent wherever it occurs. "?" is none.
bool isNamed(const ::onnx::TensorShapeProto_Dimension &dim);

enum class Storage { Raw, Typed, External };

/// What a tensor message claims, checked: sizes, dimensions, one kind of storage, the number of elements held.
struct TensorLayout {
  llvm::SmallVector<int64_t> shape;
  int64_t dataType = 0;
  Storage storage = Storage::Raw;
  uint64_t elements = 0;
  uint64_t bytes = 0; ///< Size as stored raw; sub-byte elements packed.
};

/// Checks `tensor`; the error's text is the cause. String and complex tensors have bytes = 0. Does not look at external
/// files.
llvm::Expected<TensorLayout> checkTensor(const Model &model, const ::onnx::TensorProto &tensor, const Limits &limits);

/// The bytes, raw and little-endian, of a tensor with typed storage.
std::string typedToRaw(const ::onnx::TensorProto &tensor, const TensorLayout &layout);

/// Dense contents of `type` (static) from raw bytes of exactly its size.
mlir::DenseElementsAttr denseFromRaw(mlir::RankedTensorType type, llvm::ArrayRef<char> raw);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_TENSORS_H
