// Element types and tensor messages. Nothing a message says about itself is believed: dimensions are multiplied in 128
// bits, and the size that follows must be the size that is there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tensors.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "llvm/ADT/APInt.h"
#include "llvm/Support/Endian.h"
#include <onnx/onnx_pb.h>

using namespace weft::onnx;
using llvm::StringLiteral;

namespace {

/// Rows by TensorProto.DataType; the newest types are not in the system's protobuf classes.
struct DataTypeInfo {
  StringLiteral name;
  unsigned bits;
};
constexpr DataTypeInfo dataTypes[] = {
    {"undefined", 0},      {"float", 32},    {"uint8", 8},        {"int8", 8},           {"uint16", 16},
    {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
    {"float16", 16},       {"double", 64},   {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"float8e8m0", 8},
    {"uint2", 2},          {"int2", 2},      {"float6e2m3", 6},   {"float6e3m2", 6}};

const DataTypeInfo *infoOf(int64_t dataType) {
  return dataType >= 0 && dataType < static_cast<int64_t>(std::size(dataTypes)) ? &dataTypes[dataType] : nullptr;
}

} // namespace

std::string weft::onnx::dataTypeName(int64_t dataType) {
  const DataTypeInfo *info = infoOf(dataType);
  return info ? info->name.str() : "data type " + std::to_string(dataType);
}

unsigned weft::onnx::dataTypeBits(int64_t dataType) {
  const DataTypeInfo *info = infoOf(dataType);
  return info ? info->bits : 0;
}

bool weft::onnx::isFixed(const ::onnx::TensorShapeProto_Dimension &dim) {
  return dim.has_dim_value() && dim.dim_value() != -1;
}

bool weft::onnx::isNamed(const ::onnx::TensorShapeProto_Dimension &dim) {
  return dim.has_dim_param() && !dim.dim_param().empty() && dim.dim_param() != "?";
}

mlir::Type weft::onnx::elementTypeOf(int64_t dataType, mlir::MLIRContext *context) {
  auto integer = [&](unsigned bits, bool isUnsigned = false) -> mlir::Type {
    return mlir::IntegerType::get(context, bits,
                                  isUnsigned ? mlir::IntegerType::Unsigned : mlir::IntegerType::Signless);
  };
  switch (dataType) {
  case 1:
    return mlir::Float32Type::get(context);
  case 2:
    return integer(8, true);
  case 3:
    return integer(8);
  case 4:
    return integer(16, true);
  case 5:
    return integer(16);
  case 6:
    return integer(32);
  case 7:
    return integer(64);
  case 9:
    return integer(1);
  case 10:
    return mlir::Float16Type::get(context);
  case 11:
    return mlir::Float64Type::get(context);
  case 12:
    return integer(32, true);
  case 13:
    return integer(64, true);
  case 16:
    return mlir::BFloat16Type::get(context);
  case 17:
    return mlir::Float8E4M3FNType::get(context);
  case 18:
    return mlir::Float8E4M3FNUZType::get(context);
  case 19:
    return mlir::Float8E5M2Type::get(context);
  case 20:
    return mlir::Float8E5M2FNUZType::get(context);
  case 21:
    return integer(4, true);
  case 22:
    return integer(4);
  case 23:
    return mlir::Float4E2M1FNType::get(context);
  case 24:
    return mlir::Float8E8M0FNUType::get(context);
  case 25:
    return integer(2, true);
  case 26:
    return integer(2);
  default:
    return {};
  }
}

namespace {

llvm::Error cause(const llvm::Twine &text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); }

/// Number of entries of the typed field that a tensor of this type uses, and whether other fields are in use as well.
struct TypedFields {
  uint64_t used = 0;
  bool others = false;
};

TypedFields countTyped(const ::onnx::TensorProto &tensor) {
  uint64_t counts[] = {
      static_cast<uint64_t>(tensor.float_data_size()),  static_cast<uint64_t>(tensor.int32_data_size()),
      static_cast<uint64_t>(tensor.int64_data_size()),  static_cast<uint64_t>(tensor.double_data_size()),
      static_cast<uint64_t>(tensor.uint64_data_size()), static_cast<uint64_t>(tensor.string_data_size())};
  unsigned own;
  switch (tensor.data_type()) {
  case 1:
  case 14:
    own = 0;
    break;
  case 7:
    own = 2;
    break;
  case 11:
  case 15:
    own = 3;
    break;
  case 12:
  case 13:
    own = 4;
    break;
  case 8:
    own = 5;
    break;
  default: // Narrow types share int32_data.
    own = 1;
    break;
  }
  TypedFields fields;
  fields.used = counts[own];
  for (unsigned i = 0; i < std::size(counts); ++i)
    fields.others |= i != own && counts[i] != 0;
  return fields;
}

/// Entries of the typed field that `layout` needs: complex numbers take two, 4-bit and 2-bit elements come packed in
/// bytes.
uint64_t typedEntries(const TensorLayout &layout) {
  if (layout.dataType == 14 || layout.dataType == 15)
    return layout.elements * 2;
  unsigned bits = dataTypeBits(layout.dataType);
  return bits != 0 && bits < 8 ? layout.bytes : layout.elements;
}

llvm::Error checkShape(const ::onnx::TensorProto &tensor, const Limits &limits, TensorLayout &layout) {
  if (static_cast<uint64_t>(tensor.dims_size()) > limits.maxRank)
    return cause("rank " + llvm::Twine(tensor.dims_size()) + " exceeds " + llvm::Twine(limits.maxRank));
  __uint128_t elements = 1;
  bool zero = false;
  for (int64_t extent : tensor.dims()) {
    if (extent < 0)
      return cause("dimension " + llvm::Twine(extent) + " is negative");
    layout.shape.push_back(extent);
    zero |= extent == 0;
    if (extent > 0)
      elements *= static_cast<uint64_t>(extent);
    if (elements > (uint64_t(1) << 48))
      return cause("the product of the dimensions exceeds 2^48 elements");
  }
  layout.elements = zero ? 0 : static_cast<uint64_t>(elements);
  layout.bytes = (layout.elements * dataTypeBits(layout.dataType) + 7) / 8;
  return llvm::Error::success();
}

} // namespace

