// Compiled PTX on disk.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One file for each module, named by the hash of everything that the compilation depends on. The folder is the user's
// alone (mode 0700), files appear whole by a rename, and what is damaged, or not the user's, counts as absent: the
// cache can make loading slower or faster, and nothing else.
#ifndef WEFT_CUDA_CUBINCACHE_H
#define WEFT_CUDA_CUBINCACHE_H

#include "weft/bundle_format.h"

#include <string>
#include <string_view>
#include <vector>

namespace weft::cuda {

/// $XDG_CACHE_HOME/weft/cubin, or ~/.cache/weft/cubin; empty where neither variable is an absolute path.
std::string getDefaultCubinFolder();

class CubinCache {
public:
  CubinCache() = default;
  ~CubinCache();
  CubinCache(const CubinCache &) = delete;
  CubinCache &operator=(const CubinCache &) = delete;

  /// Opens `folder`, making it and its parents. False if it cannot be made, or others may read or write it.
  bool open(const std::string &folder);
  bool isOpen() const { return descriptor >= 0; }

  static bundle::Hash128 makeKey(std::string_view ptx, std::string_view architecture, int driverVersion);
  /// The code stored under `key`; false if there is none that can be trusted.
  bool read(const bundle::Hash128 &key, std::vector<uint8_t> &code) const;
  /// Stores code, if that is possible.
  void write(const bundle::Hash128 &key, const void *code, size_t size) const;
  void remove(const bundle::Hash128 &key) const;

private:
  int descriptor = -1;
};

} // namespace weft::cuda

#endif // WEFT_CUDA_CUBINCACHE_H
