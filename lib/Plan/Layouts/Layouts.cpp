// The price of orders in memory, and the search for the cheapest ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Layouts.h"
#include "../Models/Unpacked.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Plan/WeightOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace weft::plan {

static constexpr int64_t vectorBytes = 16, lineBytes = 128;
/// What a byte costs more that is read along one dimension and written along another: a detour through shared memory,
/// and sectors that are used in parts.
static constexpr double transposition = 2;
/// What a byte of a contraction's operand costs more that is contiguous along its rows and not along the sum: nearly
/// nothing, but rows that several dimensions make do not merge to one then.
static constexpr double across = 0.01, acrossSeveral = 0.25;
/// And where the product has one row, so that the matrix streams from DRAM: tiles of few columns then read 32 to 64
/// bytes of a row of it at a time. Measured on an H100 (a decoded Llama layer, bf16): 202 us, with sums contiguous 168.
/// Products of few rows by matrix instructions gain nothing (4 rows: 188.7 and 189.4 us, 16 rows: 221.1 and 222.9).
static constexpr double acrossStream = 0.2;
/// Numbers that share a word go to the registers of one thread, which sums them up (lib/Schedule/Stage/Unpacked.h).
static constexpr double acrossPacked = 1;
/// A CTA of such a product has this many threads at least to share a sum.
static constexpr int64_t leastStreamedSum = 128;
/// A new order has to save this part of a tensor's cost.
static constexpr double gain = 0.05;
/// Tensors below this many bytes stay in caches and keep their order.
static constexpr int64_t leastBytes = 2048;
/// Of a CPU's widest vector: 7 neighbours fill less than half of one, where a GPU's vector is full.
static constexpr int64_t vectorBytesOfCpu = 64;

/// Ops whose kernels are made for the order that they have.
static bool isOrdered(Operation &op) {
  return isa<tg::FoldOp, tg::ScanOp, tg::TopKOp, tg::ArgReduceOp, tg::GatherOp, tg::ScatterOp>(op);
}

/// The kernel's only ordered op, a fold whose results are stored in another order (two GEMMs as one, whose rows are an
/// image's elements): the order behind it is free. Null if it is none.
static tg::FoldOp findTransposedFold(Block &body) {
  tg::FoldOp fold;
  llvm::SmallPtrSet<Operation *, 8> behind;
  for (Operation &op : body) {
    if (isOrdered(op) && (fold || !isa<tg::FoldOp>(op)))
      return {};
    if (auto found = dyn_cast<tg::FoldOp>(op))
      fold = found;
    if (&op == fold.getOperation() ||
        llvm::any_of(op.getOperands(), [&](Value each) { return behind.contains(each.getDefiningOp()); }))
      behind.insert(&op);
  }
  bool isTransposed =
      llvm::any_of(body.getOps<tg::TransposeOp>(), [&](tg::TransposeOp op) { return behind.contains(op); });
  return isTransposed ? fold : tg::FoldOp();
}

Layouts::Layouts(func::FuncOp main, const Device *device, bool isCpu) : device(device), isCpu(isCpu) {
  for (tg::KernelOp kernel : main.getOps<tg::KernelOp>())
    add(kernel);
  for (Tensor &tensor : tensors)
    tensor.isFree = mayChange(tensor);
  for (Tensor &tensor : tensors)
    if (Operation *weight = tensor.isFree ? tensor.value.getDefiningOp() : nullptr)
      if (auto given = weight->getAttrOfType<IntegerAttr>(innermostAttr);
          given && given.getInt() >= 0 && given.getInt() < cast<RankedTensorType>(tensor.value.getType()).getRank()) {
        tensor.inner = unsigned(given.getInt());
        tensor.isGiven = true;
      }
}

void Layouts::choose() {
  constexpr unsigned mostRounds = 8;
  bool changes = true;
  for (unsigned round = 0; round < mostRounds && changes; ++round) {
    changes = round == 0; // At first each for itself: neighbours that had better change together do.
    countsNeighbours = round > 0;
    for (Tensor &tensor : tensors)
      changes |= tensor.isFree && !tensor.isGiven && improve(tensor);
  }
}

