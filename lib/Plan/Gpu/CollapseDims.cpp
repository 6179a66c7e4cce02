// weft-collapse-dims: applies the partition of DimRelations to a kernel, in place.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Twice: dimensions of extent 1 go first, so that they do not stand between dimensions that merge. Tensors are dense
// and row-major, so both only rename memory. All types change at once; attributes follow from the old and the new
// dimensions of an op's values.
#include "DimRelations.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace weft::plan {
#define GEN_PASS_DEF_COLLAPSEDIMS
#include "weft/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

namespace {

/// One round of dropping or merging.
class Collapse {
public:
  Collapse(Block &block, DimRelations::Mode mode) : block(block), relations(block, mode) {
    auto note = [&](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type)
        return;
      Reassociation groups = relations.get(value);
      changes |= int64_t(groups.size()) != type.getRank();
      groupsOf[value] = std::move(groups);
    };
    llvm::for_each(block.getArguments(), note);
    for (Operation &op : block)
      llvm::for_each(op.getResults(), note);
  }

  /// Whether there was anything to do.
  bool run() {
    if (!changes)
      return false;
    for (Operation &op : block.without_terminator())
      rewriteAttributes(&op);
    for (auto &[value, groups] : groupsOf)
      value.setType(collapse(cast<RankedTensorType>(value.getType()), groups));
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (auto constant = dyn_cast<tg::ConstantOp>(op))
        if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
          constant.setValueAttr(dense.reshape(cast<ShapedType>(constant.getType())));
      if (auto reshape = dyn_cast<tg::ReshapeOp>(op); reshape && reshape.getInput().getType() == reshape.getType()) {
        reshape.getResult().replaceAllUsesWith(reshape.getInput());
        reshape.erase();
      }
    }
    return true;
  }

