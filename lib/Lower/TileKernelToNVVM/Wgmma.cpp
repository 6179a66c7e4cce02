// tk.dot by wgmma, tk.dot_wait, tk.fence_async.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dot is a fence, its instructions, and a commit: one group. What is tied to an assembly statement (is operand and
// result of it) cannot be computed behind it, nor read before it: fences tie what other instructions wrote, the last
// wait ties the accumulators.
#include "Memory.h"
#include "Patterns.h"
#include "Tma.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "weft/Schedule/Wgmma.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;
using namespace weft::schedule;

static Value makeInt(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

static StringRef getConstraint(Type type) { return type.isF32() ? "f" : "r"; }

/// Executes `text` with `values` as operands and results at once.
static SmallVector<Value> emitTied(OpBuilder &builder, Location loc, ValueRange values, StringRef text) {
  std::string constraints, ties;
  for (auto [i, value] : llvm::enumerate(values)) {
    constraints += ("=" + getConstraint(value.getType()) + ",").str();
    ties += std::to_string(i) + ",";
  }
  return emitAsm(builder, loc, values.getTypes(), values, text, constraints + ties + "~{memory}",
                 /*hasSideEffects=*/true);
}

static StringRef getTypeName(Type element, bool isUnsigned) {
  if (element.isInteger(8))
    return isUnsigned ? "u8" : "s8";
  return element.isF16() ? "f16" : element.isBF16() ? "bf16" : "tf32";
}

/// Columns that instruction number `column` of a warpgroup multiplies: an instruction's, or as few eights (of 8-bit
/// elements sixteens) as have all that somebody reads.
static int64_t getLiveWidth(tk::DotOp op, const WgmmaTiling &tiling, int64_t column) {
  if (tiling.columnGroups > 1) // Each warpgroup has its own.
    return tiling.columns;
  int64_t live = std::clamp<int64_t>(op.countLiveColumns() - column * tiling.columns, 0, tiling.columns);
  bool isByte = op.getAcc().getType().getElementType().isInteger(32);
  return std::min<int64_t>(llvm::alignTo(live, isByte ? 16 : 8), tiling.columns);
}

/// By register of the sums: whether instructions of the dot write it.
static SmallVector<bool> getLiveSums(tk::DotOp op, const WgmmaTiling &tiling) {
  SmallVector<bool> live;
  for (int64_t row = 0; row < tiling.rowSteps; ++row)
    for (int64_t column = 0; column < tiling.columnSteps; ++column)
      for (int64_t i = 0; i < tiling.columns / 2; ++i)
        live.push_back(i < getLiveWidth(op, tiling, column) / 2);
  return live;
}

/// The dot that wrote the registers of `sums`, ahead of waits and in loops; null if none did, or something else too.
static tk::DotOp findDot(Value sums) {
  while (Operation *op = sums.getDefiningOp()) {
    if (auto dot = dyn_cast<tk::DotOp>(op))
      return dot;
    unsigned number = cast<OpResult>(sums).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op))
      sums = loop.getYieldedValues()[number];
    else if (auto wait = dyn_cast<tk::DotWaitOp>(op))
      sums = wait.getValues()[number];
    else
      return {};
  }
  return {};
}

namespace {

/// An operand in shared memory: its descriptors are a base, which depends on slot and warpgroup, and multiples of 16
/// bytes. Those are added in the instruction's own text: LLVM would move the sums of slots that it knows ahead of a
/// loop over tiles, where 16 for each dot are more than there are uniform registers.
class SharedOperand {
public:
  /// `place` and `group`: the warpgroup's first row (column) is `place` times `group`.
  SharedOperand(OpBuilder &builder, Location loc, const WgmmaOperand &form, Value pointer, Value group, int64_t place)
      : builder(builder), loc(loc), form(form) {
    Value address = LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), pointer);
    if (group)
      address = arith::AddIOp::create(
          builder, loc, address,
          arith::MulIOp::create(builder, loc, group, makeInt(builder, loc, form.offset(place, 0))));
    address = arith::ShRUIOp::create(builder, loc, address, makeInt(builder, loc, 4));
    address = arith::AndIOp::create(builder, loc, address, makeInt(builder, loc, 0x3fff));
    Value wide = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), address);
    base = arith::OrIOp::create(builder, loc, wide,
                                arith::ConstantIntOp::create(builder, loc, int64_t(form.descriptor()), 64));
  }

  Value getBase() const { return base; }
  /// What is added to the base for the elements from (mn, k) on.
  int64_t getOffset(int64_t mn, int64_t k) const { return form.offset(mn, k) >> 4; }
  bool isMnMajor() const { return form.isMnMajor; }

private:
  OpBuilder &builder;
  Location loc;
  WgmmaOperand form;
  Value base;
};