/// The last dimension that is not 1.
static unsigned findInnermost(RankedTensorType type) {
  tg::Dims dims = tg::getDims(type);
  for (size_t d = dims.size(); d-- > 0;)
    if (tg::getConstant(dims[d]) != 1)
      return unsigned(d);
  return unsigned(std::max<size_t>(dims.size(), 1) - 1);
}

/// How many neighbouring elements along a dimension share an element: d floordiv 32.
static int64_t countSharing(ArrayRef<AffineExpr> coordinates, unsigned dim) {
  std::optional<int64_t> sharing;
  for (AffineExpr at : coordinates) {
    if (!at || !at.isFunctionOfDim(dim))
      continue;
    auto block = dyn_cast<AffineBinaryOpExpr>(at);
    auto by = block ? dyn_cast<AffineConstantExpr>(block.getRHS()) : AffineConstantExpr();
    bool isBlock = by && at.getKind() == AffineExprKind::FloorDiv && isa<AffineDimExpr>(block.getLHS());
    int64_t each = isBlock ? by.getValue() : 1;
    sharing = std::min(sharing.value_or(each), each);
  }
  return std::max<int64_t>(sharing.value_or(1), 1);
}

unsigned Layouts::getTensor(Value value) {
  auto [it, inserted] = numbers.try_emplace(value, tensors.size());
  if (!inserted)
    return it->second;
  auto type = cast<RankedTensorType>(value.getType());
  Tensor tensor;
  tensor.value = value;
  tensor.inner = findInnermost(type);
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
    places *= double(llvm::divideCeil(owner.extents[d], owner.unpacks ? countSharing(coordinates, d) : 1));
    access.isOperand |= isa_and_nonnull<tg::ContractOp>(owner.access.dims[d].reducer);
  }
  access.reads = places / double(tensors[number].bytes);
  tensors[number].accesses.push_back(accesses.size());
  owner.accesses.push_back(accesses.size());
  accesses.push_back(std::move(access));
}

void Layouts::add(Operation *owner) {
  auto op = cast<tg::KernelOp>(owner);
  Block &body = op.getBody().front();
  bool isFollowed = true; // Or behind a fold alone.
  if (llvm::any_of(body, isOrdered)) {
    tg::FoldOp fold = findTransposedFold(body);
    Operation *whole = fold ? fold.getOperation() : op.getOperation();
    whole->walk([&](Operation *inner) { fixed.insert(inner->getOperands().begin(), inner->getOperands().end()); });
    if (!fold) {
      fixed.insert(op.getResults().begin(), op.getResults().end());
      return;
    }
    isFollowed = false;
  }
  unsigned number = kernels.size();
  kernels.emplace_back();
  Kernel &kernel = kernels.back();
  kernel.op = op;
  kernel.access = analyseAccess(body);
  for (auto [d, dim] : llvm::enumerate(kernel.access.dims)) {
    kernel.extents.push_back(estimateExtent(dim.extent));
    if (!isa_and_nonnull<tg::ContractOp>(dim.reducer))
      continue;
    auto [depth, isFirst] = kernel.depths.try_emplace(dim.reducer, unsigned(d));
    if (!isFirst && kernel.extents[d] >= kernel.extents[depth->second])
      depth->second = d;
  }
  kernel.unpacks = llvm::any_of(kernel.depths, [&](auto &depth) {
    auto contract = cast<tg::ContractOp>(depth.first);
    Type factor = getElementTypeOrSelf(contract.getLhs());
    bool isFew = std::min(countOtherRows(contract, 0), countOtherRows(contract, 1)) <= mostUnpackedRows;
    return (isFew || (device && device->hasWgmma())) &&
           llvm::any_of(kernel.access.requests, [&](const KernelRequest &request) {
             return mayUnpack(getElementTypeOrSelf(request.value), factor);
           });
  });
  ValueRange yielded = body.getTerminator()->getOperands();
  for (auto [result, value] : llvm::zip_equal(op.getResults(), yielded))
    for (const KernelRequest *request : kernel.access.of(value))
      addAccess(number, result, request->coordinates);
  SmallVector<KernelRequest> requests(kernel.access.requests);
  for (const KernelRequest &request : requests) {
    Operation *definition = request.value.getDefiningOp();
    bool isOutside = !definition || !body.findAncestorOpInBlock(*definition);
    if (isOutside && (isFollowed || !fixed.contains(request.value)))
      addAccess(number, request.value, request.coordinates);
  }
}

