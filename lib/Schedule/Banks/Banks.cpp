// weft-tk-banks: what each access to shared memory in a loop costs in wavefronts, proved from its layouts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Offsets are linear over F2 in the bits of register, lane and warp, so the lanes of a pass touch 2^w words in 2^b
// banks evenly, whatever the register, warp or slot: equal ranks are the proof that there are no conflicts. The layouts
// are those by which the lowering makes its addresses (Mma.h, Wgmma.h, CopyLayout.h, DerivedLayouts.h).
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileKernel/IR/TileKernel.h"
#include "weft/Dialect/TileKernel/Layout/Analysis.h"
#include "weft/Schedule/CopyLayout.h"
#include "weft/Schedule/DerivedLayouts.h"
#include "weft/Schedule/Mma.h"
#include "weft/Schedule/Passes.h"
#include "weft/Schedule/Wgmma.h"
#include "weft/Target/Device.h"
#include "llvm/Support/FormatVariadic.h"

namespace weft::schedule {
#define GEN_PASS_DEF_TKBANKS
#include "weft/Schedule/Passes.h.inc"
} // namespace weft::schedule

using namespace mlir;
using namespace weft;
using namespace weft::schedule;
using layout::BankConflicts;
using layout::LinearLayout;

namespace {

/// One kind of access of an op. Without `conflicts` nothing is known of it.
struct BankUse {
  std::string what; ///< "writes its tile by stmatrix"
  std::optional<BankConflicts> conflicts;
};

class BankUses {
public:
  BankUses(const Device *device, int64_t warps) : device(device), warps(warps) {}

  /// What `op` does in shared memory; nothing for ops that do not touch it.
  SmallVector<BankUse> of(Operation *op) {
    uses.clear();
    if (auto dot = dyn_cast<tk::DotOp>(op)) {
      addOperand(dot, layout::Operand::a);
      addOperand(dot, layout::Operand::b);
    } else if (auto copy = dyn_cast<tk::CopyOp>(op)) {
      addCopy(copy);
    } else if (auto load = dyn_cast<tk::LocalLoadOp>(op)) {
      add("reads its tile", embedded(load.getResult().getType(), load.getBuffer().getType()),
          memoryOf(load.getBuffer().getType()), bitsOf(load.getResult().getType()), /*allowMatrix=*/true);
    } else if (auto store = dyn_cast<tk::LocalStoreOp>(op)) {
      add("writes its tile", layoutOf(store.getValue().getType()), memoryOf(store.getBuffer().getType()),
          bitsOf(store.getValue().getType()), /*allowMatrix=*/device && device->can.matrixStores);
    } else if (auto convert = dyn_cast<tk::ConvertOp>(op)) {
      addConversion(layoutOf(convert.getInput().getType()), layoutOf(convert.getResult().getType()),
                    bitsOf(convert.getInput().getType()));
    } else if (auto broadcast = dyn_cast<tk::BroadcastOp>(op)) {
      addConversion(layoutOf(broadcast.getInput().getType()), getBroadcastSource(broadcast),
                    bitsOf(broadcast.getInput().getType()));
    } else if (auto reduce = dyn_cast<tk::ReduceOp>(op)) {
      addReduce(reduce);
    } else if (auto scan = dyn_cast<tk::ScanOp>(op)) {
      addLines(scan.getInput(), scan.getDim());
    } else if (auto sort = dyn_cast<tk::SortOp>(op)) {
      for (Value input : sort.getInputs())
        addLines(input, sort.getDim());
    } else if (!isa<tk::SlotOp>(op) && llvm::any_of(op->getOperandTypes(), llvm::IsaPred<tk::SharedType>)) {
      uses.push_back({"uses a buffer in a way that is not analysed", std::nullopt});
    }
    return std::move(uses);
  }

private:
  static std::optional<LinearLayout> layoutOf(tk::TileType type) {
    return type.getLayout() ? std::optional(type.getLayout().getValue()) : std::nullopt;
  }
  static std::optional<LinearLayout> memoryOf(tk::SharedType type) {
    return type.getLayout() ? std::optional(type.getLayout().getValue()) : std::nullopt;
  }
  static unsigned bitsOf(tk::TileType type) { return std::max(tk::getElementBits(type.getElementType()), 8u); }
  static std::optional<LinearLayout> embedded(tk::TileType part, tk::SharedType whole) {
    if (!part.getLayout() || !whole.getLayout())
      return std::nullopt;
    return embedLayout(part.getLayout().getValue(), whole.getLayout().getValue());
  }

  /// By ldmatrix or stmatrix where they apply, else in the widest vectors.
  void add(StringRef what, const std::optional<LinearLayout> &registers, const std::optional<LinearLayout> &memory,
           unsigned bits, bool allowMatrix) {
    if (!registers || !memory) {
      uses.push_back({what.str(), std::nullopt});
      return;
    }
    std::optional<BankConflicts> matrix;
    if (allowMatrix && bits >= 8 && bits <= 32)
      matrix = layout::getMatrixConflicts(*registers, *memory, bits);
    if (matrix) {
      uses.push_back({llvm::formatv("{0} by matrices, {1} at a time", what, matrix->passes), matrix});
      return;
    }
    std::optional<layout::VectorWidth> width = layout::getVectorWidth(*registers, *memory, bits);
    addVectors(what, *registers, *memory, bits, width ? width->elements : 1);
  }
  void addVectors(StringRef what, const LinearLayout &registers, const LinearLayout &memory, unsigned bits,
                  unsigned elements) {
    uses.push_back({llvm::formatv("{0} in vectors of {1} bytes", what, elements * bits / 8),
                    layout::getBankConflicts(registers, memory, bits, elements)});
  }

