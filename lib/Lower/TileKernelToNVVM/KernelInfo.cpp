// Facts about a kernel before its conversion.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelInfo.h"
#include "Streams.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "weft/Dialect/TileKernel/IR/PartOps.h"
#include "weft/Lower/TileKernelToNVVM/Passes.h"
#include "weft/Schedule/Scratch.h"
#include "weft/Target/Multicast.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

static std::optional<int64_t> getConstant(Value value) {
  IntegerAttr attr;
  if (matchPattern(value, m_Constant(&attr)))
    return attr.getInt();
  return std::nullopt;
}

/// Bounds of an index value. Tile numbers, loop counters and symbols are not negative.
static Bounds findBounds(Value value, unsigned depth = 0) {
  if (std::optional<int64_t> constant = getConstant(value))
    return {*constant, *constant};
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    Bounds bounds{0, Bounds().max};
    if (auto tiles = dyn_cast<tk::ForTilesOp>(parent)) {
      if (auto extent = dyn_cast<AffineConstantExpr>(tiles.getExtents().getResult(argument.getArgNumber())))
        bounds.max = extent.getValue() - 1;
    } else if (auto loop = dyn_cast<scf::ForOp>(parent)) {
      if (value != loop.getInductionVar())
        return {};
      bounds.min = findBounds(loop.getLowerBound(), depth + 1).min;
      int64_t end = findBounds(loop.getUpperBound(), depth + 1).max;
      bounds.max = end == Bounds().max ? end : end - 1;
    } else if (!isa<func::FuncOp>(parent)) {
      return {};
    }
    return bounds;
  }
  Operation *op = value.getDefiningOp();
  if (isa<tk::ClusterRankOp>(op)) {
    auto kernel = op->getParentOfType<func::FuncOp>();
    auto ctas = kernel ? kernel->getAttrOfType<IntegerAttr>(clusterAttr) : IntegerAttr();
    return {0, ctas ? ctas.getInt() - 1 : 0};
  }
  if (isa<tk::TilePartOp>(op)) {
    constexpr int64_t most = 1 << 20; // Of a launch's CTAs.
    return {0, most};
  }
  if (depth > 8 || op->getNumOperands() != 2)
    return {};
  Bounds a = findBounds(op->getOperand(0), depth + 1), b = findBounds(op->getOperand(1), depth + 1);
  Bounds positive{0, Bounds().max};
  if (isa<arith::MaxSIOp>(op))
    return {std::max(a.min, b.min), std::max(a.max, b.max)};
  bool areNonNegative = a.min >= 0 && b.min >= 0, areSmall = a.max < (1ll << 31) && b.max < (1ll << 31);
  if (!areNonNegative)
    return {};
  if (isa<arith::DivUIOp, arith::DivSIOp>(op))
    return {0, a.max};
  if (isa<arith::RemUIOp, arith::RemSIOp>(op))
    return {0, b.max == Bounds().max ? b.max : std::max<int64_t>(b.max - 1, 0)};
  if (isa<arith::MinUIOp, arith::MinSIOp>(op))
    return {std::min(a.min, b.min), std::min(a.max, b.max)};
  if (isa<arith::SubIOp>(op))
    return areSmall ? Bounds{a.min - b.max, a.max - b.min} : Bounds();
  if (isa<arith::AddIOp>(op))
    return areSmall ? Bounds{a.min + b.min, a.max + b.max} : positive;
  if (isa<arith::MulIOp>(op))
    return areSmall ? Bounds{a.min * b.min, a.max * b.max} : positive;
  return {};
}

static unsigned countLoops(Value value) {
  unsigned depth = 0;
  for (Operation *op = value.getParentBlock()->getParentOp(); op && !isa<func::FuncOp>(op); op = op->getParentOp())
    depth += isa<scf::ForOp, tk::ForTilesOp>(op);
  return depth;
}

unsigned KernelInfo::findIndexBits(func::FuncOp kernel) {
  for (Type type : kernel.getArgumentTypes())
    if (auto global = dyn_cast<tk::GlobalType>(type)) {
      std::optional<int64_t> bytes = tg::getByteSize(global.getTensor());
      if (!bytes || *bytes >= int64_t(1) << 31)
        return 64;
    }
  return 32;
}

