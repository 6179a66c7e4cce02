// Weights and constants of a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BundleData.h"
#include "Types.h"
#include "weft/Bundle/Hash.h"
#include "weft/Dialect/TileGraph/IR/WeightPart.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cinttypes>

using namespace mlir;

namespace weft::emit {

llvm::Expected<std::string> BundleData::makeRelative(llvm::StringRef path) const {
  llvm::SmallString<256> file(path), folder(options.path);
  std::error_code code = llvm::sys::fs::make_absolute(file);
  if (!code)
    code = llvm::sys::fs::make_absolute(folder);
  if (code)
    return llvm::createStringError(code, "cannot determine the current folder");
  llvm::sys::path::remove_dots(file); // A model without a folder has its weights in "./".
  llvm::sys::path::remove_dots(folder);
  llvm::sys::path::remove_filename(folder);
  llvm::StringRef relative = file;
  if (!relative.consume_front((folder + "/").str()))
    return llvm::createStringError(
        "expected weights below the bundle's folder '%s', got '%s'; write the bundle beside the model or use "
        "--weights=embed",
        folder.c_str(), file.c_str());
  return relative.str();
}

/// Of `size` bytes at `offset` of a file, read piece by piece: weights that are mapped and hashed where they are become
/// pages of this process, 16 GB of an 8B model, and faulting them in takes several times as long as reading them.
static llvm::Expected<bundle::Hash128> hashFile(llvm::StringRef path, uint64_t offset, uint64_t size) {
  constexpr size_t mostPiece = size_t(1) << 20;
  llvm::Expected<llvm::sys::fs::file_t> file = llvm::sys::fs::openNativeFileForRead(path);
  if (!file)
    return file.takeError();
  llvm::scope_exit close([&] { llvm::sys::fs::closeFile(*file); });
  bundle::Hasher hasher;
  std::vector<char> piece(std::min<uint64_t>(size, mostPiece));
  for (uint64_t done = 0; done < size;) {
    MutableArrayRef<char> wanted(piece.data(), std::min<uint64_t>(size - done, mostPiece));
    llvm::Expected<size_t> got = llvm::sys::fs::readNativeFileSlice(*file, wanted, offset + done);
    if (!got)
      return got.takeError();
    if (*got == 0)
      return llvm::createStringError("weights '%s': expected %" PRIu64 " bytes at %" PRIu64 ", the file ends before",
                                     path.str().c_str(), size, offset);
    hasher.update(piece.data(), *got);
    done += *got;
  }
  return hasher.digest();
}

/// `seen` is what kernels read: its dimension i is dimension order[i] of what is stored.
void BundleData::setOrder(bundle::WeightId weight, RankedTensorType seen, ArrayRef<int64_t> order) {
  std::vector<int64_t> extents(order.size());
  for (auto [i, d] : llvm::enumerate(order))
    extents[d] = seen.getShape()[i];
  builder.setWeightOrder(weight, uint8_t(tg::getElementBits(seen.getElementType()) / 8), extents,
                         {order.begin(), order.end()});
}

llvm::Expected<bundle::WeightId> BundleData::addWeight(tg::WeightOp op) {
  tg::DataAttr data = op.getData();
  std::optional<tg::WeightPart> part = tg::WeightPart::parse(data.getSource());
  if (part) {
    if (data.getOffset() != 0 || data.getSize() != part->outer * part->piece)
      return llvm::createStringError("weight '%s': expected all of what a rank sees, got bytes %ld to %ld of it",
                                     data.getSource().str().c_str(), long(data.getOffset()),
                                     long(data.getOffset() + data.getSize()));
    data = tg::DataAttr::get(op.getContext(), part->source, part->offset, part->getStoredBytes());
  }
  tg::WeightStore &store = op.getContext()->getLoadedDialect<tg::TileGraphDialect>()->getWeightStore();
  std::optional<llvm::ArrayRef<char>> bytes = store.lookup(data.getSource(), data.getOffset(), data.getSize());
  const tg::WeightStore::Source *source = store.find(data.getSource());
  if (!bytes || !source)
    return llvm::createStringError("weight data of source '%s' is not available; a module in text has its weights' "
                                   "files beside it, FILE.weights of what was folded among them",
                                   data.getSource().str().c_str());
  DenseI64ArrayAttr order = op.getOrderAttr();
  auto [it, inserted] = weights.insert({{op.getData(), order}, {}});
  if (!inserted)
    return it->second;
  std::string name = (llvm::Twine(data.getSource()) + "@" + llvm::Twine(data.getOffset())).str();
  if (options.weights == Weights::Omit) {
    it->second = builder.addExternalWeight(name, "weights-were-omitted", data.getOffset(), data.getSize(), {});
  } else if (options.weights == Weights::External && !(source->path.empty() && source->location.empty())) {
    llvm::Expected<std::string> path = source->path.empty() ? source->location : makeRelative(source->path);
    if (!path)
      return path.takeError();
    llvm::Expected<bundle::Hash128> hash = source->path.empty()
                                               ? bundle::hashBytes(bytes->data(), bytes->size())
                                               : hashFile(source->path, data.getOffset(), data.getSize());
    if (!hash)
      return hash.takeError();
    it->second = builder.addExternalWeight(name, *path, data.getOffset(), data.getSize(), *hash);
  } else {
    it->second = builder.addEmbeddedWeight(name, bytes->data(), bytes->size());
  }
  if (part)
    builder.setWeightParts(it->second, uint32_t(part->parts), uint64_t(part->outer), uint64_t(part->piece));
  if (order)
    setOrder(it->second, cast<RankedTensorType>(op.getType()), order.asArrayRef());
  weightBytes += bytes->size();
  return it->second;
}

llvm::Expected<bundle::ConstantId> BundleData::addConstant(tg::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!elements)
    return llvm::createStringError("a constant that is not dense has no form in a bundle");
  std::string bytes = getBytes(elements);
  return builder.addConstantData(bytes.data(), bytes.size());
}

} // namespace weft::emit
