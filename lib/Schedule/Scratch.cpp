// Layouts that follow from others, and the scratch that changes between them need.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/IR/PartOps.h"
#include "weft/Schedule/DerivedLayouts.h"

#include "weft/Dialect/TileKernel/Layout/Analysis.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"
#include "weft/Schedule/Scratch.h"
#include "weft/Schedule/StoreLines.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;
using layout::LinearLayout;

int64_t schedule::getWarps(Operation *op) {
  for (Operation *child = op; Operation *parent = child->getParentOp(); child = parent) {
    if (auto roles = dyn_cast<tk::RolesOp>(parent))
      return roles.getWarps()[child->getParentRegion()->getRegionNumber()];
    if (auto warps = parent->getAttrOfType<IntegerAttr>(tk::warpsAttr))
      return warps.getInt();
  }
  return 4;
}

LinearLayout schedule::selectDims(const LinearLayout &layout, ArrayRef<int64_t> dims, ArrayRef<unsigned> bits) {
  layout::Dims outs;
  for (auto [i, count] : llvm::enumerate(bits))
    outs.push_back({layout::dimName(i), count});
  layout::Vectors columns;
  for (uint64_t column : layout.columns()) {
    layout::Index place = layout.unflattenOut(column);
    uint64_t flat = 0;
    unsigned shift = 0;
    for (auto [dim, count] : llvm::zip(dims, bits)) {
      flat |= (place[dim] & ((uint64_t(1) << count) - 1)) << shift;
      shift += count;
    }
    columns.push_back(flat);
  }
  return *LinearLayout::make(layout.ins(), outs, columns);
}

LinearLayout schedule::getBroadcastSource(tk::BroadcastOp op) {
  SmallVector<unsigned> bits;
  for (int64_t extent : op.getInput().getType().getShape())
    bits.push_back(llvm::Log2_64(extent));
  return selectDims(op.getResult().getType().getLayout().getValue(), op.getDims(), bits);
}

/// The part of a flat index in the reduced dimensions, and in the others.
static std::pair<uint64_t, uint64_t> splitPlace(const LinearLayout &layout, uint64_t flat, ArrayRef<int64_t> dims) {
  uint64_t mask = 0;
  unsigned shift = 0;
  for (auto [i, out] : llvm::enumerate(layout.outs())) {
    if (llvm::is_contained(dims, int64_t(i)))
      mask |= ((uint64_t(1) << out.bits) - 1) << shift;
    shift += out.bits;
  }
  return {flat & mask, flat & ~mask};
}

ReducedBits schedule::getReducedBits(const LinearLayout &layout, ArrayRef<int64_t> dims) {
  auto getMask = [&](StringRef name) {
    uint64_t mask = 0;
    for (auto [i, base] : llvm::enumerate(layout.basesOf(name.str())))
      mask |= uint64_t(splitPlace(layout, base, dims).first != 0) << i;
    return mask;
  };
  return {getMask("register"), getMask("lane"), getMask("warp")};
}

std::optional<LinearLayout> schedule::getReducedLayout(const LinearLayout &layout, ArrayRef<int64_t> dims) {
  layout::Span held;
  for (uint64_t column : layout.columns()) {
    auto [reduced, kept] = splitPlace(layout, column, dims);
    if ((reduced && kept) || (column && !held.insert(column)))
      return std::nullopt;
  }
  SmallVector<int64_t> keptDims;
  SmallVector<unsigned> bits;
  for (auto [i, out] : llvm::enumerate(layout.outs()))
    if (!llvm::is_contained(dims, int64_t(i))) {
      keptDims.push_back(i);
      bits.push_back(out.bits);
    }
  LinearLayout all = selectDims(layout, keptDims, bits);
  layout::Dims ins;
  layout::Vectors columns;
  for (const layout::Dim &in : all.ins()) {
    layout::Vectors bases = all.basesOf(in.name);
    if (in.name == "register")
      llvm::erase(bases, uint64_t(0));
    ins.push_back({in.name, unsigned(bases.size())});
    llvm::append_range(columns, bases);
  }
  return LinearLayout::make(ins, all.outs(), columns);
}

/// Whether each bit of `dim` is one bit of register or lane that moves nothing else.
static bool hasLines(const LinearLayout &layout, uint64_t mask) {
  uint64_t seen = 0;
  for (StringRef name : {"register", "lane", "warp"})
    for (uint64_t base : layout.basesOf(name.str()))
      if (base & mask) {
        if (name == "warp" || !llvm::isPowerOf2_64(base) || (seen & base))
          return false;
        seen |= base;
      }
  return seen == mask;
}

LinearLayout schedule::getLineLayout(const LinearLayout &layout, int64_t dim) {
  unsigned first = 0, count = layout.outs()[dim].bits, all = layout.outBits(), warpBits = layout.inBits("warp");
  for (int64_t i = 0; i < dim; ++i)
    first += layout.outs()[i].bits;
  if (hasLines(layout, ((uint64_t(1) << count) - 1) << first))
    return layout;
  layout::Vectors registers, lanes, warps;
  for (unsigned i = 0; i < count; ++i)
    (i + 5 < count ? registers : lanes).push_back(uint64_t(1) << (first + i));
  for (unsigned i = 0; i < all; ++i)
    if (i < first || i >= first + count)
      (lanes.size() < 5 ? lanes : warps.size() < warpBits ? warps : registers).push_back(uint64_t(1) << i);
  lanes.resize(5, 0);
  warps.resize(warpBits, 0);
  layout::Dims ins{{"register", unsigned(registers.size())}, {"lane", 5}, {"warp", warpBits}};
  layout::Vectors columns = registers;
  llvm::append_range(columns, lanes);
  llvm::append_range(columns, warps);
  return *LinearLayout::make(ins, layout.outs(), columns);
}

