// --weft-lower-tk: converts a kernel of tiles to scalars of a thread, and its function to an nvvm kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DependentLaunch.h"
#include "EarlyLoads.h"
#include "LaunchLowering.h"
#include "Memory.h"
#include "Parts.h"
#include "ReadAhead.h"
#include "Tma.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "weft/Lower/TileKernelToNVVM/Passes.h"
#include "weft/Schedule/LaunchPart.h"
#include "weft/Target/Device.h"

namespace weft::gpu {
#define GEN_PASS_DEF_LOWERTK
#include "weft/Lower/TileKernelToNVVM/Passes.h.inc"
} // namespace weft::gpu

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

static void addTileConversions(TypeConverter &converter) {
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([](tk::TileType type, SmallVectorImpl<Type> &types) -> std::optional<LogicalResult> {
    if (!type.getLayout())
      return failure();
    types.append(countRegisters(type.getLayout().getValue()), type.getElementType());
    return success();
  });
  converter.addConversion([](tk::GlobalType type) -> Type { return LLVM::LLVMPointerType::get(type.getContext(), 1); });
  converter.addConversion([](tk::SharedType type) -> Type { return LLVM::LLVMPointerType::get(type.getContext(), 3); });
  converter.addConversion(
      [](tk::ChannelType type) -> Type { return LLVM::LLVMPointerType::get(type.getContext(), 3); });
}

/// Every tile has a layout, over warps that are there.
static LogicalResult checkTiles(func::FuncOp kernel, const KernelInfo &info) {
  WalkResult walked = kernel.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tile = dyn_cast<tk::TileType>(type)) {
        if (!tile.getLayout()) {
          op->emitOpError("expected a tile with a layout, got ") << tile << "; run --weft-tk-layouts first";
          return WalkResult::interrupt();
        }
        const layout::LinearLayout &layout = tile.getLayout().getValue();
        if (layout.inBits("lane") > 5 || (int64_t(1) << layout.inBits("warp")) > info.getRole(op).warps) {
          op->emitOpError("expected a layout over 32 lanes and ") << info.getRole(op).warps << " warps, got " << tile;
          return WalkResult::interrupt();
        }
      }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

/// func.func @kernel(pointers, index...) to llvm.func @kernel(pointers, i64...).
static LLVM::LLVMFuncOp makeKernelFunction(func::FuncOp kernel, int64_t warps) {
  OpBuilder builder(kernel);
  Location loc = kernel.getLoc();
  SmallVector<Type> arguments;
  for (Type type : kernel.getArgumentTypes())
    arguments.push_back(type.isIndex() ? builder.getI64Type() : type);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), arguments);
  auto function = LLVM::LLVMFuncOp::create(builder, loc, kernel.getName(), type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getReqntidAttrName(), builder.getDenseI32ArrayAttr({int32_t(warps * 32)}));
  for (unsigned i = 0; i < arguments.size(); ++i)
    if (DictionaryAttr attrs = kernel.getArgAttrDict(i))
      function.setArgAttrs(i, attrs);
  function.getBody().takeBody(kernel.getBody());
  Block &entry = function.getBody().front();
  builder.setInsertionPointToStart(&entry);
  for (BlockArgument argument : entry.getArguments())
    if (argument.getType().isIndex()) {
      argument.setType(builder.getI64Type());
      auto cast = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), argument);
      argument.replaceAllUsesExcept(cast, cast);
    }
  function.walk([](func::ReturnOp op) {
    OpBuilder at(op);
    LLVM::ReturnOp::create(at, op.getLoc(), ValueRange());
    op.erase();
  });
  kernel.erase();
  return function;
}

/// One thread asks for the tensor maps, the last `maps` parameters, while the others make the barriers: the first copy
/// would wait for its map to come from DRAM.
static void prefetchTensorMaps(Block &entry, Location loc, size_t maps) {
  OpBuilder builder = OpBuilder::atBlockBegin(&entry);
  for (auto variable : entry.getOps<LLVM::AllocaOp>()) // They stay in the entry, else they stay in memory.
    builder.setInsertionPointAfter(variable);
  Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  Value isOne = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread,
                                      arith::ConstantIntOp::create(builder, loc, 32, 32));
  auto branch = scf::IfOp::create(builder, loc, isOne, /*withElseRegion=*/false);
  OpBuilder then = branch.getThenBodyBuilder();
  for (BlockArgument map : entry.getArguments().take_back(maps))
    emitAsm(then, loc, {}, {map}, "prefetch.tensormap [$0];", "l", /*hasSideEffects=*/true);
}

