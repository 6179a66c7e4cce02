// weft-pack-quads: contractions of bytes in the form in which a CPU multiplies them, four at a time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A summed dimension k that both operands have by itself is split into k/4 x 4, and the four become each operand's
// innermost dimension: a word of memory. Windows stay as they are (channels are split, not windows), so nothing is
// copied but the image once. Constants are written anew: batch dimensions first, then summed ones (taps of windows,
// then the others), then their own, then the four (products: panels of columns, then summed ones, then the columns of a
// panel), so that a panel of columns is contiguous in memory. One operand is unsigned, the other signed, as
// instructions have them: of equal ones one is moved by 128, which takes 128 times the sums of the other.
#include "StoredBytes.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/LevelPasses.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace mlir;

namespace weft::plan {

#define GEN_PASS_DEF_PACKQUADS
#include "weft/Plan/LevelPasses.h.inc"

namespace {

constexpr int64_t quad = 4;
/// Larger weights stay where they are, in the model's file.
constexpr int64_t maxOrderedBytes = int64_t(16) << 20;

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

bool isByte(Value value) { return elementOf(value).isInteger(8) || elementOf(value).isUnsignedInteger(8); }

/// The bytes of a constant without a symbolic extent; none if they are not
/// known here.
std::optional<std::string> bytesOf(Value value) {
  std::optional<StoredBytes> stored = findStoredBytes(value);
  if (!stored)
    return std::nullopt;
  std::string bytes(stored->raw.begin(), stored->raw.end());
  int64_t count = *tg::getByteSize(value.getType());
  while (stored->isSplat && int64_t(bytes.size()) < count)
    bytes.append(stored->raw.begin(), stored->raw.end());
  return bytes;
}

class Packer {
public:
  /// `tileColumns`: columns of f32 that a register tile has; 0: they are not written in panels.
  Packer(tg::ContractOp contract, OpBuilder &builder, int64_t tileColumns)
      : contract(contract), builder(builder), loc(contract.getLoc()), tileColumns(tileColumns) {}

  /// The contraction of packed operands; null if it stays as it is.
  Value run() {
    if (elementOf(contract).isF32()) {
      Value panels = tileColumns ? splitConstant() : Value();
      return panels ? panels : orderConstant();
    }
    if (!elementOf(contract).isInteger(32) || !isByte(contract.getLhs()) || !isByte(contract.getRhs()))
      return {};
    std::optional<unsigned> found = chooseDim();
    if (!found)
      return {};
    dim = *found;
    Value operands[2] = {contract.getLhs(), contract.getRhs()}, correction;
    if (elementOf(operands[0]) == elementOf(operands[1])) {
      unsigned moved = bytesOf(operands[0]) ? 1 : 0;
      correction = sumOver(1 - moved, elementOf(operands[moved]).isUnsignedInteger() ? 128 : -128);
      if (!correction)
        return {};
      operands[moved] = toOtherSign(operands[moved]);
    }
    AffineMap maps[3] = {contract.getMap(0), contract.getMap(1), contract.getMap(2)};
    tg::Dims dims[3] = {tg::getDims(operands[0].getType()), tg::getDims(operands[1].getType()),
                        tg::getDims(contract.getType())};
    splitColumns(operands, maps, dims, panelColumns);
    for (unsigned i : {0u, 1u})
      operands[i] = pack(operands[i], dims[i], maps[i]);
    maps[2] = AffineMap::get(maps[2].getNumDims() + 1, 0, maps[2].getResults(), builder.getContext());
    Value sum = tg::ContractOp::create(builder, loc, tg::getTensorType(dims[2], builder.getI32Type()), operands[0],
                                       operands[1], builder.getAffineMapArrayAttr(maps));
    if (column)
      sum = tg::ReshapeOp::create(builder, loc, contract.getType(), sum);
    return correction ? tg::AddOp::create(builder, loc, sum, correction).getResult() : sum;
  }

private:
  /// The columns of a constant in panels of `width`, where these come out even: what a kernel reads one after
  /// the other then lies so, where rows of all columns would be a page each. Not those of windows, which are few.
  void splitColumns(ArrayRef<Value> operands, MutableArrayRef<AffineMap> maps, MutableArrayRef<tg::Dims> dims,
                    int64_t width) {
    if (!llvm::all_of(maps, [](AffineMap map) { return map.isProjectedPermutation(); }))
      return;
    auto isLong = [](AffineExpr extent) { return tg::getConstant(extent) != 1; };
    auto last = llvm::find_if(llvm::reverse(dims[2]), isLong);
    if (last == dims[2].rend())
      return;
    AffineExpr found = maps[2].getResult(dims[2].rend() - last - 1);
    std::optional<int64_t> extent = tg::getConstant(*last);
    unsigned own = maps[0].getResultPosition(found) ? 0 : 1;
    bool isOwn = maps[own].getResultPosition(found) && !maps[1 - own].getResultPosition(found);
    if (!isOwn || !extent || *extent <= width || *extent % width || !findStoredBytes(operands[own]))
      return;
    column = found;
    AffineExpr inner = getPanelColumn();
    for (unsigned i : {0u, 1u, 2u}) {
      SmallVector<AffineExpr> results(maps[i].getResults());
      if (std::optional<unsigned> at = maps[i].getResultPosition(found)) {
        results.insert(results.begin() + *at + 1, inner);
        dims[i][*at] = builder.getAffineConstantExpr(*extent / width);
        dims[i].insert(dims[i].begin() + *at + 1, builder.getAffineConstantExpr(width));
      }
      maps[i] = AffineMap::get(maps[i].getNumDims() + 1, 0, results, builder.getContext());
    }
  }

