// Data that the programs of one bundle share: weights and constants, each stored once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EMIT_BUNDLEDATA_H
#define WEFT_LIB_EMIT_BUNDLEDATA_H

#include "weft/Bundle/Builder.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Emit/BundleWriter.h"
#include "llvm/ADT/MapVector.h"

namespace weft::emit {

class BundleData {
public:
  BundleData(bundle::Builder &builder, const BundleOptions &options) : builder(builder), options(options) {}

  llvm::Expected<bundle::WeightId> addWeight(tg::WeightOp op);
  llvm::Expected<bundle::ConstantId> addConstant(tg::ConstantOp op);
  uint64_t getWeightBytes() const { return weightBytes; }

private:
  void setOrder(bundle::WeightId weight, mlir::RankedTensorType seen, llvm::ArrayRef<int64_t> order);
  /// The path of `file` relative to the bundle's folder.
  llvm::Expected<std::string> makeRelative(llvm::StringRef file) const;

  bundle::Builder &builder;
  const BundleOptions &options;
  /// By data and order.
  llvm::MapVector<std::pair<mlir::Attribute, mlir::Attribute>, bundle::WeightId> weights;
  uint64_t weightBytes = 0;
};

} // namespace weft::emit

#endif // WEFT_LIB_EMIT_BUNDLEDATA_H