private:
  static RankedTensorType collapse(RankedTensorType type, const Reassociation &groups) {
    tg::Dims old = tg::getDims(type), now;
    for (ArrayRef<unsigned> group : groups) {
      AffineExpr extent = old[group.front()];
      for (unsigned d : group.drop_front())
        extent = extent * old[d];
      now.push_back(extent);
    }
    return tg::getTensorType(now, type.getElementType());
  }

  /// The new number of old dimension `d`, which was not dropped.
  static int64_t find(const Reassociation &groups, int64_t d) {
    return llvm::find_if(groups, [&](ArrayRef<unsigned> group) { return llvm::is_contained(group, d); }) -
           groups.begin();
  }

  /// Per group: the number of its first dimension, in units of the product of the other extents.
  SmallVector<int64_t> scale(Value value, ArrayRef<int64_t> numbers) {
    tg::Dims extents = tg::getDims(value.getType());
    SmallVector<int64_t> scaled;
    for (ArrayRef<unsigned> group : groupsOf[value]) {
      int64_t number = numbers[group.front()];
      for (unsigned d : group.drop_front())
        number *= number == 0 ? 1 : tg::getConstant(extents[d]).value_or(1);
      scaled.push_back(number);
    }
    return scaled;
  }

  /// Per group the number of its first dimension if it is alone, else `merged`.
  SmallVector<int64_t> pick(Value value, ArrayRef<int64_t> numbers, int64_t merged) {
    return llvm::map_to_vector(
        groupsOf[value], [&](ArrayRef<unsigned> group) { return group.size() == 1 ? numbers[group.front()] : merged; });
  }

  void rewriteAttributes(Operation *op) {
    auto axisIn = [&](Value value, int64_t axis) { return find(groupsOf[value], axis); };
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](tg::TransposeOp transpose) {
          SmallVector<int64_t> permutation;
          for (ArrayRef<unsigned> group : groupsOf[transpose.getResult()])
            permutation.push_back(axisIn(transpose.getInput(), transpose.getPermutation()[group.front()]));
          transpose.setPermutation(permutation);
        })
        .Case([&](tg::SliceOp slice) {
          SmallVector<int64_t> offsets = scale(slice.getInput(), slice.getOffsets());
          slice.setStrides(pick(slice.getInput(), slice.getStrides(), 1));
          slice.setOffsets(offsets);
        })
        .Case([&](tg::PadOp pad) {
          SmallVector<int64_t> low = scale(pad.getInput(), pad.getLow()), high = scale(pad.getInput(), pad.getHigh());
          pad.setInterior(pick(pad.getInput(), pad.getInterior(), 0));
          pad.setLow(low);
          pad.setHigh(high);
        })
        .Case([&](tg::ConcatOp concat) { concat.setAxis(axisIn(concat.getResult(), concat.getAxis())); })
        .Case([&](tg::WindowOp window) {
          window.setDims(
              llvm::map_to_vector(window.getDims(), [&](int64_t d) { return axisIn(window.getInput(), d); }));
        })
        .Case([&](tg::ReduceOp reduce) { rewriteReduce(reduce); })
        .Case([&](tg::ArgReduceOp reduce) {
          if (reduce.getKeepDims() && isDropped(reduce.getResult(), reduce.getAxis()))
            reduce.setKeepDims(false);
          reduce.setAxis(axisIn(reduce.getInput(), reduce.getAxis()));
        })
        .Case([&](tg::ScanOp scan) { scan.setAxis(axisIn(scan.getInput(), scan.getAxis())); })
        .Case([&](tg::TopKOp topK) { topK.setAxis(axisIn(topK.getInput(), topK.getAxis())); })
        .Case([&](tg::IotaOp iota) { iota.setAxis(axisIn(iota.getResult(), iota.getAxis())); })
        .Case<tg::ContractOp, tg::GatherOp, tg::ScatterOp>([&](Operation *) { rewriteMaps(op); });
  }

  bool isDropped(Value value, int64_t d) { return find(groupsOf[value], d) == int64_t(groupsOf[value].size()); }

  void rewriteReduce(tg::ReduceOp reduce) {
    llvm::SetVector<int64_t> axes;
    for (int64_t axis : reduce.getAxes())
      axes.insert(find(groupsOf[reduce.getInput()], axis));
    if (reduce.getKeepDims() && isDropped(reduce.getResult(), reduce.getAxes().front()))
      reduce.setKeepDims(false);
    reduce.setAxes(axes.getArrayRef());
  }

  /// The map for a value: one result for each of its groups, over the groups of the domain.
  static AffineMap rewriteMap(AffineMap map, const Reassociation &groups, const Reassociation &domain) {
    MLIRContext *context = map.getContext();
    SmallVector<AffineExpr> replacements(map.getNumDims(), getAffineConstantExpr(0, context)), results;
    for (auto [i, group] : llvm::enumerate(domain))
      for (unsigned d : group) // A merged dimension occurs only at the head of its group.
        replacements[d] = getAffineDimExpr(i, context);
    for (ArrayRef<unsigned> group : groups)
      results.push_back(map.getResult(group.front()).replaceDims(replacements));
    return AffineMap::get(domain.size(), map.getNumSymbols(), results, context);
  }

  void rewriteMaps(Operation *op) {
    Reassociation domain = relations.getDomain(op);
    Builder builder(op->getContext());
    SmallVector<MappedValue> values = getMappedValues(op);
    auto rewritten = [&](const MappedValue &mapped) {
      return llvm::map_to_vector(mapped.maps,
                                 [&](AffineMap map) { return rewriteMap(map, groupsOf[mapped.value], domain); });
    };
    if (auto contract = dyn_cast<tg::ContractOp>(op)) {
      SmallVector<AffineMap> maps;
      for (const MappedValue &mapped : values)
        maps.push_back(rewritten(mapped).front());
      contract.setMapsAttr(builder.getAffineMapArrayAttr(maps));
      return;
    }
    AffineMap dataMap = rewritten(values[0]).front();
    ArrayAttr indexMaps = builder.getAffineMapArrayAttr(rewritten(values[1]));
    op->setAttr("data_map", AffineMapAttr::get(dataMap));
    op->setAttr("index_maps", indexMaps);
  }

  Block &block;
  DimRelations relations;
  llvm::MapVector<Value, Reassociation> groupsOf;
  bool changes = false;
};

