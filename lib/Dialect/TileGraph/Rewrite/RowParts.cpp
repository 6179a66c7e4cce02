// What RowParts.h says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/Rewrite/RowParts.h"
#include "ShardAccess.h"
#include "ShardProgram.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "llvm/Support/FormatVariadic.h"
#include <numeric>

using namespace mlir;

namespace weft::tg {

/// Of every buffer, and so of what a kernel or a collective is given (bundle::kBufferAlignment).
static constexpr int64_t bufferAlignment = 64;

std::optional<RowParts> RowParts::find(AllReduceOp op, std::string &reason) {
  RowParts parts;
  parts.op = op;
  auto type = cast<RankedTensorType>(op.getType());
  if (!type.hasStaticShape()) {
    reason = "its extents are known at run time only";
    return std::nullopt;
  }
  while (parts.dim < type.getRank() && type.getDimSize(parts.dim) == 1)
    ++parts.dim;
  if (parts.dim == type.getRank() || type.getNumElements() == 0) {
    reason = "it has one element or none";
    return std::nullopt;
  }
  parts.rows = type.getDimSize(parts.dim);
  int64_t rowBytes = *getByteSize(type) / parts.rows;
  parts.multiple = bufferAlignment / std::gcd(bufferAlignment, rowBytes);
  if (!parts.collect(op.getInput(), parts.dim, reason))
    return std::nullopt;
  if (!parts.hasContract) {
    reason = "no GEMM makes its rows";
    return std::nullopt;
  }
  return parts;
}

/// Whether rows along `dim` of `value` are made for themselves; what they are made of stays whole where they are not.
bool RowParts::collect(Value value, int64_t dim, std::string &reason) {
  Operation *maker = value.getDefiningOp();
  std::optional<ShardAccess> access = maker && maker->hasOneUse() ? ShardAccess::get(maker) : std::nullopt;
  auto isBetween = [](Operation *each) { return isa<PointwiseOpInterface, ReshapeOp, TransposeOp>(each); };
  if (!access || !(isa<ContractOp>(maker) || isBetween(maker))) {
    reason = "no GEMM makes its rows";
    return false;
  }
  for (unsigned d = 0; d < access->getNumDims(); ++d) {
    std::optional<int64_t> extent = getConstant(access->getExtent(d));
    std::optional<Split> split = extent && *extent > 1 ? access->split(d, *extent, reason) : std::nullopt;
    if (!split || split->combiner || split->results.front().dim != dim ||
        getConstant(getDim(value.getType(), dim)) != *extent)
      continue;
    SmallVector<int64_t> dims;
    bool isRowwise = true;
    for (auto [operand, share] : llvm::zip(maker->getOperands(), split->operands)) {
      dims.push_back(share.dim);
      isRowwise &= !share.isSplit() || getConstant(getDim(operand.getType(), share.dim)) == *extent;
    }
    if (!isRowwise)
      continue;
    perPart[maker] = dims;
    hasContract |= isa<ContractOp>(maker);
    std::string ignored;
    if (!isa<ContractOp>(maker))
      for (auto [operand, own] : llvm::zip(maker->getOperands(), dims))
        if (own >= 0)
          (void)collect(operand, own, ignored);
    return true;
  }
  reason = llvm::formatv("rows of its '{0}' are not made for themselves", maker->getName().stripDialect()).str();
  return false;
}

static Type getRowsType(Type type, int64_t dim, int64_t count) {
  Dims dims = getDims(type);
  dims[dim] = getAffineConstantExpr(count, type.getContext());
  return getTensorType(dims, cast<RankedTensorType>(type).getElementType());
}

Value RowParts::makePart(OpBuilder &builder, Value value, int64_t dim, int64_t begin, int64_t end) const {
  Operation *maker = value.getDefiningOp();
  auto found = maker ? perPart.find(maker) : perPart.end();
  Type type = getRowsType(value.getType(), dim, end - begin);
  if (found == perPart.end()) {
    auto rank = size_t(cast<RankedTensorType>(type).getRank());
    SmallVector<int64_t> offsets(rank, 0), strides(rank, 1);
    offsets[dim] = begin;
    auto slice = SliceOp::create(builder, value.getLoc(), type, value, builder.getDenseI64ArrayAttr(offsets),
                                 builder.getDenseI64ArrayAttr(strides));
    if (begin > 0)
      slice->setAttr(behindAttr, builder.getUnitAttr());
    return slice;
  }
  SmallVector<Value> operands;
  for (auto [operand, own] : llvm::zip(maker->getOperands(), found->second))
    operands.push_back(own < 0 ? operand : makePart(builder, operand, own, begin, end));
  Operation *part = builder.clone(*maker);
  part->setOperands(operands);
  if (begin > 0) // Else the parts would be one kernel's work again.
    part->setAttr(behindAttr, builder.getUnitAttr());
  part->getResult(0).setType(cast<RankedTensorType>(type));
  return part->getResult(0);
}

double RowParts::estimateWork(int64_t count, const LayoutRates &rates, bool copies) const {
  double bytes = estimateBytes(AllReduceOp(op).getType()) * double(count) / double(rows), arithmetic = 0, copied = 0;
  for (const auto &[maker, dims] : perPart) {
    arithmetic += estimateArithmetic(maker, rates) * double(count) / double(rows);
    for (auto [operand, own] : llvm::zip(maker->getOperands(), dims)) {
      if (operand.getDefiningOp() && perPart.contains(operand.getDefiningOp()))
        continue;
      double read = estimateBytes(operand.getType()) * (own < 0 ? 1 : double(count) / double(rows));
      bytes += read;
      if (copies && own >= 0 && count < rows)
        copied += 2 * read / rates.bytes + rates.kernelSeconds;
    }
  }
  return copied + std::max(bytes / rates.bytes, arithmetic) + rates.kernelSeconds;
}

double RowParts::estimateCollective(int64_t count, const LayoutRates &rates) const {
  AllReduceOp whole = op;
  double bytes = estimateBytes(whole.getType()) * double(count) / double(rows), ranks = double(whole.getRanks());
  return rates.exchange(2 * bytes * (ranks - 1) / ranks, 2 * bytes);
}

void RowParts::split(ArrayRef<int64_t> ends) const {
  AllReduceOp whole = op;
  OpBuilder builder(whole);
  SmallVector<Value> parts;
  int64_t begin = 0;
  for (int64_t end : ends) {
    Value part = makePart(builder, whole.getInput(), dim, begin, end);
    parts.push_back(
        AllReduceOp::create(builder, whole.getLoc(), part.getType(), whole.getKind(), part, whole.getRanks()));
    begin = end;
  }
  auto joined = ConcatOp::create(builder, whole.getLoc(), parts, dim);
  joined->setAttr(joinedAttr, builder.getUnitAttr());
  whole.getResult().replaceAllUsesWith(joined.getResult());
  SmallVector<Operation *> dead = {whole}; // What is done in parts has one use each.
  while (!dead.empty()) {
    Operation *each = dead.pop_back_val();
    SmallVector<Value> operands(each->getOperands());
    each->erase();
    for (Value operand : operands)
      if (Operation *maker = operand.getDefiningOp(); maker && perPart.contains(maker) && maker->use_empty())
        dead.push_back(maker);
  }
}

} // namespace weft::tg
