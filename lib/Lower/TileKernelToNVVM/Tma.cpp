// tk.copy by TMA, tk.store_box, and the tensor maps of a kernel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Tma.h"
#include "Patterns.h"
#include "Shared.h"
#include "Streams.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "weft/Dialect/TileKernel/IR/PartOps.h"
#include "weft/Dialect/TileKernel/Layout/Builders.h"
#include "weft/Schedule/Access.h"
#include "weft/Schedule/Wgmma.h"
#include "weft/Target/Multicast.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

static Value makeInt(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

//===-- Tensor maps -----------------------------------------------------------------------------------------------===//

SmallVector<int64_t> weft::gpu::getBoxDims(AffineMap map, unsigned tileRank) {
  SmallVector<int64_t> dims;
  for (AffineExpr index : map.getResults()) {
    dims.push_back(-1);
    for (unsigned dim = 0; dim < tileRank; ++dim)
      if (index.isFunctionOfDim(dim))
        dims.back() = dim;
  }
  return dims;
}

std::optional<unsigned> weft::gpu::getTmaSwizzle(tk::SharedType buffer, unsigned inner) {
  if (buffer.getRank() != 2 || inner > 1 || !buffer.getLayout())
    return std::nullopt;
  layout::Shared shape{{uint64_t(buffer.getShape()[0]), uint64_t(buffer.getShape()[1])},
                       {inner, 1 - inner},
                       tk::getElementBits(buffer.getElementType())};
  for (unsigned span : {128u, 64u, 32u, 0u}) {
    std::optional<layout::LinearLayout> layout =
        span ? layout::makeTmaSwizzled(shape, span) : layout::makeShared(shape);
    if (layout && layout->canonical() == buffer.getLayout().getValue().canonical())
      return span;
  }
  return std::nullopt;
}

/// {argument, box, steps, swizzle, extents, strides}; `box` and `steps` by dimension of the tensor, outermost first.
static DictionaryAttr makeRecord(Value tensor, ArrayRef<int64_t> box, ArrayRef<int64_t> steps, unsigned swizzle,
                                 unsigned symbols) {
  MLIRContext *context = tensor.getContext();
  Builder builder(context);
  RankedTensorType type = cast<tk::GlobalType>(tensor.getType()).getTensor();
  SmallVector<AffineExpr> extents(llvm::reverse(tg::getDims(type))), strides;
  AffineExpr bytes = getAffineConstantExpr(tk::getElementBits(type.getElementType()) / 8, context);
  for (AffineExpr extent : ArrayRef(extents).drop_back()) {
    bytes = tg::simplify(bytes * extent);
    strides.push_back(bytes);
  }
  auto reversed = [&](ArrayRef<int64_t> values) {
    return builder.getDenseI64ArrayAttr(SmallVector<int64_t>(llvm::reverse(values)));
  };
  NamedAttrList record;
  record.set("argument", builder.getI64IntegerAttr(cast<BlockArgument>(tensor).getArgNumber()));
  record.set("box", reversed(box));
  if (llvm::any_of(steps, [](int64_t step) { return step != 1; }))
    record.set("steps", reversed(steps));
  record.set("swizzle", builder.getI64IntegerAttr(swizzle));
  record.set("extents", AffineMapAttr::get(AffineMap::get(0, symbols, extents, context)));
  record.set("strides", AffineMapAttr::get(AffineMap::get(0, symbols, strides, context)));
  return record.getDictionary(context);
}

/// Rows of an accumulator's block of 64 that one warp holds, and sends.
static constexpr int64_t warpRows = 16;

/// The record of one op: a line of a panel along the contiguous dimension, the tile's extents along the others; along
/// tile dimension `dim` the first `rows` elements (a power of two, where several indices follow it).
template <typename OpTy>
static DictionaryAttr describe(OpTy op, Value tensor, tk::SharedType buffer, ArrayRef<int64_t> tile, int64_t dim,
                               int64_t rows, unsigned symbols) {
  SmallVector<int64_t> dims = getBoxDims(op.getMap(), 2);
  int64_t inner = dims.empty() ? -1 : dims.back();
  std::optional<unsigned> swizzle = inner < 0 ? std::nullopt : getTmaSwizzle(buffer, inner);
  if (!swizzle || !isa<BlockArgument>(tensor) || dims.size() > 5) {
    op.emitOpError("expected a box of a tensor of at most 5 dimensions and a buffer as TMA fills it, got ")
        << AffineMapAttr::get(op.getMap()) << " and " << buffer;
    return {};
  }
  std::optional<SmallVector<schedule::BoxPart>> parts = schedule::getBoxParts(op.getMap(), tile);
  if (!parts) {
    op.emitOpError("expected a tile of ") << tile << " that is a box, got " << AffineMapAttr::get(op.getMap());
    return {};
  }
  SmallVector<int64_t> box = llvm::map_to_vector(*parts, [](const schedule::BoxPart &part) { return part.extent; });
  SmallVector<int64_t> steps = llvm::map_to_vector(*parts, [](const schedule::BoxPart &part) { return part.step; });
  for (int64_t i = int64_t(box.size()) - 1; i >= 0; --i)
    if ((*parts)[i].dim == dim) {
      box[i] = std::min(box[i], rows);
      rows /= box[i];
    }
  if (*swizzle)
    box.back() = *swizzle * 8 / tk::getElementBits(buffer.getElementType());
  return makeRecord(tensor, box, steps, *swizzle, symbols);
}

LogicalResult weft::gpu::addTensorMaps(func::FuncOp kernel, KernelInfo &info) {
  unsigned symbols = info.symbolArguments.size();
  llvm::MapVector<Attribute, SmallVector<Operation *>> records;
  WalkResult walked = kernel.walk([&](Operation *op) {
    DictionaryAttr record;
    if (auto copy = dyn_cast<tk::CopyOp>(op)) {
      if (copy.getEngine() != tk::CopyEngine::Tma)
        return WalkResult::advance();
      tk::SharedType buffer = copy.getTarget().getType();
      int64_t lines = 1 - getBoxDims(copy.getMap(), 2).back();
      if (lines > 1) {
        copy.emitOpError("expected rows of the tensor along a dimension of the tile, got ") << copy.getMapAttr();
        return WalkResult::interrupt();
      }
      int64_t ctas = copy->hasAttr(multicastAttr) ? info.cluster : 1;
      int64_t live = schedule::getLiveShape(schedule::getAccess(copy))[lines];
      record = describe(copy, copy.getSource(), buffer, buffer.getShape(), lines, live / ctas, symbols);
    } else if (auto store = dyn_cast<tk::StoreBoxOp>(op)) {
      tk::SharedType buffer = store.getBuffer().getType();
      record = describe(store, store.getTarget(), buffer, buffer.getShape(), 0, warpRows, symbols);
    } else {
      return WalkResult::advance();
    }
    if (record)
      records[record].push_back(op);
    return record ? WalkResult::advance() : WalkResult::interrupt();
  });
  if (walked.wasInterrupted())
    return failure();
  Builder builder(kernel.getContext());
  auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
  auto attributes = builder.getDictionaryAttr(
      {builder.getNamedAttr(LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes)),
       builder.getNamedAttr(LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(64)),
       builder.getNamedAttr(NVVM::NVVMDialect::getGridConstantAttrName(), builder.getUnitAttr())});
  for (auto &[record, ops] : records) {
    unsigned number = kernel.getNumArguments();
    if (failed(kernel.insertArgument(number, LLVM::LLVMPointerType::get(kernel.getContext()), attributes,
                                     kernel.getLoc())))
      return failure();
    info.tensorMapRecords.push_back(record);
    for (Operation *op : ops)
      info.tensorMaps[op] = kernel.getArgument(number);
  }
  return success();
}

