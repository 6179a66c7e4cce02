// ONNX test data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strict reader of one message, TensorProto of onnx.proto, in the protobuf wire format: the runtime's tools do not
// link protobuf. Unknown fields are skipped; a tensor whose data is elsewhere, in segments, or of strings is refused.
#include "Files.h"

#include <cstring>

using namespace weft;
using namespace weft::run;
using namespace weft::bundle;

namespace {
enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
enum Field {
  Dims = 1,
  DataType = 2,
  Segment = 3,
  FloatData = 4,
  Int32Data = 5,
  StringData = 6,
  Int64Data = 7,
  Name = 8,
  RawData = 9,
  DoubleData = 10,
  Uint64Data = 11,
  ExternalData = 13,
  DataLocation = 14,
};

/// Bytes of the message that are still unread.
struct Cursor {
  const uint8_t *position, *end;

  bool isEmpty() const { return position == end; }
  bool takeVarint(uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && position != end; shift += 7) {
      uint8_t byte = *position++;
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return true;
    }
    return false;
  }
  bool takeBytes(uint64_t size, Cursor &bytes) {
    if (size > uint64_t(end - position))
      return false;
    bytes = {position, position + size};
    position += size;
    return true;
  }
};

/// The fields as they come; repeated numbers keep 64 bits each.
struct RawTensor {
  std::vector<int64_t> dims;
  uint64_t dataType = 0;
  std::string name;
  bool hasRaw = false;
  Cursor raw = {};
  std::vector<uint64_t> values; ///< Of the typed data field.
  unsigned typedField = 0;
};

struct OnnxType {
  uint64_t code;
  DType dtype;
  unsigned typedField;
};
} // namespace

static constexpr OnnxType onnxTypes[] = {
    {1, DType::F32, FloatData},     {2, DType::UI8, Int32Data},         {3, DType::I8, Int32Data},
    {4, DType::UI16, Int32Data},    {5, DType::I16, Int32Data},         {6, DType::I32, Int32Data},
    {7, DType::I64, Int64Data},     {9, DType::I1, Int32Data},          {10, DType::F16, Int32Data},
    {11, DType::F64, DoubleData},   {12, DType::UI32, Uint64Data},      {13, DType::UI64, Uint64Data},
    {16, DType::BF16, Int32Data},   {17, DType::F8E4M3FN, Int32Data},   {18, DType::F8E4M3FNUZ, Int32Data},
    {19, DType::F8E5M2, Int32Data}, {20, DType::F8E5M2FNUZ, Int32Data}, {21, DType::UI4, Int32Data},
    {22, DType::I4, Int32Data},     {23, DType::F4E2M1FN, Int32Data},   {24, DType::F8E8M0FNU, Int32Data},
    {25, DType::UI2, Int32Data},    {26, DType::I2, Int32Data},
};

static Error malformed(const char *what) { return makeError(ErrorCode::Input, "malformed TensorProto: %s", what); }

/// One field of repeated numbers, packed or not.
static bool takeNumbers(Cursor &cursor, unsigned wire, unsigned width, std::vector<uint64_t> &values) {
  auto takeOne = [&](Cursor &from) {
    uint64_t value = 0;
    Cursor bytes;
    if (width == 0) {
      if (!from.takeVarint(value))
        return false;
    } else {
      if (!from.takeBytes(width, bytes))
        return false;
      std::memcpy(&value, bytes.position, width);
    }
    values.push_back(value);
    return true;
  };
  unsigned single = width == 0 ? Varint : width == 4 ? Fixed32 : Fixed64;
  if (wire == single)
    return takeOne(cursor);
  uint64_t size;
  Cursor packed;
  if (wire != Bytes || !cursor.takeVarint(size) || !cursor.takeBytes(size, packed))
    return false;
  while (!packed.isEmpty())
    if (!takeOne(packed))
      return false;
  return true;
}

static bool skipField(Cursor &cursor, unsigned wire) {
  uint64_t size;
  Cursor ignored;
  switch (wire) {
  case Varint:
    return cursor.takeVarint(size);
  case Fixed64:
    return cursor.takeBytes(8, ignored);
  case Fixed32:
    return cursor.takeBytes(4, ignored);
  case Bytes:
    return cursor.takeVarint(size) && cursor.takeBytes(size, ignored);
  default:
    return false; // groups have not been written since proto2
  }
}

static Error takeTyped(Cursor &cursor, unsigned field, unsigned wire, RawTensor &tensor) {
  if (tensor.typedField && tensor.typedField != field)
    return malformed("two typed data fields");
  tensor.typedField = field;
  unsigned width = field == FloatData ? 4 : field == DoubleData ? 8 : 0;
  return takeNumbers(cursor, wire, width, tensor.values) ? Error() : malformed("data field");
}

