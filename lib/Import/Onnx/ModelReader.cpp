// Mapping a model file and turning it into checked messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Import/Onnx/ModelReader.h"
#include "GraphChecks.h"
#include "WireScan.h"
#include "llvm/Support/Endian.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <onnx/onnx_pb.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::onnx;

RawData Model::rawData(llvm::StringRef field) const {
  using llvm::support::endian::read64le;
  if (field.empty())
    return {};
  if (field.front() == static_cast<char>(RawMark::Inline))
    return {llvm::ArrayRef<char>(field.data(), field.size()).drop_front(), std::nullopt};
  if (field.size() != 17)
    return {};
  uint64_t offset = read64le(field.data() + 1), size = read64le(field.data() + 9);
  if (offset > file.bytes.size() || size > file.bytes.size() - offset)
    return {};
  return {file.bytes.slice(offset, size), offset};
}

std::optional<MappedBytes> weft::onnx::mapFile(llvm::StringRef path, Diagnostics &diagnostics) {
  auto fail = [&](const llvm::Twine &cause, ErrorClass cls = ErrorClass::Invalid) {
    (void)diagnostics.report(cls, cause);
    return std::nullopt;
  };
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  int descriptor = ::open(path.str().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return fail("cannot open the model: " + llvm::Twine(std::strerror(errno)), ErrorClass::Usage);
  struct stat status;
  bool regular = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  auto size = regular ? static_cast<size_t>(status.st_size) : 0;
  void *memory = size ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
  ::close(descriptor);
  if (!regular)
    return fail("the model is not a regular file");
  if (size == 0)
    return fail("the model file is empty");
  if (memory == MAP_FAILED)
    return fail("cannot map the model: " + llvm::Twine(std::strerror(errno)), ErrorClass::Limit);
  MappedBytes file;
  file.bytes = {static_cast<const char *>(memory), size};
  file.owner = std::shared_ptr<void>(memory, [size](void *memory) { ::munmap(memory, size); });
  file.path = path.str();
  return file;
}

std::optional<Model> weft::onnx::readModel(llvm::StringRef path, const Limits &limits, Diagnostics &diagnostics) {
  std::optional<MappedBytes> file = mapFile(path, diagnostics);
  if (!file)
    return std::nullopt;
  return readModel(std::move(*file), limits, diagnostics);
}

std::optional<Model> weft::onnx::readModel(MappedBytes file, const Limits &limits, Diagnostics &diagnostics) {
  std::optional<std::string> stripped = scanAndStrip(file.bytes, limits, diagnostics);
  if (!stripped)
    return std::nullopt;
  Model model;
  model.file = std::move(file);
  model.proto = std::make_shared<::onnx::ModelProto>();
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t *>(stripped->data()),
                                                static_cast<int>(stripped->size()));
  stream.SetRecursionLimit(static_cast<int>(limits.maxMessageDepth) + 1);
  stream.SetTotalBytesLimit(static_cast<int>(stripped->size()));
  if (!model.proto->ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    (void)diagnostics.report(ErrorClass::Invalid, "not an ONNX model: its messages do not have ONNX's fields");
    return std::nullopt;
  }
  if (llvm::failed(checkModel(model, limits, diagnostics)))
    return std::nullopt;
  return model;
}
