// weft-pack-fields: narrow weights of a product in the order in which a CPU's vectors read and unpack them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A factor of a product that is computed element by element from stored integers of at most 8 bits, and from scales and
// zero points that blocks of the summed dimension k share, is computed by the product's kernel, from what is stored.
// For that k becomes blocks x words x fields, and each tensor that the factor is computed from is written anew over
//
//   the result's dimensions of both operands, the factor's own but the last, panels, blocks, words, fields, columns
//
// with extent 1 where it does not change, so that all are broadcast against each other without a view between. Integers
// of 2 and 4 bits become words of up to 32 bits whose fields are neighbours along k: a vector of words has one field of
// each column, and a shift and a mask take it out. Columns, the factor's last own dimension, are in panels where these
// come out even: what a kernel reads one after the other lies so, where rows of all columns would be a page each. What
// the product sums, and in which order, stays: k goes on in fields, words, blocks. Elements behind the end of k repeat
// the factor's last one and are multiplied by zeros, which is exact where scales are finite.
#include "StoredFactor.h"
#include "weft/Plan/LevelPasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <numeric>

using namespace mlir;

namespace weft::plan {

#define GEN_PASS_DEF_PACKFIELDS
#include "weft/Plan/LevelPasses.h.inc"

namespace {

Type elementOf(Value value) { return cast<RankedTensorType>(value.getType()).getElementType(); }

/// k as blocks x words x fields.
struct Split {
  int64_t block = 1, fields = 1, bits = 8; ///< Elements of a block, and fields of `bits` bits of a word.
  int64_t blocks = 1, words = 1;           ///< And words of a block.
  int64_t panels = 1, columns = 1;         ///< Of the last own dimension.

  int64_t places() const { return blocks * block; }
};

/// None where nothing is narrow, the factor is so already, or no word fits the blocks.
std::optional<Split> chooseSplit(const Factor &factor, ArrayRef<unsigned> own) {
  constexpr int64_t wordBits = 32;
  int64_t depth = factor.shape[factor.depth], block = 0;
  Split split;
  bool hasNarrow = false, isInOrder = !factor.hasViews;
  for (const Source &source : factor.sources) {
    bool isWhole = source.run == 1 && llvm::any_of(own, [&](unsigned d) { return source.hasPart(d); });
    if (source.run > 1)
      block = std::gcd(block, source.run);
    if (isWhole && !isNarrow(elementOf(source.value)))
      return std::nullopt; // It reads as much as the factor has.
    hasNarrow |= isWhole;
    if (isWhole && !own.empty())
      isInOrder &= source.hasPart(own.back()) && source.parts[own.back()][1] - source.parts[own.back()][0] == 1;
    if (!isWhole || source.bits == 8)
      continue;
    if (split.bits != 8 && split.bits != source.bits)
      return std::nullopt;
    split.bits = source.bits;
  }
  if (!hasNarrow || (isInOrder && split.bits == 8))
    return std::nullopt;
  for (split.fields = wordBits / split.bits; block && block % split.fields;)
    split.fields /= 2;
  if (split.bits == 8)
    split.fields = 1;
  else if (split.fields * split.bits < 8)
    return std::nullopt;
  split.block = block ? block : int64_t(llvm::alignTo(depth, split.fields));
  split.blocks = llvm::divideCeil(depth, split.block);
  split.words = split.block / split.fields;
  int64_t columns = factor.shape[own.back()];
  split.columns = columns % panelColumns ? columns : panelColumns;
  split.panels = columns / split.columns;
  return split;
}

/// Writes sources anew, and the ops on them.
class Builder {
public:
  Builder(const Factor &factor, const Split &split, ArrayRef<unsigned> outer, unsigned column, OpBuilder &builder,
          Location loc)
      : factor(factor), split(split), outer(outer), column(column), builder(builder), loc(loc) {}

  Value build() {
    Coordinates at;
    for (unsigned d = 0; d < factor.shape.size(); ++d)
      at.push_back(getAffineDimExpr(d, builder.getContext()));
    return build(factor.root, at);
  }

