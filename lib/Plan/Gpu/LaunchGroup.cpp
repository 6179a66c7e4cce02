// The products of a kernel as an affine group: what the lower bounds on traffic are about.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statements are the kernel's contractions, loops the dimensions of its iteration space. An operand stands for one
// tensor behind it (through elementwise ops and views): a tensor in memory, or the result of another contraction. A
// bound must not be too high, so whatever is not affine is left out, which makes it lower: an operand that depends on
// data, an axis with a quotient, a contraction whose result is asked for at other indices than the loops'. So are
// operands of less than a byte an element: arrays of a group have whole bytes. Where a mask says which steps of a fold
// are needed, only a causal one is understood: the steps are the mean of all rows'.
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Plan/KernelLaunch.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallSet.h"
#include <map>

using namespace mlir;

namespace weft::plan {
namespace {

/// What an operand of a contraction is behind elementwise ops: a contraction, or an argument of the kernel.
struct Source {
  tg::ContractOp contract;
  BlockArgument argument;

  explicit operator bool() const { return contract || argument; }
};

class GroupMaker {
public:
  explicit GroupMaker(const KernelToSchedule &kernel)
      : kernel(kernel), body(const_cast<func::FuncOp &>(kernel.func).getBody().front()),
        access(analyseAccess(body, /*entersFolds=*/true)) {}

  std::optional<AffineGroup> run();

private:
  bool setExtents();
  Source findSource(Value value, unsigned depth = 0);
  Source followSource(Value value, unsigned depth);
  std::map<unsigned, int64_t> findTerms(AffineExpr expr, bool &isLinear);
  std::vector<GroupAxis> findAxes(const KernelRequest &request);
  llvm::SmallSet<int32_t, 8> dimsOf(const KernelRequest &request);
  const KernelRequest *findRead(BlockArgument argument, const llvm::SmallSet<int32_t, 8> &dims);
  int32_t addArray(Value value, GroupArray::Kind kind, const KernelRequest &request);
  void addStatement(tg::ContractOp contract);
  void markOutputs();
  int32_t dimOf(unsigned kernelDim);

  const KernelToSchedule &kernel;
  Block &body;
  KernelAccess access;
  AffineGroup group;
  std::vector<int64_t> extents; ///< Of the kernel's dimensions.
  std::map<unsigned, int32_t> dims;
  llvm::MapVector<Operation *, int32_t> results; ///< The arrays of contractions that are statements.
  std::map<std::pair<void *, std::string>, int32_t> arrays;
  llvm::DenseMap<Value, Source> sources; ///< Values are followed once: they have several readers.
};

} // namespace

/// 1 + 2 + ... + last, no term above `most`.
static double countPairs(double last, double most) {
  double growing = std::clamp(last, 0.0, most);
  return growing * (growing + 1) / 2 + std::max(last - most, 0.0) * most;
}

/// False where a mask that is not causal cuts steps off.
bool GroupMaker::setExtents() {
  for (const KernelDim &dim : access.dims)
    extents.push_back(estimateExtent(dim.extent));
  auto fold = kernel.find<tg::FoldOp>();
  if (!fold)
    return true;
  // Choices that move with the steps; others guard rows.
  auto isMask = [&](Operation &op) {
    return llvm::any_of(access.of(op.getResult(0)), [&](const KernelRequest *request) {
      return llvm::any_of(llvm::enumerate(access.dims), [&](auto dim) {
        return dim.value().reducer == fold.getOperation() &&
               llvm::any_of(request->coordinates, [&](AffineExpr at) { return at && at.isFunctionOfDim(dim.index()); });
      });
    });
  };
  size_t compares = 0, selects = 0;
  fold.getUpdate().walk([&](Operation *op) {
    compares += isa<tg::CmpOp>(op) && isMask(*op);
    selects += isa<tg::SelectOp>(op) && isMask(*op);
  });
  if (!compares && !selects)
    return true;
  std::optional<GrowingFold> growing = findGrowingFold(fold, access);
  if (!growing || compares != 1 || selects != 1)
    return false;
  for (auto [d, dim] : llvm::enumerate(access.dims))
    if (dim.reducer == fold.getOperation()) {
      double rows = double(extents[growing->dim]), base = double(growing->base), most = double(extents[d]);
      double pairs = countPairs(base + rows, most) - countPairs(base, most);
      extents[d] = std::max<int64_t>(int64_t(pairs / rows), 1);
    }
  return true;
}

int32_t GroupMaker::dimOf(unsigned kernelDim) {
  unsigned along = access.dims[kernelDim].along;
  auto [it, isNew] = dims.try_emplace(along, int32_t(group.dims.size()));
  if (isNew)
    group.dims.push_back({"d" + std::to_string(along), extents[along]});
  return it->second;
}

Source GroupMaker::findSource(Value value, unsigned depth) {
  constexpr unsigned mostDepth = 64;
  if (auto known = sources.find(value); known != sources.end())
    return known->second;
  return sources[value] = depth > mostDepth ? Source() : followSource(value, depth);
}

Source GroupMaker::followSource(Value value, unsigned depth) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto fold = dyn_cast<tg::FoldOp>(argument.getOwner()->getParentOp());
    if (fold && argument.getOwner() == &fold.getFinish().front())
      return findSource(fold.getUpdate().front().getTerminator()->getOperand(argument.getArgNumber()), depth + 1);
    return argument.getOwner() == &body ? Source{{}, argument} : Source();
  }
  Operation *op = value.getDefiningOp();
  if (auto contract = dyn_cast<tg::ContractOp>(op))
    return {contract, {}};
  if (auto fold = dyn_cast<tg::FoldOp>(op))
    return findSource(fold.getFinish().front().getTerminator()->getOperand(cast<OpResult>(value).getResultNumber()),
                      depth + 1);
  if (!isa<tg::PointwiseOpInterface, tg::ReshapeOp, tg::TransposeOp, tg::BroadcastOp>(op))
    return {};
  Source best;
  int64_t most = 0;
  for (Value operand : op->getOperands()) {
    Source source = findSource(operand, depth + 1);
    if (source.contract)
      return source;
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    int64_t elements = type && type.hasStaticShape() ? type.getNumElements() : 1;
    if (source && elements > most) {
      best = source;
      most = elements;
    }
  }
  return best;
}

