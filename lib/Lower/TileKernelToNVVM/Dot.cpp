// tk.dot by mma.sync or FMA. Operands in shared memory are read step by step along k, a step ahead of the arithmetic;
// operands in registers have the layout of all steps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Memory.h"
#include "Patterns.h"
#include "ReadAhead.h"
#include "Shared.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "weft/Schedule/Mma.h"
#include "weft/Target/ReadAhead.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;
using namespace weft::schedule;
using layout::LinearLayout;
using layout::Operand;

namespace {

/// One operand, read in steps of `depth` along k.
class OperandSource {
public:
  /// `values`: the registers of a tile, or the pointer to a slot. `form` null: FMA.
  OperandSource(OpBuilder &builder, Location loc, const Role &role, Type type, ValueRange values,
                const LinearLayout &acc, const MmaForm *form, Operand operand, int64_t depth, int64_t slices,
                ArrayRef<int64_t> order)
      : builder(builder), loc(loc), element(getTileElement(type)), isLhs(operand == Operand::a), depth(depth),
        order(order) {
    int64_t k = getTileShape(type)[isLhs ? 1 : 0];
    step = makeOperandStep(acc, form, operand, depth, k, order);
    if (!step)
      return;
    if (auto tile = dyn_cast<tk::TileType>(type)) {
      own = makeOperandStep(acc, form, operand, k / slices, k, order);
      isUsable = own && tile.getLayout() && tile.getLayout().getValue().canonical() == own->canonical();
      registers.assign(values.begin(), values.end());
      return;
    }
    tk::LayoutAttr memory = cast<tk::SharedType>(type).getLayout();
    if (!memory)
      return;
    reader.emplace(builder, loc, role, values.front(), *step, memory.getValue(), tk::getElementBits(element));
    isUsable = reader->isValid();
  }

  bool isValid() const { return isUsable; }
  unsigned countStepRegisters() const { return 1u << step->inBits("register"); }

  /// The registers of step `s`, as words for mma.sync: those of live parts.
  SmallVector<Value> readWords(int64_t s, ArrayRef<bool> live = {}) {
    if (reader)
      return reader->readWords(getPlace(s), live);
    SmallVector<Value> elements = readElements(s), words;
    unsigned perWord = std::max(1u, 32 / element.getIntOrFloatBitWidth());
    for (unsigned i = 0; i < elements.size(); i += perWord)
      words.append(packWords(builder, loc, ValueRange(elements).slice(i, perWord)));
    return words;
  }
  SmallVector<Value> readElements(int64_t s) {
    if (reader)
      return reader->readElements(element, getPlace(s));
    SmallVector<Value> elements;
    for (unsigned reg = 0; reg < countStepRegisters(); ++reg) {
      uint64_t image = getRegisterImage(*step, reg) ^ getPlace(s);
      unsigned source = *layout::Span(own->basesOf("register")).solve(image);
      elements.push_back(registers[source]);
    }
    return elements;
  }

private:
  uint64_t getPlace(int64_t s) const {
    layout::Index place(2, 0);
    place[isLhs ? 1 : 0] = reorderDepth(s * depth, order);
    return step->flattenOut(place);
  }

