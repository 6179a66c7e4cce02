// Layouts of mma.sync and FMA dots.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Schedule/Mma.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;
using layout::LinearLayout;
using layout::Operand;

ArrayRef<int64_t> schedule::getTileShape(Type type) {
  if (auto tile = dyn_cast<tk::TileType>(type))
    return tile.getShape();
  return cast<tk::SharedType>(type).getShape();
}

Type schedule::getTileElement(Type type) {
  if (auto tile = dyn_cast<tk::TileType>(type))
    return tile.getElementType();
  return cast<tk::SharedType>(type).getElementType();
}

std::optional<MmaForm> schedule::getMmaForm(Type element, Type sum, bool isTf32, int64_t m, int64_t n, int64_t k) {
  using layout::ElementType;
  std::optional<MmaForm> form;
  if (element.isF16() || element.isBF16())
    form = MmaForm{16, 8, 16, ElementType::f16};
  else if (element.isF32() && isTf32)
    form = MmaForm{16, 8, 8, ElementType::tf32};
  else if (element.isInteger(8) && sum.isInteger(32))
    form = MmaForm{16, 8, 32, ElementType::s8};
  else if (element.isF64())
    form = MmaForm{8, 8, 4, ElementType::f64};
  if (form && (m < form->m || n < form->n || k < form->k))
    return std::nullopt;
  return form;
}

std::optional<MmaForm> schedule::getMmaForm(tk::DotOp dot) {
  if (dot.getEngine() == tg::Engine::Simt)
    return std::nullopt;
  tk::TileType acc = dot.getAcc().getType();
  Type lhs = dot.getLhs().getType();
  return getMmaForm(getTileElement(lhs), acc.getElementType(), dot.getTf32(), acc.getShape()[0], acc.getShape()[1],
                    getTileShape(lhs)[1] / dot.getSlices());
}

//===-- Accumulators ----------------------------------------------------------------------------------------------===//

/// Rows and columns of warps. A warp reads rows + columns of the operands for rows * columns of the result.
static std::pair<int64_t, int64_t> splitWarps(int64_t rows, int64_t columns, int64_t warps, bool keepsRows) {
  std::pair<int64_t, int64_t> best{std::min(rows, warps), 1};
  if (keepsRows)
    return best;
  int64_t bestCost = std::numeric_limits<int64_t>::max();
  for (int64_t byRows = 1; byRows <= std::min(rows, warps); byRows *= 2) {
    int64_t byColumns = std::min(columns, warps / byRows);
    // An instruction has half as many columns as rows; idle warps cost a whole tile each.
    int64_t cost = (rows / byRows) * 2 + columns / byColumns + (warps / byRows / byColumns - 1) * (2 * rows + columns);
    if (cost < bestCost) {
      bestCost = cost;
      best = {byRows, byColumns};
    }
  }
  return best;
}

std::optional<LinearLayout> schedule::makeMmaAccumulator(const MmaForm &form, int64_t m, int64_t n, int64_t warps,
                                                         bool keepsRows, int64_t slices, int64_t live) {
  std::optional<LinearLayout> acc = layout::makeMma(form.m, form.n, form.k, form.type, Operand::c);
  if (!acc || m < form.m || n < form.n || warps % slices)
    return std::nullopt;
  warps /= slices;
  auto [byRows, byColumns] = splitWarps(m / form.m, n / form.n, warps, keepsRows);
  auto extend = [&](const LinearLayout &factor) { acc = acc ? acc->product(factor) : acc; };
  int64_t own = n / form.n / byColumns, piece = live < n ? 1 : own;
  extend(LinearLayout::identity("register", "dim1", llvm::Log2_64(piece)));
  extend(LinearLayout::identity("warp", "dim1", llvm::Log2_64(byColumns)));
  extend(LinearLayout::identity("register", "dim1", llvm::Log2_64(own / piece)));
  extend(LinearLayout::identity("register", "dim0", llvm::Log2_64(m / form.m / byRows)));
  extend(LinearLayout::identity("warp", "dim0", llvm::Log2_64(byRows)));
  extend(LinearLayout::zeros("warp", llvm::Log2_64(warps / byRows / byColumns), {}));
  if (acc)
    acc = acc->transposed({"register", "lane", "warp"}, {"dim0", "dim1"});
  if (slices > 1)
    extend(LinearLayout::identity("warp", "dim2", llvm::Log2_64(slices)));
  return acc;
}

