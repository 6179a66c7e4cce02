// Unique: of constants at import, of data by sorting.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Shared/Compose.h"
#include "Shared/Extents.h"
#include "Shared/RuntimeShapes.h"
#include "weft/Dialect/TileGraph/IR/ScalarMath.h"
#include "weft/Import/Onnx/Handler.h"
#include "weft/Reference/Tensor.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <numeric>

#include <array>

using namespace mlir;
using weft::reference::Scalar;
using weft::reference::Tensor;

namespace weft::onnx {
namespace {

/// Elements that a constant operand may have.
constexpr int64_t maxUniqueElements = int64_t(1) << 20;

/// The entries of a tensor along an axis: entry i is element `offsets[j] + i * step` for each j.
class Entries {
public:
  Entries(const Tensor &tensor, std::optional<int64_t> axis) : tensor(tensor), scalars(tensor.loadAll()) {
    if (!axis) {
      offsets.push_back(0);
      count = tensor.size();
      return;
    }
    ArrayRef<int64_t> shape = tensor.shape();
    count = shape[*axis];
    step = std::accumulate(shape.begin() + *axis + 1, shape.end(), int64_t(1), std::multiplies<>());
    int64_t outer = std::accumulate(shape.begin(), shape.begin() + *axis, int64_t(1), std::multiplies<>());
    for (int64_t i = 0; i < outer; ++i)
      for (int64_t j = 0; j < step; ++j)
        offsets.push_back(i * count * step + j);
  }

  /// Less than, equal to or greater than 0; elements in row-major order, NaN last and equal to NaN.
  int compare(int64_t a, int64_t b) const {
    for (int64_t offset : offsets)
      if (int order = compare(scalars[offset + a * step], scalars[offset + b * step]))
        return order;
    return 0;
  }

  int64_t count = 0, step = 1;
  SmallVector<int64_t> offsets;

private:
  int compare(Scalar a, Scalar b) const {
    if (tensor.isFloat())
      return std::isnan(a.f) || std::isnan(b.f) ? int(std::isnan(a.f)) - int(std::isnan(b.f))
                                                : int(a.f > b.f) - int(a.f < b.f);
    unsigned width = tensor.element().getIntOrFloatBitWidth();
    if (tg::isUnsignedElement(tensor.element()) || width == 1)
      return int(a.i > b.i) - int(a.i < b.i);
    int64_t x = llvm::SignExtend64(a.i, width), y = llvm::SignExtend64(b.i, width);
    return int(x > y) - int(x < y);
  }

  const Tensor &tensor;
  std::vector<Scalar> scalars;
};

/// The distinct entries by their first positions, the number of each entry's, and how often each occurs.
struct Groups {
  SmallVector<int64_t> first, inverse, counts;
};

Groups groupEntries(const Entries &entries, bool sorted) {
  SmallVector<int64_t> order(entries.count);
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](int64_t a, int64_t b) {
    int result = entries.compare(a, b);
    return result != 0 ? result < 0 : a < b;
  });
  Groups groups;
  groups.inverse.resize(entries.count);
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || entries.compare(order[i - 1], order[i]) != 0) {
      groups.first.push_back(order[i]);
      groups.counts.push_back(0);
    }
    groups.inverse[order[i]] = int64_t(groups.first.size()) - 1;
    ++groups.counts.back();
  }
  if (sorted)
    return groups;
  // In the order of first positions instead.
  SmallVector<int64_t> byPlace(groups.first.size()), rank(groups.first.size());
  std::iota(byPlace.begin(), byPlace.end(), 0);
  llvm::sort(byPlace, [&](int64_t a, int64_t b) { return groups.first[a] < groups.first[b]; });
  Groups result;
  for (auto [place, group] : llvm::enumerate(byPlace)) {
    rank[group] = int64_t(place);
    result.first.push_back(groups.first[group]);
    result.counts.push_back(groups.counts[group]);
  }
  for (int64_t group : groups.inverse)
    result.inverse.push_back(rank[group]);
  return result;
}

/// The entries at `places`.
std::optional<Tensor> gather(const Tensor &tensor, const Entries &entries, std::optional<int64_t> axis,
                             ArrayRef<int64_t> places) {
  auto count = static_cast<int64_t>(places.size());
  SmallVector<int64_t> shape{count};
  if (axis) {
    shape.assign(tensor.shape().begin(), tensor.shape().end());
    shape[*axis] = count;
  }
  std::optional<Tensor> result = Tensor::create(shape, tensor.element(), maxFoldBytes);
  if (!result)
    return std::nullopt;
  // The same pieces of `step` elements, with another number of entries between them.
  for (auto [j, offset] : llvm::enumerate(entries.offsets))
    for (auto [i, place] : llvm::enumerate(places)) {
      int64_t piece = int64_t(j) / entries.step, inside = int64_t(j) % entries.step;
      int64_t to = (piece * count + int64_t(i)) * entries.step + inside;
      result->copyElement(to, tensor, offset + place * entries.step);
    }
  return result;
}

/// Whether each entry (a row of the matrix `entries`) after the first differs from the one in front of it; NaN equals
/// itself.
Expr differsFromPrevious(NodeContext &n, Value entries) {
  Expr places(n, iota(n, n.dim(entries, 0)));
  Expr values(n, entries), previous(n, takeAlong(n, entries, (places - 1.0).max(0.0), 0));
  Expr differs = values.compare(tg::CmpPredicate::Ne, previous);
  if (isa<FloatType>(n.elementType(entries)))
    differs =
        differs & (values.compare(tg::CmpPredicate::Eq, values) | previous.compare(tg::CmpPredicate::Eq, previous));
  Value count = n.reduce(tg::Monoid::Add, n.cast(differs, n.b.getI64Type()), {1}, /*keepDims=*/false);
  return Expr(n, count).compare(tg::CmpPredicate::Gt, 0.0);
}