Value weft::gpu::getTensorMap(const KernelInfo &info, Operation *op, ConversionPatternRewriter &rewriter) {
  return rewriter.getRemappedValue(info.tensorMaps.lookup(op));
}

SmallVector<Value> weft::gpu::emitCoordinates(IndexArithmetic &forms, OpBuilder &builder, Location loc, AffineMap map,
                                              ArrayRef<LinearForm> dims, ArrayRef<LinearForm> symbols) {
  SmallVector<Value> coordinates;
  for (AffineExpr index : llvm::reverse(map.getResults())) {
    Value value = forms.materialize(forms.evaluate(index, dims, symbols));
    coordinates.push_back(arith::IndexCastOp::create(builder, loc, builder.getI32Type(), value));
  }
  return coordinates;
}

/// Forms of an access's symbols.
static SmallVector<LinearForm> getSymbols(IndexArithmetic &forms, ArrayRef<ValueRange> symbols,
                                          ArrayRef<SymbolFacts> facts) {
  SmallVector<LinearForm> result;
  for (auto [i, symbol] : llvm::enumerate(symbols)) {
    SymbolFacts known = i < facts.size() ? facts[i] : SymbolFacts();
    result.push_back(forms.get(symbol.front(), known.bounds, known.depth));
  }
  return result;
}