/// Intermediate tensors, and weights, whose order the runtime sees to when it loads them.
bool Layouts::mayChange(const Tensor &tensor) const {
  auto type = cast<RankedTensorType>(tensor.value.getType());
  Operation *op = tensor.value.getDefiningOp();
  // On a CPU, a small weight of a window goes the way of what it is multiplied by.
  int64_t least = isCpu && isa_and_nonnull<tg::WeightOp>(op) ? 0 : leastBytes;
  if (!isa_and_nonnull<tg::KernelOp, tg::WeightOp>(op) || type.getRank() < 2 || tensor.bytes < least ||
      fixed.contains(tensor.value))
    return false;
  // A CPU's products convert narrow elements as they pack them, in any order.
  if (isCpu && tensor.elementBytes < 4)
    return false;
  // Several numbers to a byte: the compiler writes them anew, where they are a weight in whole bytes, for kernels that
  // unpack them.
  auto unpacks = [&](unsigned access) { return kernels[accesses[access].kernel].unpacks; };
  if (int64_t bits = tg::getElementBits(type.getElementType());
      bits < 8 && (!isa<tg::WeightOp>(op) || !type.hasStaticShape() || type.getNumElements() * bits % 8 != 0 ||
                   !llvm::all_of(tensor.accesses, unpacks)))
    return false;
  if (isa<tg::WeightOp>(op) && (!type.hasStaticShape() || type.getRank() > 8))
    return false;
  return llvm::all_of(tensor.value.getUsers(),
                      [](Operation *user) { return user->getParentOfType<tg::KernelOp>() != nullptr; });
}

bool Layouts::improve(Tensor &tensor) {
  unsigned rank = cast<RankedTensorType>(tensor.value.getType()).getRank(), best = tensor.inner;
  double bestCost = getCost(tensor, tensor.inner) * (1 - gain);
  for (unsigned d = rank; d-- > 0;) {
    if (d == tensor.inner)
      continue;
    if (double cost = getCost(tensor, d); cost < bestCost) {
      best = d;
      bestCost = cost;
    }
  }
  return best != std::exchange(tensor.inner, best);
}

static bool isDepth(const llvm::SmallMapVector<Operation *, unsigned, 2> &depths, unsigned dim) {
  return llvm::any_of(depths, [&](auto &depth) { return depth.second == dim; });
}

double Layouts::getCost(const Tensor &tensor, unsigned inner) const {
  double cost = 0;
  for (unsigned number : tensor.accesses) {
    const TensorAccess &access = accesses[number];
    cost += getCost(access, inner);
    // Loops of a CPU go as what they write, so that each read stands for itself beside it.
    auto isPair = [&](unsigned other) { return !isCpu || isWritten(access) != isWritten(accesses[other]); };
    for (unsigned other : kernels[access.kernel].accesses)
      if (countsNeighbours && other != number && isPair(other))
        cost += getTransposition(access, inner, accesses[other]);
  }
  return cost;
}

double Layouts::getCost(const TensorAccess &access, unsigned inner) const {
  double bytes = double(tensors[access.tensor].bytes);
  double widest = double(isCpu ? vectorBytesOfCpu : vectorBytes);
  double cost = bytes * std::max(1.0, access.reads * widest / double(getVectorBytes(access, inner)));
  if (std::optional<unsigned> dim = getContiguousDim(access, inner);
      access.isOperand && !(dim && isDepth(kernels[access.kernel].depths, *dim)))
    cost += getAcross(access) * bytes;
  return cost;
}

