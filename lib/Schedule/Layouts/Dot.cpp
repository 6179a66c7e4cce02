// The layouts that a dot wants: its accumulator, operands in registers, and shared memory that cp.async writes and
// ldmatrix (or vector loads) read without bank conflicts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Schedule/Access.h"
#include "weft/Schedule/DotLayouts.h"
#include "weft/Schedule/Mma.h"
#include "weft/Schedule/Wgmma.h"

using namespace mlir;
using namespace weft;
using namespace weft::schedule;
using layout::LinearLayout;

//===-- Shared memory ---------------------------------------------------------------------------------------------===//

/// The tk.alloc behind a slot.
static tk::AllocOp getBuffer(Value shared) {
  if (auto slot = shared.getDefiningOp<tk::SlotOp>())
    return getBuffer(slot.getBuffer());
  return shared.getDefiningOp<tk::AllocOp>();
}

/// All ops that use a buffer or its slots.
static void forEachUser(Value buffer, function_ref<void(Operation *)> visit) {
  for (Operation *user : buffer.getUsers()) {
    if (auto slot = dyn_cast<tk::SlotOp>(user))
      forEachUser(slot.getResult(), visit);
    else
      visit(user);
  }
}

namespace {
/// Who fills a buffer.
struct Producer {
  tk::CopyOp copy;
  tk::LocalStoreOp store;
};
} // namespace

static Producer getProducer(Value shared) {
  Producer producer;
  if (tk::AllocOp buffer = getBuffer(shared))
    forEachUser(buffer.getResult(), [&](Operation *user) {
      if (auto copy = dyn_cast<tk::CopyOp>(user))
        producer.copy = copy;
      if (auto store = dyn_cast<tk::LocalStoreOp>(user))
        producer.store = store;
    });
  return producer;
}

/// The dimension along which the global loads behind a computed tile are contiguous; nothing if no load is behind it.
static std::optional<unsigned> getLoadedDim(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto load = dyn_cast_or_null<tk::LoadOp>(op); load && load.getIndices().empty())
    return getContiguity(getAccess(load), 16).dim;
  if (auto broadcast = dyn_cast_or_null<tk::BroadcastOp>(op)) {
    std::optional<unsigned> dim = getLoadedDim(broadcast.getInput());
    return dim && *dim < broadcast.getDims().size() ? std::optional<unsigned>(broadcast.getDims()[*dim]) : std::nullopt;
  }
  if (isa_and_nonnull<tk::MapOp>(op))
    for (Value input : op->getOperands())
      if (std::optional<unsigned> dim = getLoadedDim(input))
        return dim;
  return std::nullopt;
}

/// The dimension along which an operand in shared memory is contiguous: as its copy finds it in global memory. What
/// comes from registers is free: along k where ldmatrix cannot transpose, that is, for elements of other than 16 bits.
static unsigned getFastDim(Value shared, unsigned operand, bool isMma, unsigned bits) {
  Producer producer = getProducer(shared);
  if (producer.copy)
    return getContiguity(getAccess(producer.copy), 128 / bits).dim;
  if (isMma && bits != 16)
    return operand == 0 ? 1 : 0;
  std::optional<unsigned> loaded = producer.store ? getLoadedDim(producer.store.getValue()) : std::nullopt;
  return loaded && *loaded < 2 ? *loaded : 1;
}

/// Rows of the fast dimension, their pieces of `granule` bytes permuted by the row: eight pieces of 16 bytes (or four
/// of 32) of consecutive rows lie in different banks, and a row's pieces still fill whole lines. Pieces of 32 bytes
/// where lanes read words of several rows: tf32 along n, f64.
static std::optional<LinearLayout> makeOperandMemory(Value shared, unsigned operand, bool isMma) {
  auto type = cast<tk::SharedType>(shared.getType());
  unsigned bits = tk::getElementBits(type.getElementType()), kDim = operand == 0 ? 1 : 0;
  unsigned fast = getFastDim(shared, operand, isMma, bits);
  layout::Shared memory{{uint64_t(type.getShape()[0]), uint64_t(type.getShape()[1])}, {fast, 1 - fast}, bits};
  unsigned rowBytes = type.getShape()[fast] * bits / 8, lineBytes = std::min(rowBytes, 128u);
  Producer producer = getProducer(shared);
  if (producer.copy && producer.copy.getEngine() == tk::CopyEngine::Tma)
    return lineBytes < 32 ? layout::makeShared(memory) : layout::makeTmaSwizzled(memory, lineBytes);
  unsigned granule = isMma && (bits == 64 || (bits == 32 && fast != kDim)) ? 32 : 16;
  if (lineBytes <= granule)
    return layout::makeShared(memory);
  return layout::makeSwizzled(memory, granule * 8 / bits, std::max(1u, 128 / rowBytes), lineBytes / granule);
}

//===-- Registers -------------------------------------------------------------------------------------------------===//

/// Whether `value`, computed element by element, becomes the left operand of a dot in registers.
static bool becomesLhs(Value value) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<tk::DotOp>(user) && use.getOperandNumber() == 0)
      return true;
    if (isa<tk::MapOp, tk::ConvertOp>(user) && llvm::any_of(user->getResults(), becomesLhs))
      return true;
    if (isa<scf::YieldOp>(user) && isa<scf::IfOp>(user->getParentOp()) &&
        becomesLhs(user->getParentOp()->getResult(use.getOperandNumber())))
      return true;
  }
  return false;
}