std::optional<LinearLayout> schedule::makeFmaAccumulator(int64_t m, int64_t n, int64_t warps, int64_t vectorM,
                                                         int64_t vectorN) {
  int64_t vector[2] = {std::min(m, vectorM), std::min(n, vectorN)}, rest[2] = {m / vector[0], n / vector[1]};
  // Eight lanes along n read the right operand side by side, four along m share it.
  int64_t lanesN = std::min<int64_t>(rest[1], rest[0] >= 4 ? 8 : 32 / rest[0]);
  int64_t lanesM = 32 / lanesN;
  rest[0] = std::max<int64_t>(1, rest[0] / lanesM);
  rest[1] /= lanesN;
  int64_t split[2] = {1, 1};
  for (int64_t left = warps; left > 1; left /= 2) {
    unsigned dim = rest[0] * vector[0] >= rest[1] * vector[1] ? 0 : 1;
    if (rest[dim] == 1)
      dim ^= 1;
    split[dim] *= 2;
    rest[dim] = std::max<int64_t>(1, rest[dim] / 2);
  }
  layout::Blocked blocked;
  blocked.shape = {uint64_t(m), uint64_t(n)};
  blocked.sizePerThread = {uint64_t(vector[0]), uint64_t(vector[1])};
  blocked.threadsPerWarp = {uint64_t(lanesM), uint64_t(lanesN)};
  blocked.warps = {uint64_t(split[0]), uint64_t(split[1])};
  blocked.order = {1, 0};
  return layout::makeBlocked(blocked);
}

//===-- Operands --------------------------------------------------------------------------------------------------===//

unsigned AccumulatorBits::getRegister(unsigned i, unsigned j) const {
  unsigned result = 0;
  for (auto [bit, place] : llvm::enumerate(m))
    result |= (i >> bit & 1) << place;
  for (auto [bit, place] : llvm::enumerate(n))
    result |= (j >> bit & 1) << place;
  return result;
}

/// Coordinates in m and n of the image of one input bit.
static std::pair<uint64_t, uint64_t> split(const LinearLayout &layout, uint64_t image) {
  layout::Index place = layout.unflattenOut(image);
  return {place[0], place[1]};
}

/// Whether the first bases of `in` are the fragment's.
static bool startsWith(const LinearLayout &acc, const LinearLayout &fragment, StringRef in) {
  layout::Vectors mine = acc.basesOf(in.str()), theirs = fragment.basesOf(in.str());
  if (mine.size() < theirs.size())
    return false;
  for (size_t i = 0; i < theirs.size(); ++i)
    if (split(acc, mine[i]) != split(fragment, theirs[i]))
      return false;
  return true;
}

std::optional<AccumulatorBits> schedule::getAccumulatorBits(const LinearLayout &acc, const MmaForm *form) {
  AccumulatorBits bits;
  size_t rank = acc.outs().size();
  if (rank < 2 || rank > 3 || acc.outs()[0].name != "dim0" || acc.outs()[1].name != "dim1")
    return std::nullopt;
  auto isPure = [&](uint64_t image) { return !split(acc, image).first || !split(acc, image).second; };
  if (form) {
    std::optional<LinearLayout> fragment = layout::makeMma(form->m, form->n, form->k, form->type, Operand::c);
    bits.fragmentBits = fragment->inBits("register");
    if (!startsWith(acc, *fragment, "register") || !startsWith(acc, *fragment, "lane"))
      return std::nullopt;
  } else if (!llvm::all_of(acc.basesOf("lane"), isPure)) {
    return std::nullopt;
  }
  layout::Vectors registers = acc.basesOf("register");
  for (unsigned place = bits.fragmentBits; place < registers.size(); ++place) {
    if (!isPure(registers[place]) || !registers[place])
      return std::nullopt;
    (split(acc, registers[place]).first ? bits.m : bits.n).push_back(place);
  }
  if (!llvm::all_of(acc.basesOf("warp"), isPure))
    return std::nullopt;
  return bits;
}

