// Weights by name; see WeightStore.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/WeightStore.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/IR/WeightPart.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
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

std::string WeightPart::getName() const {
  return llvm::formatv("{0}@{1}:{2}x{3}x{4}", source, offset, outer, parts, piece);
}

std::optional<WeightPart> WeightPart::parse(llvm::StringRef source) {
  auto [rest, shape] = source.rsplit(':');
  auto [name, offset] = rest.rsplit('@');
  llvm::SmallVector<llvm::StringRef> numbers;
  shape.split(numbers, 'x');
  WeightPart part;
  part.source = name.str();
  int64_t stored;
  if (name.empty() || numbers.size() != 3 || offset.getAsInteger(10, part.offset) || part.offset < 0 ||
      numbers[0].getAsInteger(10, part.outer) || numbers[1].getAsInteger(10, part.parts) ||
      numbers[2].getAsInteger(10, part.piece) || part.outer < 0 || part.parts < 2 || part.piece < 0 ||
      llvm::MulOverflow(part.outer, part.parts, stored) || llvm::MulOverflow(stored, part.piece, stored))
    return std::nullopt;
  return part;
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
  module.walk([&](WeightOp weight) {
    llvm::StringRef source = weight.getData().getSource();
    std::optional<WeightPart> part = WeightPart::parse(source);
    names.insert(part ? llvm::StringRef(part->source) : source);
  });
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