/// Distinct elements, the first position of each, the group of each element of the operand, and the groups' sizes.
using UniqueResults = std::array<Value, 4>;

/// The distinct entries of data along `axis`, or its elements without one: sorted, each that differs from the one in
/// front of it begins a group.
FailureOr<UniqueResults> uniqueAtRuntime(NodeContext &n, Value x, std::optional<int64_t> axis, bool sorted) {
  AffineExpr all = tg::getNumElements(x.getType()), count = axis ? n.dim(x, *axis) : all, width = n.constExpr(1);
  Value source = n.reshape(x, tg::Dims{all}), entries = source;
  if (axis) {
    SmallVector<int64_t> order{*axis};
    tg::Dims others;
    for (int64_t d = 0; d < n.rank(x); ++d)
      if (d != *axis) {
        order.push_back(d);
        others.push_back(n.dim(x, d));
      }
    width = product(n, others);
    entries = n.transpose(x, order);
    source = x;
  }
  entries = n.reshape(entries, {count, width});
  Value order = axis ? sortedRows(n, entries) : sortedPlaces(n, source, 0, /*largest=*/false);
  Value arranged = takeAlong(n, entries, order, 0);
  if (!arranged)
    return failure();
  Expr places(n, iota(n, count)), differs = differsFromPrevious(n, arranged);
  Expr isFirst = places.compare(tg::CmpPredicate::Eq, 0.0) | differs;
  Value starts = placesOfTrue(n, isFirst, "number of distinct elements");
  if (!starts)
    return failure();
  AffineExpr groups = n.dim(starts, 0);
  Value ones = n.cast(isFirst, n.b.getI64Type());
  Expr groupOf = Expr(n, n.make<tg::ScanOp>(tg::Monoid::Add, ones, int64_t(0), false, false)) - 1.0;
  // A stable sort has the first position of each group in front.
  Value first = takeAlong(n, order, starts, 0);
  Expr next(n, takeAlong(n, starts, (Expr(n, iota(n, groups)) + 1.0), 0));
  Expr isLast = Expr(n, iota(n, groups)).compare(tg::CmpPredicate::Eq, Expr(n, n.extents(groups)) - 1.0);
  Value counts = isLast.select(Expr(n, n.extents(count)), next) - Expr(n, starts);
  // inverse[order[i]] = group of i: the order's own inverse is its sorting.
  Value inverse = takeAlong(n, groupOf, sortedPlaces(n, order, 0, /*largest=*/false), 0);
  if (!sorted) {
    Value byPlace = sortedPlaces(n, first, 0, /*largest=*/false), rank = sortedPlaces(n, byPlace, 0, false);
    first = takeAlong(n, first, byPlace, 0);
    counts = takeAlong(n, counts, byPlace, 0);
    inverse = takeAlong(n, rank, inverse, 0);
  }
  return UniqueResults{takeAlong(n, source, first, axis.value_or(0)), first, inverse, counts};
}

FailureOr<UniqueResults> findUnique(NodeContext &n, Value x, std::optional<int64_t> axis, bool sorted) {
  ElementsAttr contents = n.constant(x);
  if (!contents)
    return uniqueAtRuntime(n, x, axis, sorted);
  if (contents.getNumElements() > maxUniqueElements)
    return n.limit("expected an operand of at most " + Twine(maxUniqueElements) + " elements, got " +
                   Twine(contents.getNumElements()));
  std::optional<Tensor> tensor = Tensor::fromElements(contents, maxFoldBytes);
  if (!tensor)
    return n.unsupported("the operand cannot be evaluated at compile time");
  Entries entries(*tensor, axis);
  Groups groups = groupEntries(entries, sorted);
  std::optional<Tensor> result = gather(*tensor, entries, axis, groups.first);
  if (!result)
    return n.limit("the result is too large");
  return UniqueResults{n.constantValue(result->toElements()), n.intsConstant(groups.first),
                       n.intsConstant(groups.inverse), n.intsConstant(groups.counts)};
}

LogicalResult importUnique(NodeContext &n) {
  Value x = n.required(0);
  FailureOr<bool> sorted = n.boolAttr("sorted", true);
  if (!x || failed(sorted) || failed(n.checkNumInputs(1, 1)))
    return failure();
  std::optional<int64_t> axis;
  if (n.hasAttr("axis")) {
    FailureOr<int64_t> given = n.intAttr("axis");
    if (failed(given) || failed(given = n.normalizeAxis(*given, n.rank(x))))
      return failure();
    axis = *given;
  }
  FailureOr<UniqueResults> results = findUnique(n, x, axis, *sorted);
  if (failed(results))
    return failure();
  for (auto [i, result] : llvm::enumerate(*results))
    n.output(i, result);
  return success();
}

/// com.microsoft's, of one dimension: the distinct elements in the order in which they come, without their positions.
LogicalResult importContribUnique(NodeContext &n) {
  Value x = n.required(0);
  if (!x || failed(n.checkNumInputs(1, 1)) || failed(n.checkRank(x, 1, 1, "x")))
    return failure();
  FailureOr<UniqueResults> results = findUnique(n, x, std::nullopt, /*sorted=*/false);
  if (failed(results))
    return failure();
  auto [entries, places, groups, counts] = *results;
  n.output(0, entries);
  n.output(1, groups);
  n.output(2, counts);
  return success();
}

} // namespace

ArrayRef<OpEntry> getUniqueOps() {
  static const OpEntry table[] = {{"", "Unique", 11, newestOpset, importUnique, ""},
                                  {"com.microsoft", "Unique", 1, anyOpset, importContribUnique, ""}};
  return table;
}

} // namespace weft::onnx