/// The instructions of one dot.
class DotEmitter {
public:
  DotEmitter(OpBuilder &builder, tk::DotOp op, const WgmmaTiling &tiling, Value accumulate)
      : builder(builder), loc(op.getLoc()), op(op), tiling(tiling), accumulate(accumulate) {
    auto rhs = cast<tk::SharedType>(op.getRhs().getType());
    element = rhs.getElementType();
    k = rhs.getShape()[0];
    depth = wgmmaDepthBytes * 8 / element.getIntOrFloatBitWidth();
    steps = llvm::divideCeil(op.countLiveDepth(), depth);
  }

  std::optional<SharedOperand> lhs, rhs;

  /// Takes the registers of the left operand: of those the words that instructions (rowStep, step of k) read.
  void setLeft(ArrayRef<Value> all) {
    for (int64_t row = 0; row < tiling.rowSteps; ++row)
      llvm::append_range(words, all.slice(4 * (k / depth) * row, 4 * steps));
  }
  MutableArrayRef<Value> getWords() { return words; }

  void emit(MutableArrayRef<Value> sums) {
    int64_t size = tiling.columns / 2;
    for (int64_t step = 0; step < steps; ++step)
      for (int64_t row = 0; row < tiling.rowSteps; ++row)
        for (int64_t column = 0; column < tiling.columnSteps; ++column)
          if (int64_t width = getLiveWidth(op, tiling, column))
            emitInstruction(sums.slice((row * tiling.columnSteps + column) * size, width / 2), step, row, column);
  }

private:
  void emitInstruction(MutableArrayRef<Value> sums, int64_t step, int64_t row, int64_t column) {
    unsigned count = sums.size(), next = count;
    std::string results, constraints, ties;
    for (unsigned i = 0; i < count; ++i) {
      results += (i ? ", $" : "$") + std::to_string(i);
      constraints += ("=" + getConstraint(sums[i].getType()) + ",").str();
      ties += std::to_string(i) + ",";
    }
    SmallVector<Value> operands;
    std::string left, places;
    auto place = [&](const SharedOperand &operand, StringRef name, int64_t mn) {
      operands.push_back(operand.getBase());
      constraints += "l,";
      std::string base = "$" + std::to_string(next++);
      int64_t offset = operand.getOffset(mn, step * depth);
      if (offset == 0)
        return base;
      places += (".reg .b64 " + name + ";\nadd.s64 " + name + ", " + base + ", " + Twine(offset) + ";\n").str();
      return name.str();
    };
    if (lhs) {
      left = place(*lhs, "left", tiling.row(0, row));
    } else {
      unsigned first = 4 * (step + steps * row);
      for (unsigned i = 0; i < 4; ++i) {
        operands.push_back(words[first + i]);
        constraints += "r,";
        left += (i ? ", $" : "{$") + std::to_string(next++);
      }
      left += "}";
    }
    std::string right = place(*rhs, "right", tiling.column(0, column)), setting = "setp.ne.b32 p, 1, 0;", scale = "p";
    if (step == 0 && accumulate) {
      operands.push_back(accumulate);
      constraints += "b,";
      scale = "$" + std::to_string(next++);
      setting.clear();
    }
    operands.append(sums.begin(), sums.end());
    std::string text = "{\n.reg .pred p;\n" + places + setting + "\nwgmma.mma_async.sync.aligned." +
                       getShape(2 * count) + " {" + results + "}, " + left + ", " + right + ", " + scale +
                       getModifiers() + ";\n}";
    SmallVector<Type> types = llvm::map_to_vector(sums, [](Value sum) { return sum.getType(); });
    SmallVector<Value> updated = emitAsm(builder, loc, types, operands, text, constraints + ties + "~{memory}",
                                         /*hasSideEffects=*/true);
    llvm::copy(updated, sums.begin());
  }

  std::string getShape(int64_t columns) {
    return "m64n" + std::to_string(columns) + "k" + std::to_string(depth) + (element.isInteger(8) ? ".s32." : ".f32.") +
           getTypeName(element, op.getUnsignedLhs()).str() + "." + getTypeName(element, op.getUnsignedRhs()).str();
  }

  /// Signs, and for 16-bit elements which operands in shared memory are M- or N-major.
  std::string getModifiers() {
    if (element.isInteger(8))
      return "";
    if (!element.isF16() && !element.isBF16())
      return ", 1, 1";
    std::string text = ", 1, 1";
    if (lhs)
      text += lhs->isMnMajor() ? ", 1" : ", 0";
    return text + (rhs->isMnMajor() ? ", 1" : ", 0");
  }

  OpBuilder &builder;
  Location loc;
  tk::DotOp op;
  WgmmaTiling tiling;
  Value accumulate;
  Type element;
  int64_t k, depth, steps;
  SmallVector<Value> words;
};

