// An open bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps the bundle and its external weight files, of which the caller may have some in memory. Weights stay mapped; only
// those that a file holds at an offset that is not a multiple of 64 (initialisers inside an .onnx file, say) are
// copied, because kernels may use aligned loads.
#include "LoadedBundle.h"

#include "WeightOrder.h"
#include "weft/Bundle/Hash.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <set>
#include <tuple>

using namespace weft;
using namespace weft::bundle;

/// The folder that holds `path`.
static std::string getFolder(const std::string &path) {
  size_t slash = path.rfind('/');
  if (slash == path.npos)
    return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Error LoadedBundle::open(const std::string &path, const Options &options, std::shared_ptr<LoadedBundle> &result) {
  auto opened = std::make_shared<LoadedBundle>();
  if (Error error = MappedFile::open(path, opened->file))
    return error;
  Error error = Reader::open(opened->file.getData(), opened->file.getSize(), options.verifyWeights, opened->reader);
  if (!error)
    error = opened->bindWeights(options.weightsFolder.empty() ? getFolder(path) : options.weightsFolder, options);
  if (error)
    return std::move(error).within(quote(path));
  result = std::move(opened);
  return {};
}

Error LoadedBundle::openMemory(const void *data, uint64_t size, const Options &options,
                               std::shared_ptr<LoadedBundle> &result) {
  auto opened = std::make_shared<LoadedBundle>();
  if (!isAligned(data)) {
    if (!opened->copy.allocate(size))
      return makeError(ErrorCode::Resource, "no memory for a bundle of %" PRIu64 " bytes", size);
    std::memcpy(opened->copy.get(), data, size);
    data = opened->copy.get();
  }
  if (Error error = Reader::open(data, size, options.verifyWeights, opened->reader))
    return error;
  if (Error error = opened->bindWeights(options.weightsFolder.empty() ? "." : options.weightsFolder, options))
    return error;
  result = std::move(opened);
  return {};
}

Error LoadedBundle::bindWeights(const std::string &folder, const Options &options) {
  const Tables &tables = getTables();
  weights.resize(tables.weights.size);
  weightCards.assign(tables.weights.size, -1);
  std::set<std::tuple<uint32_t, uint64_t, uint64_t>> counted; // Kernels may see one weight in several orders.
  for (uint32_t i = 0; i < tables.weights.size; ++i) {
    const WeightRecord &weight = tables.weights[i];
    if (counted.insert({weight.path, weight.offset, weight.size}).second)
      weightBytes += weight.size;
    if (weight.path == kNone)
      weights[i] = reader.getEmbeddedWeight(weight);
    else if (Error error = bindExternal(i, folder, options))
      return std::move(error).within("weight " + quote(tables.getString(weight.name)));
  }
  return {};
}

const WeightOrderRecord *LoadedBundle::findOrder(uint32_t index) const {
  return findRecord(getTables().weightOrders, index);
}

const WeightPartRecord *LoadedBundle::findPart(uint32_t index) const {
  return findRecord(getTables().weightParts, index);
}

Error LoadedBundle::getSeenWeight(uint32_t index, uint32_t rank, const uint8_t *&data) {
  std::lock_guard<std::mutex> lock(orderMutex);
  WeightView view = {weights[index], getTables().weights[index].size, findPart(index), rank, findOrder(index)};
  data = view.findInPlace();
  if (data)
    return {};
  AlignedMemory &memory = seen[{index, view.part ? rank : 0}];
  if (!memory.get())
    if (Error error = makeSeenWeight(view, memory))
      return error;
  data = static_cast<const uint8_t *>(memory.get());
  return {};
}

uint64_t LoadedBundle::getSeenBytes() {
  std::lock_guard<std::mutex> lock(orderMutex);
  uint64_t bytes = 0;
  for (const auto &[key, memory] : seen) {
    const WeightPartRecord *part = findPart(key.first);
    bytes += memory.get() ? getTables().weights[key.first].size / (part ? part->parts : 1) : 0;
  }
  return bytes;
}

Error LoadedBundle::findExternal(std::string_view path, const std::string &folder, const Options &options,
                                 GivenWeights &found) {
  if (auto given = options.weights.find(path); given != options.weights.end()) {
    found = given->second;
    return {};
  }
  auto file = externalFiles.find(path);
  if (file == externalFiles.end()) {
    MappedFile mapped;
    if (Error error = MappedFile::openBelow(folder, path, mapped))
      return error;
    file = externalFiles.emplace(std::string(path), std::move(mapped)).first;
  }
  found = {file->second.getData(), file->second.getSize(), -1};
  return {};
}

Error LoadedBundle::bindExternal(uint32_t index, const std::string &folder, const Options &options) {
  const WeightRecord &weight = getTables().weights[index];
  std::string_view path = getTables().getString(weight.path);
  GivenWeights found;
  if (Error error = findExternal(path, folder, options, found))
    return error;
  if (weight.offset > found.bytes || weight.size > found.bytes - weight.offset)
    return makeError(ErrorCode::Input,
                     "expected bytes [%" PRIu64 ", +%" PRIu64 ") in file %s, got a file of %" PRIu64 " bytes",
                     weight.offset, weight.size, quote(path).c_str(), found.bytes);
  weights[index] = found.data + weight.offset;
  weightCards[index] = found.card;
  if (found.card >= 0)
    return options.verifyWeights
               ? makeError(ErrorCode::Usage, "expected weights of the host's memory to verify, got those of GPU %d",
                           found.card)
               : Error();
  if (options.verifyWeights && hashBytes(weights[index], weight.size) != weight.hash)
    return makeError(ErrorCode::Input, "hash mismatch: file %s is not the one this model was compiled with",
                     quote(path).c_str());
  if (!isAligned(weights[index])) {
    AlignedMemory aligned;
    if (!aligned.allocate(weight.size))
      return makeError(ErrorCode::Resource, "no memory for %" PRIu64 " bytes", weight.size);
    std::memcpy(aligned.get(), weights[index], weight.size);
    weights[index] = static_cast<const uint8_t *>(aligned.get());
    copies.push_back(std::move(aligned));
  }
  return {};
}

Error LoadedBundle::getShared(const std::string &key,
                              const std::function<Error(std::shared_ptr<SharedResource> &)> &load,
                              std::shared_ptr<SharedResource> &resource) {
  std::lock_guard<std::mutex> lock(resourceMutex);
  std::shared_ptr<SharedResource> &kept = resources[key];
  if (!kept)
    if (Error error = load(kept))
      return error;
  resource = kept;
  return {};
}
