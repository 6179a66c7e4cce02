// An open bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checked bundle together with the memory it lies in, the files of its external weights, and the code that devices
// loaded from it. Immutable after opening apart from what devices keep here, which has locks of its own; shared by
// sessions.
#ifndef WEFT_MEMORY_LOADEDBUNDLE_H
#define WEFT_MEMORY_LOADEDBUNDLE_H

#include "AlignedMemory.h"
#include "MappedFile.h"
#include "weft/Bundle/Reader.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace weft {

/// What a device made of a bundle (loaded code, weights in its memory), shared by all sessions on that device.
class SharedResource {
public:
  virtual ~SharedResource() = default;
};

/// What an external file holds, in the caller's memory.
struct GivenWeights {
  const uint8_t *data;
  uint64_t bytes;
  int card; ///< Whose memory it is; -1: the host's.
};

class LoadedBundle {
public:
  struct Options {
    bool verifyWeights = false;
    std::string weightsFolder;                                ///< Empty: the bundle's folder.
    std::map<std::string, GivenWeights, std::less<>> weights; ///< By location, looked up before files are.
  };

  static bundle::Error open(const std::string &path, const Options &options, std::shared_ptr<LoadedBundle> &result);
  /// Uses `data` in place if it is aligned, else copies it.
  static bundle::Error openMemory(const void *data, uint64_t size, const Options &options,
                                  std::shared_ptr<LoadedBundle> &result);

  const bundle::Reader &getReader() const { return reader; }
  const bundle::Tables &getTables() const { return reader.getTables(); }
  /// Address of weight data as stored, aligned for kernels.
  const uint8_t *getWeight(uint32_t index) const { return weights[index]; }
  /// The GPU in whose memory that is; -1: the host's.
  int getWeightCard(uint32_t index) const { return weightCards[index]; }
  /// In which kernels see the weight; null: as stored.
  const bundle::WeightOrderRecord *findOrder(uint32_t index) const;
  /// The part of it that a rank sees; null: all of it.
  const bundle::WeightPartRecord *findPart(uint32_t index) const;
  /// Address of a weight as kernels of `rank` see it: in place if it is stored so, else made when it is first asked for
  /// and kept until the bundle is closed. For devices that read the host's memory; others keep their own copies.
  bundle::Error getSeenWeight(uint32_t index, uint32_t rank, const uint8_t *&data);
  /// Weights and constants.
  uint32_t getDataCount() const { return getTables().weights.size + getTables().constants.size; }
  /// Host memory of those that were made.
  uint64_t getSeenBytes();
  /// Of what the weights are stored in: the same bytes count once.
  uint64_t getWeightBytes() const { return weightBytes; }

  /// What is kept under `key` (device and kind) until the bundle is closed, or what `load` makes.
  bundle::Error getShared(const std::string &key,
                          const std::function<bundle::Error(std::shared_ptr<SharedResource> &)> &load,
                          std::shared_ptr<SharedResource> &resource);

private:
  bundle::Error bindWeights(const std::string &folder, const Options &options);
  bundle::Error findExternal(std::string_view path, const std::string &folder, const Options &options,
                             GivenWeights &found);
  bundle::Error bindExternal(uint32_t index, const std::string &folder, const Options &options);

  MappedFile file;
  AlignedMemory copy; ///< Of data given in memory that was not aligned.
  bundle::Reader reader;
  std::map<std::string, MappedFile, std::less<>> externalFiles;
  std::vector<AlignedMemory> copies; ///< Of external weights at unaligned offsets.
  std::vector<const uint8_t *> weights;
  std::vector<int> weightCards;
  uint64_t weightBytes = 0;
  std::mutex orderMutex;
  std::map<std::pair<uint32_t, uint32_t>, AlignedMemory> seen; ///< By weight and rank.
  std::mutex resourceMutex;
  std::map<std::string, std::shared_ptr<SharedResource>> resources;
};

} // namespace weft

#endif // WEFT_MEMORY_LOADEDBUNDLE_H