  AffineExpr getPanelColumn() { return builder.getAffineDimExpr(contract.getMap(2).getNumDims()); }

  /// A product of f32 with its weights in panels of columns, so that what it reads one after the other lies so; null if
  /// they do not come out even, or are too large to be written anew.
  Value splitConstant() {
    Value operands[2] = {contract.getLhs(), contract.getRhs()};
    AffineMap maps[3] = {contract.getMap(0), contract.getMap(1), contract.getMap(2)};
    tg::Dims dims[3] = {tg::getDims(operands[0].getType()), tg::getDims(operands[1].getType()),
                        tg::getDims(contract.getType())};
    splitColumns(operands, maps, dims, tileColumns);
    if (!column)
      return {};
    unsigned own = maps[0].getResultPosition(column) ? 0 : 1;
    std::optional<std::string> bytes;
    if (std::optional<int64_t> size = tg::getByteSize(operands[own].getType());
        elementOf(operands[own]).isF32() && size && *size <= maxOrderedBytes)
      bytes = bytesOf(operands[own]);
    if (!bytes) {
      column = {};
      return {};
    }
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, maps[own].getNumResults()));
    llvm::stable_sort(order, [&](int64_t x, int64_t y) { return groupOf(maps[own], x) < groupOf(maps[own], y); });
    operands[own] = rewrite(*bytes, elementOf(operands[own]), dims[own], std::nullopt, order);
    maps[own] = maps[own].getSubMap(llvm::to_vector_of<unsigned>(order));
    Value sum = tg::ContractOp::create(builder, loc, tg::getTensorType(dims[2], elementOf(contract)), operands[0],
                                       operands[1], builder.getAffineMapArrayAttr(maps));
    return tg::ReshapeOp::create(builder, loc, contract.getType(), sum);
  }

