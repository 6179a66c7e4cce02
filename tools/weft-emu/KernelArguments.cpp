// The data of one kernel: see the header.
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelArguments.h"

#include "Emulator/Async/TensorMap.h"
#include "Gpu/GpuCode.h"
#include "InputSpec.h"

#include <charconv>
#include <cstring>

using namespace weft;
using namespace weft::emu;
using weft::bundle::ErrorCode;
using weft::bundle::quote;
using weft::run::DType;
using weft::run::Spec;
using weft::run::Tensor;

static Error usage(std::string message) { return Error(ErrorCode::Usage, std::move(message)); }

Error KernelArguments::parse(const std::vector<std::string> &bufferTexts, const std::vector<std::string> &argumentTexts,
                             uint64_t seed) {
  for (const std::string &text : bufferTexts)
    if (Error error = parseBuffer(text, seed + buffers.size()))
      return std::move(error).within("--buffer=" + quote(text));
  arguments = argumentTexts;
  return {};
}

Error KernelArguments::parseBuffer(const std::string &text, uint64_t seed) {
  size_t equals = text.find('=');
  if (equals == text.npos || equals == 0)
    return usage("expected NAME=SHAPE[=VALUE]");
  Buffer buffer;
  buffer.name = text.substr(0, equals);
  if (findBuffer(buffer.name))
    return usage("the name occurs twice");
  std::string rest = text.substr(equals + 1);
  size_t second = rest.find('=');
  Spec spec;
  std::vector<int64_t> dims;
  if (!run::parseShape(rest.substr(0, second), dims, spec.dtype) || !spec.dtype)
    return usage("expected a shape with its type, as 512x768xf16, got " + quote(rest.substr(0, second)));
  spec.dims = dims;
  spec.value = second == rest.npos ? "" : rest.substr(second + 1);
  buffer.isEmpty = spec.value == "empty";
  Error error = buffer.isEmpty ? Tensor::create(*spec.dtype, dims, buffer.contents)
                               : run::makeTensor(spec, *spec.dtype, dims, seed, buffer.contents);
  if (error)
    return error;
  buffers.push_back(std::move(buffer));
  return {};
}

const Buffer *KernelArguments::findBuffer(std::string_view name) const {
  for (const Buffer &buffer : buffers)
    if (buffer.name == name)
      return &buffer;
  return nullptr;
}

void KernelArguments::append(const void *data, size_t size, size_t alignment) {
  parameters.resize((parameters.size() + alignment - 1) / alignment * alignment);
  const auto *begin = static_cast<const uint8_t *>(data);
  parameters.insert(parameters.end(), begin, begin + size);
}

Error KernelArguments::addScalar(const std::string &text) {
  size_t equals = text.find('=');
  std::vector<int64_t> dims;
  std::optional<DType> dtype;
  if (equals == text.npos || !run::parseShape(text.substr(0, equals), dims, dtype) || !dtype || !dims.empty())
    return usage("expected a buffer's name, TYPE=NUMBER, or map:NAME:BOX");
  Spec spec;
  spec.dims = dims;
  spec.dtype = dtype;
  spec.value = text.substr(equals + 1);
  Tensor tensor;
  if (Error error = run::makeTensor(spec, *dtype, dims, 0, tensor))
    return error;
  append(tensor.bytes.data(), tensor.bytes.size(), tensor.bytes.size());
  return {};
}

static std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts(1);
  for (char c : text)
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// Parses "128x64"; false if it is not `rank` positive extents.
static bool parseBox(const std::string &text, size_t rank, std::vector<uint32_t> &box) {
  for (const std::string &part : split(text, 'x')) {
    uint32_t extent = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), extent);
    if (error != std::errc() || end != part.data() + part.size() || extent == 0)
      return false;
    box.push_back(extent);
  }
  return box.size() == rank;
}

static Error applyMapOption(const std::string &option, TensorMapSpec &spec) {
  if (option == "nan")
    spec.fill = TensorMapFill::Nan;
  else if (option == "swizzle=32")
    spec.swizzle = TensorMapSwizzle::Bytes32;
  else if (option == "swizzle=64")
    spec.swizzle = TensorMapSwizzle::Bytes64;
  else if (option == "swizzle=128")
    spec.swizzle = TensorMapSwizzle::Bytes128;
  else
    return usage("expected swizzle=32, swizzle=64, swizzle=128 or nan, got " + quote(option));
  return {};
}

Error KernelArguments::addMap(const std::string &text) {
  std::vector<std::string> parts = split(text, ':');
  const Buffer *buffer = parts.size() >= 3 ? findBuffer(parts[1]) : nullptr;
  if (!buffer)
    return usage("expected map:NAME:BOX[:swizzle=N][:nan] with the name of a buffer");
  std::vector<uint32_t> box;
  const std::vector<int64_t> &dims = buffer->contents.dims;
  if (dims.empty() || dims.size() > kMaxTensorMapRank)
    return usage("expected a buffer of rank 1 to 5, got " + buffer->contents.describe());
  if (!parseBox(parts[2], dims.size(), box))
    return usage("expected a box of " + std::to_string(dims.size()) + " extents, as 128x64, got " + quote(parts[2]));
  TensorMapSpec spec;
  if (!getTensorMapType(buffer->contents.dtype, spec.type))
    return usage("tensor maps have no element type " + std::string(bundle::getName(buffer->contents.dtype)));
  spec.rank = uint32_t(dims.size());
  spec.globalAddress = buffer->address;
  spec.l2Promotion = TensorMapL2Promotion::Bytes128;
  uint64_t stride = elementSize(spec.type);
  for (uint32_t i = 0; i < spec.rank; ++i) {
    spec.globalDim[i] = uint64_t(dims[spec.rank - 1 - i]);
    spec.boxDim[i] = box[spec.rank - 1 - i];
    stride *= spec.globalDim[i];
    if (i + 1 < spec.rank)
      spec.globalStrides[i] = stride;
  }
  for (size_t i = 3; i < parts.size(); ++i)
    if (Error error = applyMapOption(parts[i], spec))
      return error;
  uint8_t bytes[kTensorMapBytes];
  if (Error error = encodeTensorMap(spec, bytes))
    return error;
  append(bytes, sizeof bytes, kTensorMapAlignment);
  return {};
}

Error KernelArguments::place(Emulator &card) {
  parameters.clear();
  for (Buffer &buffer : buffers) {
    const std::vector<uint8_t> &bytes = buffer.contents.bytes;
    if (Error error = card.allocate(bytes.empty() ? 1 : bytes.size(), buffer.address))
      return std::move(error).within("buffer " + quote(buffer.name));
    if (buffer.isEmpty || bytes.empty())
      continue;
    if (Error error = card.write(buffer.address, bytes.data(), bytes.size()))
      return error;
  }
  for (const std::string &text : arguments) {
    Error error;
    if (const Buffer *buffer = findBuffer(text))
      append(&buffer->address, sizeof buffer->address, sizeof buffer->address);
    else
      error = text.substr(0, 4) == "map:" ? addMap(text) : addScalar(text);
    if (error)
      return std::move(error).within("--arg=" + quote(text));
  }
  return {};
}

Error KernelArguments::release(Emulator &card) {
  for (Buffer &buffer : buffers)
    if (Error error = card.free(buffer.address))
      return error;
  return {};
}

Error KernelArguments::read(const Emulator &card, const Buffer &buffer, Tensor &tensor) const {
  tensor = buffer.contents;
  return tensor.bytes.empty() ? Error() : card.read(buffer.address, tensor.bytes.data(), tensor.bytes.size());
}