  /// The extents of k's dimensions that have elements, outermost first; `withFields`: of numbers, not of words.
  SmallVector<int64_t> depths(bool withFields = true) const {
    SmallVector<int64_t> extents;
    if (split.blocks > 1)
      extents.push_back(split.blocks);
    extents.push_back(split.words);
    if (split.fields > 1)
      extents.push_back(withFields ? split.fields : 1);
    return extents;
  }

private:
  Value build(Value value, const Coordinates &at) {
    for (auto &[known, places, result] : built)
      if (known == value && places == at)
        return result;
    Value result;
    Operation *op = value.getDefiningOp();
    if (const Source *source = factor.find(value, at)) {
      result = source->isWord() ? takeFields(*source) : write(*source, /*asWords=*/false);
    } else if (isa<tg::PointwiseOpInterface>(op)) {
      SmallVector<Value> operands;
      (void)Factor::forOperands(op, at, [&](Value operand, const Coordinates &places) {
        operands.push_back(build(operand, places));
        return true;
      });
      result = rebuild(op, operands);
    } else {
      (void)Factor::forOperands(op, at, [&](Value operand, const Coordinates &places) {
        result = build(operand, places);
        return true;
      });
    }
    built.emplace_back(value, at, result);
    return result;
  }

  Value rebuild(Operation *op, ArrayRef<Value> operands) {
    SmallVector<tg::Dims> shapes = llvm::map_to_vector(operands, [](Value v) { return tg::getDims(v.getType()); });
    Type element = elementOf(op->getResult(0));
    auto cast = dyn_cast<tg::CastOp>(op);
    bool isSigned = cast && fieldsOf.contains(operands[0]);
    Operation *copy = builder.clone(*op);
    copy->setOperands(operands);
    copy->getResult(0).setType(tg::getTensorType(*tg::broadcastDims(shapes), element));
    if (!isSigned)
      return copy->getResult(0);
    Value bias = number(int64_t(1) << (split.bits - 1), element);
    return tg::SubOp::create(builder, loc, copy->getResult(0), bias);
  }

  Value number(int64_t value, Type element) {
    auto type = RankedTensorType::get({}, element);
    auto attribute = isa<FloatType>(element)
                         ? DenseElementsAttr::get(type, builder.getFloatAttr(element, double(value)).getValue())
                         : DenseElementsAttr::get(type, APInt(element.getIntOrFloatBitWidth(), value));
    return tg::ConstantOp::create(builder, loc, attribute);
  }

  /// The numbers of a tensor of words, in 32 bits. Those of a signed type are moved up to be no less than 0.
  Value takeFields(const Source &source) {
    Type word = builder.getIntegerType(32, /*isSigned=*/false);
    Value words = write(source, /*asWords=*/true);
    if (elementOf(words) != word)
      words = tg::CastOp::create(builder, loc, words, word);
    SmallVector<APInt> places;
    for (int64_t i = 0; i < split.fields; ++i)
      places.push_back(APInt(32, uint64_t(i * split.bits)));
    auto type = RankedTensorType::get({split.fields, 1}, word);
    Value moves = tg::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, places));
    Value moved = tg::ShrOp::create(builder, loc, words, moves);
    Value numbers = tg::AndOp::create(builder, loc, moved, number((1 << split.bits) - 1, word));
    if (!elementOf(source.value).isUnsignedInteger())
      fieldsOf.insert(numbers);
    return numbers;
  }

  /// The word at element `k`, whose fields follow each other there, if those of the file are such a word; its byte.
  bool isWholeWord(const Source &source, int64_t k) const {
    const std::vector<int64_t> &along = source.parts[factor.depth];
    if (!source.bytes.isPacked || k + split.fields > int64_t(along.size()))
      return false;
    return along[k + split.fields - 1] - along[k] == split.fields - 1 && along[k + 1] - along[k] == 1;
  }

  /// All elements of the dimensions `dims` of the factor.
  std::vector<int64_t> combine(const Source &source, ArrayRef<unsigned> dims) const {
    std::vector<int64_t> places{0};
    for (unsigned d : dims) {
      if (!source.hasPart(d))
        continue;
      std::vector<int64_t> next;
      next.reserve(places.size() * source.parts[d].size());
      for (int64_t place : places)
        for (int64_t part : source.parts[d])
          next.push_back(place + part);
      places = std::move(next);
    }
    return places;
  }

