// tk.for_tiles: the tile of a CTA from its number, by the traversal that the plan simulated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Patterns.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weft/Dialect/TileKernel/IR/PartOps.h"
#include "weft/Traversal/GridOrder.h"
#include "weft/Traversal/GridTail.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

namespace {

/// Prints an IndexProgram as index arithmetic.
class ProgramEmitter {
public:
  ProgramEmitter(OpBuilder &builder, Location loc, Value index, ArrayRef<Value> parameters)
      : builder(builder), loc(loc), index(index), parameters(parameters) {}

  SmallVector<Value> emit(const plan::IndexProgram &program) {
    tables = &program.getTables();
    for (const plan::IndexInstruction &instruction : program.getInstructions())
      values.push_back(emit(instruction));
    SmallVector<Value> results;
    for (plan::IndexProgram::Value result : program.getResults())
      results.push_back(values[result]);
    return results;
  }

private:
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value toIndex(arith::CmpIPredicate predicate, Value a, Value b) {
    Value condition = arith::CmpIOp::create(builder, loc, predicate, a, b);
    return arith::SelectOp::create(builder, loc, condition, constant(1), constant(0));
  }

  Value emit(const plan::IndexInstruction &i) {
    using plan::IndexOp;
    auto at = [&](int32_t operand) { return values[operand]; };
    switch (i.op) {
    case IndexOp::Index:
      return index;
    case IndexOp::Constant:
      return constant(i.immediate);
    case IndexOp::Parameter:
      return parameters[i.immediate];
    case IndexOp::Lookup:
      return lookUp((*tables)[i.immediate], at(i.a));
    default:
      break;
    }
    Value a = at(i.a), b = at(i.b);
    switch (i.op) {
    case IndexOp::Add:
      return arith::AddIOp::create(builder, loc, a, b);
    case IndexOp::Sub:
      return arith::SubIOp::create(builder, loc, a, b);
    case IndexOp::Mul:
      return arith::MulIOp::create(builder, loc, a, b);
    case IndexOp::Div:
      return arith::DivSIOp::create(builder, loc, a, b);
    case IndexOp::Rem:
      return arith::RemSIOp::create(builder, loc, a, b);
    case IndexOp::Min:
      return arith::MinSIOp::create(builder, loc, a, b);
    case IndexOp::Less:
      return toIndex(arith::CmpIPredicate::slt, a, b);
    case IndexOp::Equal:
      return toIndex(arith::CmpIPredicate::eq, a, b);
    default: {
      Value isTrue = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, a, constant(0));
      return arith::SelectOp::create(builder, loc, isTrue, b, at(i.c));
    }
    }
  }

  /// Element `at` of a table of values from 0 on: packed into words of 64 bits, of which a tree of selects takes one.
  /// In i64: an index may be lowered to 32 bits.
  Value lookUp(ArrayRef<int64_t> table, Value at) {
    unsigned bits = std::max(llvm::Log2_64_Ceil(uint64_t(*llvm::max_element(table)) + 1), 1U), inWord = 64 / bits;
    SmallVector<uint64_t> words(llvm::divideCeil(table.size(), inWord));
    for (auto [i, value] : llvm::enumerate(table))
      words[i / inWord] |= uint64_t(value) << (i % inWord * bits);
    Value place = arith::RemUIOp::create(builder, loc, at, constant(inWord));
    Value word = selectWord(words, 0, arith::DivUIOp::create(builder, loc, at, constant(inWord)));
    Value shift = arith::MulIOp::create(builder, loc, place, constant(bits));
    word = arith::ShRUIOp::create(builder, loc, word, toWord(shift));
    word = arith::AndIOp::create(builder, loc, word, wordConstant((uint64_t(1) << bits) - 1));
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), word);
  }

  Value toWord(Value value) { return arith::IndexCastUIOp::create(builder, loc, builder.getI64Type(), value); }
  Value wordConstant(uint64_t value) {
    return arith::ConstantIntOp::create(builder, loc, int64_t(value), /*width=*/64);
  }

  /// Word number `at` - first.
  Value selectWord(ArrayRef<uint64_t> words, int64_t first, Value at) {
    if (words.size() == 1)
      return wordConstant(words[0]);
    size_t half = words.size() / 2;
    Value low = selectWord(words.take_front(half), first, at);
    Value high = selectWord(words.drop_front(half), first + int64_t(half), at);
    Value middle = constant(first + int64_t(half));
    Value isLow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, at, middle);
    return arith::SelectOp::create(builder, loc, isLow, low, high);
  }

  OpBuilder &builder;
  Location loc;
  Value index;
  ArrayRef<Value> parameters; ///< By the program's numbers.
  const std::vector<std::vector<int64_t>> *tables = nullptr;
  SmallVector<Value> values;
};

class LowerForTiles : public TilePattern<tk::ForTilesOp> {
public:
  using TilePattern::TilePattern;

