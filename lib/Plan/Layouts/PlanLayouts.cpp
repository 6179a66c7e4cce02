// weft-plan-layouts: the order in memory of the dimensions of each tensor between kernels.
//
// A tensor's order is told by the dimension that is innermost; the others keep their sequence. Orders are chosen to
// minimise the sum, over all accesses of all kernels, of bytes read or written times 16 / (bytes of the widest vector
// that the access allows): a window slides along its dimensions by one element, so there it allows none; along the
// channels of a convolution it allows whole vectors. A kernel without a contraction pays for tensors that are
// contiguous along different dimensions too, as does an epilogue; a contraction does not for its operands, since they
// pass through shared memory, except for the matrix of a product of one row, which streams. One tensor at a time takes
// its cheapest order, first without regard to others, then until nothing changes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RaiseTransposes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Plan/KernelAccess.h"
#include "weft/Plan/Passes.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

namespace weft::plan {
#define GEN_PASS_DEF_PLANLAYOUTS
#include "weft/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;
using namespace weft::plan;

namespace {

constexpr int64_t vectorBytes = 16;
/// What a byte costs more that is read along one dimension and written along another: a detour through shared memory,
/// and sectors that are used in parts.
constexpr double transposition = 2;
/// What a byte of a contraction's operand costs more that is contiguous along its rows and not along the sum: nearly
/// nothing, but rows that several dimensions make do not merge to one then.
constexpr double across = 0.01, acrossSeveral = 0.25;
/// And where the product has one row, so that the matrix streams from DRAM: tiles of few columns then read 32 to 64
/// bytes of a row of it at a time. Measured on an H100 (a decoded Llama layer, bf16): 202 us, with sums contiguous 168.
/// Products of few rows by matrix instructions gain nothing (4 rows: 188.7 and 189.4 us, 16 rows: 221.1 and 222.9).
constexpr double acrossStream = 0.2;
/// A CTA of such a product has this many threads at least to share a sum.
constexpr int64_t leastStreamedSum = 128;
/// A new order has to save this part of a tensor's cost.
constexpr double gain = 0.05;
/// Tensors below this many bytes stay in caches and keep their order.
constexpr int64_t leastBytes = 2048;

/// A tensor in memory, and its innermost dimension.
struct Tensor {
  Value value;
  unsigned inner = 0;
  int64_t bytes = 0, elementBytes = 1;
  bool isFree = false;            ///< The order may change.
  SmallVector<unsigned> accesses; ///< In the order of the kernels.
};

/// One place where a kernel reads or writes a tensor.
struct TensorAccess {
  unsigned tensor, kernel;
  SmallVector<AffineExpr> coordinates; ///< Over the kernel's iteration space.
  double reads = 1;                    ///< Of each element.
  bool isOperand = false;              ///< Of a contraction.
};

struct Kernel {
  KernelAccess access;
  SmallVector<int64_t> extents; ///< Estimates, by dimension of the iteration space.
  /// Of each contraction the reduced dimension that tiles go along: the longest.
  llvm::SmallMapVector<Operation *, unsigned, 2> depths;
  SmallVector<unsigned> accesses;
};

class Layouts {
public:
  explicit Layouts(func::FuncOp main) {
    for (tg::KernelOp kernel : main.getOps<tg::KernelOp>())
      add(kernel);
    for (Tensor &tensor : tensors)
      tensor.isFree = mayChange(tensor);
  }

  void choose() {
    constexpr unsigned mostRounds = 8;
    bool changes = true;
    for (unsigned round = 0; round < mostRounds && changes; ++round) {
      changes = round == 0; // At first each for itself: neighbours that had better change together do.
      countsNeighbours = round > 0;
      for (Tensor &tensor : tensors)
        changes |= tensor.isFree && improve(tensor);
    }
  }