  Value write(const Source &source, bool asWords) {
    Type element = elementOf(source.value);
    int64_t bits = asWords ? split.fields * split.bits : std::max<int64_t>(source.bits, 8), bytes = bits / 8;
    if (asWords)
      element = builder.getIntegerType(unsigned(bits), /*isSigned=*/false);
    else if (source.bits < 8) // Such as zero points: few.
      element = elementOf(source.value).isUnsignedInteger() ? builder.getIntegerType(8, /*isSigned=*/false)
                                                            : builder.getI8Type();
    // The first element of k of each element.
    std::vector<int64_t> starts;
    SmallVector<int64_t> extents = extentsOf(source, asWords, starts);
    std::vector<int64_t> outermost = combine(source, outer), along = combine(source, column);
    bool isWhole = source.hasPart(column);
    size_t panels = isWhole ? split.panels : 1, columns = isWhole ? split.columns : 1;
    auto type = RankedTensorType::get(extents.size() == 1 && extents[0] == 1 ? ArrayRef<int64_t>() : extents, element);
    std::string written(type.getNumElements() * bytes, '\0');
    for (size_t o = 0; o < outermost.size(); ++o)
      for (size_t first = 0; first < columns; first += panelColumns) // Lines of both stay in the cache.
        for (size_t p = 0; p < panels; ++p)
          for (size_t k = 0; k < starts.size(); ++k) {
            size_t last = std::min<size_t>(first + panelColumns, columns);
            char *to = written.data() + int64_t(((o * panels + p) * starts.size() + k) * columns + first) * bytes;
            for (size_t i = first; i < last; ++i, to += bytes) {
              int64_t place = source.start + outermost[o] + along[p * columns + i];
              uint64_t value = valueAt(source, place, starts[k], asWords);
              std::memcpy(to, &value, bytes);
            }
          }
    return createStored(builder, loc, type, std::move(written));
  }

  uint64_t valueAt(const Source &source, int64_t place, int64_t k, bool asWord) const {
    const std::vector<int64_t> &along = source.parts[factor.depth];
    uint64_t value = 0;
    bool isSigned = source.bits < 8 && !elementOf(source.value).isUnsignedInteger();
    uint64_t bias = isSigned ? uint64_t(1) << (source.bits - 1) : 0;
    auto at = [&](int64_t i) {
      return source.read(place + (along.empty() ? 0 : along[std::min<int64_t>(i, along.size() - 1)]));
    };
    if (!asWord) // The bias and back is the extension of the sign.
      return isSigned ? (at(k) ^ bias) - bias : at(k);
    int64_t byte = (place + along[std::min<int64_t>(k, along.size() - 1)]) * split.bits;
    if (byte % 8 == 0 && isWholeWord(source, k)) {
      std::memcpy(&value, source.bytes.raw.data() + byte / 8, split.fields * split.bits / 8);
      for (int64_t f = 0; f < split.fields && isSigned; ++f)
        value ^= bias << (f * split.bits);
      return value;
    }
    for (int64_t f = 0; f < split.fields; ++f)
      value |= (at(k + f) ^ bias) << (f * split.bits);
    return value;
  }

  /// The extents of a source written anew, and for each element of k's dimensions its first element.
  SmallVector<int64_t> extentsOf(const Source &source, bool asWords, std::vector<int64_t> &starts) const {
    SmallVector<int64_t> extents;
    auto addAll = [&](ArrayRef<unsigned> dims) {
      for (unsigned d : dims)
        extents.push_back(source.hasPart(d) ? factor.shape[d] : 1);
    };
    addAll(outer);
    if (split.panels > 1)
      extents.push_back(source.hasPart(column) ? split.panels : 1);
    bool isShared = source.run == 0, isBlock = source.run > 1;
    for (auto [i, extent] : llvm::enumerate(depths(!asWords)))
      extents.push_back(isShared || (isBlock && (split.blocks == 1 || i > 0)) ? 1 : extent);
    extents.push_back(source.hasPart(column) ? split.columns : 1);
    int64_t step = isShared ? split.places() : isBlock ? split.block : asWords ? split.fields : 1;
    for (int64_t k = 0; k < split.places(); k += step)
      starts.push_back(k);
    if (llvm::all_of(extents, [](int64_t extent) { return extent == 1; }))
      extents.assign(1, 1);
    return extents;
  }

