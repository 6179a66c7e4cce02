// Weights by name; see WeightStore.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/WeightStore.h"

using namespace weft::tg;

bool WeightStore::add(llvm::StringRef name, Source source) {
  std::lock_guard<std::mutex> lock(mutex);
  return sources.try_emplace(name, std::move(source)).second;
}

std::string WeightStore::addBuffer(std::string bytes) {
  auto owner = std::make_shared<std::string>(std::move(bytes));
  llvm::ArrayRef<char> view(owner->data(), owner->size());
  std::lock_guard<std::mutex> lock(mutex);
  std::string name;
  do {
    name = "<buffer " + std::to_string(nextBuffer++) + ">";
  } while (sources.count(name));
  sources.try_emplace(name, Source{view, owner, ""});
  return name;
}

std::optional<llvm::ArrayRef<char>> WeightStore::lookup(llvm::StringRef name, int64_t offset, int64_t size) const {
  const Source *source = find(name);
  if (!source || offset < 0 || size < 0)
    return std::nullopt;
  uint64_t length = source->bytes.size();
  if (uint64_t(offset) > length || uint64_t(size) > length - uint64_t(offset))
    return std::nullopt;
  return source->bytes.slice(offset, size);
}

const WeightStore::Source *WeightStore::find(llvm::StringRef name) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto it = sources.find(name);
  return it == sources.end() ? nullptr : &it->second;
}
