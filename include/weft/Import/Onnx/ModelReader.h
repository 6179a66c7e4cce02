// Reading an ONNX file that nobody vouches for: bounded, checked, without its weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_IMPORT_ONNX_MODELREADER_H
#define WEFT_IMPORT_ONNX_MODELREADER_H

#include "weft/Import/Onnx/Diagnostics.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace onnx {
class ModelProto;
} // namespace onnx

namespace weft::onnx {

/// Resource limits of reading and importing. Going over one is an error of class Limit that names the limit.
struct Limits {
  uint64_t maxGraphBytes = uint64_t(1) << 29; ///< Model without raw tensor data.
  uint64_t maxItems = 4'000'000;              ///< Messages and strings.
  uint64_t maxNodes = 2'000'000;              ///< In the file, subgraphs and functions included.
  uint64_t maxInitializers = 2'000'000;
  unsigned maxMessageDepth = 100;
  unsigned maxSubgraphDepth = 16;
  uint64_t maxNameBytes = uint64_t(1) << 16;
  unsigned maxRank = 32;
  uint64_t maxExpandedNodes = 200'000; ///< Nodes imported, counting inlined functions and unrolled loops.
  uint64_t maxFunctionDepth = 64;      ///< Functions that call functions.
  int64_t maxTripCount = 4'096;        ///< Iterations of one unrolled loop.
};

/// A file mapped read-only, or a buffer.
struct MappedBytes {
  llvm::ArrayRef<char> bytes;
  std::shared_ptr<void> owner;
  std::string path; ///< Empty for a buffer.
};

/// Bytes of a tensor's `raw_data` field: in the message, or, above `inlineRawBytes`, a range of the model file.
struct RawData {
  llvm::ArrayRef<char> bytes;
  std::optional<uint64_t> fileOffset;
};

/// A parsed model. Raw tensor data stays in the mapped file; use `rawData` to read a tensor's.
struct Model {
  std::shared_ptr<::onnx::ModelProto> proto;
  MappedBytes file;

  /// Contents of a `raw_data` field of this model's messages. The pre-scan marks each, so no model can forge a
  /// reference.
  RawData rawData(llvm::StringRef field) const;
};

/// Raw data up to this size stays in the message.
inline constexpr uint64_t inlineRawBytes = 1024;

/// Maps `path` read-only. Refuses what is not a regular file.
std::optional<MappedBytes> mapFile(llvm::StringRef path, Diagnostics &diagnostics);

/// Reads a model: wire scan within `limits`, protobuf, structural checks (names, order, versions, tensors). None after
/// errors.
std::optional<Model> readModel(llvm::StringRef path, const Limits &limits, Diagnostics &diagnostics);
std::optional<Model> readModel(MappedBytes file, const Limits &limits, Diagnostics &diagnostics);

/// Newest IR version that the reader knows.
inline constexpr int64_t newestIrVersion = 14;

} // namespace weft::onnx

#endif // WEFT_IMPORT_ONNX_MODELREADER_H
