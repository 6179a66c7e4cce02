// Layouts of wgmma's operands and accumulators, over all warpgroups of a dot, and the descriptors of its operands in
// shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Schedule/Wgmma.h"
#include "mlir/IR/BuiltinOps.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"
#include "weft/Target/Device.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;
using layout::LinearLayout;

bool schedule::isWgmma(tk::DotOp dot) {
  auto module = dot->getParentOfType<ModuleOp>();
  auto target = module ? module->getAttrOfType<StringAttr>(tk::targetAttr) : StringAttr();
  const Device *device = target ? findDevice(target.getValue()) : nullptr;
  if (!device || !device->hasWgmma() || dot.getEngine() != tg::Engine::Wgmma)
    return false;
  auto shaped = dyn_cast<tk::TileType>(dot.getLhs().getType());
  Type element = shaped ? shaped.getElementType() : cast<tk::SharedType>(dot.getLhs().getType()).getElementType();
  ArrayRef<int64_t> shape = shaped ? shaped.getShape() : cast<tk::SharedType>(dot.getLhs().getType()).getShape();
  bool isFloat = element.isF16() || element.isBF16() || (element.isF32() && dot.getTf32());
  if (!isFloat && !(element.isInteger(8) && dot.getAcc().getType().getElementType().isInteger(32)))
    return false;
  return shape[0] >= 64 && dot.getAcc().getType().getShape()[1] >= 8 &&
         shape[1] * element.getIntOrFloatBitWidth() / 8 >= wgmmaDepthBytes;
}

std::optional<WgmmaTiling> schedule::getWgmmaTiling(int64_t m, int64_t n, int64_t warps) {
  if (warps < 4 || warps % 4 || !llvm::isPowerOf2_64(warps) || m < 64)
    return std::nullopt;
  WgmmaTiling tiling;
  int64_t groups = warps / 4;
  tiling.rowGroups = std::min(groups, m / 64);
  tiling.columnGroups = groups / tiling.rowGroups;
  int64_t columns = n / tiling.columnGroups;
  if (columns < 8)
    return std::nullopt;
  tiling.columns = std::min<int64_t>(columns, 256);
  tiling.columnSteps = columns / tiling.columns;
  tiling.rowSteps = m / (64 * tiling.rowGroups);
  // Layouts are linear over bits: steps are powers of two, and what they cover is the whole tile.
  bool isWhole = tiling.columns % 8 == 0 && llvm::isPowerOf2_64(tiling.columnSteps) &&
                 llvm::isPowerOf2_64(tiling.rowSteps) && llvm::isPowerOf2_64(tiling.rowGroups) &&
                 m == 64 * tiling.rowGroups * tiling.rowSteps &&
                 n == tiling.columns * tiling.columnSteps * tiling.columnGroups;
  return isWhole ? std::optional(tiling) : std::nullopt;
}

/// Multiplies `layout` by factors (in, out, values) in turn and puts the dimensions in order; `zeros` stands for no
/// output.
static std::optional<LinearLayout> multiply(std::optional<LinearLayout> layout,
                                            ArrayRef<std::tuple<const char *, const char *, int64_t>> factors) {
  for (auto [in, out, values] : factors) {
    if (!layout)
      return std::nullopt;
    unsigned bits = llvm::Log2_64(values);
    if (bits == 0)
      continue;
    layout = layout->product(out[0] ? LinearLayout::identity(in, out, bits) : LinearLayout::zeros(in, bits, {}));
  }
  return layout ? layout->transposed({"register", "lane", "warp"}, {"dim0", "dim1"}) : std::nullopt;
}

std::optional<LinearLayout> schedule::getWgmmaAccumulator(int64_t m, int64_t n, int64_t warps) {
  std::optional<WgmmaTiling> tiling = getWgmmaTiling(m, n, warps);
  if (!tiling)
    return std::nullopt;
  return multiply(layout::makeWgmmaAccumulator(tiling->columns), {{"register", "dim1", tiling->columnSteps},
                                                                  {"warp", "dim0", tiling->rowGroups},
                                                                  {"register", "dim0", tiling->rowSteps},
                                                                  {"warp", "dim1", tiling->columnGroups}});
}

std::optional<LinearLayout> schedule::getWgmmaLhs(int64_t m, int64_t k, unsigned elementBits, int64_t n,
                                                  int64_t warps) {
  std::optional<WgmmaTiling> tiling = getWgmmaTiling(m, n, warps);
  if (!tiling || elementBits < 8 || elementBits > 32 || k * elementBits < wgmmaDepthBytes * 8)
    return std::nullopt;
  auto type = elementBits == 8    ? layout::ElementType::s8
              : elementBits == 16 ? layout::ElementType::f16
                                  : layout::ElementType::tf32;
  return multiply(layout::makeWgmmaA(type), {{"register", "dim1", k * elementBits / 8 / wgmmaDepthBytes},
                                             {"warp", "dim0", tiling->rowGroups},
                                             {"register", "dim0", tiling->rowSteps},
                                             {"warp", "", tiling->columnGroups}});
}

static std::optional<LinearLayout> makeBuffer(ArrayRef<int64_t> shape, unsigned inner, unsigned elementBits,
                                              unsigned span) {
  layout::Shared shared;
  shared.shape.assign(shape.begin(), shape.end());
  shared.order = {inner, 1 - inner};
  shared.elementBits = elementBits;
  return layout::makeTmaSwizzled(shared, span);
}

std::optional<LinearLayout> schedule::getWgmmaBuffer(ArrayRef<int64_t> shape, unsigned inner, unsigned elementBits) {
  if (shape.size() != 2 || inner > 1 || elementBits < 8 || elementBits > 32)
    return std::nullopt;
  return makeBuffer(shape, inner, elementBits, std::min<int64_t>(128, shape[inner] * elementBits / 8));
}

int64_t WgmmaOperand::offset(int64_t mn, int64_t k) const {
  int64_t line = isMnMajor ? k : mn, bytes = (isMnMajor ? mn : k) * elementBytes;
  return bytes / span * panelBytes() + line * span + bytes % span;
}

uint64_t WgmmaOperand::descriptor() const {
  uint64_t swizzle = span == 128 ? 1 : span == 64 ? 2 : 3;
  // Leading: from panel to panel (MN-major; K-major swizzled matrices have none, and 1 by convention). Stride: 8 lines.
  uint64_t leading = isMnMajor ? uint64_t(panelBytes()) >> 4 : 1, stride = span * 8 >> 4;
  return leading << 16 | stride << 32 | swizzle << 62;
}

std::optional<WgmmaOperand> schedule::getWgmmaOperand(tk::SharedType buffer, unsigned mnDim) {
  unsigned bits = tk::getElementBits(buffer.getElementType());
  if (buffer.getRank() != 2 || !buffer.getLayout() || bits < 8 || bits > 32)
    return std::nullopt;
  for (unsigned inner : {1 - mnDim, mnDim}) {
    bool isMnMajor = inner == mnDim;
    if (isMnMajor && bits != 16)
      continue;
    for (unsigned span : {128u, 64u, 32u}) {
      std::optional<LinearLayout> layout = makeBuffer(buffer.getShape(), inner, bits, span);
      if (layout && layout->canonical() == buffer.getLayout().getValue().canonical())
        return WgmmaOperand{isMnMajor, span, buffer.getShape()[1 - inner], bits / 8};
    }
  }
  return std::nullopt;
}
