// weft-plan-layouts: the order in memory of the dimensions of each tensor between kernels, as Layouts.h prices it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CopyKernels.h"
#include "Layouts.h"
#include "RaiseTransposes.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/Passes.h"
#include "weft/Plan/WeightOrder.h"
#include "weft/Target/ContextDevices.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace weft::plan {
#define GEN_PASS_DEF_PLANLAYOUTS
#include "weft/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

/// New dimension i is old dimension order[i].
static SmallVector<int64_t> makeOrder(unsigned rank, unsigned inner) {
  SmallVector<int64_t> order;
  for (unsigned d = 0; d < rank; ++d)
    if (d != inner)
      order.push_back(d);
  order.push_back(inner);
  return order;
}

static SmallVector<int64_t> invert(ArrayRef<int64_t> order) {
  SmallVector<int64_t> inverse(order.size());
  for (auto [i, d] : llvm::enumerate(order))
    inverse[d] = int64_t(i);
  return inverse;
}

/// The cast of what is stored, and behind it the transposition, which a contraction then takes in.
static void castStored(tg::CastOp cast, Value stored, ArrayRef<int64_t> inverse) {
  OpBuilder builder(cast);
  auto moved = llvm::cast<tg::CastOp>(builder.clone(*cast));
  moved->setOperand(0, stored);
  moved.getResult().setType(
      tg::getTensorType(tg::getDims(stored.getType()), llvm::cast<RankedTensorType>(cast.getType()).getElementType()));
  Value seen = tg::TransposeOp::create(builder, cast.getLoc(), moved, inverse);
  cast.getResult().replaceAllUsesWith(seen);
  cast.erase();
}

/// These kernels (all, if there is none) read `stored` where they read `value`, each through a transposition of its
/// own.
static void readThrough(Value value, Value stored, ArrayRef<int64_t> order, ArrayRef<Operation *> kernels = {}) {
  llvm::MapVector<Operation *, SmallVector<OpOperand *>> uses;
  for (OpOperand &use : value.getUses())
    if (auto kernel = use.getOwner()->getParentOfType<tg::KernelOp>();
        kernel && (kernels.empty() || llvm::is_contained(kernels, kernel)))
      uses[kernel].push_back(&use);
  for (auto &[kernel, operands] : uses) {
    OpBuilder builder = OpBuilder::atBlockBegin(&cast<tg::KernelOp>(kernel).getBody().front());
    Value seen = tg::TransposeOp::create(builder, value.getLoc(), stored, invert(order));
    for (OpOperand *operand : operands) {
      operand->set(seen);
      if (auto cast = dyn_cast<tg::CastOp>(operand->getOwner()); cast && stored.getDefiningOp<tg::WeightOp>())
        castStored(cast, stored, invert(order));
    }
  }
}

/// The bytes of a tensor of `bits` bits an element, several to a byte, with dimension i what was dimension order[i].
static std::string transposePacked(ArrayRef<char> bytes, ArrayRef<int64_t> shape, ArrayRef<int64_t> order,
                                   int64_t bits) {
  SmallVector<int64_t> strides(shape.size(), 1), places(shape.size(), 0);
  for (size_t d = shape.size() - 1; d-- > 0;)
    strides[d] = strides[d + 1] * shape[d + 1];
  std::string packed(bytes.size(), '\0');
  int64_t count = llvm::product_of(shape), from = 0, perByte = 8 / bits, mask = (1 << bits) - 1;
  for (int64_t to = 0; to < count; ++to) {
    int64_t field = uint8_t(bytes[from / perByte]) >> (from % perByte * bits) & mask;
    packed[to / perByte] = char(uint8_t(packed[to / perByte]) | field << (to % perByte * bits));
    for (size_t d = order.size(); d-- > 0;) { // The next position, as the new order counts.
      from += strides[order[d]];
      if (++places[d] < shape[order[d]])
        break;
      from -= strides[order[d]] * shape[order[d]];
      places[d] = 0;
    }
  }
  return packed;
}

