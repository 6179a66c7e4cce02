// The rules of InnerContractions.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "InnerContractions.h"
#include "../Models/ProductRows.h"
#include "../Models/Unpacked.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Plan/Facts.h"
#include "weft/Plan/KernelAccess.h"
#include "weft/Target/Device.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {

static double bytesOfElement(Value value) {
  return double(tg::getElementBits(cast<RankedTensorType>(value.getType()).getElementType())) / 8;
}

int64_t countTermsOf(tg::ContractOp contract) {
  constexpr uint64_t most = uint64_t(1) << 20; // Costs of ops are sums of it.
  uint64_t terms = 1;
  for (auto [d, extent] : llvm::enumerate(contract.getDomainExtents()))
    if (!contract.getMap(2).isFunctionOfDim(d))
      terms = std::min(most, llvm::SaturatingMultiply<uint64_t>(terms, estimateExtent(extent)));
  return int64_t(terms);
}

/// One operand alone has the dimensions, behind all others that it alone has, so that its tiles go along them first.
bool canHaveParts(tg::ContractOp product, ArrayRef<int64_t> dims, int64_t places) {
  AffineMap result = product.getMap(2);
  // A vector by a packed matrix is multiplied as a matrix is.
  bool isTiled = !tg::hasNoTiles(product) || findPacked(product.getLhs()) || findPacked(product.getRhs());
  if (!isTiled || dims.empty() || !result.isProjectedPermutation())
    return false;
  auto isReadBy = [&](unsigned operand, int64_t d) {
    return product.getMap(operand).isFunctionOfDim(cast<AffineDimExpr>(result.getResult(d)).getPosition());
  };
  unsigned own = isReadBy(0, dims.front()) ? 0 : 1;
  tg::Dims extents = tg::getDims(product.getType());
  SmallVector<int64_t> side; // What the operand alone has.
  for (int64_t d = 0; d < int64_t(extents.size()); ++d)
    if (isReadBy(own, d) && !isReadBy(1 - own, d) && (tg::getConstant(extents[d]) != 1 || llvm::is_contained(dims, d)))
      side.push_back(d);
  if (side.size() < dims.size() || ArrayRef(side).take_back(dims.size()) != dims)
    return false;
  for (int64_t d : llvm::reverse(dims)) { // Whole inner dimensions, then a part of one.
    std::optional<int64_t> extent = tg::getConstant(extents[d]);
    if (!extent || *extent < 1 || (places % *extent != 0 && *extent % places != 0))
      return false;
    places = std::max<int64_t>(places / *extent, 1);
  }
  return places == 1;
}

bool canHaveRowParts(tg::ContractOp product) {
  int64_t last = int64_t(tg::getDims(product.getType()).size()) - 1;
  return last >= 0 && canHaveParts(product, last, 1);
}

std::optional<tg::TileParts> findParts(Operation *op, ArrayRef<tg::ContractOp> products) {
  constexpr int64_t leastPlaces = 16, mostPlaces = 256; // Of a tile.
  auto reduce = dyn_cast<tg::ReduceOp>(op);
  std::optional<tg::TileParts> parts = reduce ? tg::findTileParts(reduce) : std::nullopt;
  bool isTile = parts && llvm::isPowerOf2_64(uint64_t(parts->places)) && parts->places >= leastPlaces &&
                parts->places <= mostPlaces;
  std::optional<tg::ProductOf> made = isTile ? tg::findProductOf(parts->whole) : std::nullopt;
  if (!made || !llvm::is_contained(products, made->product))
    return std::nullopt;
  ArrayRef<int64_t> dims = ArrayRef(made->order).slice(parts->begin, parts->end - parts->begin);
  if (!canHaveParts(made->product, dims, parts->places))
    return std::nullopt;
  return parts;
}

/// Whether `value` has the elements of a product's result as they are.
static bool isInOrder(Value value) {
  std::optional<tg::ProductOf> made = tg::findProductOf(value);
  return made && llvm::is_sorted(made->order);
}

llvm::SmallPtrSet<Operation *, 16> collectParts(const Group &group, ArrayRef<tg::ContractOp> products) {
  llvm::SmallPtrSet<Operation *, 16> found;
  for (Operation *op : group) { // In program order.
    bool isBehind = isa<tg::PointwiseOpInterface>(op) && llvm::any_of(op->getOperands(), [&](Value operand) {
                      return found.contains(operand.getDefiningOp()) && tg::findPartsResult(operand) &&
                             tg::getDims(operand.getType()) == tg::getDims(op->getResult(0).getType());
                    });
    if (isBehind)
      found.insert(op);
    SmallVector<Operation *> work;
    if (findParts(op, products))
      work.push_back(op);
    while (!work.empty()) {
      Operation *next = work.pop_back_val();
      if (!found.insert(next).second)
        continue;
      for (Value operand : next->getOperands())
        if (Operation *made = operand.getDefiningOp(); made && group.contains(made) && !isInOrder(operand))
          work.push_back(made);
    }
  }
  return found;
}