static Value addBytes(OpBuilder &builder, Location loc, Value pointer, int64_t bytes) {
  if (!bytes)
    return pointer;
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), builder.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}

namespace {

//===-- Loads -----------------------------------------------------------------------------------------------------===//

/// One thread issues it: the copy is in a role whose region one thread executes.
class LowerTmaCopy : public TilePattern<tk::CopyOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::CopyOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (op.getEngine() != tk::CopyEngine::Tma)
      return failure();
    if (!op.getChannel() || info.getRole(op).number == 0)
      return op.emitOpError(
          "expected a copy by TMA in a role of its own, through a channel; run --weft-tk-roles first");
    Location loc = op.getLoc();
    tk::SharedType buffer = op.getTarget().getType();
    int64_t inner = getBoxDims(op.getMap(), 2).back(), bits = tk::getElementBits(buffer.getElementType());
    unsigned span = *getTmaSwizzle(buffer, inner);
    SmallVector<int64_t> live = schedule::getLiveShape(schedule::getAccess(op));
    int64_t width = span ? span * 8 / bits : buffer.getShape()[inner], lineBytes = width * bits / 8;
    int64_t panelBytes = buffer.getShape()[1 - inner] * lineBytes, lines = live[1 - inner];
    int64_t reach = int64_t(llvm::divideCeil(live[inner], width) - 1) * panelBytes + lines * lineBytes;
    if (reach > buffer.getSlotBytes())
      return op.emitOpError("expected a slot of at least ") << reach << " bytes, got " << buffer;

    Value barrier = getSlotBarriers(rewriter, loc, adaptor.getChannel().front(), adaptor.getIteration().front(),
                                    op.getChannel().getType().getSlots())
                        .full;
    Value map = getTensorMap(info, op, rewriter);
    IndexArithmetic forms(rewriter, loc);
    SmallVector<LinearForm> symbols = getSymbols(forms, adaptor.getSymbols(), info.getSymbols(op));
    auto cluster = LLVM::LLVMPointerType::get(rewriter.getContext(), 7);
    Value policy = info.isStream(op) ? emitStreamPolicy(rewriter, loc) : Value();
    Value mask, first = adaptor.getTarget().front();
    LinearForm line; // Where the lines begin that this CTA copies.
    if (op->hasAttr(multicastAttr)) {
      Value rank = emitClusterRank(rewriter, loc);
      lines /= info.cluster;
      mask = arith::ConstantIntOp::create(rewriter, loc, (int64_t(1) << info.cluster) - 1, 16);
      Value bytes = arith::MulIOp::create(rewriter, loc, rank, makeInt(rewriter, loc, lines * lineBytes));
      first = LLVM::GEPOp::create(rewriter, loc, first.getType(), rewriter.getI8Type(), first, ValueRange(bytes));
      Value index = arith::IndexCastUIOp::create(rewriter, loc, rewriter.getIndexType(), rank);
      line = forms.scale(forms.get(index, {0, info.cluster - 1}), lines);
    }
    for (int64_t panel = 0; panel * width < live[inner]; ++panel) {
      SmallVector<LinearForm> dims(2);
      dims[inner] = IndexArithmetic::constant(panel * width);
      dims[1 - inner] = line;
      SmallVector<Value> place = emitCoordinates(forms, rewriter, loc, op.getMap(), dims, symbols);
      Value target = addBytes(rewriter, loc, first, panel * panelBytes);
      target = LLVM::AddrSpaceCastOp::create(rewriter, loc, cluster, target);
      NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
          rewriter, loc, target, map, place, barrier, ValueRange(), mask, policy,
          NVVM::TMALoadModeAttr::get(rewriter.getContext(), NVVM::TMALoadMode::TILE), rewriter.getBoolAttr(false),
          NVVM::CTAGroupKindAttr(), Value());
    }
    rewriter.eraseOp(op);
    return success();
  }
};

