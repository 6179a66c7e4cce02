// weft-band-masks: masks of softmax that keep a band of positions become comparisons of positions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An exporter's mask is a number v far below wherever a function of positions and extents says so (MaskConditions.h),
// or a constant that keeps a band. Where row i keeps lo(i) <= j <= hi(i), the masked scores are select(lo(i) <= j <=
// hi(i), scores, v), every element the same, of which kernels take the bounds of their loops. What changes along the
// stream is on the side of j, so that it is computed in the fold. For v = -inf that is all. A finite v is taken as -inf
// where that changes no weight, which is proved, tested by each run (MaskGuards.h), or granted by the licence.
#include "MaskGuards.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <map>

using namespace mlir;

namespace weft::tg {

#define GEN_PASS_DEF_BANDMASKS
#include "weft/Dialect/TileGraph/Rewrite/Passes.h.inc"

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Whether `value`, itself or cast, is read by nothing but `most`, the maximum of its rows, and the exponentials of its
/// distance from that.
bool isOnlySoftmax(Value value, ReduceOp most) {
  for (Operation *user : value.getUsers()) {
    if (user == most)
      continue;
    if (auto cast = dyn_cast<CastOp>(user)) {
      if (!isa<FloatType>(GraphBuilder::elementOf(cast.getResult())) || !isOnlySoftmax(cast.getResult(), most))
        return false;
      continue;
    }
    auto sub = dyn_cast<SubOp>(user);
    if (!sub || sub.getLhs() != value || sub.getRhs() != most.getResult() ||
        !llvm::all_of(sub->getUsers(), llvm::IsaPred<ExpOp>))
      return false;
  }
  return true;
}

struct BandMasks : impl::BandMasksBase<BandMasks> {
  using Base::Base;

  void runOnOperation() override {
    LikelyExtents likely(getOperation());
    SmallVector<ReduceOp> maxima;
    getOperation()->walk([&](ReduceOp reduce) {
      if (reduce.getKind() == Monoid::Max && reduce.getKeepDims() && reduce.getAxes().size() == 1 &&
          reduce.getAxes().front() == reduce.getInput().getType().getRank() - 1)
        maxima.push_back(reduce);
    });
    for (ReduceOp most : maxima) {
      Operation *op = most.getInput().getDefiningOp();
      while (isa_and_nonnull<CastOp>(op))
        op = op->getOperand(0).getDefiningOp();
      if (op)
        rewrite(op, most);
    }
    for (Operation *op : replaced)
      op->erase();
    bounds = {};
    tables = {};
    builtGuards.clear();
    known.clear();
    replaced.clear();
  }

private:
  static remark::RemarkOpts options(StringRef name) { return remark::RemarkOpts::name(name).category("fold"); }

  /// Why the masked number of `mask`, which is finite, may not count as -inf; empty if it may.
  std::string refuse(const MaskConditions &mask, Operation *op, ReduceOp most, MaskGuard &guard,
                     const SymbolFacts &facts) {
    if (mask.emptyRow)
      return llvm::formatv("row {0} keeps no element: with {1:e3} its weights are equal, not zero", *mask.emptyRow,
                           mask.masked);
    if (!isOnlySoftmax(op->getResult(0), most))
      return "the masked scores are read by more than a softmax";
    if (finite)
      return "";
    std::optional<TestPrice> price;
    if (testKernel >= 0)
      price = TestPrice{testKernel, testByte};
    std::string reason = guard.refuse(facts, bounds, price);
    return reason.empty() ? reason : reason + "; --fp=fast takes it as -inf";
  }