static Error takeField(Cursor &cursor, RawTensor &tensor) {
  uint64_t tag, size;
  if (!cursor.takeVarint(tag) || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
    return malformed("field number");
  auto field = unsigned(tag >> 3), wire = unsigned(tag & 7);
  Cursor bytes;
  std::vector<uint64_t> numbers;
  switch (field) {
  case Dims:
    if (!takeNumbers(cursor, wire, 0, numbers))
      return malformed("dims");
    tensor.dims.insert(tensor.dims.end(), numbers.begin(), numbers.end());
    return tensor.dims.size() <= kMaxRank ? Error() : malformed("rank above 32");
  case DataType:
    return wire == Varint && cursor.takeVarint(tensor.dataType) ? Error() : malformed("data_type");
  case Name:
    if (wire != Bytes || !cursor.takeVarint(size) || !cursor.takeBytes(size, bytes))
      return malformed("name");
    tensor.name.assign(bytes.position, bytes.end);
    return {};
  case RawData:
    if (wire != Bytes || !cursor.takeVarint(size) || !cursor.takeBytes(size, tensor.raw))
      return malformed("raw_data");
    tensor.hasRaw = true;
    return {};
  case FloatData:
  case Int32Data:
  case Int64Data:
  case DoubleData:
  case Uint64Data:
    return takeTyped(cursor, field, wire, tensor);
  case StringData:
    return Error(ErrorCode::Unsupported, "tensors of strings are not supported");
  case Segment:
  case ExternalData:
    return Error(ErrorCode::Unsupported, "TensorProto with segments or external data is not supported");
  default:
    return skipField(cursor, wire) ? Error() : malformed("unknown field");
  }
}

/// Elements from the typed field. Types below 8 bits come as bytes of packed elements, one byte for each number.
static Error fillTyped(const RawTensor &from, const OnnxType &type, Tensor &tensor) {
  unsigned bits = getBits(tensor.dtype);
  bool isPacked = bits < 8;
  uint64_t expected = isPacked ? tensor.bytes.size() : uint64_t(tensor.getCount());
  if (from.typedField && from.typedField != type.typedField)
    return malformed("the data field does not belong to data_type");
  if (from.values.size() != expected)
    return makeError(ErrorCode::Input, "malformed TensorProto: expected %llu values for %s, got %zu",
                     (unsigned long long)expected, tensor.describe().c_str(), from.values.size());
  size_t width = isPacked ? 1 : bits / 8;
  for (size_t i = 0; i < from.values.size(); ++i)
    std::memcpy(tensor.bytes.data() + i * width, &from.values[i], width);
  return {};
}

Error weft::run::parseTensorProto(const std::vector<uint8_t> &bytes, Tensor &tensor, std::string &name) {
  Cursor cursor{bytes.data(), bytes.data() + bytes.size()};
  RawTensor raw;
  while (!cursor.isEmpty())
    if (Error error = takeField(cursor, raw))
      return error;
  const OnnxType *type = nullptr;
  for (const OnnxType &candidate : onnxTypes)
    if (candidate.code == raw.dataType)
      type = &candidate;
  if (!type)
    return makeError(ErrorCode::Unsupported, "ONNX element type %llu is not supported",
                     (unsigned long long)raw.dataType);
  // Before allocating: the data must be there, in one form.
  int64_t count = countElements(raw.dims), size = 0;
  if (count < 0 || !getByteSize(type->dtype, count, size))
    return malformed("dims are negative or too large");
  if (raw.hasRaw && uint64_t(raw.raw.end - raw.raw.position) != uint64_t(size))
    return makeError(ErrorCode::Input, "malformed TensorProto: expected %lld bytes of raw_data, got %lld",
                     (long long)size, (long long)(raw.raw.end - raw.raw.position));
  if (raw.hasRaw && !raw.values.empty())
    return malformed("raw_data and typed data");
  if (!raw.hasRaw && uint64_t(size) > raw.values.size() * 8)
    return makeError(ErrorCode::Input, "malformed TensorProto: %zu values are too few for its dims", raw.values.size());
  if (Error error = Tensor::create(type->dtype, raw.dims, tensor))
    return error;
  name = raw.name;
  if (!raw.hasRaw)
    return fillTyped(raw, *type, tensor);
  if (size)
    std::memcpy(tensor.bytes.data(), raw.raw.position, size_t(size));
  return {};
}