/// A constant of equal elements in an elementwise op constrains no dimension as a scalar.
void makeSplatsScalar(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (!isa<tg::PointwiseOpInterface>(op))
      continue;
    for (OpOperand &operand : op.getOpOperands()) {
      auto constant = operand.get().getDefiningOp<tg::ConstantOp>();
      auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : SplatElementsAttr();
      bool givesShape = llvm::none_of(op.getOperands(), [&](Value other) {
        return other != operand.get() && tg::getDims(other.getType()) == tg::getDims(op.getResult(0).getType());
      });
      if (!splat || splat.getType().getRank() == 0 || givesShape)
        continue;
      OpBuilder builder(&op);
      auto scalar = cast<ElementsAttr>(
          DenseElementsAttr::getFromRawBuffer(RankedTensorType::get({}, splat.getElementType()), splat.getRawData()));
      operand.set(tg::ConstantOp::create(builder, constant.getLoc(), scalar));
      if (constant->use_empty())
        constant->erase();
    }
  }
}

/// Domains of contractions in the order of their results, so that neighbours there are neighbours here; reduced
/// dimensions follow.
void orderDomains(Block &block) {
  for (auto contract : block.getOps<tg::ContractOp>()) {
    MLIRContext *context = contract.getContext();
    AffineMap result = contract.getMap(2);
    unsigned count = 0;
    SmallVector<AffineExpr> renumbered(result.getNumDims());
    for (AffineExpr expr : result.getResults())
      renumbered[cast<AffineDimExpr>(expr).getPosition()] = getAffineDimExpr(count++, context);
    for (AffineExpr &dim : renumbered)
      if (!dim)
        dim = getAffineDimExpr(count++, context);
    SmallVector<AffineMap> maps;
    for (unsigned i : {0u, 1u, 2u})
      maps.push_back(contract.getMap(i).replaceDimsAndSymbols(renumbered, {}, count, 0));
    contract.setMapsAttr(Builder(context).getAffineMapArrayAttr(maps));
  }
}

struct CollapseDimsPass : weft::plan::impl::CollapseDimsBase<CollapseDimsPass> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](ModuleOp module) {
      tg::LikelyExtents likely(module);
      auto kernel = module.lookupSymbol<func::FuncOp>("kernel");
      if (kernel && !kernel.isExternal() && !module->hasAttr(scheduleAttr) && kernel.getBody().hasOneBlock())
        collapse(module, kernel);
    });
  }

  void collapse(ModuleOp module, func::FuncOp kernel) {
    Block &body = kernel.getBody().front();
    makeSplatsScalar(body);
    orderDomains(body);
    bool dropped = Collapse(body, DimRelations::Mode::Drop).run();
    bool merged = Collapse(body, DimRelations::Mode::Merge).run();
    if (!dropped && !merged)
      return;
    TypeRange results = body.getTerminator()->getOperandTypes();
    kernel.setFunctionType(FunctionType::get(&getContext(), body.getArgumentTypes(), results));
    Builder builder(&getContext());
    SmallVector<Type> tensors;
    for (Type type : body.getArgumentTypes())
      if (isa<RankedTensorType>(type))
        tensors.push_back(type);
    if (module->hasAttr(operandDimsAttr))
      module->setAttr(operandDimsAttr, getDimsAttr(builder, tensors));
    if (module->hasAttr(resultDimsAttr))
      module->setAttr(resultDimsAttr, getDimsAttr(builder, results));
    ++numCollapsed;
  }
};
} // namespace