  void rewrite(Operation *op, ReduceOp most) {
    if (!isa<AddOp, SelectOp>(op))
      return;
    Dims dims = getDims(op->getResult(0).getType());
    auto function = op->getParentOfType<func::FuncOp>();
    const SymbolFacts &facts = known.try_emplace(function, function).first->second;
    OpBuilder builder(op);
    MaskReader reader(tables, facts, builder, dims);
    MaskConditions mask = reader.read(op->getResult(0));
    MaskGuard guard(mask, op, most, dims);
    std::string reason = mask.forms.empty()        ? mask.refused
                         : std::isinf(mask.masked) ? ""
                                                   : refuse(mask, op, most, guard, facts);
    if (!reason.empty())
      remark::missed(op->getLoc(), options("no-band")) << remark::add("a mask stays: {0}", reason);
    if (reason.empty() && !mask.forms.empty()) {
      GraphBuilder g{builder, op->getLoc()};
      if (guard.isTested()) {
        compareMask(mask, op, dims, g);
        Value moved = guard.build(g, builtGuards);
        for (PlaceForm &form : mask.forms)
          form.data.push_back({moved, getSequence(dims), 1});
      }
      build(mask, op, dims, g, guard.isTested());
      ++numMasks;
      remark::passed(op->getLoc(), options("band-mask"))
          << remark::add("a mask keeps elements j of rows i with {0}: compared, not read", describe(mask.forms));
    }
    reader.undo();
  }

  /// `0 <= 3 + i - j` of each form.
  static std::string describe(ArrayRef<PlaceForm> forms) {
    std::string text;
    llvm::raw_string_ostream os(text);
    for (const PlaceForm &form : forms) {
      os << (text.empty() ? "" : ", ") << "0 <= " << form.rest;
      for (auto [d, factor] : llvm::enumerate(form.factors)) {
        if (factor == 0)
          continue;
        os << (factor < 0 ? " - " : " + ");
        if (std::abs(factor) != 1)
          os << std::abs(factor) << " * ";
        size_t behind = form.factors.size() - 1 - d;
        behind == 0 ? os << "j" : behind == 1 ? os << "i" : os << "d" << d;
      }
      for (const DataTerm &term : form.data)
        os << (term.factor < 0 ? " - " : " + ") << "a number from memory";
    }
    return text;
  }

  /// Where a number for each sequence and head is.
  static Places getSequence(ArrayRef<AffineExpr> dims) {
    AffineExpr zero = getAffineConstantExpr(0, dims.front().getContext());
    Places at(dims.size(), zero);
    for (unsigned d = 0; d + 2 < dims.size(); ++d)
      at[d] = getAffineDimExpr(d, zero.getContext());
    return at;
  }

  static Value makeNumber(GraphBuilder &g, AffineExpr expr) {
    if (std::optional<int64_t> number = getConstant(expr))
      return g.op<ConstantOp>(DenseElementsAttr::get(RankedTensorType::get({}, g.builder.getI64Type()), *number));
    return g.reshape(g.op<ExtentsOp>(getSymbolMap({expr}, expr.getContext())), {});
  }

  /// `place` moved by what is in memory, a number for all rows and positions.
  static Value addData(GraphBuilder &g, Value place, const DataTerm &term, int64_t sign, unsigned rank) {
    Dims line(rank, g.builder.getAffineConstantExpr(1));
    for (auto [at, extent] : llvm::zip_equal(term.at, getDims(term.value.getType())))
      if (auto dim = dyn_cast<AffineDimExpr>(at); dim && getConstant(extent) != 1)
        line[dim.getPosition()] = extent;
    Value number = g.cast(g.reshape(term.value, line), g.builder.getI64Type());
    int64_t factor = sign * term.factor;
    if (std::abs(factor) != 1)
      number = g.op<MulOp>(number, makeNumber(g, g.builder.getAffineConstantExpr(std::abs(factor))));
    return factor > 0 ? g.op<AddOp>(place, number) : g.op<SubOp>(place, number);
  }