  const Factor &factor;
  const Split split;
  ArrayRef<unsigned> outer; ///< Dimensions of the factor,
  unsigned column;          ///< and the last one.
  OpBuilder &builder;
  Location loc;
  SmallVector<std::tuple<Value, Coordinates, Value>> built;
  llvm::SmallDenseSet<Value> fieldsOf; ///< Numbers that were signed.
};

class Packer {
public:
  Packer(tg::ContractOp contract, OpBuilder &builder) : contract(contract), builder(builder), loc(contract.getLoc()) {}

  /// The product of packed weights; null if it stays as it is.
  Value run() {
    Type element = elementOf(contract);
    if (!isa<FloatType>(element))
      return {};
    for (unsigned i : {1u, 0u})
      if (Value packed = pack(i))
        return packed;
    return {};
  }

private:
  Value pack(unsigned i) {
    if (!sortDims(i))
      return {};
    Factor factor(contract->getOperand(i), depth);
    if (!factor.trace())
      return {};
    std::optional<Split> split = chooseSplit(factor, own);
    if (!split || (split->places() > factor.shape[depth] && !factor.isFinite()))
      return {};
    unsigned summed = cast<AffineDimExpr>(contract.getMap(i).getResult(depth)).getPosition();
    SmallVector<unsigned> outer(batch);
    llvm::append_range(outer, ArrayRef(own).drop_back());
    Builder anew(factor, *split, outer, own.back(), builder, loc);
    Value packed = anew.build();
    SmallVector<int64_t> depths = anew.depths();
    // Of k and of the columns the first dimension is the one that there is, the others follow all of these.
    unsigned dims = contract.getMap(2).getNumDims();
    SmallVector<AffineExpr> places{builder.getAffineDimExpr(summed)};
    while (places.size() < depths.size())
      places.push_back(builder.getAffineDimExpr(dims++));
    SmallVector<AffineExpr> columns{contract.getMap(i).getResult(own.back())};
    if (split->panels > 1)
      columns.push_back(builder.getAffineDimExpr(dims++));
    SmallVector<AffineExpr> mine;
    for (unsigned d : outer)
      mine.push_back(contract.getMap(i).getResult(d));
    llvm::append_range(mine, ArrayRef(columns).drop_back());
    llvm::append_range(mine, places);
    mine.push_back(columns.back());
    AffineMap maps[3];
    maps[i] = AffineMap::get(dims, 0, mine, builder.getContext());
    Value operands[2];
    operands[i] = packed;
    operands[1 - i] = splitOther(1 - i, summed, *split, depths, places, dims, maps[1 - i]);
    tg::Dims extents = splitColumns(columns, *split, dims, maps[2]);
    Value product = tg::ContractOp::create(builder, loc, tg::getTensorType(extents, elementOf(contract)), operands[0],
                                           operands[1], builder.getAffineMapArrayAttr(maps));
    return split->panels > 1 ? tg::ReshapeOp::create(builder, loc, contract.getType(), product).getResult() : product;
  }

  /// The result's extents with the columns in panels; `map` becomes its map.
  tg::Dims splitColumns(ArrayRef<AffineExpr> columns, const Split &split, unsigned numDims, AffineMap &map) {
    tg::Dims extents;
    SmallVector<AffineExpr> results;
    for (auto [expr, extent] : llvm::zip_equal(contract.getMap(2).getResults(), tg::getDims(contract.getType()))) {
      bool isSplit = expr == columns.front() && columns.size() > 1;
      results.push_back(expr);
      extents.push_back(isSplit ? builder.getAffineConstantExpr(split.panels) : extent);
      if (isSplit) {
        results.push_back(columns.back());
        extents.push_back(builder.getAffineConstantExpr(split.columns));
      }
    }
    map = AffineMap::get(numDims, 0, results, builder.getContext());
    return extents;
  }