/// Coefficients by the kernel's dimensions, constants apart.
std::map<unsigned, int64_t> GroupMaker::findTerms(AffineExpr expr, bool &isLinear) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return {{dim.getPosition(), 1}};
  if (isa<AffineConstantExpr>(expr))
    return {};
  auto pair = dyn_cast<AffineBinaryOpExpr>(expr);
  if (pair && pair.getKind() == AffineExprKind::Add) {
    std::map<unsigned, int64_t> sum = findTerms(pair.getLHS(), isLinear);
    for (auto [dim, factor] : findTerms(pair.getRHS(), isLinear))
      sum[dim] += factor;
    return sum;
  }
  auto factor = pair ? dyn_cast<AffineConstantExpr>(pair.getRHS()) : AffineConstantExpr();
  if (pair && pair.getKind() == AffineExprKind::Mul && factor && std::abs(factor.getValue()) < int64_t(1) << 20) {
    std::map<unsigned, int64_t> product = findTerms(pair.getLHS(), isLinear);
    for (auto &[dim, value] : product)
      value *= factor.getValue();
    return product;
  }
  isLinear = false;
  return {};
}

std::vector<GroupAxis> GroupMaker::findAxes(const KernelRequest &request) {
  std::vector<GroupAxis> axes;
  for (AffineExpr at : request.coordinates) {
    bool isLinear = bool(at);
    std::map<unsigned, int64_t> terms = at ? findTerms(at, isLinear) : std::map<unsigned, int64_t>();
    std::map<int32_t, int64_t> loops;
    for (auto [dim, factor] : terms)
      if (factor && extents[access.dims[dim].along] > 1)
        loops[dimOf(dim)] += std::abs(factor);
    if (!isLinear || loops.empty())
      continue;
    GroupAxis axis;
    for (auto [loop, factor] : loops)
      if (axis.dims.size() < 2) {
        axis.dims.push_back(loop);
        axis.strides.push_back(factor);
      }
    if (axis.dims.size() == 1)
      axis.strides = {1};
    axes.push_back(std::move(axis));
  }
  return axes;
}

llvm::SmallSet<int32_t, 8> GroupMaker::dimsOf(const KernelRequest &request) {
  llvm::SmallSet<int32_t, 8> list;
  for (AffineExpr at : request.coordinates)
    for (unsigned d = 0; at && d < access.dims.size(); ++d)
      if (at.isFunctionOfDim(d) && extents[access.dims[d].along] > 1)
        list.insert(dimOf(d));
  return list;
}