class LowerWgmma : public OpConversionPattern<tk::DotOp> {
public:
  LowerWgmma(const TypeConverter &converter, const KernelInfo &info)
      : OpConversionPattern(converter, info.module->getContext(), /*benefit=*/2), info(info) {}

  LogicalResult matchAndRewrite(tk::DotOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!info.wgmmaDots.contains(op))
      return failure();
    Location loc = op.getLoc();
    Role role = info.getRole(op);
    ArrayRef<int64_t> shape = op.getAcc().getType().getShape();
    std::optional<WgmmaTiling> tiling = getWgmmaTiling(shape[0], shape[1], role.warps);
    if (failed(check(op, role, tiling)))
      return failure();
    std::optional<WgmmaOperand> rhs = getWgmmaOperand(cast<tk::SharedType>(op.getRhs().getType()), 1);
    Value accumulate = adaptor.getAccumulate().empty() ? Value() : adaptor.getAccumulate().front();
    Value group = role.warps > 4 ? emitWarpgroup(rewriter, loc, role.firstWarp) : Value();
    Value rowGroup = group, columnGroup;
    if (tiling->columnGroups > 1) {
      Value count = makeInt(rewriter, loc, tiling->rowGroups);
      rowGroup = tiling->rowGroups == 1 ? Value() : Value(arith::RemUIOp::create(rewriter, loc, group, count));
      columnGroup = arith::DivUIOp::create(rewriter, loc, group, count);
    }
    DotEmitter emitter(rewriter, op, *tiling, accumulate);
    emitter.rhs.emplace(rewriter, loc, *rhs, adaptor.getRhs().front(), columnGroup, tiling->column(1, 0));
    if (auto shared = dyn_cast<tk::SharedType>(op.getLhs().getType()))
      emitter.lhs.emplace(rewriter, loc, *getWgmmaOperand(shared, 0), adaptor.getLhs().front(), rowGroup,
                          tiling->row(1, 0));
    else
      emitter.setLeft(packWords(rewriter, loc, adaptor.getLhs()));
    SmallVector<Value> sums(adaptor.getAcc());
    SmallVector<bool> live = getLiveSums(op, *tiling);
    emitFence(rewriter, op, sums, live, emitter.getWords());
    if (!emitter.getWords().empty())
      info.heldWords[op] = SmallVector<Value>(emitter.getWords());
    emitter.emit(sums);
    // What nobody reads is a constant: what would keep it from step to step goes.
    Value zero = arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(sums.front().getType()));
    for (auto [sum, isLive] : llvm::zip_equal(sums, live))
      if (!isLive)
        sum = zero;
    NVVM::WgmmaGroupSyncAlignedOp::create(rewriter, loc);
    rewriter.replaceOpWithMultiple(op, {sums});
    return success();
  }

private:
  static LogicalResult check(tk::DotOp op, const Role &role, const std::optional<WgmmaTiling> &tiling) {
    tk::TileType acc = op.getAcc().getType();
    ArrayRef<int64_t> shape = acc.getShape();
    std::optional<layout::LinearLayout> expected = getWgmmaAccumulator(shape[0], shape[1], role.warps);
    if (!tiling || !expected || expected->canonical() != acc.getLayout().getValue().canonical())
      return op.emitOpError("expected an accumulator of wgmma on ") << role.warps << " warps, got " << acc;
    auto rhs = dyn_cast<tk::SharedType>(op.getRhs().getType());
    if (!rhs || !getWgmmaOperand(rhs, 1))
      return op.emitOpError("expected a right operand in shared memory as wgmma reads it, got ")
             << op.getRhs().getType();
    if (auto lhs = dyn_cast<tk::SharedType>(op.getLhs().getType()))
      return getWgmmaOperand(lhs, 0)
                 ? success()
                 : op.emitOpError("expected a left operand in shared memory as wgmma reads it, got ") << lhs;
    auto lhs = cast<tk::TileType>(op.getLhs().getType());
    std::optional<layout::LinearLayout> own =
        getWgmmaLhs(shape[0], lhs.getShape()[1], tk::getElementBits(lhs.getElementType()), shape[1], role.warps);
    if (!own || own->canonical() != lhs.getLayout().getValue().canonical())
      return op.emitOpError("expected a left operand in the registers of wgmma, got ") << lhs;
    return success();
  }

  /// Registers that other instructions may have written are tied.
  void emitFence(OpBuilder &builder, tk::DotOp op, MutableArrayRef<Value> sums, ArrayRef<bool> live,
                 MutableArrayRef<Value> words) const {
    SmallVector<Value *> tied;
    for (Value &word : words)
      tied.push_back(&word);
    if (info.writtenSums.contains(op))
      for (auto [sum, isLive] : llvm::zip_equal(sums, live))
        if (isLive)
          tied.push_back(&sum);
    if (tied.empty()) {
      NVVM::WgmmaFenceAlignedOp::create(builder, op.getLoc());
      return;
    }
    SmallVector<Value> values = llvm::map_to_vector(tied, [](Value *value) { return *value; });
    SmallVector<Value> fenced = emitTied(builder, op.getLoc(), values, "wgmma.fence.sync.aligned;");
    for (auto [value, after] : llvm::zip_equal(tied, fenced))
      *value = after;
  }

  const KernelInfo &info;
};