/// FMA: vectors along m or n where shared memory is contiguous along them; single rows where it is along k, so that
/// neighbouring lanes have neighbouring rows.
static std::optional<LinearLayout> makeFmaLayout(tk::DotOp dot, int64_t warps) {
  unsigned bits = tk::getElementBits(getTileElement(dot.getLhs().getType()));
  int64_t vectors[2];
  for (unsigned operand : {0u, 1u}) {
    Value value = dot->getOperand(operand);
    bool isAlongK =
        isa<tk::SharedType>(value.getType()) && getFastDim(value, operand, /*isMma=*/false, bits) == 1 - operand;
    vectors[operand] = isAlongK ? 1 : 4;
  }
  ArrayRef<int64_t> shape = dot.getAcc().getType().getShape();
  return makeFmaAccumulator(shape[0], shape[1], warps, vectors[0], vectors[1]);
}

static std::optional<DotLayouts> makeLayouts(tk::DotOp dot, int64_t warps) {
  std::optional<MmaForm> form = getMmaForm(dot);
  ArrayRef<int64_t> shape = dot.getAcc().getType().getShape();
  int64_t k = getTileShape(dot.getLhs().getType())[1], slices = dot.getSlices();
  ArrayRef<int64_t> order = dot.getDepthOrder().value_or(ArrayRef<int64_t>());
  bool keepsRows = (isa<tk::TileType>(dot.getLhs().getType()) && order.empty()) || becomesLhs(dot.getResult());
  std::optional<LinearLayout> acc =
      form ? makeMmaAccumulator(*form, shape[0], shape[1], warps, keepsRows, slices, dot.countLiveColumns())
           : makeFmaLayout(dot, warps);
  if (!acc || (!form && slices > 1))
    return std::nullopt;
  DotLayouts layouts;
  layouts.acc = tk::LayoutAttr::get(dot.getContext(), *acc);
  for (unsigned operand : {0u, 1u}) {
    Value value = dot->getOperand(operand);
    std::optional<LinearLayout> own =
        isa<tk::SharedType>(value.getType())
            ? makeOperandMemory(value, operand, form.has_value())
            : makeOperandStep(*acc, form ? &*form : nullptr, operand == 0 ? layout::Operand::a : layout::Operand::b,
                              k / slices, k, order);
    if (!own)
      return std::nullopt;
    (operand == 0 ? layouts.lhs : layouts.rhs) = tk::LayoutAttr::get(dot.getContext(), *own);
  }
  return layouts;
}

/// wgmma: shared memory as TMA fills it, whoever does.
static std::optional<DotLayouts> makeWgmmaLayouts(tk::DotOp dot, int64_t warps) {
  ArrayRef<int64_t> shape = dot.getAcc().getType().getShape();
  unsigned bits = tk::getElementBits(getTileElement(dot.getLhs().getType()));
  auto wrap = [&](const std::optional<LinearLayout> &layout) {
    return layout ? tk::LayoutAttr::get(dot.getContext(), *layout) : tk::LayoutAttr();
  };
  DotLayouts layouts;
  layouts.acc = wrap(getWgmmaAccumulator(shape[0], shape[1], warps));
  for (unsigned operand : {0u, 1u}) {
    Value value = dot->getOperand(operand);
    tk::LayoutAttr &own = operand == 0 ? layouts.lhs : layouts.rhs;
    if (isa<tk::SharedType>(value.getType())) {
      unsigned fast = getFastDim(value, operand, /*isMma=*/true, bits);
      bool isReadable = bits == 16 || fast == 1 - operand; // wgmma transposes 16-bit elements only.
      own = isReadable ? wrap(getWgmmaBuffer(getTileShape(value.getType()), fast, bits)) : tk::LayoutAttr();
    } else if (operand == 0) {
      own = wrap(getWgmmaLhs(shape[0], getTileShape(value.getType())[1], bits, shape[1], warps));
    }
  }
  return layouts.acc && layouts.lhs && layouts.rhs ? std::optional(layouts) : std::nullopt;
}

std::optional<DotLayouts> schedule::getDotLayouts(tk::DotOp dot, int64_t warps, StringRef target) {
  if (isWgmma(dot)) {
    std::optional<DotLayouts> layouts = makeWgmmaLayouts(dot, warps);
    if (!layouts)
      dot.emitOpError("expected operands that wgmma on ")
          << warps << " warps can read (both along k unless their elements have 16 bits), got "
          << dot.getLhs().getType() << ", " << dot.getRhs().getType() << " and " << dot.getAcc().getType();
    return layouts;
  }
  std::optional<DotLayouts> layouts = makeLayouts(dot, warps);
  if (!layouts)
    dot.emitOpError("expected extents that mma.sync or FMA on ")
        << warps << " warps of " << target << " can hold, got " << dot.getLhs().getType() << ", "
        << dot.getRhs().getType() << " and " << dot.getAcc().getType();
  return layouts;
}
