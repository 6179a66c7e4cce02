// Conversions between register layouts: the cheapest kind, and the rounds of warp shuffles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/Layout/Analysis.h"

#include <algorithm>

namespace weft::layout {

static const char *const hardware[] = {"register", "lane", "warp", "block"};

const char *getName(ConversionKind kind) {
  static const char *const names[] = {"none", "within threads", "warp shuffles", "through shared memory",
                                      "across blocks"};
  return names[static_cast<int>(kind)];
}

/// The layout with exactly the inputs register, lane, warp, block and the outputs `outs`; nothing if it has others.
static std::optional<LinearLayout> normalize(const LinearLayout &layout, const Dims &outs) {
  LinearLayout all = layout;
  for (const char *name : hardware)
    if (std::none_of(layout.ins().begin(), layout.ins().end(), [&](const Dim &dim) { return dim.name == name; })) {
      std::optional<LinearLayout> grown = all.concatenateIns(LinearLayout::zeros(name, 0, layout.outs()));
      if (!grown)
        return std::nullopt;
      all = *grown;
    }
  Names names;
  for (const Dim &dim : outs)
    names.push_back(dim.name);
  std::optional<LinearLayout> result = all.transposed({hardware, hardware + 4}, names);
  if (!result || result->outs() != outs)
    return std::nullopt;
  return result;
}

/// Solves from(x) = base + from(start) for x within the first `free` input bits; the answer includes `start`.
static std::optional<uint64_t> solveWithin(const LinearLayout &from, unsigned free, uint64_t base, uint64_t start) {
  Vectors columns(from.columns().begin(), from.columns().begin() + free);
  std::optional<uint64_t> rest = Span(columns).solve(base ^ from.applyFlat(start));
  if (!rest)
    return std::nullopt;
  return *rest ^ start;
}

/// The source of every index of `to` when the first `moved` dimensions (register, lane, warp, block) may change and the
/// others keep their value. With only registers moved, every lane renames its registers alike.
static std::optional<LinearLayout> solveSource(const LinearLayout &from, const LinearLayout &to, unsigned moved) {
  Vectors columns;
  unsigned free = 0;
  for (unsigned d = 0; d < moved; ++d)
    free += from.ins()[d].bits;
  for (unsigned d = 0; d < 4; ++d) {
    const Dim &dim = to.ins()[d];
    if (d >= moved && dim.bits != from.ins()[d].bits)
      return std::nullopt;
    Index index(4, 0);
    for (unsigned bit = 0; bit < dim.bits; ++bit) {
      // Prefer the same position: it costs nothing. A lane of a renaming of registers must not choose registers.
      bool isSame = bit < from.ins()[d].bits;
      index[d] = uint64_t(1) << bit;
      uint64_t base = to.basesOf(dim.name)[bit], start = isSame ? from.flattenIn(index) : 0;
      std::optional<uint64_t> source;
      if (isSame && from.applyFlat(start) == base)
        source = start;
      else if (moved != 0 && !(moved == 1 && d > 0))
        source = solveWithin(from, free, base, d < moved ? 0 : start);
      if (!source)
        return std::nullopt;
      columns.push_back(*source);
    }
  }
  return LinearLayout::make(to.ins(), from.ins(), columns);
}

std::optional<Conversion> classifyConversion(const LinearLayout &given, const LinearLayout &result) {
  std::optional<LinearLayout> from = normalize(given, given.outs()), to = normalize(result, given.outs());
  if (!from || !to || !to->invertAndCompose(*from))
    return std::nullopt;
  static const ConversionKind kinds[] = {ConversionKind::none, ConversionKind::withinThread, ConversionKind::shuffles,
                                         ConversionKind::shared, ConversionKind::acrossBlocks};
  for (unsigned moved = 0; moved <= 4; ++moved) {
    if (moved == 0 && from->inBits("register") != to->inBits("register"))
      continue;
    if (std::optional<LinearLayout> source = solveSource(*from, *to, moved))
      return Conversion{kinds[moved], *source};
  }
  return std::nullopt;
}

namespace {
/// The part of a conversion within a warp: source = (registers r + byLane l, lanes r + lanesByLane l).
struct WarpMap {
  Vectors registerOfRegister, laneOfRegister, registerOfLane, laneOfLane;
};
} // namespace

static WarpMap getWarpMap(const LinearLayout &source) {
  WarpMap map;
  unsigned registers = source.outBits("register");
  uint64_t mask = (uint64_t(1) << registers) - 1;
  for (uint64_t column : source.basesOf("register")) {
    map.registerOfRegister.push_back(column & mask);
    map.laneOfRegister.push_back(column >> registers);
  }
  for (uint64_t column : source.basesOf("lane")) {
    map.registerOfLane.push_back(column & mask);
    map.laneOfLane.push_back(column >> registers);
  }
  return map;
}

/// For each lane bit, what a lane adds to the number of the round to get the register it receives. Lanes that would
/// read from the same source lane (the kernel of laneOfLane) are sent to registers whose sources are other lanes, as
/// long as there are some.
static Vectors chooseRotation(const WarpMap &map) {
  Span lanes(map.laneOfLane);
  Vectors kernel = lanes.relations(), rotation;
  Vectors complement = extend(kernel, unitVectors(map.laneOfLane.size())), basis = kernel, values(kernel.size(), 0);
  size_t next = 0;
  for (size_t bit = 0; bit < map.laneOfRegister.size() && next < kernel.size(); ++bit)
    if (lanes.insert(map.laneOfRegister[bit]))
      values[next++] = uint64_t(1) << bit;
  basis.insert(basis.end(), complement.begin(), complement.end());
  values.resize(basis.size(), 0);
  Span coordinates(basis);
  for (uint64_t unit : unitVectors(map.laneOfLane.size()))
    rotation.push_back(combine(values, *coordinates.solve(unit)));
  return rotation;
}

std::vector<ShuffleRound> planShuffles(const Conversion &conversion, uint64_t warp, uint64_t block) {
  std::vector<ShuffleRound> rounds;
  const LinearLayout &source = conversion.source;
  if (conversion.kind > ConversionKind::shuffles || source.ins().size() != 4 || source.inBits("lane") > 5 ||
      source.outBits("lane") > 5 || source.inBits("register") > 12)
    return rounds;
  Vectors rotation = chooseRotation(getWarpMap(source));
  unsigned lanes = 1u << source.inBits("lane"), registers = 1u << source.inBits("register");
  for (unsigned step = 0; step < registers; ++step) {
    // Usually one round; one more for each further register that a lane has to send.
    std::vector<ShuffleRound> parts;
    std::vector<std::vector<uint64_t>> sent; // By part: the register each source lane sends, or ~0.
    for (unsigned lane = 0; lane < lanes; ++lane) {
      uint64_t destination = step ^ combine(rotation, lane);
      Index from = source.apply({destination, lane, warp, block});
      size_t part = 0;
      while (part < parts.size() && sent[part][from[1]] != from[0] && sent[part][from[1]] != ~uint64_t(0))
        ++part;
      if (part == parts.size()) {
        parts.emplace_back();
        sent.emplace_back(uint64_t(1) << source.outBits("lane"), ~uint64_t(0));
      }
      sent[part][from[1]] = from[0];
      parts[part].push_back({lane, unsigned(destination), unsigned(from[1]), unsigned(from[0])});
    }
    rounds.insert(rounds.end(), parts.begin(), parts.end());
  }
  return rounds;
}

} // namespace weft::layout
