// Files that hold a model's external data: found safely, mapped once, registered as weight sources.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_EXTERNALDATA_H
#define WEFT_LIB_IMPORT_ONNX_EXTERNALDATA_H

#include "weft/Dialect/TileGraph/IR/WeightStore.h"
#include "weft/Import/Onnx/Import.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace onnx {
class TensorProto;
} // namespace onnx

namespace weft::onnx {

struct ExternalRange {
  std::string source; ///< Name in the WeightStore.
  uint64_t offset = 0, size = 0;
};

/// Resolves locations below one folder, that of the model file unless `dataFolder` is given, and nowhere else.
class ExternalData {
public:
  /// Both `modelPath` and `dataFolder` empty: every location is refused.
  ExternalData(llvm::StringRef modelPath, llvm::StringRef dataFolder, LinkPolicy links, tg::WeightStore &store);

  /// The range that `tensor` names, which must hold exactly `bytes` bytes. The error's text is the cause.
  llvm::Expected<ExternalRange> resolve(const ::onnx::TensorProto &tensor, uint64_t bytes);
  /// Whether the last `resolve` failed only because there is no such file.
  bool wasMissing() const { return missing; }

private:
  struct File {
    std::string source;
    uint64_t size;
  };
  llvm::Expected<File> open(llvm::StringRef location);
  llvm::Expected<File> mapDescriptor(int descriptor, llvm::StringRef location);
  llvm::Expected<int> openBeneath(llvm::StringRef root, llvm::StringRef location);
  llvm::Expected<int> openCacheLink(llvm::StringRef location);
  llvm::Error checkLocation(llvm::StringRef location) const;

  std::string folder;
  std::string folderName; ///< For messages: "the model's folder", or the given one.
  LinkPolicy links;
  tg::WeightStore &store;
  llvm::StringMap<File> files;
  bool missing = false;
};

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_EXTERNALDATA_H
