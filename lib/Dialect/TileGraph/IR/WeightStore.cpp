// Weights by name; see WeightStore.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/WeightStore.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

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

llvm::Error weft::tg::addFile(WeightStore &store, llvm::StringRef name, llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), "`" + path + "`: " + buffer.getError().message());
  std::shared_ptr<llvm::MemoryBuffer> owner = std::move(*buffer);
  llvm::StringRef bytes = owner->getBuffer();
  store.add(name, {llvm::ArrayRef<char>(bytes.data(), bytes.size()), owner, path.str()});
  return llvm::Error::success();
}

llvm::Error weft::tg::addFilesOf(mlir::ModuleOp module, llvm::StringRef folder) {
  llvm::StringSet<> names;
  module.walk([&](WeightOp weight) { names.insert(weight.getData().getSource()); });
  WeightStore &store = module.getContext()->getOrLoadDialect<TileGraphDialect>()->getWeightStore();
  for (llvm::StringRef name : names.keys()) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    if (store.find(name) || name.contains("..") || llvm::sys::path::is_absolute(name) ||
        !llvm::sys::fs::is_regular_file(path))
      continue;
    if (llvm::Error failure = addFile(store, name, path))
      return failure;
  }
  return llvm::Error::success();
}