  /// The dimensions of operand `i`; false unless one alone is summed, no window is among them, and the result's
  /// neighbours are its own.
  bool sortDims(unsigned i) {
    AffineMap map = contract.getMap(i), other = contract.getMap(1 - i), result = contract.getMap(2);
    if (!map.isProjectedPermutation() || !other.isProjectedPermutation() || !result.isProjectedPermutation())
      return false;
    batch.clear();
    own.clear();
    unsigned count = 0;
    for (auto [d, expr] : llvm::enumerate(map.getResults())) {
      bool isKept = result.getResultPosition(expr).has_value(), isShared = other.getResultPosition(expr).has_value();
      if (!isKept && !isShared)
        return false;
      if (isKept)
        (isShared ? batch : own).push_back(unsigned(d));
      else if (++count)
        depth = unsigned(d);
    }
    auto kinds = cast<tg::TileOpInterface>(*contract).getDomainIterators();
    if (count != 1 || llvm::count(kinds, utils::IteratorType::reduction) != 1 || own.empty())
      return false;
    tg::Dims dims = tg::getDims(contract.getType());
    for (size_t d = dims.size(); d-- > 0;)
      if (tg::getConstant(dims[d]) != 1)
        return map.getResult(own.back()) == result.getResult(d);
    return false;
  }

  /// The other operand with k in as many dimensions, behind zeros where blocks go on; `map` becomes its map.
  Value splitOther(unsigned i, unsigned summed, const Split &split, ArrayRef<int64_t> depths,
                   ArrayRef<AffineExpr> places, unsigned numDims, AffineMap &map) {
    Value operand = contract->getOperand(i);
    tg::Dims dims = tg::getDims(operand.getType());
    AffineMap old = contract.getMap(i);
    unsigned at = *old.getResultPosition(builder.getAffineDimExpr(summed));
    if (int64_t missing = split.places() - *tg::getConstant(dims[at])) {
      SmallVector<int64_t> none(dims.size(), 0), high(dims.size(), 0);
      high[at] = missing;
      auto scalar = RankedTensorType::get({}, elementOf(operand));
      Value zero = tg::ConstantOp::create(builder, loc, cast<ElementsAttr>(builder.getZeroAttr(scalar)));
      operand = tg::PadOp::create(builder, loc, operand, zero, none, high, none);
    }
    tg::Dims divided(ArrayRef(dims).take_front(at));
    for (int64_t extent : depths)
      divided.push_back(builder.getAffineConstantExpr(extent));
    llvm::append_range(divided, ArrayRef(dims).drop_front(at + 1));
    SmallVector<AffineExpr> results(old.getResults().take_front(at));
    llvm::append_range(results, places);
    llvm::append_range(results, old.getResults().drop_front(at + 1));
    map = AffineMap::get(numDims, 0, results, builder.getContext());
    if (depths.size() == 1)
      return operand;
    return tg::ReshapeOp::create(builder, loc, tg::getTensorType(divided, elementOf(operand)), operand);
  }

  tg::ContractOp contract;
  OpBuilder &builder;
  Location loc;
  unsigned depth = 0;               ///< Dimension of the factor,
  SmallVector<unsigned> batch, own; ///< and others.
};

/// Erases what computed `value` if nothing reads it any more.
void eraseUnread(Value value) {
  SmallVector<Value> values{value};
  while (!values.empty()) {
    Operation *op = values.pop_back_val().getDefiningOp();
    if (!op || !isOpTriviallyDead(op))
      continue;
    llvm::append_range(values, llvm::SetVector<Value>(op->operand_begin(), op->operand_end()));
    op->erase();
  }
}

struct PackFields : impl::PackFieldsBase<PackFields> {
  void runOnOperation() override {
    SmallVector<tg::ContractOp> contracts;
    getOperation()->walk([&](tg::ContractOp op) { contracts.push_back(op); });
    for (tg::ContractOp op : contracts) {
      OpBuilder builder(op);
      Value packed = Packer(op, builder).run();
      if (!packed)
        continue;
      op.replaceAllUsesWith(packed);
      Value operands[2] = {op.getLhs(), op.getRhs()};
      op.erase();
      for (Value operand : operands)
        eraseUnread(operand);
      ++numPacked;
    }
  }
};

} // namespace
} // namespace weft::plan