  /// A convolution with its weights in the order of panels; null if they have it or are none.
  Value orderConstant() {
    for (unsigned i : {0u, 1u}) {
      Value operands[2] = {contract.getLhs(), contract.getRhs()};
      AffineMap maps[3] = {contract.getMap(0), contract.getMap(1), contract.getMap(2)};
      auto isPlain = [](AffineExpr e) { return isa<AffineDimExpr>(e); };
      // The result's neighbours are the other operand's: pixels, where this one has the channels.
      ArrayRef<AffineExpr> results = maps[2].getResults();
      auto pixel = dyn_cast_or_null<AffineDimExpr>(results.empty() ? AffineExpr() : results.back());
      auto isIn = [&](AffineMap map) {
        return llvm::any_of(map.getResults(), [&](AffineExpr e) { return e.isFunctionOfDim(pixel.getPosition()); });
      };
      if (!elementOf(operands[i]).isF32() || !pixel || !isIn(maps[1 - i]) || isIn(maps[i]) ||
          !llvm::all_of(maps[i].getResults(), isPlain))
        continue;
      std::optional<std::string> bytes = bytesOf(operands[i]);
      SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, maps[i].getNumResults()));
      auto isBefore = [&](int64_t x, int64_t y) { return groupOf(maps[i], x) < groupOf(maps[i], y); };
      if (!bytes || int64_t(bytes->size()) > maxOrderedBytes || llvm::is_sorted(order, isBefore))
        continue;
      llvm::stable_sort(order, isBefore);
      operands[i] = rewrite(*bytes, elementOf(operands[i]), tg::getDims(operands[i].getType()), std::nullopt, order);
      maps[i] = maps[i].getSubMap(llvm::to_vector_of<unsigned>(order));
      return tg::ContractOp::create(builder, loc, contract.getType(), operands[0], operands[1],
                                    builder.getAffineMapArrayAttr(maps));
    }
    return {};
  }

  /// The longest summed dimension that is one of each operand by itself and in
  /// no other position.
  std::optional<unsigned> chooseDim() {
    auto tile = cast<tg::TileOpInterface>(*contract);
    SmallVector<AffineExpr> extents(tile.getDomainExtents());
    std::optional<unsigned> best;
    for (auto [d, kind] : llvm::enumerate(tile.getDomainIterators())) {
      std::optional<int64_t> extent = tg::getConstant(extents[d]);
      auto isAlone = [&, d = unsigned(d)](unsigned i) {
        return llvm::count_if(contract.getMap(i).getResults(), [&](AffineExpr e) { return e.isFunctionOfDim(d); }) ==
                   1 &&
               llvm::is_contained(contract.getMap(i).getResults(), builder.getAffineDimExpr(d));
      };
      if (kind == utils::IteratorType::reduction && extent && *extent >= quad - 1 && isAlone(0) && isAlone(1) &&
          (!best || *extent > *tg::getConstant(extents[*best])))
        best = d;
    }
    return best;
  }

  Value number(int64_t value, Type element) {
    return tg::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(RankedTensorType::get({}, element), APInt(element.getIntOrFloatBitWidth(), value)));
  }

  /// `operand` + 128 in ui8, or - 128 in i8: the products are of one unsigned
  /// and one signed byte.
  Value toOtherSign(Value operand) {
    bool isUnsigned = elementOf(operand).isUnsignedInteger();
    Type other = isUnsigned ? builder.getI8Type() : builder.getIntegerType(8, /*isSigned=*/false);
    Value wide = tg::CastOp::create(builder, loc, operand, builder.getI32Type());
    Value moved = tg::AddOp::create(builder, loc, wide, number(isUnsigned ? -128 : 128, builder.getI32Type()));
    return tg::CastOp::create(builder, loc, moved, other);
  }

  /// The sums of `operand` over its dimensions `summed`, of extents `sums`, in
  /// i32: of a constant here, else by a product with ones.
  Value totalOf(Value operand, const tg::Dims &sums, ArrayRef<AffineExpr> places, ArrayRef<AffineExpr> summed,
                ArrayRef<AffineExpr> own) {
    tg::Dims dims = tg::getDims(operand.getType());
    std::optional<std::string> bytes = bytesOf(operand);
    Type type = tg::getTensorType(sums, builder.getI32Type());
    if (!bytes) {
      tg::Dims counts;
      for (AffineExpr d : summed)
        counts.push_back(dims[cast<AffineDimExpr>(d).getPosition()]);
      auto onesType = cast<RankedTensorType>(tg::getTensorType(counts, builder.getI8Type()));
      if (!onesType.hasStaticShape())
        return {};
      Value ones = tg::ConstantOp::create(builder, loc, DenseElementsAttr::get(onesType, APInt(8, 1)));
      auto mapTo = [&](ArrayRef<AffineExpr> exprs) {
        return AffineMap::get(dims.size(), 0, exprs, builder.getContext());
      };
      return tg::ContractOp::create(builder, loc, type, operand, ones,
                                    builder.getAffineMapArrayAttr({mapTo(places), mapTo(summed), mapTo(own)}));
    }
    bool isUnsigned = elementOf(operand).isUnsignedInteger();
    std::vector<int32_t> totals(cast<RankedTensorType>(type).getNumElements(), 0);
    SmallVector<int64_t> strides(dims.size(), 0), at(dims.size(), 0);
    for (int64_t i = own.size() - 1, stride = 1; i >= 0; --i) {
      unsigned d = cast<AffineDimExpr>(own[i]).getPosition();
      strides[d] = stride;
      stride *= *tg::getConstant(dims[d]);
    }
    for (char byte : *bytes) {
      int64_t to = 0;
      for (auto [index, stride] : llvm::zip_equal(at, strides))
        to += index * stride;
      totals[to] += isUnsigned ? int32_t(uint8_t(byte)) : int32_t(int8_t(byte));
      for (int64_t d = int64_t(dims.size()) - 1; d >= 0 && ++at[d] == *tg::getConstant(dims[d]); --d)
        at[d] = 0;
    }
    return tg::ConstantOp::create(builder, loc,
                                  DenseElementsAttr::get(cast<RankedTensorType>(type), ArrayRef<int32_t>(totals)));
  }

  /// `factor` times the sums of operand `i` over what is summed, in a shape
  /// that broadcasts with the result; null if the operand does not have all of
  /// that by itself (a window), or not in the result's order.
  Value sumOver(unsigned i, int64_t factor) {
    AffineMap map = contract.getMap(i), result = contract.getMap(2);
    if (!map.isProjectedPermutation() || !result.isProjectedPermutation())
      return {};
    tg::Dims dims = tg::getDims(contract->getOperand(i).getType()), sums;
    tg::Dims kept(result.getNumResults(), builder.getAffineConstantExpr(1));
    SmallVector<AffineExpr> places, summed, own;
    int64_t last = -1;
    for (auto [d, expr] : llvm::enumerate(map.getResults())) {
      places.push_back(builder.getAffineDimExpr(d));
      std::optional<unsigned> place = result.getResultPosition(expr);
      (place ? own : summed).push_back(places.back());
      if (!place)
        continue;
      if (int64_t(*place) <= last)
        return {};
      last = *place;
      kept[*place] = dims[d];
      sums.push_back(dims[d]);
    }
    auto kinds = cast<tg::TileOpInterface>(*contract).getDomainIterators();
    if (int64_t(summed.size()) != llvm::count(kinds, utils::IteratorType::reduction))
      return {};
    Value total = totalOf(contract->getOperand(i), sums, places, summed, own);
    if (!total)
      return {};
    total = tg::ReshapeOp::create(builder, loc, tg::getTensorType(kept, builder.getI32Type()), total);
    return tg::MulOp::create(builder, loc, total, number(factor, builder.getI32Type()));
  }

  /// The operand, of extents `dims`, with its summed dimension split; `map` becomes that of the
  /// packed one.
  Value pack(Value operand, const tg::Dims &dims, AffineMap &map) {
    int64_t place = llvm::find(map.getResults(), builder.getAffineDimExpr(dim)) - map.getResults().begin();
    int64_t rank = map.getNumResults();
    // Dimensions of the packed operand, by those of the operand; `rank` is the
    // four.
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank + 1));
    if (std::optional<std::string> bytes = bytesOf(operand)) {
      llvm::stable_sort(order, [&](int64_t x, int64_t y) { return groupOf(map, x) < groupOf(map, y); });
      operand = rewrite(*bytes, elementOf(operand), dims, place, order);
      setMap(map, order);
      return operand;
    }
    setMap(map, order);
    return view(operand, dims, place);
  }

  /// 0: in both operands and the result, or panels; 1: summed, taps of a window; 2: summed; 3: the operand's own;
  /// 4: the four. Products sum in that order, too (lib/Lower/Cpu/Contraction.cpp).
  int64_t groupOf(AffineMap map, int64_t d) {
    if (d == int64_t(map.getNumResults()))
      return 4;
    if (column && map.getResult(d) == column)
      return 0;
    if (column && map.getResult(d) == getPanelColumn())
      return 3;
    auto mine = dyn_cast<AffineDimExpr>(map.getResult(d));
    auto isIn = [&](AffineMap other, bool isWindow = false) {
      return llvm::any_of(other.getResults(), [&](AffineExpr e) {
        return mine && e.isFunctionOfDim(mine.getPosition()) && !(isWindow && e == mine);
      });
    };
    AffineMap operands[2] = {contract.getMap(0), contract.getMap(1)};
    if (!isIn(contract.getMap(2)))
      return llvm::any_of(operands, [&](AffineMap operand) { return isIn(operand, /*isWindow=*/true); }) ? 1 : 2;
    return llvm::all_of(operands, [&](AffineMap operand) { return isIn(operand); }) ? 0 : 3;
  }

  void setMap(AffineMap &map, ArrayRef<int64_t> order) {
    SmallVector<AffineExpr> results;
    for (int64_t d : order)
      results.push_back(d < int64_t(map.getNumResults()) ? map.getResult(d)
                                                         : builder.getAffineDimExpr(map.getNumDims()));
    map = AffineMap::get(map.getNumDims() + 1, 0, results, builder.getContext());
  }

  Value view(Value operand, tg::Dims dims, int64_t place) {
    int64_t extent = *tg::getConstant(dims[place]), rank = dims.size(), missing = llvm::alignTo(extent, quad) - extent;
    if (missing) {
      SmallVector<int64_t> none(rank, 0), high(rank, 0);
      high[place] = missing;
      auto type = RankedTensorType::get({}, elementOf(operand));
      Value zero = tg::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, APInt(8, 0)));
      operand = tg::PadOp::create(builder, loc, operand, zero, none, high, none);
    }
    dims[place] = builder.getAffineConstantExpr((extent + missing) / quad);
    dims.insert(dims.begin() + place + 1, builder.getAffineConstantExpr(quad));
    operand = tg::ReshapeOp::create(builder, loc, tg::getTensorType(dims, elementOf(operand)), operand);
    if (place + 1 == rank)
      return operand;
    SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank + 1));
    permutation.erase(permutation.begin() + place + 1);
    permutation.push_back(place + 1);
    return tg::TransposeOp::create(builder, loc, operand, permutation);
  }

  /// The constant in a new order of its dimensions; `place` (if any) is split by four, which are dimension `rank`.
  Value rewrite(const std::string &bytes, Type element, const tg::Dims &dims, std::optional<int64_t> place,
                ArrayRef<int64_t> order) {
    int64_t rank = dims.size(), width = element.getIntOrFloatBitWidth() / 8;
    SmallVector<int64_t> shape, strides(rank + 1, 1), extents;
    for (AffineExpr dim : dims)
      shape.push_back(*tg::getConstant(dim));
    for (int64_t d = rank - 2; d >= 0; --d)
      strides[d] = strides[d + 1] * shape[d + 1];
    if (place) {
      strides[rank] = strides[*place]; // The four.
      strides[*place] *= quad;
    }
    int64_t count = 1;
    for (int64_t d : order) {
      extents.push_back(d == rank ? quad : d == place ? llvm::divideCeil(shape[d], quad) : shape[d]);
      count *= extents.back();
    }
    std::string packed(count * width, 0);
    SmallVector<int64_t> at(order.size(), 0); // By dimension of the packed one.
    bool isRun = !place && !order.empty() && strides[order.back()] == 1;
    int64_t run = isRun ? extents.back() : 1; // Elements that stay neighbours.
    for (int64_t i = 0; i < count; i += run) {
      int64_t from = 0, along = 0;
      for (auto [d, index] : llvm::zip_equal(order, at)) {
        from += index * strides[d];
        along += !place ? 0 : d == *place ? index * quad : d == rank ? index : 0;
      }
      if (!place || along < shape[*place])
        std::memcpy(&packed[i * width], &bytes[from * width], run * width);
      for (int64_t d = int64_t(order.size()) - 1 - isRun; d >= 0 && ++at[d] == extents[d]; --d)
        at[d] = 0;
    }
    auto type = RankedTensorType::get(extents, element);
    return createStored(builder, loc, type, std::move(packed));
  }

  tg::ContractOp contract;
  OpBuilder &builder;
  Location loc;
  int64_t tileColumns;
  unsigned dim = 0;
  AffineExpr column; ///< The dimension that is in panels; null: none.
};

struct PackQuads : impl::PackQuadsBase<PackQuads> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<tg::ContractOp> contracts;
    getOperation()->walk([&](tg::ContractOp op) { contracts.push_back(op); });
    for (tg::ContractOp op : contracts) {
      OpBuilder builder(op);
      if (Value packed = Packer(op, builder, panels ? vectorBits / 32 * 2 : 0).run()) {
        op.replaceAllUsesWith(packed);
        op.erase();
      }
    }
  }
};

} // namespace
} // namespace weft::plan
