// Copies of operands with rows of whole lines, for products whose sums run along rows that begin anywhere.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where rows are no multiple of 16 bytes, threads bring them to shared memory a few bytes at a time, and no TMA can. A
// kernel that copies them once behind zeros up to whole lines lets the product be the best that the GPU has; both
// operands then sum over the zeros, too, which adds nothing.
#include "CopyKernels.h"
#include "Layouts.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;

namespace weft::plan {

static constexpr int64_t unitBytes = 16, lineBytes = 128;
/// What a padded row may be longer than before: whole lines then, else whole units.
static constexpr double mostMore = 1.0 / 16;
/// Of an instruction's smaller side: products of fewer rows stream one operand, whose bytes bound them.
static constexpr int64_t leastRows = 8;
/// Of the L2, what a copy reads and writes may take to be there when the product reads it.
static constexpr double cachedPart = 0.75;

/// The dimension of the contraction that an operand is contiguous along, if it is summed over and nothing else of the
/// operand's position depends on it.
static std::optional<unsigned> findSummed(tg::ContractOp contract, unsigned operand) {
  AffineMap map = contract.getMap(operand);
  AffineExpr at = map.getNumResults() ? map.getResults().back() : AffineExpr();
  auto last = dyn_cast_or_null<AffineDimExpr>(at);
  if (!last || contract.getMap(2).isFunctionOfDim(last.getPosition()) ||
      llvm::count_if(map.getResults(), [&](AffineExpr at) { return at.isFunctionOfDim(last.getPosition()); }) != 1)
    return std::nullopt;
  return last.getPosition();
}

/// The dimension of the operand that runs along that of the contraction, alone.
static std::optional<unsigned> findAlong(tg::ContractOp contract, unsigned operand, unsigned dim) {
  AffineMap map = contract.getMap(operand);
  std::optional<unsigned> along;
  for (auto [place, at] : llvm::enumerate(map.getResults())) {
    if (!at.isFunctionOfDim(dim))
      continue;
    if (!isa<AffineDimExpr>(at) || along)
      return std::nullopt;
    along = unsigned(place);
  }
  return along;
}

static int64_t padExtent(int64_t extent, int64_t elementBytes) {
  int64_t lines = int64_t(llvm::alignTo(extent, std::max<int64_t>(lineBytes / elementBytes, 1)));
  if (double(lines - extent) <= mostMore * double(extent))
    return lines;
  return int64_t(llvm::alignTo(extent, std::max<int64_t>(unitBytes / elementBytes, 1)));
}

const TensorAccess *Layouts::findOperand(const Kernel &kernel, Value operand) const {
  for (unsigned number : kernel.accesses)
    if (accesses[number].isOperand && tensors[accesses[number].tensor].value == operand)
      return &accesses[number];
  return nullptr;
}

std::optional<RowPadding> Layouts::makePadding(const Kernel &kernel, tg::ContractOp contract, const Device &device,
                                               const llvm::DenseSet<Value> &padded) const {
  RowPadding padding;
  padding.contract = contract;
  std::optional<GemmProblem> problem;
  double bytes = 0; // To copy.
  int64_t alignments[2] = {lineBytes, lineBytes};
  for (unsigned operand : {0u, 1u}) {
    const TensorAccess *access = findOperand(kernel, contract->getOperand(operand));
    if (!access)
      return std::nullopt; // Computed from element to element.
    const Tensor &tensor = tensors[access->tensor];
    std::optional<unsigned> summed = findSummed(contract, operand);
    tg::Dims dims = tg::getDims(tensor.value.getType());
    std::optional<int64_t> extent = dims.empty() ? std::nullopt : tg::getConstant(dims.back());
    // Each row by itself: that of a tile does not go on in the next one.
    alignments[operand] =
        std::min(getVectorBytes(*access, tensor.inner), std::gcd(extent.value_or(1) * tensor.elementBytes, lineBytes));
    bool isLast = tensor.inner + 1 == dims.size();
    if (!extent || alignments[operand] >= unitBytes || !summed || !isLast ||
        (!padding.copied.empty() && *summed != padding.dim) || tensor.elementBytes > unitBytes / 2 ||
        tg::getElementBits(getElementTypeOrSelf(tensor.value)) < 8)
      continue;
    padding.dim = *summed;
    padding.before = *extent, padding.after = padExtent(*extent, tensor.elementBytes);
    padding.copied.push_back(operand);
    if (!problem)
      problem = describeProduct(*access, tensor.inner, /*padding=*/0);
    bool isOneSum = problem->k == *extent && problem->taps == 1;
    if (!isOneSum || problem->type == GemmType::Other || std::min(problem->m, problem->n) < leastRows)
      return std::nullopt;
    if (!padded.contains(tensor.value))
      bytes += double(tensor.bytes);
  }
  if (padding.copied.empty() || !findAlong(contract, 0, padding.dim) || !findAlong(contract, 1, padding.dim))
    return std::nullopt;
  unsigned first = padding.copied.front();
  problem->lhsAlignment = alignments[first], problem->rhsAlignment = alignments[1 - first];
  GemmProblem after = *problem;
  after.k = padding.after;
  after.lhsAlignment = lineBytes;
  if (padding.copied.size() == 2)
    after.rhsAlignment = lineBytes;
  after.allowWgmma = after.rhsAlignment >= unitBytes;
  // Both copies are one launch. What comes from DRAM for them does not for the product, if it stays in the L2.
  double ways = 2 * bytes <= cachedPart * double(device.l2Bytes) ? 2 : 3;
  double own = bytes > 0 ? ways * bytes / device.memoryBandwidth + device.kernelSeconds() : 0;
  // Where the model sees nothing between them, a GPU gains: of 15 products with such rows (8 to 4,096 rows, sums of
  // 201 to 8,007 elements) all do on an H100, 1.06 to 4.9 times.
  if (own + chooseGemmTile(after, device).cost.seconds >= chooseGemmTile(*problem, device).cost.seconds)
    return std::nullopt;
  return padding;
}

SmallVector<RowPadding> Layouts::choosePaddings(const Device &device) const {
  SmallVector<RowPadding> chosen;
  llvm::DenseSet<Value> padded;
  for (const Kernel &kernel : kernels) {
    for (auto [op, depth] : kernel.depths) {
      auto contract = cast<tg::ContractOp>(op);
      if (tg::isInner(contract) || contract->getBlock() != &cast<tg::KernelOp>(kernel.op).getBody().front())
        continue;
      std::optional<RowPadding> padding = makePadding(kernel, contract, device, padded);
      if (!padding)
        continue;
      for (unsigned operand : padding->copied)
        padded.insert(contract->getOperand(operand));
      chosen.push_back(*padding);
    }
  }
  return chosen;
}

Value PaddedRows::get(Value value, int64_t more, Operation *reader) {
  Value &copy = copies[value];
  if (copy)
    return copy;
  OpBuilder builder(reader);
  return copy = makeCopyKernel(builder, reader->getLoc(), value, /*order=*/{}, more);
}

void PaddedRows::apply(const RowPadding &padding) {
  tg::ContractOp contract = padding.contract;
  auto reader = contract->getParentOfType<tg::KernelOp>();
  OpBuilder builder(contract);
  int64_t more = padding.after - padding.before;
  SmallVector<Value> operands;
  for (unsigned operand : {0u, 1u}) {
    Value value = contract->getOperand(operand);
    operands.push_back(
        llvm::is_contained(padding.copied, operand)
            ? get(value, more, reader)
            : addZeros(builder, contract.getLoc(), value, *findAlong(contract, operand, padding.dim), more));
  }
  contract->setOperands(operands);
}

} // namespace weft::plan
