// The algebra of layouts: products, composition, division, inverses, parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/Layout/LinearLayout.h"

#include <algorithm>
#include <set>

namespace weft::layout {

unsigned countBits(const Dims &dims) {
  unsigned bits = 0;
  for (const Dim &dim : dims)
    bits += dim.bits;
  return bits;
}

static uint64_t lowMask(unsigned bits) { return (uint64_t(1) << bits) - 1; }

/// Where the bits of `name` begin in a flat value; nothing if the dimension is not there.
static std::optional<unsigned> findShift(const Dims &dims, std::string_view name) {
  unsigned shift = 0;
  for (const Dim &dim : dims) {
    if (dim.name == name)
      return shift;
    shift += dim.bits;
  }
  return std::nullopt;
}

static unsigned findBits(const Dims &dims, std::string_view name) {
  for (const Dim &dim : dims)
    if (dim.name == name)
      return dim.bits;
  return 0;
}

static bool isValid(const Dims &dims) {
  std::set<std::string_view> names;
  unsigned bits = 0;
  for (const Dim &dim : dims) {
    if (dim.name.empty() || !names.insert(dim.name).second || dim.bits > LinearLayout::maxBits)
      return false;
    bits += dim.bits;
    if (bits > LinearLayout::maxBits)
      return false;
  }
  return true;
}

static uint64_t flatten(const Dims &dims, const Index &index) {
  uint64_t flat = 0;
  unsigned shift = 0;
  for (size_t i = 0; i < dims.size() && i < index.size(); ++i) {
    flat |= (index[i] & lowMask(dims[i].bits)) << shift;
    shift += dims[i].bits;
  }
  return flat;
}

static Index unflatten(const Dims &dims, uint64_t flat) {
  Index index;
  for (const Dim &dim : dims) {
    index.push_back(flat & lowMask(dim.bits));
    flat >>= dim.bits;
  }
  return index;
}

/// `flat` over `from` as a flat value over `to`, dimension by dimension: what `to` lacks is dropped, what `from` lacks
/// is zero.
static uint64_t regroup(const Dims &from, const Dims &to, uint64_t flat) {
  uint64_t result = 0;
  for (const Dim &dim : from) {
    if (std::optional<unsigned> shift = findShift(to, dim.name))
      result |= (flat & lowMask(dim.bits)) << *shift;
    flat >>= dim.bits;
  }
  return result;
}

static bool isPermutation(const Dims &a, const Dims &b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

std::optional<LinearLayout> LinearLayout::make(Dims ins, Dims outs, Vectors columns) {
  if (!isValid(ins) || !isValid(outs) || columns.size() != countBits(ins))
    return std::nullopt;
  for (uint64_t column : columns)
    if (column & ~lowMask(countBits(outs)))
      return std::nullopt;
  return LinearLayout(std::move(ins), std::move(outs), std::move(columns));
}

LinearLayout LinearLayout::identity(const std::string &in, const std::string &out, unsigned bits) {
  bits = std::min(bits, maxBits);
  return LinearLayout({{in, bits}}, {{out, bits}}, unitVectors(bits));
}

LinearLayout LinearLayout::zeros(const std::string &in, unsigned bits, Dims outs) {
  bits = std::min(bits, maxBits);
  return LinearLayout({{in, bits}}, std::move(outs), Vectors(bits, 0));
}

unsigned LinearLayout::inBits(std::string_view name) const { return findBits(inDims, name); }
unsigned LinearLayout::outBits(std::string_view name) const { return findBits(outDims, name); }

Vectors LinearLayout::basesOf(std::string_view in) const {
  std::optional<unsigned> shift = findShift(inDims, in);
  if (!shift)
    return {};
  return Vectors(bases.begin() + *shift, bases.begin() + *shift + inBits(in));
}

Index LinearLayout::apply(const Index &in) const { return unflattenOut(applyFlat(flattenIn(in))); }
uint64_t LinearLayout::flattenIn(const Index &in) const { return flatten(inDims, in); }
uint64_t LinearLayout::flattenOut(const Index &out) const { return flatten(outDims, out); }
Index LinearLayout::unflattenIn(uint64_t in) const { return unflatten(inDims, in); }
Index LinearLayout::unflattenOut(uint64_t out) const { return unflatten(outDims, out); }

/// The dimensions of `low`, grown by those of `high`.
static Dims addDims(Dims low, const Dims &high) {
  for (const Dim &dim : high) {
    auto at = std::find_if(low.begin(), low.end(), [&](const Dim &other) { return other.name == dim.name; });
    if (at == low.end())
      low.push_back(dim);
    else
      at->bits += dim.bits;
  }
  return low;
}

/// `flat` over the dimensions of the high factor, in the dimensions of the product.
static uint64_t placeHigh(const Dims &low, const Dims &high, const Dims &all, uint64_t flat) {
  uint64_t result = 0;
  for (const Dim &dim : high) {
    result |= (flat & lowMask(dim.bits)) << (*findShift(all, dim.name) + findBits(low, dim.name));
    flat >>= dim.bits;
  }
  return result;
}

std::optional<LinearLayout> LinearLayout::product(const LinearLayout &high) const {
  Dims ins = addDims(inDims, high.inDims), outs = addDims(outDims, high.outDims);
  if (!isValid(ins) || !isValid(outs))
    return std::nullopt;
  Vectors columns;
  for (const Dim &dim : ins) {
    for (uint64_t column : basesOf(dim.name))
      columns.push_back(regroup(outDims, outs, column));
    for (uint64_t column : high.basesOf(dim.name))
      columns.push_back(placeHigh(outDims, high.outDims, outs, column));
  }
  return LinearLayout(std::move(ins), std::move(outs), std::move(columns));
}

std::optional<LinearLayout> LinearLayout::compose(const LinearLayout &outer) const {
  if (!isPermutation(outDims, outer.inDims))
    return std::nullopt;
  Vectors columns;
  for (uint64_t column : bases)
    columns.push_back(outer.applyFlat(regroup(outDims, outer.inDims, column)));
  return LinearLayout(inDims, outer.outDims, std::move(columns));
}

/// The dimensions of `all` less those of `low`; nothing if `low` is no part of them.
static std::optional<Dims> subtractDims(const Dims &all, const Dims &low) {
  for (const Dim &dim : low)
    if (!findShift(all, dim.name) || findBits(all, dim.name) < dim.bits)
      return std::nullopt;
  Dims result;
  for (const Dim &dim : all)
    result.push_back({dim.name, dim.bits - findBits(low, dim.name)});
  return result;
}

std::optional<LinearLayout> LinearLayout::divide(const LinearLayout &low) const {
  std::optional<Dims> ins = subtractDims(inDims, low.inDims), outs = subtractDims(outDims, low.outDims);
  if (!ins || !outs)
    return std::nullopt;
  Vectors columns;
  for (const Dim &dim : *ins) {
    Vectors own = basesOf(dim.name), factor = low.basesOf(dim.name);
    for (size_t i = 0; i < own.size(); ++i) {
      if (i < factor.size()) {
        if (own[i] != regroup(low.outDims, outDims, factor[i]))
          return std::nullopt;
        continue;
      }
      Index index = unflattenOut(own[i]);
      for (size_t d = 0; d < outDims.size(); ++d) {
        unsigned cut = low.outBits(outDims[d].name);
        if (index[d] & lowMask(cut))
          return std::nullopt;
        index[d] >>= cut;
      }
      columns.push_back(flatten(*outs, index));
    }
  }
  return LinearLayout(std::move(*ins), std::move(*outs), std::move(columns));
}

LinearLayout LinearLayout::pseudoInverse() const {
  Span span(bases);
  // A complement of the image goes to zero; the image goes to its coordinates.
  Vectors image = extend({}, bases), rest = extend(image, unitVectors(outBits())), basis = image, columns;
  basis.insert(basis.end(), rest.begin(), rest.end());
  Span coordinates(basis);
  for (uint64_t unit : unitVectors(outBits())) {
    uint64_t part = *coordinates.solve(unit) & lowMask(image.size());
    columns.push_back(*span.solve(combine(image, part)));
  }
  return LinearLayout(outDims, inDims, std::move(columns));
}

std::optional<LinearLayout> LinearLayout::inverse() const {
  if (!isInjective() || !isSurjective())
    return std::nullopt;
  return pseudoInverse();
}

std::optional<LinearLayout> LinearLayout::invertAndCompose(const LinearLayout &outer) const {
  if (!isPermutation(outDims, outer.outDims))
    return std::nullopt;
  Span span(outer.bases);
  Vectors columns;
  for (uint64_t column : bases) {
    std::optional<uint64_t> source = span.solve(regroup(outDims, outer.outDims, column));
    if (!source)
      return std::nullopt;
    columns.push_back(*source);
  }
  return LinearLayout(inDims, outer.inDims, std::move(columns));
}

static std::optional<Dims> select(const Dims &dims, const Names &names) {
  Dims result;
  for (const std::string &name : names) {
    if (!findShift(dims, name))
      return std::nullopt;
    result.push_back({name, findBits(dims, name)});
  }
  if (!isValid(result))
    return std::nullopt;
  return result;
}

std::optional<LinearLayout> LinearLayout::sublayout(const Names &ins, const Names &outs) const {
  std::optional<Dims> inPart = select(inDims, ins), outPart = select(outDims, outs);
  if (!inPart || !outPart)
    return std::nullopt;
  Vectors columns;
  for (const Dim &dim : *inPart)
    for (uint64_t column : basesOf(dim.name))
      columns.push_back(regroup(outDims, *outPart, column));
  return LinearLayout(std::move(*inPart), std::move(*outPart), std::move(columns));
}

std::optional<LinearLayout> LinearLayout::transposed(const Names &ins, const Names &outs) const {
  if (ins.size() != inDims.size() || outs.size() != outDims.size())
    return std::nullopt;
  return sublayout(ins, outs);
}

std::optional<LinearLayout> LinearLayout::concatenateIns(const LinearLayout &other) const {
  if (!isPermutation(outDims, other.outDims))
    return std::nullopt;
  Dims ins = inDims;
  ins.insert(ins.end(), other.inDims.begin(), other.inDims.end());
  Vectors columns = bases;
  for (uint64_t column : other.bases)
    columns.push_back(regroup(other.outDims, outDims, column));
  return make(std::move(ins), outDims, std::move(columns));
}

std::optional<LinearLayout> LinearLayout::concatenateOuts(const LinearLayout &other) const {
  std::optional<LinearLayout> right;
  if (isPermutation(inDims, other.inDims)) {
    Names ins, outs;
    for (const Dim &dim : inDims)
      ins.push_back(dim.name);
    for (const Dim &dim : other.outDims)
      outs.push_back(dim.name);
    right = other.transposed(ins, outs);
  }
  Dims all = outDims;
  all.insert(all.end(), other.outDims.begin(), other.outDims.end());
  if (!right || !isValid(all))
    return std::nullopt;
  Vectors columns = bases;
  for (size_t i = 0; i < columns.size(); ++i)
    columns[i] |= right->bases[i] << outBits();
  return LinearLayout(inDims, std::move(all), std::move(columns));
}

LinearLayout LinearLayout::canonical() const {
  auto sorted = [](const Dims &dims) {
    Names names;
    for (const Dim &dim : dims)
      if (dim.bits != 0)
        names.push_back(dim.name);
    std::sort(names.begin(), names.end());
    return names;
  };
  return *sublayout(sorted(inDims), sorted(outDims));
}

} // namespace weft::layout