/// Of the elements where the argument is read, those that move with most of the loops `dims` and no others.
const KernelRequest *GroupMaker::findRead(BlockArgument argument, const llvm::SmallSet<int32_t, 8> &dims) {
  const KernelRequest *best = nullptr;
  size_t most = 0;
  for (const KernelRequest *request : access.of(argument)) {
    llvm::SmallSet<int32_t, 8> read = dimsOf(*request);
    bool isWithin = llvm::all_of(read, [&](int32_t dim) { return dims.contains(dim); });
    if (isWithin && (!best || read.size() > most)) {
      best = request;
      most = read.size();
    }
  }
  return best;
}

int32_t GroupMaker::addArray(Value value, GroupArray::Kind kind, const KernelRequest &request) {
  GroupArray array;
  array.kind = kind;
  int64_t bits = tg::getElementBits(cast<RankedTensorType>(value.getType()).getElementType());
  array.elementBytes = std::max<int64_t>(bits / 8, 1);
  array.axes = findAxes(request);
  std::string key;
  for (const GroupAxis &axis : array.axes) {
    for (auto [dim, stride] : llvm::zip_equal(axis.dims, axis.strides))
      key += std::to_string(dim) + "*" + std::to_string(stride) + "+";
    key += ",";
  }
  auto [it, isNew] = arrays.try_emplace({value.getAsOpaquePointer(), key}, int32_t(group.arrays.size()));
  array.name = "T" + std::to_string(it->second);
  if (isNew)
    group.arrays.push_back(std::move(array));
  return it->second;
}

static bool hasWholeBytes(Value value) {
  return tg::getElementBits(cast<RankedTensorType>(value.getType()).getElementType()) >= 8;
}

void GroupMaker::addStatement(tg::ContractOp contract) {
  SmallVector<const KernelRequest *> requests = access.of(contract.getResult());
  auto isLoop = [](AffineExpr at) { return at && isa<AffineDimExpr, AffineConstantExpr>(at); };
  if (requests.empty() || !llvm::all_of(requests.front()->coordinates, isLoop))
    return;
  llvm::SmallSet<int32_t, 8> loops = dimsOf(*requests.front());
  for (Value operand : {contract.getLhs(), contract.getRhs()}) // What is summed up is in the operands.
    if (SmallVector<const KernelRequest *> reads = access.of(operand); !reads.empty())
      for (int32_t dim : dimsOf(*reads.front()))
        loops.insert(dim);
  GroupStatement statement;
  statement.dims.assign(loops.begin(), loops.end());
  llvm::sort(statement.dims);
  if (statement.dims.empty())
    return;
  for (Value operand : {contract.getLhs(), contract.getRhs()}) {
    Source source = findSource(operand);
    const KernelRequest *read =
        source.argument && hasWholeBytes(source.argument) ? findRead(source.argument, loops) : nullptr;
    if (read)
      statement.reads.push_back(addArray(source.argument, GroupArray::Kind::Input, *read));
    auto made = source.contract ? results.find(source.contract.getOperation()) : results.end();
    if (made != results.end() && llvm::all_of(group.arrays[made->second].axes, [&](const GroupAxis &axis) {
          return llvm::all_of(axis.dims, [&](int32_t dim) { return loops.contains(dim); });
        }))
      statement.reads.push_back(made->second);
  }
  statement.result = addArray(contract.getResult(), GroupArray::Kind::Intermediate, *requests.front());
  results[contract] = statement.result;
  group.statements.push_back(std::move(statement));
}

/// What contractions make of the kernel's results leaves in the results' types.
void GroupMaker::markOutputs() {
  for (Value result : body.getTerminator()->getOperands()) {
    Source source = findSource(result);
    auto made = source.contract ? results.find(source.contract.getOperation()) : results.end();
    if (made == results.end())
      continue;
    GroupArray &array = group.arrays[made->second];
    array.kind = GroupArray::Kind::Output;
    array.elementBytes =
        std::max<int64_t>(tg::getElementBits(cast<RankedTensorType>(result.getType()).getElementType()) / 8, 1);
  }
}

std::optional<AffineGroup> GroupMaker::run() {
  if (!setExtents())
    return std::nullopt;
  SmallVector<tg::ContractOp> contracts;
  for (Operation &op : body)
    op.walk([&](tg::ContractOp contract) { contracts.push_back(contract); });
  for (tg::ContractOp contract : contracts)
    addStatement(contract);
  markOutputs();
  std::string error;
  if (!checkGroup(group, error))
    return std::nullopt;
  return std::move(group);
}

std::optional<AffineGroup> describeGroup(const KernelToSchedule &kernel) { return GroupMaker(kernel).run(); }

} // namespace weft::plan