/// The contractions and reductions of the group that need the result of `from`.
static SmallVector<Operation *> readersOf(tg::ContractOp from, const Group &group) {
  llvm::SmallPtrSet<Operation *, 8> after{from};
  SmallVector<Operation *> found;
  for (Operation *op : group) { // In program order.
    if (op == from || llvm::none_of(usedValues(op), [&](Value v) { return after.contains(v.getDefiningOp()); }))
      continue;
    after.insert(op);
    if (isa<tg::ContractOp, tg::ReduceOp>(op))
      found.push_back(op);
  }
  return found;
}

static GemmType typeOf(tg::ContractOp contract) {
  Type element = cast<RankedTensorType>(contract.getLhs().getType()).getElementType();
  if (element.isF16() || element.isBF16())
    return GemmType::F16;
  return element.isInteger(8) ? GemmType::S8 : element.isF64() ? GemmType::F64 : GemmType::F32;
}

GemmProblem describeProduct(tg::ContractOp contract, unsigned operand) {
  GemmProblem problem;
  problem.type = typeOf(contract);
  problem.lhsBytes = problem.rhsBytes = problem.resultBytes = int64_t(bytesOfElement(contract.getLhs()));
  auto grow = [](int64_t &extent, AffineExpr by) {
    extent = std::min<uint64_t>(llvm::SaturatingMultiply<uint64_t>(extent, estimateExtent(by)), int64_t(1) << 40);
  };
  for (auto [d, extent] : llvm::enumerate(contract.getDomainExtents())) {
    bool isReduced = !contract.getMap(2).isFunctionOfDim(d), isRead = contract.getMap(operand).isFunctionOfDim(d);
    grow(isReduced ? problem.k : isRead ? problem.m : problem.n, extent);
  }
  return problem;
}

/// Whether a tile of the product has all that the reduction adds up: the elements of one operand, it alone reads the
/// result, and tiles of so many rows cost less than a kernel.
static bool isSummedInTile(tg::ContractOp contract, tg::ReduceOp reduce, const Group &group, const Device &device) {
  constexpr double mostRows = 64, leastColumns = 64;
  bool isLast = llvm::all_of(findSinks(group), [&](Operation *sink) {
    return estimateElements(sink->getResult(0)) == estimateElements(reduce); // Nobody else wants the product.
  });
  bool readsMemory = llvm::none_of(contract->getOperands(), [&](Value v) {
    Operation *op = v.getDefiningOp();
    return op && group.contains(op) && isa<tg::PointwiseOpInterface, tg::ReduceOp, tg::ContractOp>(op);
  });
  tg::Dims dims = tg::getDims(contract.getType()), summed = tg::getDims(reduce.getInput().getType());
  if (!isLast || !readsMemory || dims != summed || !contract.getMap(2).isProjectedPermutation())
    return false;
  double rows = 1, columns = estimateElements(reduce);
  std::optional<unsigned> side; // The operand whose elements are added up; it has no others.
  for (auto [d, extent] : llvm::enumerate(dims)) {
    if (tg::getConstant(extent) == 1)
      continue;
    unsigned dim = cast<AffineDimExpr>(contract.getMap(2).getResult(d)).getPosition();
    bool isSummed = llvm::is_contained(reduce.getAxes(), int64_t(d));
    bool left = contract.getMap(0).isFunctionOfDim(dim), right = contract.getMap(1).isFunctionOfDim(dim);
    unsigned own = left == isSummed ? 0 : 1;
    if (left == right || (side && *side != own))
      return false;
    side = own;
    rows *= isSummed ? double(estimateExtent(extent)) : 1;
  }
  if (!side || rows <= 1 || rows > mostRows || columns < leastColumns)
    return false;
  GemmProblem problem = describeProduct(contract, *side);
  double apart = chooseGemmTile(problem, device).cost.seconds;
  problem.wholeM = true;
  problem.allowWgmma = false;
  return chooseGemmTile(problem, device).cost.seconds - apart < device.kernelSeconds();
}

std::string splitInner(const Group &group, SmallVectorImpl<tg::ContractOp> &contracts,
                       llvm::SmallPtrSetImpl<Operation *> &inner, const Device &device) {
  constexpr double mostElements = 2048; // Of a vector that a CTA holds.
  if (contracts.empty() || (contracts.size() == 1 && llvm::none_of(group, llvm::IsaPred<tg::ReduceOp>)))
    return "";
  SmallVector<tg::ContractOp> anchors;
  for (tg::ContractOp contract : contracts) {
    SmallVector<Operation *> readers = readersOf(contract, group);
    llvm::erase_if(readers, [&](Operation *op) { return findParts(op, contract).has_value(); });
    if (readers.empty()) {
      anchors.push_back(contract);
      continue;
    }
    inner.insert(contract);
    if (tg::isWindowSum(contract))
      continue;
    if (readers.size() == 1 && isa<tg::ReduceOp>(readers.front())) {
      if (!isSummedInTile(contract, cast<tg::ReduceOp>(readers.front()), group, device))
        return "G2: 'reduce' after a contraction";
      continue;
    }
    if (llvm::any_of(readers, llvm::IsaPred<tg::ReduceOp>))
      return "G2: 'reduce' after a contraction";
    auto isVector = [](Operation *op) { return tg::hasNoTiles(cast<tg::ContractOp>(op)); };
    if (!isVector(contract) || !llvm::all_of(readers, isVector) || estimateElements(contract) > mostElements)
      return "G2: a contraction of another one's result";
  }
  contracts = anchors;
  return "";
}