/// The runtime transposes weights of whole bytes; others are written anew here. False if their bytes are not at hand.
static bool reorderWeight(tg::WeightOp weight, ArrayRef<int64_t> order) {
  OpBuilder builder(weight);
  auto type = cast<RankedTensorType>(weight.getType());
  SmallVector<int64_t> shape = llvm::map_to_vector(order, [&](int64_t d) { return type.getShape()[d]; });
  tg::DataAttr data = weight.getData();
  DenseI64ArrayAttr byRuntime = builder.getDenseI64ArrayAttr(order);
  if (int64_t bits = tg::getElementBits(type.getElementType()); bits < 8) {
    auto *dialect = builder.getContext()->getLoadedDialect<tg::TileGraphDialect>();
    auto bytes = dialect->getWeightStore().lookup(data.getSource(), data.getOffset(), data.getSize());
    if (!bytes)
      return false;
    std::string packed = transposePacked(ArrayRef(bytes->data(), bytes->size()), type.getShape(), order, bits);
    int64_t size = int64_t(packed.size());
    std::string source = dialect->getWeightStore().addBuffer(std::move(packed));
    data = tg::DataAttr::get(builder.getContext(), source, 0, size);
    byRuntime = {};
  }
  auto stored = tg::WeightOp::create(builder, weight.getLoc(), RankedTensorType::get(shape, type.getElementType()),
                                     data, byRuntime);
  readThrough(weight, stored, order);
  weight.erase();
  return true;
}

static void reorderResult(OpResult result, ArrayRef<int64_t> order) {
  auto kernel = cast<tg::KernelOp>(result.getOwner());
  Operation *yield = kernel.getBody().front().getTerminator();
  OpBuilder builder(yield);
  Value inner = yield->getOperand(result.getResultNumber());
  Value stored = tg::TransposeOp::create(builder, inner.getLoc(), inner, order);
  yield->setOperand(result.getResultNumber(), stored);
  result.setType(stored.getType());
  readThrough(result, result, order);
}

/// An operand from a kernel that copies it with zeros behind what it has along `dim`, which is innermost there.
static Value readCopyWithZeros(OpBuilder &builder, const OutsideOperand &operand, unsigned dim, int64_t zeros,
                               Operation *kernel) {
  Location loc = operand.value.getLoc();
  OpBuilder outside(kernel);
  SmallVector<int64_t> order = makeOrder(operand.order.size(), unsigned(operand.order[dim]));
  Value stored = makeCopyKernel(outside, kernel->getLoc(), operand.value, order, zeros);
  Value seen = tg::TransposeOp::create(builder, loc, stored, invert(order));
  return llvm::is_sorted(operand.order) ? seen : tg::TransposeOp::create(builder, loc, seen, operand.order).getResult();
}

/// The kernel's GEMMs sum as far as the copy goes.
static void readPadded(const LayoutCopy &copy, Value stored, ArrayRef<int64_t> order, Operation *kernel) {
  OpBuilder builder = OpBuilder::atBlockBegin(&cast<tg::KernelOp>(kernel).getBody().front());
  Value seen = tg::TransposeOp::create(builder, copy.value.getLoc(), stored, invert(order));
  for (const SummedOperand &summed : findSummed(copy.value, copy.inner, kernel)) {
    tg::ContractOp contract = summed.contract;
    builder.setInsertionPoint(contract);
    SmallVector<tg::PadOp> pads; // From the GEMM to the tensor.
    for (Value at = contract->getOperand(summed.number); at != copy.value; at = pads.back().getInput())
      pads.push_back(at.getDefiningOp<tg::PadOp>());
    Value operands[2];
    Value &own = operands[summed.number], &other = operands[1 - summed.number];
    own = seen;
    for (tg::PadOp pad : llvm::reverse(pads))
      own =
          tg::PadOp::create(builder, pad.getLoc(), own, pad.getValue(), pad.getLow(), pad.getHigh(), pad.getInterior());
    other = contract->getOperand(1 - summed.number);
    if (OutsideOperand outside = findOutside(other, kernel); copy.others.contains(outside.value))
      other = readCopyWithZeros(builder, outside, summed.other, copy.padding, kernel);
    else
      other = addZeros(builder, contract.getLoc(), other, summed.other, copy.padding);
    Value longer = tg::ContractOp::create(builder, contract.getLoc(), contract.getType(), operands[0], operands[1],
                                          contract.getMaps());
    contract.replaceAllUsesWith(longer);
    contract.erase();
    for (tg::PadOp pad : pads)
      if (pad->use_empty())
        pad.erase();
  }
}