/// Whether the access is to an operand whose order is its own affair: products pack it. On a CPU, windows over each
/// channel alone go from memory to memory like maps.
bool Layouts::passesThrough(const TensorAccess &access) const {
  return access.isOperand && (!isCpu || hasOwnSide(access));
}

double Layouts::getTransposition(const TensorAccess &a, unsigned inner, const TensorAccess &b) const {
  int64_t x = tensors[a.tensor].bytes, y = tensors[b.tensor].bytes;
  constexpr int64_t small = 8; // A tensor smaller than the other by this factor stays in caches.
  if (passesThrough(a) || passesThrough(b) || x < y / small || y < x / small)
    return 0;
  unsigned other = a.tensor == b.tensor ? inner : tensors[b.tensor].inner;
  return getContiguousDim(a, inner) == getContiguousDim(b, other) ? 0 : transposition * double(std::min(x, y));
}

/// Whether tiles of the kernel extend along a dimension of its iteration space.
bool Layouts::isTiled(const Kernel &kernel, unsigned dim) const {
  return !kernel.access.dims[dim].reducer || kernel.depths.empty() || isDepth(kernel.depths, dim);
}

/// Whether integers of the tensor share words that the kernel takes them out of.
bool Layouts::isPacked(const TensorAccess &access) const {
  constexpr int64_t mostBits = 8;
  Type element = getElementTypeOrSelf(tensors[access.tensor].value);
  return kernels[access.kernel].unpacks && isa<IntegerType>(element) && !element.isInteger(1) &&
         tg::getElementBits(element) <= mostBits;
}

/// The dimension along which elements follow each other, from whole vectors on: d1 of 128 d0 + d1 + 256, which is a
/// head of a slice.
static AffineDimExpr findRun(AffineExpr place) {
  AffineDimExpr run = nullptr;
  for (SmallVector<AffineExpr> terms{place}; !terms.empty();) {
    AffineExpr term = terms.pop_back_val();
    auto binary = dyn_cast_or_null<AffineBinaryOpExpr>(term);
    if (binary && binary.getKind() == AffineExprKind::Add) {
      terms.append({binary.getLHS(), binary.getRHS()});
    } else if (term && term.isMultipleOf(vectorBytes)) {
      continue;
    } else if (auto dim = dyn_cast_or_null<AffineDimExpr>(term); dim && !run) {
      run = dim;
    } else {
      return nullptr;
    }
  }
  return run;
}

/// The dimension of the iteration space that the innermost dimension of the tensor runs along.
std::optional<unsigned> Layouts::getContiguousDim(const TensorAccess &access, unsigned inner) const {
  if (access.coordinates.empty())
    return std::nullopt;
  AffineExpr at = access.coordinates[inner];
  // What a block of elements shares; packed numbers, whose rows are blocks that follow each other.
  if (auto block = dyn_cast_or_null<AffineBinaryOpExpr>(at); block && kernels[access.kernel].unpacks)
    if (at.getKind() == AffineExprKind::FloorDiv || (at.getKind() == AffineExprKind::Mod && isPacked(access)))
      at = block.getLHS();
  // A product's operand of such elements is priced as one without vectors, for which a copy may pay.
  AffineDimExpr dim = access.isOperand ? tg::getShiftedDim(at, vectorBytes) : findRun(at);
  if (!dim)
    return std::nullopt;
  return kernels[access.kernel].access.dims[dim.getPosition()].along;
}

/// Dimensions of the result along which the operand of a contraction has elements.
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
  if (isPacked(access))
    return acrossPacked;
  // Columns of a CPU's weights that are several dimensions are panels of its register tiles (weft-pack-quads).
  if (isCpu && tensors[access.tensor].value.getDefiningOp<tg::WeightOp>() && countRowDims(access) > 1)
    return across;
  double cost = countRowDims(access) > 1 ? acrossSeveral : across;
  return isStreamed(access) ? std::max(cost, acrossStream) : cost;
}

