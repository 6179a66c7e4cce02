//===- LoadedBundle.h - An open bundle ----------------------------------------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===--------------------------------------------------------------------------------------------------------------===//
//
// A checked bundle together with the memory it lies in, the files of its external weights, and the code that devices
// loaded from it. Immutable after opening apart from the code cache, which has its own lock; shared by sessions.
//
//===--------------------------------------------------------------------------------------------------------------===//
#ifndef WEFT_SESSION_LOADEDBUNDLE_H
#define WEFT_SESSION_LOADEDBUNDLE_H

#include "../Memory/AlignedMemory.h"
#include "../Memory/MappedFile.h"
#include "weft/Bundle/Reader.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace weft {

/// Code of a bundle, loaded by a device and shared by all sessions on that device.
class LoadedCode {
public:
  virtual ~LoadedCode() = default;
};

class LoadedBundle {
public:
  struct Options {
    bool verifyWeights = false;
    std::string weightsFolder; ///< Empty: the bundle's folder.
  };

  static bundle::Error open(const std::string &path, const Options &options, std::shared_ptr<LoadedBundle> &result);
  /// Uses `data` in place if it is aligned, else copies it.
  static bundle::Error openMemory(const void *data, uint64_t size, const Options &options,
                                  std::shared_ptr<LoadedBundle> &result);

  const bundle::Reader &getReader() const { return reader; }
  const bundle::Tables &getTables() const { return reader.getTables(); }
  /// Address of weight data, aligned for kernels.
  const uint8_t *getWeight(uint32_t index) const { return weights[index]; }
  uint64_t getWeightBytes() const { return weightBytes; }

  /// The code cached under `key` (device and variant), or what `load` makes.
  bundle::Error getCode(const std::string &key, const std::function<bundle::Error(std::shared_ptr<LoadedCode> &)> &load,
                        std::shared_ptr<LoadedCode> &code);

private:
  bundle::Error bindWeights(const std::string &folder, bool verify);
  bundle::Error bindExternal(uint32_t index, const std::string &folder, bool verify);

  MappedFile file;
  AlignedMemory copy; ///< Of data given in memory that was not aligned.
  bundle::Reader reader;
  std::map<std::string, MappedFile, std::less<>> externalFiles;
  std::vector<AlignedMemory> alignedCopies; ///< Of external weights at unaligned offsets.
  std::vector<const uint8_t *> weights;
  uint64_t weightBytes = 0;
  std::mutex codeMutex;
  std::map<std::string, std::shared_ptr<LoadedCode>> codes;
};

} // namespace weft

#endif // WEFT_SESSION_LOADEDBUNDLE_H