//===-- Stores ----------------------------------------------------------------------------------------------------===//

/// Blocks of 64 rows by one line in a slot of the warpgroup: each warp writes its 16 rows, and one of its
/// threads sends them off while the next are written. Warps do not wait for each other.
class LowerStoreBox : public TilePattern<tk::StoreBoxOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::StoreBoxOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    tk::TileType type = op.getValue().getType();
    tk::SharedType buffer = op.getBuffer().getType();
    Role role = info.getRole(op);
    std::optional<schedule::WgmmaTiling> tiling =
        schedule::getWgmmaTiling(type.getShape()[0], type.getShape()[1], role.warps);
    std::optional<layout::LinearLayout> expected =
        schedule::getWgmmaAccumulator(type.getShape()[0], type.getShape()[1], role.warps);
    int64_t line = buffer.getShape()[1];
    bool isCut = op.getLiveColumns() && tiling && tiling->columnGroups > 1; // Each warpgroup has its own columns.
    if (!tiling || isCut || tiling->columns < line || !expected ||
        expected->canonical() != type.getLayout().getValue().canonical())
      return op.emitOpError("expected an accumulator of wgmma on ") << role.warps << " warps, got " << type;
    int64_t groups = role.warps / 4, depth = buffer.getSlots() / groups;
    if (!llvm::isPowerOf2_64(depth))
      return op.emitOpError("expected a power of two of slots for each of ") << groups << " warpgroups, got " << buffer;

    IndexArithmetic forms(rewriter, loc);
    Site site = makeSite(rewriter, forms, loc, role, *tiling, adaptor.getBuffer().front(),
                         depth * buffer.getSlotBytes(), buffer.getSlotBytes() / buffer.getShape()[0]);
    SmallVector<LinearForm> symbols = getSymbols(forms, adaptor.getSymbols(), {});
    Slots slots = makeSlots(line, groups, depth, buffer.getLayout().getValue());
    Value map = getTensorMap(info, op, rewriter);
    int64_t number = 0, registers = line / 2, live = op.getLiveColumns().value_or(type.getShape()[1]);
    int64_t columns = std::min(live, tiling->columns * tiling->columnSteps);
    Shares shares{{tiling->rowSteps * columns / line, int64_t(op.getShares().value_or(1))}};
    if (op.getShare()) {
      shares.own = adaptor.getShare().front();
      shares.mayBeWhole = !op.getShare().getDefiningOp<tk::ClusterRankOp>(); // Of clusters that split all tiles.
      if (!shares.mayBeWhole && shares.pieces.count % shares.pieces.parts)
        return op.emitOpError("expected whole blocks of 64x")
               << line << " elements for each CTA of the cluster, got " << type;
    }
    auto passed = op->getAttrOfType<IntegerAttr>(schedule::passedAttr);
    int64_t sent = passed && !op.getShare() ? passed.getInt() : 0; // Blocks ahead of this one.
    for (int64_t rowStep = 0; rowStep < tiling->rowSteps; ++rowStep)
      for (int64_t column = 0; column < tiling->columns * tiling->columnSteps; column += line, ++number) {
        if (column >= live)
          continue;
        LinearForm row = site.row, from = site.column;
        row.constant += tiling->row(0, rowStep);
        from.constant += column;
        SmallVector<Value> target = emitCoordinates(forms, rewriter, loc, op.getMap(), {row, from}, symbols);
        OpBuilder::InsertionGuard guard(rewriter);
        int64_t place = shares.enter(rewriter, loc, site, sent++, depth) * buffer.getSlotBytes();
        if (failed(writeShared(rewriter, loc, info, role, addBytes(rewriter, loc, adaptor.getBuffer().front(), place),
                               adaptor.getValue().slice(number * registers, registers), slots.registers, slots.memory)))
          return failure();
        NVVM::FenceProxyOp::create(rewriter, loc,
                                   NVVM::ProxyKindAttr::get(rewriter.getContext(), NVVM::ProxyKind::async_shared),
                                   NVVM::SharedSpaceAttr::get(rewriter.getContext(), NVVM::SharedSpace::shared_cta));
        emitWarpSync(rewriter, loc);
        send(rewriter, loc, site, map, addBytes(rewriter, loc, site.buffer, place), target);
      }
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// One block of each warpgroup, and the slots of all of them as one tile of rows.
  struct Slots {
    layout::LinearLayout registers, memory;
  };
  /// Row: that of the block, then the number of the warpgroup's slot (0 for registers), then the warpgroup.
  static Slots makeSlots(int64_t line, int64_t groups, int64_t depth, const layout::LinearLayout &slot) {
    layout::LinearLayout block = *layout::makeWgmmaAccumulator(line);
    unsigned groupBits = llvm::Log2_64(groups), rowBits = 6 + llvm::Log2_64(depth) + groupBits;
    layout::Dims ins{{"register", block.inBits("register")}, {"lane", 5}, {"warp", 2 + groupBits}};
    layout::Dims outs{{"dim0", rowBits}, {"dim1", block.outBits("dim1")}};
    layout::Vectors columns;
    for (const layout::Dim &dim : ins)
      for (uint64_t base : block.basesOf(dim.name)) {
        layout::Index place = block.unflattenOut(base);
        columns.push_back(place[0] | place[1] << rowBits);
      }
    for (unsigned bit = 0; bit < groupBits; ++bit)
      columns.push_back(uint64_t(64 * depth) << bit);
    layout::LinearLayout all = layout::LinearLayout::identity("offset", "dim0", rowBits - 6);
    return {*layout::LinearLayout::make(ins, outs, columns), *slot.product(all)};
  }

  /// Where a warp stands.
  struct Site {
    Value isSender; ///< One thread of the warp.
    Value buffer;   ///< Its rows in the first slot of its warpgroup.
    LinearForm row, column;
  };

  static Site makeSite(OpBuilder &builder, IndexArithmetic &forms, Location loc, const Role &role,
                       const schedule::WgmmaTiling &tiling, Value buffer, int64_t groupBytes, int64_t lineBytes) {
    Site site;
    Value group = emitWarpgroup(builder, loc, role.firstWarp);
    Thread thread = weft::gpu::getThread(builder, loc, role);
    site.isSender = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread.lane,
                                          arith::ConstantIndexOp::create(builder, loc, 0));
    Value warp = emitWarpOfGroup(builder, loc);
    Value bytes = arith::MulIOp::create(builder, loc, group, makeInt(builder, loc, groupBytes));
    Value own = arith::MulIOp::create(builder, loc, warp, makeInt(builder, loc, warpRows * lineBytes));
    bytes = arith::AddIOp::create(builder, loc, bytes, own);
    site.buffer = LLVM::GEPOp::create(builder, loc, buffer.getType(), builder.getI8Type(), buffer, ValueRange(bytes));
    Value rowGroup = arith::RemUIOp::create(builder, loc, group, makeInt(builder, loc, tiling.rowGroups));
    Value columnGroup = arith::DivUIOp::create(builder, loc, group, makeInt(builder, loc, tiling.rowGroups));
    auto toForm = [&](Value number, int64_t count, int64_t extent) {
      if (count == 1)
        return LinearForm();
      Value index = arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), number);
      return forms.scale(forms.get(index, {0, count - 1}), extent);
    };
    site.row = forms.add(toForm(rowGroup, tiling.rowGroups, tiling.row(1, 0)), toForm(warp, 4, warpRows));
    site.column = toForm(columnGroup, tiling.columnGroups, tiling.column(1, 0));
    return site;
  }

  /// Which blocks the CTA sends: all, or its share.
  struct Shares {
    tk::Pieces pieces;
    Value own = {};          ///< Index; without it, all.
    bool mayBeWhole = false; ///< Whether it may also be the number of shares, for all.

    Value isOwn(OpBuilder &builder, Location loc, int64_t share) const {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, own,
                                   arith::ConstantIndexOp::create(builder, loc, share));
    }

    /// What follows is where block `sent` goes, behind the wait for its slot, which is the result.
    int64_t enter(OpBuilder &builder, Location loc, const Site &site, int64_t sent, int64_t depth) const {
      if (!own) {
        waitForSlot(builder, loc, site, std::min(sent, depth - 1));
        return sent % depth;
      }
      int64_t share = pieces.ownerOf(sent), ofShare = sent - pieces.firstOf(share);
      Value isHere = isOwn(builder, loc, share), isWhole;
      if (mayBeWhole) {
        isWhole = isOwn(builder, loc, pieces.parts);
        isHere = arith::OrIOp::create(builder, loc, isHere, isWhole);
      }
      auto branch = scf::IfOp::create(builder, loc, isHere, /*withElseRegion=*/false);
      builder.setInsertionPoint(branch.thenYield());
      if (!mayBeWhole || sent == ofShare) {
        waitForSlot(builder, loc, site, std::min(ofShare, depth - 1));
        return ofShare % depth;
      }
      auto wait = scf::IfOp::create(builder, loc, isWhole, /*withElseRegion=*/true);
      OpBuilder all = wait.getThenBodyBuilder(), some = wait.getElseBodyBuilder();
      waitForSlot(all, loc, site, std::min(sent, depth - 1));
      waitForSlot(some, loc, site, std::min(ofShare, depth - 1));
      return sent % depth;
    }
  };

  static void emitWarpSync(OpBuilder &builder, Location loc) {
    NVVM::SyncWarpOp::create(builder, loc, makeInt(builder, loc, -1));
  }

  /// All copies but the last `pending` have read their slots. Those before this store may have left any slot last:
  /// they are not among the pending ones.
  static void waitForSlot(OpBuilder &builder, Location loc, const Site &site, int64_t pending) {
    auto branch = scf::IfOp::create(builder, loc, site.isSender, /*withElseRegion=*/false);
    OpBuilder then = branch.getThenBodyBuilder();
    NVVM::CpAsyncBulkWaitGroupOp::create(then, loc, then.getI32IntegerAttr(int32_t(pending)), then.getUnitAttr());
    emitWarpSync(builder, loc);
  }

  static void send(OpBuilder &builder, Location loc, const Site &site, Value map, Value slot, ValueRange place) {
    auto branch = scf::IfOp::create(builder, loc, site.isSender, /*withElseRegion=*/false);
    OpBuilder then = branch.getThenBodyBuilder();
    NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
        then, loc, map, slot, place, Value(),
        NVVM::TMAStoreModeAttr::get(builder.getContext(), NVVM::TMAStoreMode::TILE), Value());
    NVVM::CpAsyncBulkCommitGroupOp::create(then, loc);
  }
};

} // namespace

void weft::gpu::populateTmaPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                    const KernelInfo &info) {
  addTilePatterns<LowerTmaCopy, LowerStoreBox>(patterns, converter, info);
}