/// Bytes of the widest vector: along the innermost dimension, and those before it that follow each other in the
/// iteration space as they do in memory.
int64_t Layouts::getVectorBytes(const TensorAccess &access, unsigned inner) const {
  const Tensor &tensor = tensors[access.tensor];
  const Kernel &kernel = kernels[access.kernel];
  std::optional<unsigned> dim = getContiguousDim(access, inner);
  if (!dim || !isTiled(kernel, *dim))
    return std::min(tensor.elementBytes, vectorBytes);
  if (isCpu) // Vectors begin anywhere, and loops are not merged.
    return std::min(kernel.extents[*dim] * tensor.elementBytes, vectorBytesOfCpu);
  tg::Dims extents = tg::getDims(tensor.value.getType());
  if (auto block = dyn_cast_or_null<AffineBinaryOpExpr>(access.coordinates[inner]);
      block && kernel.unpacks && block.getKind() == AffineExprKind::FloorDiv)
    return vectorBytes; // One element for many positions.
  int64_t run = tg::getConstant(extents[inner]).value_or(1);
  if (!isa<AffineDimExpr>(access.coordinates[inner])) // A part of a row, as long as the dimension.
    run = std::gcd(run, kernel.extents[*dim]);
  unsigned expected = *dim;
  for (unsigned d = inner; d-- > 0 && inner + 1 == extents.size() && expected > 0;) {
    if (access.coordinates[d] != getAffineDimExpr(--expected, extents[d].getContext()) || !isTiled(kernel, expected))
      break;
    run *= tg::getConstant(extents[d]).value_or(1);
  }
  return std::min(std::gcd(run * tensor.elementBytes, vectorBytes), vectorBytes);
}

//===-- Copies ----------------------------------------------------------------------------------------------------===//

bool Layouts::isWritten(const TensorAccess &access) const {
  return tensors[access.tensor].value.getDefiningOp() == kernels[access.kernel].op;
}

/// Whether the other operand of the product has dimensions of its own in the result: windows over each channel alone
/// are maps.
bool Layouts::hasOwnSide(const TensorAccess &access) const {
  const Kernel &kernel = kernels[access.kernel];
  return llvm::any_of(llvm::seq<unsigned>(0, kernel.access.resultRank), [&](unsigned d) {
    return kernel.extents[d] > 1 &&
           llvm::none_of(access.coordinates, [&](AffineExpr at) { return at && at.isFunctionOfDim(d); });
  });
}

static GemmType typeOf(Type element) {
  if (element.isF16() || element.isBF16())
    return GemmType::F16;
  if (element.isInteger(8))
    return GemmType::S8;
  return element.isF32() ? GemmType::F32 : element.isF64() ? GemmType::F64 : GemmType::Other;
}

/// The product that reads a tensor as its left operand, with `inner` innermost: what it takes depends on how the tensor
/// comes to shared memory, so the other operand and the result are as good as they can be.
GemmProblem Layouts::describeProduct(const TensorAccess &access, unsigned inner, int64_t padding) const {
  const Kernel &kernel = kernels[access.kernel];
  const Tensor &tensor = tensors[access.tensor];
  auto reads = [](const TensorAccess &each, unsigned d) {
    return llvm::any_of(each.coordinates, [&](AffineExpr at) { return at && at.isFunctionOfDim(d); });
  };
  auto isReadBeside = [&](unsigned d) {
    return llvm::any_of(kernel.accesses, [&](unsigned number) {
      const TensorAccess &other = accesses[number];
      return other.isOperand && other.tensor != access.tensor && reads(other, d);
    });
  };
  GemmProblem problem;
  for (auto [d, dim] : llvm::enumerate(kernel.access.dims)) {
    int64_t &factor = d >= kernel.access.resultRank ? isDepth(kernel.depths, d) ? problem.k : problem.taps
                      : !reads(access, d)           ? problem.n
                      : isReadBeside(d)             ? problem.batch
                                                    : problem.m;
    if (llvm::MulOverflow(factor, kernel.extents[d], factor))
      factor = int64_t(1) << 40;
  }
  auto type = cast<RankedTensorType>(tensor.value.getType());
  problem.type = typeOf(type.getElementType());
  problem.lhsBytes = problem.rhsBytes = problem.resultBytes = tensor.elementBytes;
  int64_t vector = padding ? vectorBytes : getVectorBytes(access, inner);
  problem.k += padding;
  problem.lhsAlignment = vector;
  std::optional<unsigned> dim = getContiguousDim(access, inner);
  problem.lhsSlides = llvm::count_if(llvm::seq<unsigned>(0, kernel.access.dims.size()), [&](unsigned d) {
                        return access.coordinates[inner] && access.coordinates[inner].isFunctionOfDim(d);
                      }) > 1;
  problem.lhsAlongK = dim && isDepth(kernel.depths, *dim);
  problem.allowWgmma = vector == vectorBytes && (tensor.elementBytes == 2 || problem.lhsAlongK);
  problem.allowRowShares = problem.type == GemmType::F16 || problem.type == GemmType::F32;
  problem.lhsElements = double(tensor.bytes) / double(tensor.elementBytes * problem.batch);
  return problem;
}