double countStreamedColumns(tg::ContractOp contract, unsigned operand, size_t products, const Device &device) {
  constexpr int64_t vectorBits = 128;
  int64_t bits = tg::getElementBits(getElementTypeOrSelf(contract->getOperand(1 - operand)));
  GemmProblem problem = describeProduct(contract, operand);
  return double(
      streamRows(problem.n, problem.k, std::max<int64_t>(vectorBits / bits, 1), int64_t(products), device).columns);
}

double secondsAlone(double points, double bytes, unsigned vectors, const Device &device) {
  // One SM multiplies them, with all weights under way at once, and converts what is narrower than f32. On an H100 with
  // a cold L2 squeezes of EfficientNet-B0 add 2.4 us (55,296 points of 2 bytes), 2.0 us (of 4 bytes) and 1.25 us
  // (18,816 of 4 bytes) to the kernel that reads them; as kernels of their own they take 1.65, 1.65 and 1.5 us.
  const AloneTimes &alone = device.alone;
  double rate = bytes < 3 * points ? alone.narrowPoints : alone.points;
  return std::max(points / rate, bytes / alone.bytes) + double(vectors) * alone.vector;
}

double secondsOfWindows(tg::ContractOp contract, unsigned operand, double terms, const Device &device) {
  GemmProblem problem = describeProduct(contract, operand);
  double apart = chooseGemmTile(problem, device).cost.seconds;
  problem.lhsWork = terms / estimateElements(contract->getOperand(operand)) * (problem.lhsBytes < 4 ? 3 : 2);
  problem.allowWgmma = false;
  problem.allowRowShares = true;
  return chooseGemmTile(problem, device).cost.seconds - apart;
}

bool canStretch(ArrayRef<Operation *> anchors, double elements, const Device &device) {
  constexpr double elementsOfCta = 2048;
  auto contract = anchors.size() == 1 ? dyn_cast<tg::ContractOp>(anchors.front()) : tg::ContractOp();
  return contract && tg::hasNoTiles(contract) && elements <= elementsOfCta * device.sms;
}

double columnsOfWindows(double columns, double others, double bytes, const Device &device) {
  double side = std::max(leastBytesOfWindows / bytes, 1.0);
  while (std::ceil(columns / side) * others > device.sms + device.sms / 8 && side < columns)
    side *= 2;
  return side;
}

std::string checkWindowRows(tg::ContractOp window, tg::ReduceOp reduce, const Device &device) {
  constexpr double mostPlaces = 8192, sectorBytes = 32;
  if (!tg::isWindowSum(window)) // A product, of which splitInner has asked.
    return "";
  double held = 1, places = 1, bytes = bytesOfElement(window.getLhs());
  tg::Dims extents = tg::getDims(reduce.getInput().getType());
  for (int64_t axis : reduce.getAxes()) {
    held *= double(llvm::PowerOf2Ceil(estimateExtent(extents[axis])));
    places *= double(estimateExtent(extents[axis]));
  }
  if (held * std::max(leastBytesOfWindows / bytes, 1.0) > mostPlaces)
    return "G3: rows of windows that do not fit a CTA";
  // A CTA fetches its columns of the image, a sector of each element, and reads each term of each element from shared
  // memory; strides take twice the banks, what is narrower than f32 is converted. Measured on an H100, us longer than a
  // map: 14x14x672 of 25 terms 1.9 (f32) and 2.2 (bf16), x480 1.1 and 0.8, of 9 terms 1.0; 28x28x240 1.4 and, with a
  // stride of 2, 28x28x144 4.2 (f32). The sum's kernel takes 1.4 to 2.2.
  const AloneTimes &alone = device.alone;
  double columns = double(estimateElements(reduce.getResult()));
  double side = columnsOfWindows(columns, /*others=*/1, bytes, device),
         read = estimateElements(window.getLhs()) / columns;
  double terms = held * side * double(countTermsOf(window)) * (bytes < 4 ? 1.5 : 1) * (read > 2 * places ? 2 : 1);
  double lost = alone.sum + terms * alone.windowTerm + read * std::max(side * bytes, sectorBytes) / alone.rowBytes;
  if (lost > device.launchSeconds)
    return "G3: windows of whole rows in a CTA cost " + std::to_string(int64_t(lost * 1e6)) +
           " us, and a kernel for their sum costs " + std::to_string(int64_t(device.launchSeconds * 1e6)) + " us";
  return "";
}

} // namespace weft::plan