KernelInfo::KernelInfo(func::FuncOp kernel, bool dependentLaunch, std::optional<LaunchFrame> frame)
    : frame(std::move(frame)) {
  module = kernel->getParentOfType<ModuleOp>();
  if (auto attr = module->getAttrOfType<StringAttr>(tk::targetAttr))
    target = attr.getValue();
  waitsForGrids = dependentLaunch;
  Operation *holder = this->frame ? kernel.getOperation() : module.getOperation();
  if (auto attr = holder->getAttrOfType<DenseI64ArrayAttr>(steadyOperandsAttr))
    llvm::append_range(steadyArguments, attr.asArrayRef());
  if (auto attr = kernel->getAttrOfType<IntegerAttr>(tk::warpsAttr))
    warps = attr.getInt();
  if (auto attr = kernel->getAttrOfType<IntegerAttr>(clusterAttr))
    cluster = attr.getInt();
  if (auto attr = kernel->getAttrOfType<IntegerAttr>(tk::sharedBytesAttr))
    sharedBytes = attr.getInt();
  for (BlockArgument argument : kernel.getArguments())
    if (argument.getType().isIndex())
      symbolArguments.push_back(argument);
  indexBits = findIndexBits(kernel);
  recordFacts(kernel);
  streams = findStreams(kernel, target);
  placeScratch(kernel);
  shared = module.lookupSymbol<LLVM::GlobalOp>(sharedName);
  if (sharedBytes > 0 && !shared) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 0);
    shared = LLVM::GlobalOp::create(builder, kernel.getLoc(), bytes, /*isConstant=*/false, LLVM::Linkage::External,
                                    sharedName, Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
  }
}

bool KernelInfo::isSteady(Value tensor) const {
  auto argument = dyn_cast<BlockArgument>(tensor);
  return argument && llvm::is_contained(steadyArguments, int64_t(argument.getArgNumber()));
}

void KernelInfo::recordFacts(func::FuncOp kernel) {
  llvm::DenseSet<Value> written;
  kernel.walk([&](tk::StoreOp store) { written.insert(store.getTarget()); });
  kernel.walk([&](tk::StoreBoxOp store) { written.insert(store.getTarget()); });
  kernel.walk([&](tk::MakeChannelOp channel) {
    if (channel.getEngine() != tk::CopyEngine::Tma || !channel.getOffset())
      return;
    barriers.push_back(
        {int64_t(*channel.getOffset()), channel.getResult().getType().getSlots(), int64_t(channel.getConsumers())});
    if (!firstChannel)
      firstChannel = channel;
    hasMulticast |= channel->hasAttr(multicastAttr);
    hasCopies |= llvm::none_of(channel->getUsers(), llvm::IsaPred<tk::ClusterOpenOp>);
  });
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto set = dyn_cast<tk::RolesOp>(op)) {
      int64_t first = 0;
      for (auto [i, region] : llvm::enumerate(set.getRoles())) {
        Role role{int64_t(i) + 1, first, set.getWarps()[i]};
        region.walk([&](Operation *inner) { roles[inner] = role; });
        first += role.warps;
      }
    }
    std::optional<OperandRange> operands;
    llvm::TypeSwitch<Operation *>(op).Case<tk::LoadOp, tk::StoreOp, tk::CopyOp, tk::AffineOp, tk::GuardOp>(
        [&](auto access) { operands = access.getSymbols(); });
    if (operands)
      for (Value operand : *operands)
        symbols[op].push_back({findBounds(operand), countLoops(operand)});
    // The kernel before may still write what is not steady: such lines must not come from the non-coherent cache.
    if (auto load = dyn_cast<tk::LoadOp>(op))
      if (!written.contains(load.getSource()) && (!waitsForGrids || isSteady(load.getSource())) &&
          !(frame && frame->written.contains(load.getSource())))
        readOnly.insert(op);
  });
}

void KernelInfo::placeScratch(func::FuncOp kernel) {
  // Without an allocation pass every op that needs scratch uses one region, after what is allocated.
  int64_t base = llvm::alignTo(sharedBytes, 16), end = sharedBytes;
  kernel.walk([&](Operation *op) {
    int64_t bytes = schedule::getScratchBytes(op);
    if (bytes == 0)
      return;
    auto place = op->getAttrOfType<IntegerAttr>(schedule::scratchAttr);
    scratch[op] = place ? place.getInt() : base;
    end = std::max(end, scratch[op] + bytes);
  });
  sharedBytes = end;
}

Role KernelInfo::getRole(Operation *op) const {
  auto found = roles.find(op);
  return found == roles.end() ? getCta() : found->second;
}

Value KernelInfo::makeCta(ConversionPatternRewriter &rewriter, Location loc) const {
  return frame ? rewriter.getRemappedValue(frame->cta)
               : NVVM::BlockIdXOp::create(rewriter, loc, rewriter.getI32Type()).getResult();
}

Value KernelInfo::makeCtas(ConversionPatternRewriter &rewriter, Location loc) const {
  return frame ? rewriter.getRemappedValue(frame->ctas)
               : NVVM::GridDimXOp::create(rewriter, loc, rewriter.getI32Type()).getResult();
}

ArrayRef<SymbolFacts> KernelInfo::getSymbols(Operation *op) const {
  auto found = symbols.find(op);
  return found == symbols.end() ? ArrayRef<SymbolFacts>() : ArrayRef<SymbolFacts>(found->second);
}

int64_t KernelInfo::getScratch(Operation *op) const {
  auto found = scratch.find(op);
  return found == scratch.end() ? -1 : found->second;
}