/// A kernel that makes the copy, in front of the first that reads it.
static void applyCopy(const LayoutCopy &copy) {
  SmallVector<int64_t> order = makeOrder(cast<RankedTensorType>(copy.value.getType()).getRank(), copy.inner);
  OpBuilder builder(*llvm::min_element(copy.readers, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); }));
  Location loc = copy.readers.front()->getLoc();
  Value stored = makeCopyKernel(builder, loc, copy.value, order, copy.padding);
  if (!copy.padding)
    return readThrough(copy.value, stored, order, copy.readers);
  for (Operation *reader : copy.readers)
    readPadded(copy, stored, order, reader);
}

namespace {
struct PlanLayoutsPass : weft::plan::impl::PlanLayoutsBase<PlanLayoutsPass> {
  using Base::Base;

  void runOnOperation() override {
    tg::LikelyExtents likely(getOperation());
    bool isCpu = target == "cpu";
    const Device *device = target.empty() || isCpu ? nullptr : findDeviceOrError(getOperation(), target);
    if (!device && !target.empty() && !isCpu)
      return signalPassFailure();
    Layouts layouts(getOperation(), device, isCpu);
    layouts.choose();
    reorder(layouts, isCpu);
    if (device) {
      copy(*device);
      pad(*device);
    }
    getOperation().walk([](tg::WeightOp weight) { weight->removeAttr(innermostAttr); });
  }

private:
  auto remarkOf(Location loc) {
    return remark::passed(loc, remark::RemarkOpts::name("layout").category("plan").function(getOperation().getName()));
  }

  void reorder(const Layouts &layouts, bool isCpu) {
    llvm::SetVector<tg::KernelOp> changed; // Whose results have another order.
    for (const Tensor &tensor : layouts.getTensors()) {
      tg::Dims dims = tg::getDims(tensor.value.getType());
      unsigned rank = dims.size();
      auto behind = ArrayRef(dims).drop_front(std::min<size_t>(tensor.inner + 1, rank));
      if (!tensor.isFree || llvm::all_of(behind, [](AffineExpr extent) { return tg::getConstant(extent) == 1; }))
        continue;
      SmallVector<int64_t> order = makeOrder(rank, tensor.inner);
      Type type = tensor.value.getType();
      auto weight = tensor.value.getDefiningOp<tg::WeightOp>();
      Location loc = tensor.value.getLoc();
      if (weight && !reorderWeight(weight, order))
        continue;
      remarkOf(loc) << remark::add("{0} has dimension {1} innermost in memory", type, tensor.inner);
      ++numReordered;
      if (weight)
        continue;
      reorderResult(cast<OpResult>(tensor.value), order);
      changed.insert(tensor.value.getDefiningOp<tg::KernelOp>());
    }
    for (tg::KernelOp kernel : changed)
      raiseTransposes(kernel.getBody().front(), isCpu);
  }

  /// Of the orders as they are now.
  void copy(const Device &device) {
    Layouts layouts(getOperation(), &device);
    for (const LayoutCopy &copy : layouts.chooseCopies(device)) {
      remarkOf(copy.readers.front()->getLoc())
          << remark::add("{0} is copied with axis {1} innermost, {2}{3}", copy.value.getType(), copy.inner,
                         copy.isOfWindows ? "as results of windows over each channel are" : "over which GEMMs contract",
                         copy.padding ? llvm::formatv(", and {0} of zeros", copy.padding).str() : std::string());
      ++numCopied;
      applyCopy(copy);
    }
  }

  void pad(const Device &device) {
    Layouts layouts(getOperation(), &device);
    PaddedRows rows;
    for (const RowPadding &padding : layouts.choosePaddings(device)) {
      Operation *contract = padding.contract;
      for (unsigned operand : padding.copied) {
        Value value = contract->getOperand(operand);
        if (rows.has(value))
          continue;
        remarkOf(contract->getLoc()) << remark::add(
            "{0} is copied with rows of {1} elements, over which a GEMM contracts", value.getType(), padding.after);
        ++numCopied;
      }
      rows.apply(padding);
    }
  }
};
} // namespace
