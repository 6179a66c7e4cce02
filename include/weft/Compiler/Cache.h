// Bundles that were made before, by all that decides their bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An entry is one file, KEY.weft. It is written beside and renamed, so that a reader sees all of it or nothing, without
// locks and on any file system; it is checked before it is used. What was not used for longest goes when the folder is
// over its bound. A file that goes while it is read stays readable.
#ifndef WEFT_COMPILER_CACHE_H
#define WEFT_COMPILER_CACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// Collects what decides; parts are kept apart by their sizes.
class CacheKey {
public:
  void add(llvm::StringRef part);
  void add(uint64_t number);
  /// 64 hexadecimal digits.
  std::string getText() const;

private:
  llvm::BLAKE3 hasher;
};

class BundleCache {
public:
  static constexpr uint64_t defaultLimit = uint64_t(4) << 30;

  /// Makes the folder if there is none. Fails if it is not this user's alone: others could leave code there.
  static llvm::Expected<BundleCache> open(llvm::StringRef folder, uint64_t limit);

  /// Calls `use` with the bundle's bytes; false: there is none, or a damaged one, which is removed.
  bool lookUp(llvm::StringRef key, llvm::function_ref<void(llvm::ArrayRef<uint8_t>)> use) const;
  /// Adds an entry, and removes others to keep the bound. That it cannot be written is no error: it is not kept then.
  void insert(llvm::StringRef key, llvm::ArrayRef<uint8_t> bytes) const;
  /// The same for a bundle in a file.
  void insertFile(llvm::StringRef key, llvm::StringRef path) const;

private:
  BundleCache(std::string folder, uint64_t limit) : folder(std::move(folder)), limit(limit) {}
  std::string nameEntry(llvm::StringRef key) const;
  void trim() const;

  std::string folder;
  uint64_t limit;
};

} // namespace weft

#endif // WEFT_COMPILER_CACHE_H