class LowerDotWait : public TilePattern<tk::DotWaitOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::DotWaitOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    std::string text = "wgmma.wait_group.sync.aligned " + std::to_string(op.getPending()) + ";";
    SmallVector<SmallVector<Value>> results =
        llvm::map_to_vector(adaptor.getValues(), [](ValueRange tile) { return SmallVector<Value>(tile); });
    const KernelInfo::FinishedDots &finished = info.finishedDots.find(op)->second;
    SmallVector<Value> flat;
    SmallVector<Value *> tied;
    for (unsigned i : finished.ready)
      for (auto [number, sum] : llvm::enumerate(results[i]))
        if (finished.live[i].empty() || finished.live[i][number]) {
          tied.push_back(&sum);
          flat.push_back(sum);
        }
    for (Operation *reader : finished.readers)
      flat.append(info.heldWords.lookup(reader));
    if (flat.empty()) {
      emitAsm(rewriter, loc, {}, {}, text, "~{memory}", /*hasSideEffects=*/true);
    } else {
      SmallVector<Value> after = emitTied(rewriter, loc, flat, text);
      for (auto [sum, value] : llvm::zip(tied, after))
        *sum = value;
    }
    rewriter.replaceOpWithMultiple(op, std::move(results));
    return success();
  }
};

class LowerFenceAsync : public TilePattern<tk::FenceAsyncOp> {
public:
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tk::FenceAsyncOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<NVVM::FenceProxyOp>(
        op, NVVM::ProxyKindAttr::get(getContext(), NVVM::ProxyKind::async_shared),
        NVVM::SharedSpaceAttr::get(getContext(), NVVM::SharedSpace::shared_cta));
    return success();
  }
};

} // namespace

/// Whether instructions other than wgmma may have written the accumulator since the last fence.
static bool isWritten(Value sums) {
  auto argument = dyn_cast<BlockArgument>(sums);
  if (!argument)
    return !schedule::isOfDots(sums);
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
  return !init || isWritten(init->get()) || !schedule::isOfDots(loop.getTiedLoopYieldedValue(argument)->get());
}

/// Dots between `dot` and `wait` in one block: their groups come after the dot's.
static int64_t countLaterDots(tk::DotOp dot, tk::DotWaitOp wait) {
  int64_t count = 0;
  for (Operation *op = dot->getNextNode(); op && op != wait; op = op->getNextNode())
    count += isa<tk::DotOp>(op);
  return count;
}

/// Values that are no dot's result of the same block are ready when all dots are.
static KernelInfo::FinishedDots findFinished(tk::DotWaitOp wait, const KernelInfo &info) {
  KernelInfo::FinishedDots finished;
  for (auto [i, value] : llvm::enumerate(wait.getValues())) {
    tk::DotOp writer = findDot(value);
    ArrayRef<int64_t> shape = cast<tk::TileType>(value.getType()).getShape();
    std::optional<WgmmaTiling> tiling =
        writer ? getWgmmaTiling(shape[0], shape[1], info.getRole(writer).warps) : std::nullopt;
    finished.live.push_back(tiling ? getLiveSums(writer, *tiling) : SmallVector<bool>());
    auto dot = value.getDefiningOp<tk::DotOp>();
    bool isBeside = dot && dot->getBlock() == wait->getBlock();
    if (wait.getPending() > 0 && (!isBeside || countLaterDots(dot, wait) < int64_t(wait.getPending())))
      continue;
    finished.ready.push_back(i);
    if (isBeside && isa<tk::TileType>(dot.getLhs().getType()))
      finished.readers.push_back(dot);
  }
  return finished;
}

void weft::gpu::recordDots(func::FuncOp kernel, KernelInfo &info) {
  kernel.walk([&](tk::DotWaitOp wait) { info.finishedDots[wait] = findFinished(wait, info); });
  kernel.walk([&](tk::DotOp dot) {
    if (!isWgmma(dot))
      return;
    info.wgmmaDots.insert(dot);
    if (isWritten(dot.getAcc()))
      info.writtenSums.insert(dot);
  });
}

void weft::gpu::populateWgmmaPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                      const KernelInfo &info) {
  addTilePatterns<LowerWgmma, LowerDotWait, LowerFenceAsync>(patterns, converter, info);
}