/// (register, lane, warp) -> offset = element * parts + part.
static LinearLayout getPartsSideBySide(const LinearLayout &natural, uint64_t warps, bool isRead) {
  layout::Vectors columns;
  unsigned partBits = llvm::popcount(warps), part = 0;
  unsigned registers = natural.inBits("register") + (isRead ? partBits : 0);
  for (unsigned bit = 0; isRead && bit < partBits; ++bit)
    columns.push_back(uint64_t(1) << bit);
  for (StringRef name : {"register", "lane", "warp"})
    for (auto [i, base] : llvm::enumerate(natural.basesOf(name.str()))) {
      bool isPart = name == "warp" && (warps >> i & 1);
      columns.push_back(!isPart ? base << partBits : isRead ? 0 : uint64_t(1) << part++);
    }
  layout::Dims ins{{"register", registers}, {"lane", natural.inBits("lane")}, {"warp", natural.inBits("warp")}};
  return *LinearLayout::make(ins, {{"offset", natural.outBits() + partBits}}, columns);
}

PartLayouts schedule::getPartLayouts(const LinearLayout &natural, uint64_t warps, unsigned elementBits) {
  PartLayouts plain{getPartsSideBySide(natural, warps, false), getPartsSideBySide(natural, warps, true)};
  LinearLayout memory = LinearLayout::identity("offset", "offset", plain.write.outBits());
  auto isFree = [&](const LinearLayout &registers) {
    std::optional<layout::VectorWidth> width = layout::getVectorWidth(registers, memory, elementBits);
    auto conflicts = layout::getBankConflicts(registers, memory, elementBits, width ? width->elements : 1);
    return conflicts && conflicts->isFree();
  };
  if (isFree(plain.write) && isFree(plain.read))
    return plain;
  // Writing and reading are two layouts of one tile of elements and parts.
  std::optional<layout::SwizzleChoice> choice = layout::chooseSwizzle(plain.write, plain.read, elementBits);
  if (!choice)
    return plain;
  LinearLayout place = *choice->memory.inverse();
  return {*plain.write.compose(place), *plain.read.compose(place)};
}

std::optional<LinearLayout> schedule::embedLayout(const LinearLayout &part, const LinearLayout &whole) {
  layout::Vectors columns;
  for (uint64_t image : part.columns())
    columns.push_back(whole.flattenOut(part.unflattenOut(image)));
  return LinearLayout::make(part.ins(), whole.outs(), columns);
}

//===-- Scratch ---------------------------------------------------------------------------------------------------===//

static int64_t getConversionBytes(const LinearLayout &from, const LinearLayout &to, tk::TileType type) {
  std::optional<layout::Conversion> conversion = layout::classifyConversion(from, to);
  if (conversion && conversion->kind < layout::ConversionKind::shuffles)
    return 0;
  return llvm::alignTo((int64_t(1) << from.outBits()) * tk::getElementBits(type.getElementType()) / 8, 16);
}

static int64_t getReduceBytes(tk::ReduceOp op) {
  const LinearLayout &from = cast<tk::TileType>(op.getInputs()[0].getType()).getLayout().getValue();
  std::optional<LinearLayout> natural = getReducedLayout(from, op.getDims());
  if (!natural)
    return 0;
  unsigned warpBits = llvm::popcount(getReducedBits(from, op.getDims()).warps);
  int64_t across = 0, conversion = 0;
  for (Value result : op.getResults()) {
    auto type = cast<tk::TileType>(result.getType());
    int64_t bytes = tk::getElementBits(type.getElementType()) / 8;
    if (warpBits)
      across += llvm::alignTo((bytes << warpBits) << natural->outBits(), 16);
    conversion = std::max(conversion, getConversionBytes(*natural, type.getLayout().getValue(), type));
  }
  return std::max(across, conversion);
}

/// To lines and back.
static int64_t getLineBytes(Value tile, int64_t dim) {
  auto type = cast<tk::TileType>(tile.getType());
  const LinearLayout &layout = type.getLayout().getValue();
  LinearLayout lines = getLineLayout(layout, dim);
  return std::max(getConversionBytes(layout, lines, type), getConversionBytes(lines, layout, type));
}

int64_t schedule::getScratchBytes(Operation *op) {
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()), SmallVector<Type>(op->getResultTypes())))
    if (auto tile = dyn_cast<tk::TileType>(type))
      if (!tile.getLayout())
        return 0;
  if (isa<tk::PartSendOp, tk::PartSumOp>(op)) // How many CTAs came before.
    return 16;
  if (auto convert = dyn_cast<tk::ConvertOp>(op))
    return getConversionBytes(convert.getInput().getType().getLayout().getValue(),
                              convert.getResult().getType().getLayout().getValue(), convert.getInput().getType());
  if (auto broadcast = dyn_cast<tk::BroadcastOp>(op))
    return getConversionBytes(broadcast.getInput().getType().getLayout().getValue(), getBroadcastSource(broadcast),
                              broadcast.getInput().getType());
  if (auto reduce = dyn_cast<tk::ReduceOp>(op))
    return getReduceBytes(reduce);
  if (auto store = dyn_cast<tk::StoreOp>(op)) {
    std::optional<StoreLines> lines = store.getLines() ? getStoreLines(store) : std::nullopt;
    return lines ? getWarps(store) * lines->bytesOfWarp() : 0;
  }
  if (auto scan = dyn_cast<tk::ScanOp>(op))
    return getLineBytes(scan.getInput(), scan.getDim());
  int64_t bytes = 0;
  if (auto sort = dyn_cast<tk::SortOp>(op))
    for (Value input : sort.getInputs())
      bytes = std::max(bytes, getLineBytes(input, sort.getDim()));
  return bytes;
}