  ArrayRef<Tensor> getTensors() const { return tensors; }

private:
  void add(tg::KernelOp op);
  void addAccess(unsigned kernel, Value value, ArrayRef<AffineExpr> coordinates);
  unsigned getTensor(Value value);
  bool mayChange(const Tensor &tensor) const;
  bool improve(Tensor &tensor);
  double getCost(const Tensor &tensor) const;
  double getTransposition(const TensorAccess &a, const TensorAccess &b) const;
  int64_t getVectorBytes(const TensorAccess &access) const;
  std::optional<unsigned> getContiguousDim(const TensorAccess &access) const;
  bool isTiled(const Kernel &kernel, unsigned dim) const;
  unsigned countRowDims(const TensorAccess &access) const;
  double getAcross(const TensorAccess &access) const;
  bool isStreamed(const TensorAccess &access) const;

  SmallVector<Tensor> tensors;
  llvm::DenseMap<Value, unsigned> numbers;
  SmallVector<TensorAccess> accesses;
  std::vector<Kernel> kernels;
  llvm::DenseSet<Value> fixed; ///< Of kernels that are not followed.
  bool countsNeighbours = true;
};

} // namespace

/// Ops whose kernels are made for the order that they have.
static bool isOrdered(Operation &op) {
  return isa<tg::FoldOp, tg::ScanOp, tg::TopKOp, tg::ArgReduceOp, tg::GatherOp, tg::ScatterOp, tg::ConcatOp>(op);
}

unsigned Layouts::getTensor(Value value) {
  auto [it, inserted] = numbers.try_emplace(value, tensors.size());
  if (!inserted)
    return it->second;
  auto type = cast<RankedTensorType>(value.getType());
  Tensor tensor;
  tensor.value = value;
  tensor.inner = std::max<int64_t>(type.getRank(), 1) - 1;
  tensor.elementBytes = std::max<int64_t>(tg::getElementBits(type.getElementType()) / 8, 1);
  tensor.bytes = tensor.elementBytes;
  for (AffineExpr extent : tg::getDims(type))
    tensor.bytes = llvm::SaturatingMultiply<uint64_t>(tensor.bytes, estimateExtent(extent)) & INT64_MAX;
  tensors.push_back(tensor);
  return it->second;
}

void Layouts::addAccess(unsigned kernel, Value value, ArrayRef<AffineExpr> coordinates) {
  unsigned number = getTensor(value);
  TensorAccess access{number, kernel, SmallVector<AffineExpr>(coordinates)};
  Kernel &owner = kernels[kernel];
  double places = double(tensors[number].elementBytes);
  for (unsigned d = 0; d < owner.access.dims.size(); ++d) {
    bool occurs = llvm::any_of(coordinates, [&](AffineExpr at) { return at && at.isFunctionOfDim(d); });
    if (!occurs)
      continue;
    places *= double(owner.extents[d]);
    access.isOperand |= isa_and_nonnull<tg::ContractOp>(owner.access.dims[d].reducer);
  }
  access.reads = std::max(1.0, places / double(tensors[number].bytes));
  tensors[number].accesses.push_back(accesses.size());
  owner.accesses.push_back(accesses.size());
  accesses.push_back(std::move(access));
}

void Layouts::add(tg::KernelOp op) {
  Block &body = op.getBody().front();
  if (llvm::any_of(body, isOrdered)) {
    fixed.insert(op.getResults().begin(), op.getResults().end());
    body.walk([&](Operation *inner) { fixed.insert(inner->getOperands().begin(), inner->getOperands().end()); });
    return;
  }
  unsigned number = kernels.size();
  kernels.emplace_back();
  Kernel &kernel = kernels.back();
  kernel.access = analyseAccess(body);
  for (auto [d, dim] : llvm::enumerate(kernel.access.dims)) {
    kernel.extents.push_back(estimateExtent(dim.extent));
    if (!isa_and_nonnull<tg::ContractOp>(dim.reducer))
      continue;
    auto [depth, isFirst] = kernel.depths.try_emplace(dim.reducer, unsigned(d));
    if (!isFirst && kernel.extents[d] >= kernel.extents[depth->second])
      depth->second = d;
  }
  ValueRange yielded = body.getTerminator()->getOperands();
  for (auto [result, value] : llvm::zip_equal(op.getResults(), yielded))
    for (const KernelRequest *request : kernel.access.of(value))
      addAccess(number, result, request->coordinates);
  SmallVector<KernelRequest> requests(kernel.access.requests);
  for (const KernelRequest &request : requests) {
    Operation *definition = request.value.getDefiningOp();
    if (!definition || !body.findAncestorOpInBlock(*definition))
      addAccess(number, request.value, request.coordinates);
  }
}

/// Intermediate tensors, and weights, whose order the runtime sees to when it loads them.
bool Layouts::mayChange(const Tensor &tensor) const {
  auto type = cast<RankedTensorType>(tensor.value.getType());
  Operation *op = tensor.value.getDefiningOp();
  if (!isa_and_nonnull<tg::KernelOp, tg::WeightOp>(op) || type.getRank() < 2 || tensor.bytes < leastBytes ||
      fixed.contains(tensor.value) || tg::getElementBits(type.getElementType()) < 8)
    return false;
  if (isa<tg::WeightOp>(op) && (!type.hasStaticShape() || type.getRank() > 8))
    return false;
  return llvm::all_of(tensor.value.getUsers(),
                      [](Operation *user) { return user->getParentOfType<tg::KernelOp>() != nullptr; });
}

bool Layouts::improve(Tensor &tensor) {
  unsigned rank = cast<RankedTensorType>(tensor.value.getType()).getRank(), best = tensor.inner;
  double bestCost = getCost(tensor) * (1 - gain);
  for (unsigned d = rank, before = tensor.inner; d-- > 0;) {
    if (d == before)
      continue;
    tensor.inner = d;
    if (double cost = getCost(tensor); cost < bestCost) {
      best = d;
      bestCost = cost;
    }
    tensor.inner = before;
  }
  return best != std::exchange(tensor.inner, best);
}

static bool isDepth(const Kernel &kernel, unsigned dim) {
  return llvm::any_of(kernel.depths, [&](auto &depth) { return depth.second == dim; });
}

double Layouts::getCost(const Tensor &tensor) const {
  double cost = 0;
  for (unsigned number : tensor.accesses) {
    const TensorAccess &access = accesses[number];
    cost += access.reads * double(tensor.bytes) * double(vectorBytes) / double(getVectorBytes(access));
    if (std::optional<unsigned> dim = getContiguousDim(access);
        access.isOperand && !(dim && isDepth(kernels[access.kernel], *dim)))
      cost += getAcross(access) * double(tensor.bytes);
    for (unsigned other : kernels[access.kernel].accesses)
      if (countsNeighbours && other != number)
        cost += getTransposition(access, accesses[other]);
  }
  return cost;
}

double Layouts::getTransposition(const TensorAccess &a, const TensorAccess &b) const {
  int64_t x = tensors[a.tensor].bytes, y = tensors[b.tensor].bytes;
  constexpr int64_t small = 8; // A tensor smaller than the other by this factor stays in caches.
  if (a.isOperand || b.isOperand || x < y / small || y < x / small)
    return 0;
  return getContiguousDim(a) == getContiguousDim(b) ? 0 : transposition * double(std::min(x, y));
}

/// Whether tiles of the kernel extend along a dimension of its iteration space.
bool Layouts::isTiled(const Kernel &kernel, unsigned dim) const {
  return !kernel.access.dims[dim].reducer || kernel.depths.empty() || isDepth(kernel, dim);
}

/// The dimension of the iteration space that the innermost dimension of the tensor runs along.
std::optional<unsigned> Layouts::getContiguousDim(const TensorAccess &access) const {
  if (access.coordinates.empty())
    return std::nullopt;
  auto dim = dyn_cast_or_null<AffineDimExpr>(access.coordinates[tensors[access.tensor].inner]);
  if (!dim)
    return std::nullopt;
  return kernels[access.kernel].access.dims[dim.getPosition()].along;
}

/// Dimensions of the result along which the operand of a contraction has places.
unsigned Layouts::countRowDims(const TensorAccess &access) const {
  const Kernel &kernel = kernels[access.kernel];
  return llvm::count_if(llvm::seq<unsigned>(0, kernel.access.resultRank), [&](unsigned d) {
    return kernel.extents[d] > 1 &&
           llvm::any_of(access.coordinates, [&](AffineExpr at) { return at && at.isFunctionOfDim(d); });
  });
}

/// Whether the access is to a weight that streams through a product of one row: nothing of the result runs along the
/// other operand alone. Kernels with products inside of products have another shape: each CTA computes the inner ones.
bool Layouts::isStreamed(const TensorAccess &access) const {
  const Kernel &kernel = kernels[access.kernel];
  auto isRead = [&](unsigned d) {
    return llvm::any_of(access.coordinates, [&](AffineExpr at) { return at && at.isFunctionOfDim(d); });
  };
  for (unsigned d = 0; d < kernel.access.resultRank; ++d)
    if (kernel.extents[d] > 1 && !isRead(d))
      return false;
  bool isLong = llvm::any_of(kernel.depths, [&](auto &depth) {
    return isRead(depth.second) && kernel.extents[depth.second] >= leastStreamedSum;
  });
  return isLong && tensors[access.tensor].value.getDefiningOp<tg::WeightOp>() &&
         llvm::none_of(kernel.depths, [](auto &depth) { return tg::isInner(cast<tg::ContractOp>(depth.first)); });
}

/// What a byte of an operand costs more that is not contiguous along the sum.
double Layouts::getAcross(const TensorAccess &access) const {
  double cost = countRowDims(access) > 1 ? acrossSeveral : across;
  return isStreamed(access) ? std::max(cost, acrossStream) : cost;
}

/// Bytes of the widest vector: along the innermost dimension, and those before it that follow each other in the
/// iteration space as they do in memory.
int64_t Layouts::getVectorBytes(const TensorAccess &access) const {
  const Tensor &tensor = tensors[access.tensor];
  const Kernel &kernel = kernels[access.kernel];
  std::optional<unsigned> dim = getContiguousDim(access);
  if (!dim || !isTiled(kernel, *dim))
    return std::min(tensor.elementBytes, vectorBytes);
  tg::Dims extents = tg::getDims(tensor.value.getType());
  int64_t run = tg::getConstant(extents[tensor.inner]).value_or(1);
  unsigned expected = *dim;
  for (unsigned d = tensor.inner; d-- > 0 && tensor.inner + 1 == extents.size() && expected > 0;) {
    if (access.coordinates[d] != getAffineDimExpr(--expected, extents[d].getContext()) || !isTiled(kernel, expected))
      break;
    run *= tg::getConstant(extents[d]).value_or(1);
  }
  return std::min(std::gcd(run * tensor.elementBytes, vectorBytes), vectorBytes);
}

//===-- Applying --------------------------------------------------------------------------------------------------===//

/// New dimension i is old dimension order[i].
static SmallVector<int64_t> makeOrder(unsigned rank, unsigned inner) {
  SmallVector<int64_t> order;
  for (unsigned d = 0; d < rank; ++d)
    if (d != inner)
      order.push_back(d);
  order.push_back(inner);
  return order;
}

static SmallVector<int64_t> invert(ArrayRef<int64_t> order) {
  SmallVector<int64_t> inverse(order.size());
  for (auto [i, d] : llvm::enumerate(order))
    inverse[d] = int64_t(i);
  return inverse;
}

/// The cast of what is stored, and behind it the transposition, which a contraction then takes in.
static void castStored(tg::CastOp cast, Value stored, ArrayRef<int64_t> inverse) {
  OpBuilder builder(cast);
  auto moved = llvm::cast<tg::CastOp>(builder.clone(*cast));
  moved->setOperand(0, stored);
  moved.getResult().setType(
      tg::getTensorType(tg::getDims(stored.getType()), llvm::cast<RankedTensorType>(cast.getType()).getElementType()));
  Value seen = tg::TransposeOp::create(builder, cast.getLoc(), moved, inverse);
  cast.getResult().replaceAllUsesWith(seen);
  cast.erase();
}

/// Kernels read `stored` where they read `value`, each through a transposition of its own.
static void readThrough(Value value, Value stored, ArrayRef<int64_t> order) {
  llvm::MapVector<Operation *, SmallVector<OpOperand *>> uses;
  for (OpOperand &use : value.getUses())
    if (auto kernel = use.getOwner()->getParentOfType<tg::KernelOp>())
      uses[kernel].push_back(&use);
  for (auto &[kernel, operands] : uses) {
    OpBuilder builder = OpBuilder::atBlockBegin(&cast<tg::KernelOp>(kernel).getBody().front());
    Value seen = tg::TransposeOp::create(builder, value.getLoc(), stored, invert(order));
    for (OpOperand *operand : operands) {
      operand->set(seen);
      if (auto cast = dyn_cast<tg::CastOp>(operand->getOwner()); cast && stored.getDefiningOp<tg::WeightOp>())
        castStored(cast, stored, invert(order));
    }
  }
}

static void reorderWeight(tg::WeightOp weight, ArrayRef<int64_t> order) {
  OpBuilder builder(weight);
  auto type = cast<RankedTensorType>(weight.getType());
  SmallVector<int64_t> shape = llvm::map_to_vector(order, [&](int64_t d) { return type.getShape()[d]; });
  auto stored = tg::WeightOp::create(builder, weight.getLoc(), RankedTensorType::get(shape, type.getElementType()),
                                     weight.getData(), builder.getDenseI64ArrayAttr(order));
  readThrough(weight, stored, order);
  weight.erase();
}

static void reorderResult(OpResult result, ArrayRef<int64_t> order) {
  auto kernel = cast<tg::KernelOp>(result.getOwner());
  Operation *yield = kernel.getBody().front().getTerminator();
  OpBuilder builder(yield);
  Value inner = yield->getOperand(result.getResultNumber());
  Value stored = tg::TransposeOp::create(builder, inner.getLoc(), inner, order);
  yield->setOperand(result.getResultNumber(), stored);
  result.setType(stored.getType());
  readThrough(result, result, order);
}

namespace {
struct PlanLayoutsPass : weft::plan::impl::PlanLayoutsBase<PlanLayoutsPass> {
  using Base::Base;

  void runOnOperation() override {
    Layouts layouts(getOperation());
    layouts.choose();
    llvm::SetVector<tg::KernelOp> changed; // Whose results have another order.
    for (const Tensor &tensor : layouts.getTensors()) {
      unsigned rank = cast<RankedTensorType>(tensor.value.getType()).getRank();
      if (!tensor.isFree || tensor.inner + 1 == rank)
        continue;
      SmallVector<int64_t> order = makeOrder(rank, tensor.inner);
      remark::passed(tensor.value.getLoc(),
                     remark::RemarkOpts::name("layout").category("plan").function(getOperation().getName()))
          << remark::add("{0} has dimension {1} innermost in memory", tensor.value.getType(), tensor.inner);
      ++numReordered;
      if (auto weight = tensor.value.getDefiningOp<tg::WeightOp>()) {
        reorderWeight(weight, order);
        continue;
      }
      reorderResult(cast<OpResult>(tensor.value), order);
      changed.insert(tensor.value.getDefiningOp<tg::KernelOp>());
    }
    for (tg::KernelOp kernel : changed)
      raiseTransposes(kernel.getBody().front());
  }
};
} // namespace
