// The .npy format: magic, version, length of the header, a Python dict literal as header, then the elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/EndianStream.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using weft::reference::Tensor;

namespace weft::npy {
namespace {

constexpr StringLiteral magic("\x93NUMPY");

Error error(StringRef path, const Twine &cause) {
  return createStringError(inconvertibleErrorCode(), "`" + path + "`: " + cause);
}

/// numpy's name of an element type, without byte order.
std::string nameOf(mlir::Type element) {
  unsigned bytes = divideCeil(element.getIntOrFloatBitWidth(), 8u);
  if (element.isInteger(1))
    return "b1";
  if (element.isF16() || element.isF32() || element.isF64())
    return "f" + std::to_string(bytes);
  auto integer = dyn_cast<mlir::IntegerType>(element);
  if (integer && integer.getWidth() >= 8)
    return (integer.isUnsigned() ? "u" : "i") + std::to_string(bytes);
  return "V" + std::to_string(bytes);
}

/// The text after `'key':` in a dict literal.
StringRef valueOf(StringRef header, StringRef key) {
  size_t place = header.find(("'" + key + "':").str());
  return place == StringRef::npos ? StringRef() : header.drop_front(place + key.size() + 3).ltrim();
}

Expected<SmallVector<int64_t>> parseShape(StringRef path, StringRef header) {
  StringRef text = valueOf(header, "shape");
  if (!text.consume_front("(") || !text.contains(')'))
    return error(path, "expected a shape in the header");
  SmallVector<StringRef> parts;
  text.take_until([](char c) { return c == ')'; }).split(parts, ',', -1, /*KeepEmpty=*/false);
  SmallVector<int64_t> shape;
  for (StringRef part : parts) {
    int64_t extent;
    if (part.trim().empty())
      continue;
    if (part.trim().getAsInteger(10, extent) || extent < 0)
      return error(path, "expected extents of 0 or more in the header, got `" + part.trim() + "`");
    shape.push_back(extent);
  }
  return shape;
}

/// Splits a file into its header and its elements.
Error split(StringRef path, StringRef file, StringRef &header, StringRef &elements) {
  if (!file.consume_front(magic))
    return error(path, "expected a .npy file");
  bool isLong = !file.empty() && file[0] >= 2;
  size_t lengthBytes = isLong ? 4 : 2;
  if (file.size() < 2 + lengthBytes)
    return error(path, "expected a .npy header, got the end of the file");
  size_t length = isLong ? support::endian::read32le(file.data() + 2) : support::endian::read16le(file.data() + 2);
  file = file.drop_front(2 + lengthBytes);
  if (file.size() < length)
    return error(path, "expected a .npy header, got the end of the file");
  header = file.take_front(length);
  elements = file.drop_front(length);
  return Error::success();
}

} // namespace

Expected<Tensor> read(StringRef path, mlir::Type element) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return error(path, buffer.getError().message());
  StringRef header, elements;
  if (Error failure = split(path, (*buffer)->getBuffer(), header, elements))
    return std::move(failure);
  StringRef descr = valueOf(header, "descr");
  descr.consume_front("'");
  descr = descr.take_until([](char c) { return c == '\''; });
  std::string wanted = nameOf(element);
  StringRef bare = descr.ltrim("<|=");
  // ml_dtypes gives one of its 8-bit floats a numpy name of its own.
  bool fits = bare == wanted || (bare == "f1" && isa<mlir::Float8E5M2Type>(element));
  if (!fits || descr.starts_with(">"))
    return error(path, "expected little-endian elements of type `" + wanted + "`, got `" + descr + "`");
  if (!valueOf(header, "fortran_order").starts_with("False"))
    return error(path, "expected C order; save numpy.ascontiguousarray of the array");
  Expected<SmallVector<int64_t>> shape = parseShape(path, header);
  if (!shape)
    return shape.takeError();
  std::optional<Tensor> tensor = Tensor::create(*shape, element, elements.size());
  if (!tensor || tensor->bytes().size() != elements.size())
    return error(path, "expected the elements of " + reference::formatShape(*shape, element) + ", got " +
                           Twine(elements.size()) + " bytes");
  copy(elements, tensor->bytes().begin());
  return std::move(*tensor);
}

Error write(StringRef path, const Tensor &tensor) {
  std::string header = "{'descr': '" + std::string(tensor.elementBytes() == 1 ? "|" : "<") + nameOf(tensor.element()) +
                       "', 'fortran_order': False, 'shape': (";
  for (int64_t extent : tensor.shape())
    header += std::to_string(extent) + ",";
  header += "), }";
  // The elements begin at a multiple of 64 bytes; the header ends in a newline.
  size_t prefix = magic.size() + 4;
  header.append(alignTo(prefix + header.size() + 1, 64) - prefix - header.size() - 1, ' ');
  header += '\n';
  std::error_code code;
  raw_fd_ostream os(path, code);
  if (code)
    return error(path, code.message());
  os << magic << '\x01' << '\0';
  support::endian::Writer(os, endianness::little).write<uint16_t>(header.size());
  os << header << StringRef(tensor.bytes().data(), tensor.bytes().size());
  os.close();
  if (os.has_error())
    return error(path, os.error().message());
  return Error::success();
}

} // namespace weft::npy
