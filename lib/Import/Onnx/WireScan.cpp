// The wire scan walks the protobuf encoding with an explicit stack and a table of the fields that import reads. Every
// length is checked against its enclosing message, so protobuf later parses only well-formed messages of bounded number
// and depth.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WireScan.h"
#include "llvm/Support/Endian.h"
#include <vector>

using namespace weft::onnx;

namespace {

enum class Msg : uint8_t {
  None,
  Model,
  Graph,
  Node,
  Attribute,
  Tensor,
  SparseTensor,
  Function,
  ValueInfo,
  Type,
  TensorType,
  WrapType,
  MapType,
  Shape,
  Dimension,
  OpsetId,
  StringEntry,
  Segment
};

enum class FieldKind : uint8_t { Drop, Message, Name, Bytes, Scalar, RawData };

struct Field {
  uint32_t number;
  FieldKind kind;
  Msg child = Msg::None;
};

using FieldList = llvm::ArrayRef<Field>;
constexpr FieldKind M = FieldKind::Message, N = FieldKind::Name, B = FieldKind::Bytes, S = FieldKind::Scalar;

// Field numbers of onnx.proto, IR versions up to 14. What is not listed is dropped: doc strings, metadata, training
// information, quantisation annotations. Function fields 11 and 13, node fields 8 and 10 and model field 26 are newer
// than the system's protobuf classes, which keep them as unknown fields.
constexpr Field modelFields[] = {
    {1, S}, {2, N}, {3, N}, {4, N}, {5, S}, {7, M, Msg::Graph}, {8, M, Msg::OpsetId}, {25, M, Msg::Function}, {26, B}};
constexpr Field graphFields[] = {{1, M, Msg::Node},         {2, N},
                                 {5, M, Msg::Tensor},       {11, M, Msg::ValueInfo},
                                 {12, M, Msg::ValueInfo},   {13, M, Msg::ValueInfo},
                                 {15, M, Msg::SparseTensor}};
constexpr Field nodeFields[] = {{1, N}, {2, N}, {3, N}, {4, N}, {5, M, Msg::Attribute}, {7, N}, {8, N}, {10, B}};
constexpr Field attributeFields[] = {{1, N},
                                     {2, S},
                                     {3, S},
                                     {4, B},
                                     {5, M, Msg::Tensor},
                                     {6, M, Msg::Graph},
                                     {7, S},
                                     {8, S},
                                     {9, B},
                                     {10, M, Msg::Tensor},
                                     {11, M, Msg::Graph},
                                     {14, M, Msg::Type},
                                     {15, M, Msg::Type},
                                     {20, S},
                                     {21, N},
                                     {22, M, Msg::SparseTensor},
                                     {23, M, Msg::SparseTensor}};
constexpr Field tensorFields[] = {{1, S}, {2, S}, {3, M, Msg::Segment},    {4, S},  {5, S},  {6, B},
                                  {7, S}, {8, N}, {9, FieldKind::RawData}, {10, S}, {11, S}, {13, M, Msg::StringEntry},
                                  {14, S}};
constexpr Field sparseFields[] = {{1, M, Msg::Tensor}, {2, M, Msg::Tensor}, {3, S}};
constexpr Field functionFields[] = {
    {1, N}, {4, N}, {5, N}, {6, N}, {7, M, Msg::Node}, {9, M, Msg::OpsetId}, {10, N}, {11, M, Msg::Attribute}, {13, N}};
constexpr Field valueInfoFields[] = {{1, N}, {2, M, Msg::Type}};
constexpr Field typeFields[] = {{1, M, Msg::TensorType},
                                {4, M, Msg::WrapType},
                                {5, M, Msg::MapType},
                                {8, M, Msg::TensorType},
                                {9, M, Msg::WrapType}};
constexpr Field tensorTypeFields[] = {{1, S}, {2, M, Msg::Shape}};
constexpr Field wrapTypeFields[] = {{1, M, Msg::Type}};
constexpr Field mapTypeFields[] = {{1, S}, {2, M, Msg::Type}};
constexpr Field shapeFields[] = {{1, M, Msg::Dimension}};
constexpr Field dimensionFields[] = {{1, S}, {2, N}};
constexpr Field opsetFields[] = {{1, N}, {2, S}};
constexpr Field entryFields[] = {{1, N}, {2, N}};
constexpr Field segmentFields[] = {{1, S}, {2, S}};

FieldList fieldsOf(Msg message) {
  switch (message) {
  case Msg::None:
    return {};
  case Msg::Model:
    return modelFields;
  case Msg::Graph:
    return graphFields;
  case Msg::Node:
    return nodeFields;
  case Msg::Attribute:
    return attributeFields;
  case Msg::Tensor:
    return tensorFields;
  case Msg::SparseTensor:
    return sparseFields;
  case Msg::Function:
    return functionFields;
  case Msg::ValueInfo:
    return valueInfoFields;
  case Msg::Type:
    return typeFields;
  case Msg::TensorType:
    return tensorTypeFields;
  case Msg::WrapType:
    return wrapTypeFields;
  case Msg::MapType:
    return mapTypeFields;
  case Msg::Shape:
    return shapeFields;
  case Msg::Dimension:
    return dimensionFields;
  case Msg::OpsetId:
    return opsetFields;
  case Msg::StringEntry:
    return entryFields;
  case Msg::Segment:
    return segmentFields;
  }
  return {};
}

enum WireType : uint32_t { Varint = 0, Fixed64 = 1, Length = 2, Fixed32 = 5 };

struct Frame {
  Msg message;
  uint64_t end;    ///< Offset behind the message in the file.
  uint32_t field;  ///< Number in the enclosing message.
  unsigned graphs; ///< Graphs around, this one included.
  std::string out; ///< Stripped contents so far.
};

class Scanner {
public:
  Scanner(llvm::ArrayRef<char> bytes, const Limits &limits, Diagnostics &diagnostics)
      : bytes(bytes), limits(limits), diagnostics(diagnostics) {}