SmallVector<SummedOperand> findSummed(Value tensor, unsigned inner, Operation *kernel) {
  SmallVector<SummedOperand> found;
  SmallVector<OpOperand *> uses;
  auto addUses = [&](Value value) {
    for (OpOperand &use : value.getUses())
      if (kernel->isProperAncestor(use.getOwner()))
        uses.push_back(&use);
  };
  addUses(tensor);
  while (!uses.empty()) {
    OpOperand *use = uses.pop_back_val();
    unsigned number = use->getOperandNumber();
    if (auto pad = dyn_cast<tg::PadOp>(use->getOwner());
        pad && number == 0 && !pad.getLow()[inner] && !pad.getHigh()[inner] && !pad.getInterior()[inner]) {
      addUses(pad);
      continue;
    }
    auto contract = dyn_cast<tg::ContractOp>(use->getOwner());
    auto depth = contract ? dyn_cast<AffineDimExpr>(contract.getMap(number).getResult(inner)) : AffineDimExpr(nullptr);
    if (!depth || contract.getMap(2).isFunctionOfDim(depth.getPosition()))
      return {};
    std::optional<unsigned> other;
    for (auto [i, at] : llvm::enumerate(contract.getMap(1 - number).getResults())) {
      if (!at.isFunctionOfDim(depth.getPosition()))
        continue;
      if (other || at != depth)
        return {};
      other = i;
    }
    if (!other)
      return {};
    found.push_back({contract, number, *other});
  }
  return found;
}

/// The copy for those kernels whose products slide along what is contiguous in the tensor, and in the copy contract
/// over it: then they bring it to shared memory by asynchronous copies instead of element by element through registers.
LayoutCopy Layouts::makeCopy(const Tensor &tensor, unsigned inner, int64_t padding, const Device &device) const {
  constexpr int64_t leastAsyncBytes = 4, instructionBytes = 32;
  LayoutCopy copy;
  copy.value = tensor.value;
  copy.inner = inner;
  copy.padding = padding;
  llvm::MapVector<unsigned, std::pair<double, double>> costs; // By kernel: now, and of the copy.
  llvm::DenseSet<unsigned> others;                            // Kernels that read it in another way, too.
  for (unsigned number : tensor.accesses) {
    const TensorAccess &access = accesses[number];
    std::optional<unsigned> depth = getContiguousDim(access, inner);
    auto isLong = [&](unsigned d) {
      return isDepth(kernels[access.kernel].depths, d) &&
             kernels[access.kernel].extents[d] * tensor.elementBytes >= instructionBytes;
    };
    if (isWritten(access) || !access.isOperand || !hasOwnSide(access) || getContiguousDim(access, tensor.inner) ||
        !depth || !isLong(*depth) ||
        (padding ? !device.hasWgmma() || !findOthersToCopy(access, inner)
                 : getVectorBytes(access, inner) < leastAsyncBytes)) {
      others.insert(access.kernel);
      continue;
    }
    costs[access.kernel].first += chooseGemmTile(describeProduct(access, tensor.inner, 0), device).cost.seconds;
    costs[access.kernel].second += chooseGemmTile(describeProduct(access, inner, padding), device).cost.seconds;
    for (Value other : padding ? *findOthersToCopy(access, inner) : SmallVector<Value>()) {
      copy.others.insert(other);
      costs[access.kernel].second += device.kernelSeconds(); // Their bytes are few.
    }
  }
  for (auto &[kernel, cost] : costs) {
    if (others.contains(kernel) || cost.second >= cost.first)
      continue;
    copy.readers.push_back(kernels[kernel].op);
    copy.before += cost.first;
    copy.after += cost.second;
  }
  return copy;
}