uint64_t schedule::reorderDepth(uint64_t deep, ArrayRef<int64_t> order) {
  uint64_t result = deep >> order.size() << order.size();
  for (auto [bit, place] : llvm::enumerate(order))
    result |= (deep >> bit & 1) << place;
  return result;
}

namespace {
/// Flat indices of an operand, from its coordinates along m or n and along k.
struct OperandPlaces {
  bool isLhs;
  unsigned firstBits;
  ArrayRef<int64_t> order;
  uint64_t flat(uint64_t along, uint64_t deep) const {
    deep = reorderDepth(deep, order);
    return isLhs ? along | deep << firstBits : deep | along << firstBits;
  }
};
} // namespace

std::optional<DotStep> schedule::getDotStep(tk::DotOp dot) {
  tk::TileType type = dot.getAcc().getType();
  if (!type.getLayout())
    return std::nullopt;
  const LinearLayout &acc = type.getLayout().getValue();
  int64_t k = getTileShape(dot.getLhs().getType())[1] / dot.getSlices();
  DotStep step;
  step.form = getMmaForm(getTileElement(dot.getLhs().getType()), type.getElementType(), dot.getTf32(),
                         type.getShape()[0], type.getShape()[1], k);
  std::optional<AccumulatorBits> bits = step.form ? getAccumulatorBits(acc, &*step.form) : std::nullopt;
  if (!bits) {
    step.form.reset();
    bits = getAccumulatorBits(acc, nullptr);
  }
  if (!bits)
    return std::nullopt;
  step.bits = *bits;
  step.depth = step.form ? step.form->k : std::min<int64_t>(k, 4);
  return step;
}

std::optional<LinearLayout> schedule::makeOperandStep(const LinearLayout &acc, const MmaForm *form, Operand operand,
                                                      int64_t depth, int64_t k, ArrayRef<int64_t> order) {
  std::optional<AccumulatorBits> bits = getAccumulatorBits(acc, form);
  if (!bits)
    return std::nullopt;
  bool isLhs = operand == Operand::a;
  unsigned kBits = llvm::Log2_64(k), ownBits = acc.outs()[isLhs ? 0 : 1].bits;
  OperandPlaces places{isLhs, isLhs ? ownBits : kBits, order};
  auto project = [&](uint64_t image) {
    layout::Index place = acc.unflattenOut(image);
    uint64_t deep = place.size() < 3 ? 0 : place[2] * (uint64_t(k) >> acc.outs()[2].bits);
    return places.flat(place[isLhs ? 0 : 1], deep);
  };
  layout::Vectors columns, lanes;
  unsigned inFragment = 0;
  if (form) {
    std::optional<LinearLayout> fragment = layout::makeMma(form->m, form->n, form->k, form->type, operand);
    auto place = [&](uint64_t image) {
      auto [first, second] = split(*fragment, image);
      return isLhs ? places.flat(first, second) : places.flat(second, first);
    };
    for (uint64_t image : fragment->basesOf("register"))
      columns.push_back(place(image));
    for (uint64_t image : fragment->basesOf("lane"))
      lanes.push_back(place(image));
    inFragment = llvm::Log2_32(form->k);
  } else {
    for (uint64_t image : acc.basesOf("lane"))
      lanes.push_back(project(image));
  }
  for (unsigned bit = inFragment; bit < llvm::Log2_64(depth); ++bit)
    columns.push_back(places.flat(0, uint64_t(1) << bit));
  layout::Vectors registers = acc.basesOf("register");
  for (unsigned place : isLhs ? bits->m : bits->n)
    columns.push_back(project(registers[place]));
  layout::Dims ins = {
      {"register", unsigned(columns.size())}, {"lane", unsigned(lanes.size())}, {"warp", acc.inBits("warp")}};
  columns.insert(columns.end(), lanes.begin(), lanes.end());
  for (uint64_t image : acc.basesOf("warp"))
    columns.push_back(project(image));
  return LinearLayout::make(ins, {{"dim0", places.firstBits}, {"dim1", isLhs ? kBits : ownBits}}, columns);
}