  LogicalResult matchAndRewrite(tk::ForTilesOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    IndexArithmetic forms(rewriter, loc);
    SmallVector<LinearForm> symbols;
    for (BlockArgument argument : info.symbolArguments)
      symbols.push_back(forms.get(rewriter.getRemappedValue(argument), {1, Bounds().max}));
    SmallVector<LinearForm> extents;
    for (AffineExpr extent : op.getExtents().getResults())
      extents.push_back(forms.evaluate(extent, {}, symbols));
    plan::GridTail tail;
    std::string error;
    std::string_view text = op.getOrder().value_or("row");
    if (!plan::takeGridTail(text, tail, error))
      return op.emitOpError("expected a traversal: ") << error;
    Value block = info.makeCta(rewriter, loc);
    block = arith::IndexCastUIOp::create(rewriter, loc, rewriter.getIndexType(), block);
    if (info.cluster > 1) // Neighbouring CTAs are a cluster.
      block = arith::DivUIOp::create(rewriter, loc, block, arith::ConstantIndexOp::create(rewriter, loc, info.cluster));
    Block &body = op.getBody().front();
    rewriter.eraseOp(body.getTerminator());
    scf::ForOp loop;
    if (op.getPersistent()) {
      LinearForm total = IndexArithmetic::constant(1);
      for (const LinearForm &extent : extents)
        total = forms.multiply(total, extent);
      if (tail.parts > 1)
        total = IndexArithmetic::constant(tail.countCtas(total.constant));
      Value step = info.makeCtas(rewriter, loc);
      step = arith::IndexCastUIOp::create(rewriter, loc, rewriter.getIndexType(), step);
      if (info.cluster > 1)
        step = arith::DivUIOp::create(rewriter, loc, step, arith::ConstantIndexOp::create(rewriter, loc, info.cluster));
      loop = scf::ForOp::create(rewriter, loc, block, forms.materialize(total), step);
      block = loop.getInductionVar();
      rewriter.setInsertionPointToStart(loop.getBody());
    }
    block = locatePart(rewriter, op, block, tail);
    FailureOr<SmallVector<Value>> indices = locate(rewriter, forms, op, block, extents, text);
    if (failed(indices))
      return failure();
    if (loop)
      rewriter.inlineBlockBefore(&body, loop.getBody()->getTerminator(), *indices);
    else
      rewriter.inlineBlockBefore(&body, op, *indices);
    rewriter.eraseOp(op);
    return success();
  }

private:
  /// The tile of CTA `number`, and which part of it the CTA has.
  static Value locatePart(ConversionPatternRewriter &rewriter, tk::ForTilesOp op, Value number,
                          const plan::GridTail &tail) {
    Location loc = op.getLoc();
    SmallVector<tk::TilePartOp> users;
    op.getBody().walk([&](tk::TilePartOp user) { users.push_back(user); });
    if (tail.parts == 1 && users.empty())
      return number;
    auto constant = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(rewriter, loc, value); };
    Value zero = constant(0), tile = number, ofTail = zero, part = zero, parts = constant(1);
    if (tail.parts > 1) {
      Value first = constant(tail.whole), most = constant(tail.parts);
      Value isTail = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sge, number, first);
      ofTail = arith::SubIOp::create(rewriter, loc, number, first);
      ofTail = arith::SelectOp::create(rewriter, loc, isTail, ofTail, zero);
      part = arith::RemUIOp::create(rewriter, loc, ofTail, most);
      parts = arith::SelectOp::create(rewriter, loc, isTail, most, parts);
      tile = arith::AddIOp::create(rewriter, loc, first, arith::DivUIOp::create(rewriter, loc, ofTail, most));
      tile = arith::SelectOp::create(rewriter, loc, isTail, tile, number);
    }
    for (tk::TilePartOp user : users)
      rewriter.replaceOp(user, {ofTail, part, parts});
    return tile;
  }

  static FailureOr<SmallVector<Value>> locateByOrder(OpBuilder &builder, IndexArithmetic &forms, tk::ForTilesOp op,
                                                     Value block, ArrayRef<LinearForm> extents, StringRef text) {
    constexpr size_t mostOfTable = 4096;
    std::vector<int64_t> counts;
    SmallVector<Value> parameters;
    for (const LinearForm &extent : extents) {
      bool isKnown = extent.terms.empty();
      counts.push_back(isKnown ? std::max<int64_t>(extent.constant, 1)
                               : plan::countOfLaunch); // Without tiles nothing runs.
      parameters.push_back(isKnown ? Value() : forms.materialize(extent));
    }
    plan::GridOrder order;
    plan::IndexProgram program;
    std::string error;
    if (!plan::parseGridOrder(text.str(), order, error) || !plan::buildGridOrder(order, counts, program, error))
      return op.emitOpError("expected a traversal of ") << shapeOf(counts) << " tiles: " << error;
    if (order.traversal.table.size() > mostOfTable)
      return op.emitOpError("expected an order by arithmetic or a table of at most ")
             << mostOfTable << " tiles, got a table of " << order.traversal.table.size();
    Value index = forms.materialize(forms.get(block, {0, Bounds().max}));
    return ProgramEmitter(builder, op.getLoc(), index, parameters).emit(program);
  }

  /// "16 x 56"; "16 x ?".
  static std::string shapeOf(ArrayRef<int64_t> counts) {
    return llvm::join(
        llvm::map_range(counts,
                        [](int64_t count) { return count == plan::countOfLaunch ? "?" : std::to_string(count); }),
        " x ");
  }

  /// The tile numbers of the linear block index.
  static FailureOr<SmallVector<Value>> locate(OpBuilder &builder, IndexArithmetic &forms, tk::ForTilesOp op,
                                              Value block, ArrayRef<LinearForm> extents, StringRef text) {
    if (text != "row")
      return locateByOrder(builder, forms, op, block, extents, text);
    LinearForm rest = forms.get(block, {0, Bounds().max});
    SmallVector<Value> indices(extents.size());
    for (unsigned i = extents.size(); i-- > 0;) {
      indices[i] = forms.materialize(i ? forms.mod(rest, extents[i]) : rest);
      if (i)
        rest = forms.floorDiv(rest, extents[i]);
    }
    return indices;
  }
};

} // namespace

void weft::gpu::populateControlPatterns(const TypeConverter &converter, RewritePatternSet &patterns,
                                        const KernelInfo &info) {
  addTilePatterns<LowerForTiles>(patterns, converter, info);
}