namespace {

class LowerTk : public weft::gpu::impl::LowerTkBase<LowerTk> {
public:
  using Base::Base;

private:
  /// What is known of a function whose tiles are scalars by now.
  struct Lowered {
    std::shared_ptr<KernelInfo> info;
    AffineMap grid;
    std::optional<SmallVector<SteadyTensor>> uncopied; ///< None: it need not wait for grids.
  };

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto kernel = module.lookupSymbol<func::FuncOp>("kernel");
    if (!kernel || kernel.isExternal() || kernel.getNumResults()) {
      module.emitError("expected a kernel module with a function @kernel of tk ops without results");
      return signalPassFailure();
    }
    if (auto launches = kernel.getOps<tk::LaunchOp>(); !launches.empty()) {
      if (failed(lowerLaunch(kernel, *launches.begin())))
        signalPassFailure();
      return;
    }
    std::optional<Lowered> lowered = lower(kernel, std::nullopt);
    if (!lowered)
      return signalPassFailure();
    const KernelInfo &info = *lowered->info;
    LLVM::LLVMFuncOp function = makeKernelFunction(kernel, info.warps);
    addPrefetches(function.getBody().front(), function.getLoc(), *lowered, {});
    setAttributes(module, info, lowered->grid);
  }

  /// A kernel's, or a task's, tiles to scalars in structured control flow.
  std::optional<Lowered> lower(func::FuncOp kernel, std::optional<LaunchFrame> frame) {
    ModuleOp module = getOperation();
    auto target = module->getAttrOfType<StringAttr>(tk::targetAttr);
    const Device *device = findDevice(target ? target.getValue() : StringRef());
    bool mayStartEarly = dependentLaunch && canStartEarly(device);
    DenseSet<Value> steady = findSteadyOperands(kernel);
    hoistLoads(kernel, [&](Value value) {
      return mayStartEarly && isa<tk::GlobalType>(value.getType()) && !steady.contains(value);
    });
    Lowered lowered;
    lowered.grid = schedule::findGrid(kernel);
    if (mayStartEarly)
      lowered.uncopied = placeGridWaits(kernel, *device, schedule::findStaticGrid(lowered.grid));
    lowerCursors(kernel);
    lowered.info = std::make_shared<KernelInfo>(kernel, lowered.uncopied.has_value(), std::move(frame));
    KernelInfo &info = *lowered.info;
    if (failed(checkTiles(kernel, info)))
      return std::nullopt;
    requireVersion(module, kernel);
    recordDots(kernel, info);
    if (failed(addTensorMaps(kernel, info)) || failed(convert(kernel, info)))
      return std::nullopt;
    packLoopState(kernel);
    readAhead(kernel);
    return lowered;
  }

  /// What is asked for at the begin of the body `entry`.
  static void addPrefetches(Block &entry, Location loc, const Lowered &lowered, Value cta) {
    if (size_t maps = lowered.info->tensorMapRecords.size())
      prefetchTensorMaps(entry, loc, maps);
    if (lowered.uncopied)
      emitPrefetches(entry, loc, *lowered.uncopied, schedule::findStaticGrid(lowered.grid), lowered.info->warps, cta);
  }