  std::optional<std::string> run() {
    stack.push_back({Msg::Model, bytes.size(), 0, 0, {}});
    while (true) {
      Frame &frame = stack.back();
      if (at < frame.end) {
        if (llvm::failed(scanField()))
          return std::nullopt;
        continue;
      }
      if (stack.size() == 1)
        return std::move(frame.out);
      if (llvm::failed(closeMessage()))
        return std::nullopt;
    }
  }

private:
  llvm::LogicalResult invalid(const llvm::Twine &what) {
    return diagnostics.report(ErrorClass::Invalid,
                              "not a well-formed ONNX file: " + what + " at byte " + llvm::Twine(at),
                              "export the model again, or check that the file was copied completely");
  }
  llvm::LogicalResult limit(const llvm::Twine &what, uint64_t maximum, llvm::StringRef flag) {
    return diagnostics.report(ErrorClass::Limit, what + ", the limit is " + llvm::Twine(maximum),
                              "raise it with --" + flag);
  }

  llvm::LogicalResult varint(uint64_t end, uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (at >= end)
        return invalid("a number runs over the end of its message");
      auto byte = static_cast<uint8_t>(bytes[at++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << std::min(shift, 63u);
      if (!(byte & 0x80))
        return llvm::success();
    }
    return invalid("a number has more than 10 bytes");
  }

  static void putVarint(std::string &out, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
  }
  static void putLengthTag(std::string &out, uint32_t field, uint64_t length) {
    putVarint(out, static_cast<uint64_t>(field) << 3 | Length);
    putVarint(out, length);
  }

  llvm::LogicalResult scanField();
  llvm::LogicalResult scanLength(const Field &field, uint64_t length);
  llvm::LogicalResult openMessage(const Field &field, uint64_t length);
  llvm::LogicalResult closeMessage();
  llvm::LogicalResult countItem(const Field &field);
  void copyRaw(uint32_t number, uint64_t length);

  llvm::ArrayRef<char> bytes;
  const Limits &limits;
  Diagnostics &diagnostics;
  uint64_t at = 0;
  uint64_t items = 0, nodes = 0, initializers = 0, kept = 0;
  std::vector<Frame> stack;
};

} // namespace

llvm::LogicalResult Scanner::scanField() {
  Frame &frame = stack.back();
  uint64_t start = at, tag = 0, value = 0;
  if (llvm::failed(varint(frame.end, tag)))
    return llvm::failure();
  if (tag >> 3 == 0 || tag >> 32)
    return invalid("field number " + llvm::Twine(tag >> 3) + " is out of range");
  auto number = static_cast<uint32_t>(tag >> 3);
  const Field *known =
      llvm::find_if(fieldsOf(frame.message), [&](const Field &field) { return field.number == number; });
  Field field = known == fieldsOf(frame.message).end() ? Field{number, FieldKind::Drop} : *known;
  switch (tag & 7) {
  case Varint:
    if (llvm::failed(varint(frame.end, value)))
      return llvm::failure();
    break;
  case Fixed64:
  case Fixed32: {
    uint64_t width = (tag & 7) == Fixed64 ? 8 : 4;
    if (frame.end - at < width)
      return invalid("a fixed-size number runs over the end of its message");
    at += width;
    break;
  }
  case Length:
    if (llvm::failed(varint(frame.end, value)))
      return llvm::failure();
    if (value > frame.end - at)
      return invalid("a field of " + llvm::Twine(value) + " bytes runs over the end of its message");
    return scanLength(field, value);
  default:
    return invalid("wire type " + llvm::Twine(tag & 7) + " is not used by ONNX");
  }
  if (field.kind == FieldKind::Scalar) {
    stack.back().out.append(bytes.data() + start, at - start);
    kept += at - start;
  }
  return llvm::success();
}

llvm::LogicalResult Scanner::countItem(const Field &field) {
  if (++items > limits.maxItems)
    return limit("the model has too many messages and strings", limits.maxItems, "max-items");
  if (field.child == Msg::Node && ++nodes > limits.maxNodes)
    return limit("the model has too many nodes", limits.maxNodes, "max-nodes");
  if (stack.back().message == Msg::Graph && field.child == Msg::Tensor && ++initializers > limits.maxInitializers)
    return limit("the model has too many initialisers", limits.maxInitializers, "max-initializers");
  return llvm::success();
}

llvm::LogicalResult Scanner::scanLength(const Field &field, uint64_t length) {
  if (field.kind == FieldKind::Drop) {
    at += length;
    return llvm::success();
  }
  if (field.kind == FieldKind::RawData) {
    copyRaw(field.number, length);
    return llvm::success();
  }
  if (field.kind != FieldKind::Scalar && llvm::failed(countItem(field)))
    return llvm::failure();
  if (field.kind == FieldKind::Message)
    return openMessage(field, length);
  if (field.kind == FieldKind::Name && length > limits.maxNameBytes)
    return limit("a name has " + llvm::Twine(length) + " bytes", limits.maxNameBytes, "max-name-bytes");
  kept += length;
  if (kept > limits.maxGraphBytes)
    return limit("the model without its raw tensor data is too large in bytes", limits.maxGraphBytes,
                 "max-graph-bytes");
  std::string &out = stack.back().out;
  putLengthTag(out, field.number, length);
  out.append(bytes.data() + at, length);
  at += length;
  return llvm::success();
}

void Scanner::copyRaw(uint32_t number, uint64_t length) {
  std::string &out = stack.back().out;
  if (length > inlineRawBytes) {
    char reference[17] = {static_cast<char>(RawMark::Reference)};
    llvm::support::endian::write64le(reference + 1, at);
    llvm::support::endian::write64le(reference + 9, length);
    putLengthTag(out, number, sizeof(reference));
    out.append(reference, sizeof(reference));
    kept += sizeof(reference);
  } else {
    putLengthTag(out, number, length + 1);
    out.push_back(static_cast<char>(RawMark::Inline));
    out.append(bytes.data() + at, length);
    kept += length;
  }
  at += length;
}

llvm::LogicalResult Scanner::openMessage(const Field &field, uint64_t length) {
  if (stack.size() >= limits.maxMessageDepth)
    return limit("messages are nested too deeply", limits.maxMessageDepth, "max-message-depth");
  unsigned graphs = stack.back().graphs + (field.child == Msg::Graph);
  // The main graph is level 0.
  if (graphs > limits.maxSubgraphDepth + 1)
    return limit("subgraphs are nested too deeply", limits.maxSubgraphDepth, "max-subgraph-depth");
  stack.push_back({field.child, at + length, field.number, graphs, {}});
  return llvm::success();
}

llvm::LogicalResult Scanner::closeMessage() {
  Frame done = std::move(stack.back());
  stack.pop_back();
  putLengthTag(stack.back().out, done.field, done.out.size());
  stack.back().out += done.out;
  return llvm::success();
}

std::optional<std::string> weft::onnx::scanAndStrip(llvm::ArrayRef<char> bytes, const Limits &limits,
                                                    Diagnostics &diagnostics) {
  return Scanner(bytes, limits, diagnostics).run();
}