  /// `form` >= 0 as a comparison of the stream's position, moved, with the row's.
  static Value compare(GraphBuilder &g, const PlaceForm &form, ArrayRef<AffineExpr> dims) {
    unsigned rank = dims.size(), first = rank >= 2 ? rank - 2 : 0;
    for (unsigned d = rank; d-- > 0;)
      first = form.factors[d] != 0 ? std::min(first, d) : first;
    Type i64 = g.builder.getI64Type();
    auto places = [&](unsigned d) {
      Dims line(rank - first, g.builder.getAffineConstantExpr(1));
      line[d - first] = dims[d];
      return g.op<IotaOp>(getTensorType(line, i64), uint64_t(d - first));
    };
    int64_t sign = form.factors.back(); // sign * j + rest + rows >= 0
    Value place = places(rank - 1), rows;
    for (unsigned d = first; d + 1 < rank; ++d) {
      int64_t factor = -sign * form.factors[d];
      if (factor == 0)
        continue;
      Value row = places(d);
      row = factor == 1 ? row : g.op<MulOp>(row, makeNumber(g, g.builder.getAffineConstantExpr(factor)));
      rows = rows ? g.op<AddOp>(rows, row) : row;
    }
    AffineExpr distance = simplify(form.rest * sign);
    if (!rows)
      rows = makeNumber(g, simplify(-distance));
    else if (getConstant(distance) != 0)
      place = g.op<AddOp>(place, makeNumber(g, distance));
    for (const DataTerm &term : form.data)
      place = addData(g, place, term, sign, rank);
    return g.op<CmpOp>(sign < 0 ? CmpPredicate::Le : CmpPredicate::Ge, place, rows);
  }

  /// The condition that all forms hold.
  static Value compareAll(GraphBuilder &g, ArrayRef<PlaceForm> forms, ArrayRef<AffineExpr> dims) {
    Value condition;
    for (const PlaceForm &form : forms) {
      Value holds = compare(g, form, dims);
      condition = condition ? g.op<AndOp>(condition, holds) : holds;
    }
    return condition;
  }

  /// Where the mask stays, the fold need not read it, element by element: what it adds is a choice by its forms between
  /// its number and what is left, often of one number a position.
  static void compareMask(const MaskConditions &mask, Operation *op, ArrayRef<AffineExpr> dims, GraphBuilder g) {
    auto sum = dyn_cast<AddOp>(op);
    if (!sum || !mask.isChoice)
      return;
    for (unsigned i : {0u, 1u}) {
      Value scores = sum->getOperand(i), rest = g.scalar(0, GraphBuilder::elementOf(scores));
      if (scores.getType() != sum.getType())
        continue;
      if (auto left = mask.rest.getDefiningOp<AddOp>(); left && left != sum && left->getOperand(i) == scores)
        rest = left->getOperand(1 - i);
      else if (mask.rest != scores)
        continue;
      Value number = g.scalar(mask.masked, GraphBuilder::elementOf(scores));
      Value added = g.op<SelectOp>(compareAll(g, mask.forms, dims), rest, number);
      sum->setOperand(1 - i, added);
      return;
    }
  }

  /// The masked scores, from comparisons of positions. Where those may hold everywhere, by a test, the mask stays
  /// beside them.
  void build(const MaskConditions &mask, Operation *op, ArrayRef<AffineExpr> dims, GraphBuilder g, bool isTested) {
    Value condition = compareAll(g, mask.forms, dims), old = op->getResult(0);
    Type element = GraphBuilder::elementOf(old);
    Value least = g.scalar(-infinity, element);
    if (mask.rest != old && !isTested) {
      bool isSum = isa<AddOp>(op) && std::isinf(mask.masked) && llvm::is_contained(op->getOperands(), mask.rest);
      Value masked = isSum ? g.op<AddOp>(mask.rest, g.op<SelectOp>(condition, g.scalar(0, element), least))
                           : g.op<SelectOp>(condition, mask.rest, least);
      if (masked.getType() == old.getType()) {
        old.replaceAllUsesWith(masked);
        replaced.push_back(op);
        return;
      }
    }
    // Nothing of the mask could be left out, or it has extents that the scores lack.
    Value masked = g.op<SelectOp>(condition, old, least);
    masked.getDefiningOp()->moveAfter(op);
    old.replaceAllUsesExcept(masked, masked.getDefiningOp());
  }

  /// These know values by their addresses: what is replaced stays until the end.
  ScoreBounds bounds;
  BuiltGuards builtGuards;
  Tables tables;
  SmallVector<Operation *> replaced;
  std::map<Operation *, SymbolFacts> known; ///< Of each function.
};

} // namespace
} // namespace weft::tg
