// An expression in the place of a symbol, in types and in the maps of ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileGraph/IR/Substitution.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/Program.h"

using namespace mlir;

namespace weft::tg {

namespace {

class Substitution {
public:
  Substitution(unsigned symbol, AffineExpr expr) : from(getAffineSymbolExpr(symbol, expr.getContext())), to(expr) {
    replacer.addReplacement([this](RankedTensorType type) -> std::optional<std::pair<Type, WalkResult>> {
      if (!isa_and_nonnull<DimsAttr>(type.getEncoding()))
        return std::nullopt;
      Dims dims = getDims(type);
      for (AffineExpr &dim : dims)
        dim = apply(dim);
      return std::pair<Type, WalkResult>(getTensorType(dims, type.getElementType()), WalkResult::skip());
    });
  }

  void apply(Operation *op) {
    if (auto function = dyn_cast<func::FuncOp>(op))
      function.setFunctionType(cast<FunctionType>(replacer.replace(function.getFunctionType())));
    for (Value result : op->getResults())
      result.setType(replacer.replace(result.getType()));
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          argument.setType(replacer.replace(argument.getType()));
    if (auto extents = dyn_cast<ExtentsOp>(op))
      extents.setMap(apply(extents.getMap()));
    else if (auto fold = dyn_cast<FoldOp>(op))
      fold.setExtent(apply(fold.getExtent()));
    else if (auto equal = dyn_cast<AssumeEqualOp>(op))
      equal.setMap(apply(equal.getMap()));
    else if (auto order = dyn_cast<AssumeAtMostOp>(op))
      order.setMap(apply(order.getMap()));
    else if (auto loop = dyn_cast<LoopOp>(op))
      loop.setTrips(apply(loop.getTrips()));
  }

private:
  AffineExpr apply(AffineExpr expr) { return simplify(expr.replace(from, to)); }
  AffineMap apply(AffineMap map) {
    SmallVector<AffineExpr> results = llvm::map_to_vector(map.getResults(), [&](AffineExpr e) { return apply(e); });
    return getSymbolMap(results, map.getContext());
  }

  AffineExpr from, to;
  AttrTypeReplacer replacer;
};

} // namespace

void substituteSymbol(ModuleOp program, unsigned symbol, AffineExpr expr) {
  Substitution substitution(symbol, expr);
  program.walk([&](Operation *op) { substitution.apply(op); });
}

} // namespace weft::tg