  OpBuilder &builder;
  Location loc;
  Type element;
  bool isLhs, isUsable = false;
  int64_t depth;
  ArrayRef<int64_t> order;
  std::optional<LinearLayout> step, own;
  SmallVector<Value> registers;
  std::optional<SharedReader> reader;
};

/// The text of an mma.sync: "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32".
std::string getMnemonic(const MmaForm &form, Type element, tk::DotOp op) {
  std::string types, shape = "m" + std::to_string(form.m) + "n" + std::to_string(form.n) + "k" + std::to_string(form.k);
  if (element.isF16())
    types = "f32.f16.f16.f32";
  else if (element.isBF16())
    types = "f32.bf16.bf16.f32";
  else if (element.isF32())
    types = "f32.tf32.tf32.f32";
  else if (element.isF64())
    types = "f64.f64.f64.f64";
  else
    types = std::string("s32.") + (op.getUnsignedLhs() ? "u8." : "s8.") + (op.getUnsignedRhs() ? "u8." : "s8.") + "s32";
  return "mma.sync.aligned." + shape + ".row.col." + types;
}

/// One instruction: `sums` become sums + a * b.
void emitMma(OpBuilder &builder, Location loc, StringRef mnemonic, ValueRange a, ValueRange b,
             MutableArrayRef<Value> sums) {
  unsigned next = 0;
  auto list = [&](unsigned count) {
    std::string text = "{";
    for (unsigned i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(next++);
    return text + "}";
  };
  Type sum = sums[0].getType();
  std::string sumClass = sum.isF32() ? "f" : sum.isF64() ? "d" : "r";
  std::string inClass = sum.isF64() ? "d," : "r,", constraints, text = mnemonic.str() + " ";
  SmallVector<Value> operands;
  for (size_t i = 0; i < sums.size(); ++i)
    constraints += "=" + sumClass + ",";
  text += list(sums.size()) + ", " + list(a.size()) + ", " + list(b.size()) + ", ";
  std::string tied = "{";
  for (size_t i = 0; i < sums.size(); ++i)
    tied += (i ? ", $" : "$") + std::to_string(i);
  text += tied + "};";
  for (ValueRange words : {a, b})
    for (Value word : words) {
      operands.push_back(word);
      constraints += inClass;
    }
  for (size_t i = 0; i < sums.size(); ++i) {
    operands.push_back(sums[i]);
    constraints += std::to_string(i) + ",";
  }
  constraints.pop_back();
  SmallVector<Type> types(sums.size(), sum);
  SmallVector<Value> results = emitAsm(builder, loc, types, operands, text, constraints, /*hasSideEffects=*/false);
  llvm::copy(results, sums.begin());
}

/// To the nearest TF32. The matrix unit only cuts the low 13 bits off, towards zero: products would all be too small,
/// by 7e-4 in the mean, and a network's error would grow with its depth. Words that nobody reads are null.
void roundToTf32(OpBuilder &builder, Location loc, MutableArrayRef<Value> words) {
  Type word = builder.getI32Type();
  for (Value &value : words)
    if (value)
      value = emitAsm(builder, loc, word, value, "cvt.rna.tf32.f32 $0, $1;", "=r,r", /*hasSideEffects=*/false).front();
}

Operation *getOpBefore(OpBuilder &builder) {
  Block::iterator place = builder.getInsertionPoint();
  return place == builder.getInsertionBlock()->begin() ? nullptr : &*std::prev(place);
}

void mark(Operation *op, StringRef attribute) { op->setAttr(attribute, UnitAttr::get(op->getContext())); }

/// Steps of the dot's operands that shared memory has room for at once; 1 where one of them is in registers.
int64_t countStages(tk::DotOp dot) {
  int64_t stages = std::numeric_limits<int64_t>::max();
  for (Value operand : {dot.getLhs(), dot.getRhs()}) {
    auto slot = operand.getDefiningOp<tk::SlotOp>();
    stages = std::min(stages, slot ? cast<tk::SharedType>(slot.getBuffer().getType()).getSlots() : 1);
  }
  return stages;
}

/// Marks what reads memory of the ops behind `before`, up to the position where `builder` is.
void markReads(OpBuilder &builder, Operation *before) {
  Block::iterator first = before ? std::next(Block::iterator(before)) : builder.getInsertionBlock()->begin();
  for (Operation &op : llvm::make_range(first, builder.getInsertionPoint()))
    if (!isMemoryEffectFree(&op))
      mark(&op, firstReadAttr);
}

class LowerDot : public TilePattern<tk::DotOp> {
public:
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(tk::DotOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    tk::TileType type = op.getAcc().getType();
    const LinearLayout &acc = type.getLayout().getValue();
    if (op.getAccumulate())
      return failure();
    int64_t slices = op.getSlices();
    std::optional<DotStep> step = getDotStep(op);
    if (!step)
      return failure();
    Location loc = op.getLoc();
    Role role = info.getRole(op);
    const MmaForm *instruction = step->form ? &*step->form : nullptr;
    int64_t depth = step->depth;
    ArrayRef<int64_t> order = op.getDepthOrder().value_or(ArrayRef<int64_t>());
    OperandSource lhs(rewriter, loc, role, op.getLhs().getType(), adaptor.getLhs(), acc, instruction, Operand::a, depth,
                      slices, order);
    OperandSource rhs(rewriter, loc, role, op.getRhs().getType(), adaptor.getRhs(), acc, instruction, Operand::b, depth,
                      slices, order);
    if (!lhs.isValid() || !rhs.isValid())
      return op.emitOpError("expected operands whose layouts follow from the accumulator's, got ")
             << op.getLhs().getType() << ", " << op.getRhs().getType() << " and " << type;
    SmallVector<Value> sums(adaptor.getAcc());
    SmallVector<bool> live = findLiveColumns(op, acc, step->bits);
    int64_t steps = llvm::divideCeil(op.countLiveDepth(), slices * depth); // Of a slice.
    if (instruction)
      multiply(rewriter, op, *instruction, step->bits, role.warps, live, lhs, rhs, steps, sums);
    else
      multiplyAdd(rewriter, op, step->bits, live, lhs, rhs, steps, depth, sums);
    rewriter.replaceOpWithMultiple(op, {sums});
    return success();
  }

private:
  /// Which columns of the thread's (of fragments, for instructions) begin, in all warps, at those that somebody reads.
  static SmallVector<bool> findLiveColumns(tk::DotOp op, const LinearLayout &acc, const AccumulatorBits &bits) {
    SmallVector<bool> live;
    for (unsigned j = 0; j < 1u << bits.n.size(); ++j) {
      layout::Index place = acc.unflattenOut(getRegisterImage(acc, bits.getRegister(0, j)));
      live.push_back(int64_t(place[1]) < op.countLiveColumns());
    }
    return live;
  }

  static void multiply(OpBuilder &builder, tk::DotOp op, const MmaForm &form, const AccumulatorBits &bits,
                       int64_t warps, ArrayRef<bool> live, OperandSource &lhs, OperandSource &rhs, int64_t steps,
                       MutableArrayRef<Value> sums) {
    std::string mnemonic = getMnemonic(form, getTileElement(op.getLhs().getType()), op);
    unsigned rows = 1u << bits.m.size(), columns = 1u << bits.n.size(), perFragment = 1u << bits.fragmentBits;
    bool isTf32 = getTileElement(op.getLhs().getType()).isF32();
    Operation *before = getOpBefore(builder);
    SmallVector<Value> a = lhs.readWords(0), b = rhs.readWords(0, live), nextA, nextB;
    bool isAhead = readsAhead(rows * llvm::count(live, true), warps, countStages(op));
    if (isAhead)
      markReads(builder, before);
    for (int64_t s = 0; s < steps; ++s) {
      if (s + 1 < steps) {
        nextA = lhs.readWords(s + 1);
        nextB = rhs.readWords(s + 1, live);
      }
      if (isTf32) {
        roundToTf32(builder, op.getLoc(), a);
        roundToTf32(builder, op.getLoc(), b);
      }
      unsigned wordsA = a.size() / rows, wordsB = b.size() / columns;
      before = getOpBefore(builder);
      for (unsigned i = 0; i < rows; ++i)
        for (unsigned step = 0; step < columns; ++step) {
          unsigned j =
              i % 2 ? columns - 1 - step : step; // Back and forth, so that a neighbour's operand is used again.
          if (!live[j])
            continue;
          emitMma(builder, op.getLoc(), mnemonic, ArrayRef(a).slice(i * wordsA, wordsA),
                  ArrayRef(b).slice(j * wordsB, wordsB), sums.slice(bits.getRegister(i, j), perFragment));
        }
      if (Operation *product = before->getNextNode(); product && isAhead)
        mark(product, firstProductAttr);
      a = nextA;
      b = nextB;
    }
  }

  static void multiplyAdd(OpBuilder &builder, tk::DotOp op, const AccumulatorBits &bits, ArrayRef<bool> live,
                          OperandSource &lhs, OperandSource &rhs, int64_t steps, int64_t depth,
                          MutableArrayRef<Value> sums) {
    Location loc = op.getLoc();
    unsigned rows = 1u << bits.m.size(), columns = 1u << bits.n.size();
    Type sum = sums[0].getType();
    for (int64_t s = 0; s < steps; ++s) {
      SmallVector<Value> a = lhs.readElements(s), b = rhs.readElements(s);
      for (Value &value : a)
        value = widen(builder, loc, value, sum, op.getUnsignedLhs());
      for (Value &value : b)
        value = widen(builder, loc, value, sum, op.getUnsignedRhs());
      for (int64_t k = 0; k < depth; ++k)
        for (unsigned i = 0; i < rows; ++i)
          for (unsigned j = 0; j < columns; ++j) {
            if (!live[j])
              continue;
            Value &target = sums[bits.getRegister(i, j)], x = a[i * depth + k], y = b[j * depth + k];
            if (isa<FloatType>(sum))
              target = math::FmaOp::create(builder, loc, x, y, target);
            else
              target = arith::AddIOp::create(builder, loc, arith::MulIOp::create(builder, loc, x, y), target);
          }
    }
  }

  static Value widen(OpBuilder &builder, Location loc, Value value, Type type, bool isUnsigned) {
    if (value.getType() == type)
      return value;
    if (isa<FloatType>(type))
      return arith::ExtFOp::create(builder, loc, type, value);
    if (isUnsigned)
      return arith::ExtUIOp::create(builder, loc, type, value);
    return arith::ExtSIOp::create(builder, loc, type, value);
  }
};

} // namespace

void weft::gpu::populateDotPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                    const KernelInfo &info) {
  addTilePatterns<LowerDot>(patterns, converter, info);
}
