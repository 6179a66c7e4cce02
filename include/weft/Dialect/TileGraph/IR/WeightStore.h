// Weights by name: the bytes that `tg.weight` refers to, kept outside the IR.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A source is one mapped file or buffer. Whoever reads a model registers its sources; constant folding and the bundle
// writer read ranges of them. Sources live as long as the store. Thread-safe.
#ifndef WEFT_DIALECT_TILEGRAPH_IR_WEIGHTSTORE_H
#define WEFT_DIALECT_TILEGRAPH_IR_WEIGHTSTORE_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace weft::tg {

class WeightStore {
public:
  struct Source {
    llvm::ArrayRef<char> bytes;  ///< The whole source, usually mapped.
    std::shared_ptr<void> owner; ///< Keeps `bytes` valid.
    std::string path;            ///< File the bytes came from, or empty for a buffer.
    std::string location = {};   ///< Of a buffer that stands for an external file: where the model says that it is.
  };

  /// Registers `source` under `name`; the first registration of a name wins. Returns false if the name was taken.
  bool add(llvm::StringRef name, Source source);
  /// Registers a buffer with contents `bytes` under a name of its own and returns that name.
  std::string addBuffer(std::string bytes);
  /// Bytes [offset, offset + size) of source `name`; none if the source is unknown or the range is not inside it.
  std::optional<llvm::ArrayRef<char>> lookup(llvm::StringRef name, int64_t offset, int64_t size) const;
  /// The source `name`, or null. The pointer stays valid.
  const Source *find(llvm::StringRef name) const;

private:
  mutable std::mutex mutex;
  llvm::StringMap<Source> sources;
  unsigned nextBuffer = 0;
};

/// Registers the file `path`, mapped, as source `name`. The error's text is the cause.
llvm::Error addFile(WeightStore &store, llvm::StringRef name, llvm::StringRef path);

/// Registers the files of `folder` that weights in `module` name as their sources and that are not known yet. Names
/// that lead out of the folder, and what is no regular file, are not looked up: such weights have no data.
llvm::Error addFilesOf(mlir::ModuleOp module, llvm::StringRef folder);

} // namespace weft::tg

#endif // WEFT_DIALECT_TILEGRAPH_IR_WEIGHTSTORE_H