  LogicalResult lowerLaunch(func::FuncOp kernel, tk::LaunchOp launch) {
    LaunchLowering lowering(kernel, launch);
    for (unsigned task = 0; task < lowering.size(); ++task) {
      func::FuncOp function = lowering.getFunction(task);
      std::optional<Lowered> lowered = lower(function, lowering.makeFrame(task));
      if (!lowered)
        return failure();
      lowering.take(task, lowered->info);
      addPrefetches(function.getBody().front(), function.getLoc(), *lowered, lowering.getCta(task));
    }
    FailureOr<func::FuncOp> whole = lowering.finish();
    if (failed(whole))
      return failure();
    int64_t ctas = lowering.getCtasOfSm();
    LLVM::LLVMFuncOp function = makeKernelFunction(*whole, lowering.getWarps());
    if (ctas > 1) // Else registers take over.
      function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                        IntegerAttr::get(IntegerType::get(&getContext(), 32), ctas));
    return success();
  }

  /// cp.async with the prefetch of a line (.L2::128B) is of PTX 7.4, st.async of 8.1, a wgmma of one operand with a
  /// sign and one without of 8.4.
  static void requireVersion(ModuleOp module, func::FuncOp kernel) {
    int64_t version = 0;
    kernel.walk([&](Operation *op) {
      auto copy = dyn_cast<tk::CopyOp>(op);
      if (copy && copy.getEngine() == tk::CopyEngine::CpAsync)
        version = std::max<int64_t>(version, 74);
      auto open = dyn_cast<tk::ClusterOpenOp>(op);
      if (open && open.getChannel())
        version = std::max<int64_t>(version, 81);
      auto dot = dyn_cast<tk::DotOp>(op);
      if (dot && dot.getEngine() == tg::Engine::Wgmma && dot.getUnsignedLhs() != dot.getUnsignedRhs())
        version = std::max<int64_t>(version, 84);
    });
    if (auto other = module->getAttrOfType<IntegerAttr>(ptxVersionAttr)) // Of another task of the launch.
      version = std::max(version, other.getInt());
    if (version)
      module->setAttr(ptxVersionAttr, Builder(module.getContext()).getI64IntegerAttr(version));
  }

  LogicalResult convert(func::FuncOp kernel, const KernelInfo &info) {
    TypeConverter converter;
    addTileConversions(converter);
    RewritePatternSet patterns(&getContext());
    ConversionTarget target(getContext());
    target.addLegalDialect<arith::ArithDialect, math::MathDialect, vector::VectorDialect, LLVM::LLVMDialect,
                           NVVM::NVVMDialect, cf::ControlFlowDialect>();
    target.addIllegalDialect<tk::TileKernelDialect>();
    target.addDynamicallyLegalOp<func::FuncOp>(
        [&](func::FuncOp op) { return converter.isSignatureLegal(op.getFunctionType()); });
    target.addLegalOp<func::ReturnOp>();
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns, converter);
    populateControlPatterns(converter, patterns, info);
    populateElementPatterns(converter, patterns, info);
    populateGlobalPatterns(converter, patterns, info);
    populateConversionPatterns(converter, patterns, info);
    populateReductionPatterns(converter, patterns, info);
    populateScanPatterns(converter, patterns, info);
    populateSharedMemoryPatterns(converter, patterns, info);
    populateCpAsyncPatterns(converter, patterns, info);
    populateDotPatterns(converter, patterns, info);
    populateRolePatterns(converter, patterns, info);
    populateClusterPatterns(converter, patterns, info);
    populatePartPatterns(converter, patterns, info);
    populateMbarrierPatterns(converter, patterns, info);
    populateTmaPatterns(converter, patterns, info);
    populateWgmmaPatterns(converter, patterns, info);
    return applyPartialConversion(kernel, target, std::move(patterns));
  }

  static void setAttributes(ModuleOp module, const KernelInfo &info, AffineMap grid) {
    Builder builder(module.getContext());
    module->setAttr(gridAttr, AffineMapAttr::get(grid));
    module->setAttr(warpsAttr, builder.getI64IntegerAttr(info.warps));
    module->setAttr(indexBitsAttr, builder.getI64IntegerAttr(info.indexBits));
    if (!info.tensorMapRecords.empty())
      module->setAttr(tensorMapsAttr, builder.getArrayAttr(info.tensorMapRecords));
    const Device *device = findDevice(info.target);
    if (info.cluster > 1 && device && device->maxCluster > 1) // Else neighbours that meet in memory.
      module->setAttr(clusterAttr, builder.getI64IntegerAttr(info.cluster));
    if (info.sharedBytes)
      module->setAttr(sharedBytesAttr, builder.getI64IntegerAttr(info.sharedBytes));
  }
};

} // namespace