llvm::Expected<TensorLayout> weft::onnx::checkTensor(const Model &model, const ::onnx::TensorProto &tensor,
                                                     const Limits &limits) {
  TensorLayout layout;
  layout.dataType = tensor.data_type();
  if (!infoOf(layout.dataType) || layout.dataType == 0)
    return cause("tensor has unknown element type " + llvm::Twine(layout.dataType));
  if (llvm::Error error = checkShape(tensor, limits, layout))
    return std::move(error);
  if (tensor.has_segment())
    return cause("segmented tensors are not supported");

  TypedFields typed = countTyped(tensor);
  bool hasTyped = typed.used != 0 || typed.others;
  if (tensor.data_location() == ::onnx::TensorProto::EXTERNAL) {
    if (tensor.has_raw_data() || hasTyped)
      return cause("tensor has external data and also data in the model file");
    if (dataTypeBits(layout.dataType) == 0)
      return cause("string tensors cannot have external data");
    layout.storage = Storage::External;
    return layout;
  }
  if (tensor.has_raw_data() && hasTyped)
    return cause("tensor has raw data and typed data; expected one of them");
  if (typed.others)
    return cause("tensor of type " + dataTypeName(layout.dataType) + " has data in the field of another type");
  if (tensor.has_raw_data()) {
    if (layout.dataType == 8)
      return cause("string tensors cannot have raw data");
    uint64_t size = model.rawData(tensor.raw_data()).bytes.size();
    if (size != layout.bytes)
      return cause("expected " + llvm::Twine(layout.bytes) + " bytes of data for the shape and type, got " +
                   llvm::Twine(size));
    return layout;
  }
  layout.storage = Storage::Typed;
  if (typed.used != typedEntries(layout))
    return cause("expected " + llvm::Twine(typedEntries(layout)) + " data entries for the shape and type, got " +
                 llvm::Twine(typed.used));
  return layout;
}

template <typename T, typename Source> static std::string pack(const Source &source) {
  std::string raw(source.size() * sizeof(T), '\0');
  size_t at = 0;
  for (auto value : source) {
    auto narrow = static_cast<T>(value);
    std::memcpy(raw.data() + at, &narrow, sizeof(T));
    at += sizeof(T);
  }
  return raw;
}

std::string weft::onnx::typedToRaw(const ::onnx::TensorProto &tensor, const TensorLayout &layout) {
  static_assert(llvm::endianness::native == llvm::endianness::little, "raw data are little-endian");
  switch (layout.dataType) {
  case 1:
  case 14:
    return pack<float>(tensor.float_data());
  case 11:
  case 15:
    return pack<double>(tensor.double_data());
  case 7:
    return pack<int64_t>(tensor.int64_data());
  case 12:
    return pack<uint32_t>(tensor.uint64_data());
  case 13:
    return pack<uint64_t>(tensor.uint64_data());
  case 6:
    return pack<int32_t>(tensor.int32_data());
  case 4:
  case 5:
  case 10:
  case 16:
    return pack<uint16_t>(tensor.int32_data());
  default:
    return pack<uint8_t>(tensor.int32_data());
  }
}

mlir::DenseElementsAttr weft::onnx::denseFromRaw(mlir::RankedTensorType type, llvm::ArrayRef<char> raw) {
  mlir::Type element = type.getElementType();
  auto bits = static_cast<unsigned>(weft::tg::getElementBits(element));
  if (type.getNumElements() == 0)
    return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>());
  if (element.isInteger(1)) {
    llvm::SmallVector<bool> values(raw.size());
    llvm::transform(raw, values.begin(), [](char byte) { return byte != 0; });
    return mlir::DenseElementsAttr::get(type, values);
  }
  if (bits >= 8)
    return mlir::DenseElementsAttr::getFromRawBuffer(type, raw);
  // Dense contents hold a sub-byte element in a byte of its own.
  std::string unpacked(type.getNumElements(), '\0');
  for (size_t i = 0; i < unpacked.size(); ++i)
    unpacked[i] = static_cast<char>(static_cast<uint8_t>(raw[i * bits / 8]) >> (i * bits % 8) & ((1u << bits) - 1));
  return mlir::DenseElementsAttr::getFromRawBuffer(type, llvm::ArrayRef<char>(unpacked.data(), unpacked.size()));
}