/// Zeros behind what a tensor has along `inner` that make its rows multiples of so many bytes.
static int64_t paddingTo(const Tensor &tensor, unsigned inner, int64_t bytes) {
  int64_t whole = tg::getConstant(tg::getDims(tensor.value.getType())[inner]).value_or(0);
  return int64_t(llvm::alignTo(whole, std::max<int64_t>(bytes / tensor.elementBytes, 1))) - whole;
}

/// With rows of whole lines instead: pieces of others straddle them, which windows read again and again.
LayoutCopy Layouts::alignToLines(LayoutCopy copy, const Tensor &tensor, const Device &device) const {
  constexpr double few = 0.03; // Of what the products take: they take a tenth to a fifth less.
  constexpr int64_t part = 8;
  int64_t zeros = paddingTo(tensor, copy.inner, lineBytes) - copy.padding;
  int64_t whole = tg::getConstant(tg::getDims(tensor.value.getType())[copy.inner]).value_or(0);
  if (zeros <= 0 || zeros * part > whole)
    return copy;
  LayoutCopy lines = makeCopy(tensor, copy.inner, copy.padding + zeros, device);
  double written = double(tensor.bytes) * double(zeros) / double(whole) / device.memoryBandwidth;
  return lines.readers == copy.readers && (1 + transposition) * written < few * lines.after ? lines : copy;
}

SmallVector<LayoutCopy> Layouts::chooseCopies(const Device &device) const {
  SmallVector<LayoutCopy> chosen;
  for (const Tensor &tensor : tensors) {
    auto type = cast<RankedTensorType>(tensor.value.getType());
    if (type.getRank() < 2 || tensor.bytes < leastBytes || tg::getElementBits(type.getElementType()) < 8)
      continue;
    // Products that gather element by element take 0.5 to 0.6 of what they should (61 and 33 channels: 12 and 600 us,
    // not 25 and 987, H100).
    constexpr double paddedGain = 0.6;
    LayoutCopy best = makeWindowCopy(tensor, device);
    for (unsigned d = 0; d < type.getRank(); ++d) {
      for (bool isPadded : {false, true}) {
        int64_t zeros = isPadded ? paddingTo(tensor, d, vectorBytes) : 0;
        if (isPadded && zeros == 0)
          continue;
        int64_t whole = tg::getConstant(tg::getDims(type)[d]).value_or(0);
        // A kernel of its own reads and writes it once, along different dimensions.
        double written = double(tensor.bytes) * (zeros ? double(whole + zeros) / double(whole) : 1);
        double own = (double(tensor.bytes) + (1 + transposition) * written) / device.memoryBandwidth;
        LayoutCopy copy = makeCopy(tensor, d, zeros, device);
        copy.after += own + device.kernelSeconds();
        if (copy.after < copy.before * (zeros ? paddedGain : 1 - gain) &&
            copy.before - copy.after > best.before - best.after)
          best = std::move(copy);
      }
    }
    if (best.isOfWindows)
      chosen.push_back(std::move(best));
    else if (!best.readers.empty())
      chosen.push_back(alignToLines(std::move(best), tensor, device));
  }
  return chosen;
}

} // namespace weft::plan
