// Weights and constants of a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BundleData.h"
#include "Types.h"
#include "weft/Bundle/Hash.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace weft::emit {

llvm::Expected<std::string> BundleData::makeRelative(llvm::StringRef path) const {
  llvm::SmallString<256> file(path), folder(options.path);
  std::error_code code = llvm::sys::fs::make_absolute(file);
  if (!code)
    code = llvm::sys::fs::make_absolute(folder);
  if (code)
    return llvm::createStringError(code, "cannot tell the current folder");
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
  tg::WeightStore &store = op.getContext()->getLoadedDialect<tg::TileGraphDialect>()->getWeightStore();
  std::optional<llvm::ArrayRef<char>> bytes = store.lookup(data.getSource(), data.getOffset(), data.getSize());
  const tg::WeightStore::Source *source = store.find(data.getSource());
  if (!bytes || !source)
    return llvm::createStringError("weight data of source '%s' is not available; a module in text has its weights' "
                                   "files beside it, FILE.weights of what was folded among them",
                                   data.getSource().str().c_str());
  DenseI64ArrayAttr order = op.getOrderAttr();
  auto [it, inserted] = weights.insert({{data, order}, {}});
  if (!inserted)
    return it->second;
  std::string name = (llvm::Twine(data.getSource()) + "@" + llvm::Twine(data.getOffset())).str();
  if (options.weights == Weights::Omit) {
    it->second = builder.addExternalWeight(name, "weights-were-omitted", data.getOffset(), data.getSize(), {});
  } else if (options.weights == Weights::External && !(source->path.empty() && source->location.empty())) {
    llvm::Expected<std::string> path = source->path.empty() ? source->location : makeRelative(source->path);
    if (!path)
      return path.takeError();
    it->second = builder.addExternalWeight(name, *path, data.getOffset(), data.getSize(),
                                           bundle::hashBytes(bytes->data(), bytes->size()));
  } else {
    it->second = builder.addEmbeddedWeight(name, bytes->data(), bytes->size());
  }
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