  void addOperand(tk::DotOp dot, layout::Operand operand) {
    bool isLhs = operand == layout::Operand::a;
    StringRef what = isLhs ? "reads its left operand" : "reads its right operand";
    auto type = dyn_cast<tk::SharedType>((isLhs ? dot.getLhs() : dot.getRhs()).getType());
    if (!type)
      return;
    unsigned bits = tk::getElementBits(type.getElementType());
    if (isWgmma(dot)) {
      if (std::optional<WgmmaOperand> found = getWgmmaOperand(type, isLhs ? 0 : 1)) {
        // Lines are the rows of the 8 x 16 bytes that wgmma reads at once.
        std::optional<LinearLayout> places = type.getLayout().getValue().inverse();
        unsigned lineDim = found->isMnMajor == isLhs ? 1 : 0;
        layout::Vectors rows = places->basesOf(layout::dimName(lineDim));
        rows.resize(std::min<size_t>(rows.size(), 3));
        uses.push_back({(what + " by wgmma").str(), layout::getRowConflicts(rows, bits)});
        return;
      }
    }
    std::optional<DotStep> step = getDotStep(dot);
    std::optional<LinearLayout> registers;
    if (step)
      registers = makeOperandStep(dot.getAcc().getType().getLayout().getValue(), step->form ? &*step->form : nullptr,
                                  operand, step->depth, type.getShape()[isLhs ? 1 : 0]);
    add(what, registers, memoryOf(type), bits, /*allowMatrix=*/true);
  }

  void addCopy(tk::CopyOp copy) {
    tk::SharedType type = copy.getTarget().getType();
    if (copy.getEngine() == tk::CopyEngine::Tma)
      return; // Whole lines of 128 bytes, by no thread.
    std::optional<CopyLayout> found = getCopyLayout(copy, warps);
    if (!found) {
      uses.push_back({"writes its tile", std::nullopt});
      return;
    }
    addVectors("writes its tile", found->registers, type.getLayout().getValue(),
               tk::getElementBits(type.getElementType()), found->elements);
  }

  /// Through scratch; within a thread there is no access.
  void addConversion(const std::optional<LinearLayout> &from, const std::optional<LinearLayout> &to, unsigned bits) {
    if (!from || !to) {
      uses.push_back({"changes a layout", std::nullopt});
      return;
    }
    std::optional<layout::Conversion> conversion = layout::classifyConversion(*from, *to);
    if (conversion && conversion->kind <= layout::ConversionKind::withinThread)
      return;
    std::optional<layout::SwizzleChoice> choice = layout::chooseSwizzle(*from, *to, bits);
    std::optional<LinearLayout> memory = choice ? std::optional(choice->memory) : std::nullopt;
    add("changes a layout, writing", from, memory, bits, /*allowMatrix=*/false);
    add("changes a layout, reading", to, memory, bits, /*allowMatrix=*/false);
  }

  void addReduce(tk::ReduceOp reduce) {
    auto input = cast<tk::TileType>(reduce.getInputs().front().getType());
    std::optional<LinearLayout> natural;
    if (input.getLayout())
      natural = getReducedLayout(input.getLayout().getValue(), reduce.getDims());
    if (!natural) {
      uses.push_back({"combines across warps", std::nullopt});
      return;
    }
    uint64_t across = getReducedBits(input.getLayout().getValue(), reduce.getDims()).warps;
    for (Value result : reduce.getResults()) {
      auto type = cast<tk::TileType>(result.getType());
      if (across) {
        PartLayouts parts = getPartLayouts(*natural, across, bitsOf(type));
        LinearLayout memory = LinearLayout::identity("offset", "offset", parts.write.outBits());
        add("combines across warps, writing", parts.write, memory, bitsOf(type), /*allowMatrix=*/false);
        add("combines across warps, reading", parts.read, memory, bitsOf(type), /*allowMatrix=*/false);
      }
      addConversion(*natural, layoutOf(type), bitsOf(type));
    }
  }

  void addLines(Value tile, int64_t dim) {
    auto type = cast<tk::TileType>(tile.getType());
    std::optional<LinearLayout> own = layoutOf(type);
    if (!own)
      return;
    LinearLayout lines = getLineLayout(*own, dim);
    addConversion(own, lines, bitsOf(type));
    addConversion(lines, own, bitsOf(type));
  }

  const Device *device; ///< Null: an architecture that is not in the table.
  int64_t warps;
  SmallVector<BankUse> uses;
};

class TkBanks : public schedule::impl::TkBanksBase<TkBanks> {
  void runOnOperation() override {
    if (!getContext().getRemarkEngine())
      return;
    auto target = getOperation()->getAttrOfType<StringAttr>(tk::targetAttr);
    getOperation()->walk([&](Operation *op) {
      if (op->getParentOfType<scf::ForOp>())
        for (const BankUse &use : BankUses(target ? findDevice(target.getValue()) : nullptr, getWarps(op)).of(op))
          report(op, use);
    });
  }

  void report(Operation *op, const BankUse &use) {
    auto options =
        remark::RemarkOpts::name("banks").category("layout").function(getOperation().getName().value_or("kernel"));
    std::string what = (op->getName().getStringRef() + " " + use.what).str();
    if (!use.conflicts)
      remark::failed(op->getLoc(), options) << remark::add("{0}: bank conflicts are not known", what);
    else if (use.conflicts->isFree())
      remark::passed(op->getLoc(), options) << remark::add("{0}: no bank conflicts", what);
    else
      remark::missed(op->getLoc(), options) << remark::add("{0}: {1} wavefronts instead of {2}", what,
                                                           use.conflicts->wavefronts(), use.conflicts->passes);
  }
};

} // namespace
