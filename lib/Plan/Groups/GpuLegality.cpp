// Legality of groups on a GPU: rules G1 to G5 of weft/Plan/Groups.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cost of an op is about its instructions an element (GroupCost.h). The cost of a value is that of all arithmetic
// in the group that it needs; what is in memory, and views of it, cost nothing.
#include "../Facts/RowStatistics.h"
#include "../Models/OperandBoxes.h"
#include "../Models/Unpacked.h"
#include "InnerContractions.h"
#include "RowMoves.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Dialect/TileGraph/IR/Fold.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/DimClasses.h"
#include "weft/Plan/Groups.h"
#include "weft/Plan/KernelAccess.h"
#include "weft/Plan/MemoryLevels.h"
#include "weft/Target/Device.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {
namespace {

/// The most that may be computed again for each reader's element.
constexpr int64_t cheap = 4, cheapMoved = 16;
constexpr size_t mostResults = 4, mostProducts = 4;

bool isPointwise(Operation *op) { return isa<tg::PointwiseOpInterface>(op); }
/// Views that read each element of their operand at most once for each of theirs.
bool isView(Operation *op) {
  return isa<tg::TransposeOp, tg::SliceOp, tg::PadOp, tg::ReshapeOp, tg::BitcastOp, tg::BroadcastOp>(op);
}
/// Views that only move elements.
bool isBijection(Operation *op) { return isa<tg::TransposeOp, tg::ReshapeOp, tg::BitcastOp>(op); }

tg::Dims dimsOf(Value value) { return tg::getDims(value.getType()); }

int64_t elementsOf(Value value) {
  int64_t product = 1;
  for (AffineExpr extent : dimsOf(value))
    product = llvm::MulOverflow(product, estimateExtent(extent), product) ? INT64_MAX : product;
  return product;
}

std::string nameOf(Operation *op) { return "'" + op->getName().stripDialect().str() + "'"; }

/// What the ops of a group in front of a contraction's operand come down to.
struct Prologue {
  double operations = 0, bytes = 0; ///< Of computing it once, and read for it from outside the group.
  bool reduces = false;             ///< It sums something up: results come late, and each tile waits for them.
  unsigned chained = 0;             ///< Vectors that other contractions make: each CTA makes them alone.
  unsigned windows = 0;             ///< Sums over windows.
  bool followed = false;            ///< It reads a GEMM that it could be the epilogue of,
  bool followsRead = false;         ///< though others read that one's result, too.
  bool isStored = true;             ///< All it reads are weights and constants.
  Value packed;                     ///< The largest tensor of integers that share words.
  Operation *moved = nullptr;       ///< A gather, concatenation or window,
  bool choosesRows = true;          ///< of which all are gathers that take rows whole.
};

/// A group with what its rules ask again and again.
class Checker {
public:
  Checker(const Group &group, const GroupOptions &options)
      : group(group), device(*options.device), dims(*options.dims), isMeasured(options.isMeasured) {}

  std::string run();
  double pricePrologues();

private:
  bool isInside(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && group.contains(op);
  }
  /// Of all arithmetic of the group that the result of `op` needs, one element of each value.
  int64_t costUpTo(Operation *op) {
    auto [it, inserted] = costs.try_emplace(op, 0);
    if (!inserted)
      return it->second;
    auto contract = dyn_cast<tg::ContractOp>(op);
    int64_t cost = contract && inner.contains(contract) ? countTermsOf(contract) : countInstructions(op);
    for (Value operand : usedValues(op))
      if (isInside(operand))
        cost += costUpTo(operand.getDefiningOp());
    return costs[op] = cost;
  }
  /// Ops of the group that need the result of one of `from`.
  llvm::SmallPtrSet<Operation *, 8> downstreamOf(llvm::function_ref<bool(Operation *)> from) const {
    llvm::SmallPtrSet<Operation *, 8> found;
    for (Operation *op : group)
      if (from(op) || llvm::any_of(usedValues(op), [&](Value v) { return found.contains(v.getDefiningOp()); }))
        found.insert(op);
    return found;
  }

  std::string checkResults();
  std::string checkKinds();
  std::string checkRepeats();
  std::string checkTogether(tg::ContractOp other);
  std::string checkAnchors(ArrayRef<Operation *> anchors);
  bool endsProduct(Value value, bool mayBeRead = false) const;
  void sumUpPrologue(Operation *last, Prologue &before);
  std::string checkPrologue(tg::ContractOp contract, unsigned operand);
  bool isPackedMatrix(tg::ContractOp contract, unsigned operand, const Prologue &before) const;
  bool staysPacked(tg::ContractOp contract, unsigned operand, const Prologue &before) const;
  double priceOf(tg::ContractOp contract, unsigned operand, const Prologue &before) const;
  std::string checkFoldOperands();
  std::string checkPads();
  std::string checkRows();
  bool readsStatistics() const;

  const Group &group;
  const Device &device;
  const DimClasses &dims;
  bool isMeasured; ///< Estimates do not count.
  llvm::DenseMap<Operation *, int64_t> costs;
  SmallVector<tg::ContractOp> contracts; ///< That no other one and no reduction needs.
  llvm::SmallPtrSet<Operation *, 4> inner;
  llvm::SmallPtrSet<Operation *, 16> inParts; ///< What makes parts of GEMMs' results (collectParts).
  tg::FoldOp fold;
  tg::ReduceOp reduce;
};

/// Whether all that `op` computes with are narrower values, cast to its type.
static bool onlyWidens(Operation *op) {
  auto bits = [](Value v) { return tg::getElementBits(cast<RankedTensorType>(v.getType()).getElementType()); };
  return isPointwise(op) && !isa<tg::CastOp>(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           auto cast = operand.getDefiningOp<tg::CastOp>();
           return cast && bits(cast.getInput()) < bits(op->getResult(0));
         });
}

std::string Checker::checkResults() {
  SmallVector<Operation *> sinks = findSinks(group);
  if (sinks.size() > mostResults)
    return "G1: more than 4 results";
  std::optional<tg::TileParts> first;
  for (Operation *sink : sinks) {
    if (inParts.contains(sink)) {
      std::optional<tg::PartsResult> found = tg::findPartsResult(sink->getResult(0));
      bool isOther = found && first && (found->parts.places != first->places || found->parts.begin != first->begin);
      if (!found || sink == sinks.front() || isOther)
        return "G1: sums of parts that are no tiles of another result";
      first = found->parts;
    } else if (!dims.fitInto(sink->getResult(0), sinks.front()->getResult(0))) {
      return "G1: results of different dimensions";
    }
  }
  if (sinks.empty())
    return "G1: no result";
  Operation *last = sinks.front();
  if (auto cast = dyn_cast<tg::CastOp>(last); cast && sinks.size() == 1 && isInside(cast.getInput())) {
    auto bits = [](Value v) { return tg::getElementBits(mlir::cast<RankedTensorType>(v.getType()).getElementType()); };
    bool isRead =
        llvm::none_of(last->getUsers(), [](Operation *user) { return user->hasTrait<OpTrait::IsTerminator>(); });
    if (isRead && bits(cast.getResult()) > bits(cast.getInput()))
      return "G5: a widening cast belongs to its consumer";
  }
  // Beside a GEMM's result in 16 bits the same in 32, with arithmetic that the reader could do as well.
  if (!contracts.empty() && sinks.size() > 1 && llvm::any_of(sinks, onlyWidens))
    return "G5: arithmetic on widened values belongs to its consumer";
  return "";
}

std::string Checker::checkKinds() {
  for (Operation *op : group) {
    if (auto found = dyn_cast<tg::ContractOp>(op)) {
      contracts.push_back(found);
    } else if (auto found = dyn_cast<tg::FoldOp>(op)) {
      if (std::exchange(fold, found))
        return "G2: two folds";
    } else if (auto found = dyn_cast<tg::ReduceOp>(op)) {
      reduce = reduce ? reduce : found;
    } else if (!isPointwise(op) && !isView(op) &&
               !isa<tg::GatherOp, tg::IotaOp, tg::ExtentsOp, tg::WindowOp, tg::ConcatOp>(op)) {
      return "G5: " + nameOf(op) + " does not fuse";
    }
  }
  if (fold && (reduce || !contracts.empty()))
    return "G2: a contraction or a reduction beside a fold";
  if (std::string violation = splitInner(group, contracts, inner, device); !violation.empty())
    return violation;
  if (!contracts.empty() && reduce)
    inParts = collectParts(group, contracts);
  if (contracts.size() > mostProducts)
    return "G2: more than " + std::to_string(mostProducts) + " contractions";
  return "";
}

/// G2 for a contraction beside the first: both are computed in one loop, with an accumulator each and one operand in
/// common.
std::string Checker::checkTogether(tg::ContractOp other) {
  tg::ContractOp first = contracts.front();
  auto hasCommon = [&](unsigned i) {
    return first->getOperand(i) == other->getOperand(i) && first.getMap(i) == other.getMap(i);
  };
  if (!hasCommon(0) && !hasCommon(1))
    return "G2: two contractions without a common operand";
  if (!dims.areInStep(first, other))
    return "G2: two contractions over different extents";
  // GEMMs whose results meet save a tensor. Others share only what they read, which matters where they are small;
  // large ones fill the device by themselves, with larger tiles.
  constexpr int64_t small = int64_t(1) << 23;
  if (other != first && elementsOf(first) > small && findSinks(group).size() > 1)
    return "G2: two large contractions with results of their own";
  return "";
}

/// G4.
std::string Checker::checkRepeats() {
  auto isAnchor = [&](Operation *op) { return llvm::is_contained(contracts, op); };
  llvm::SmallPtrSet<Operation *, 8> after = downstreamOf(isAnchor); // Of these rule G2 says where they stand again.
  for (Operation *op : group) {
    if (inParts.contains(op)) // Tiles of the results have what it reads.
      continue;
    bool stretches = isPointwise(op) || isa<tg::BroadcastOp>(op);
    for (Value operand : op->getOperands()) {
      if (!isInside(operand))
        continue;
      Operation *producer = operand.getDefiningOp();
      int64_t cost = costUpTo(producer);
      // Values of reduced rows under a broadcast are kept in registers.
      bool isRow = reduce && !dimsOf(operand).empty() && isPointwise(op) && dims.fitInto(operand, op->getResult(0));
      if (stretches && !isRow && !after.contains(producer) && cost > cheap && !dims.areSame(operand, op->getResult(0)))
        return "G4: " + nameOf(producer) + " would be computed again under a broadcast";
      if ((isa<tg::GatherOp, tg::WindowOp>(op) || (inner.contains(op) && tg::isWindowSum(cast<tg::ContractOp>(op)))) &&
          cost > cheap)
        return "G4: " + nameOf(producer) + " would be computed again for each element that reads it";
      bool isMoved = isView(op) || isa<tg::ConcatOp>(op);
      if (isMoved && reduce)
        cost = std::min(cost, countRowInstructions(operand, group, reduce, dims));
      if (isMoved && !producer->hasOneUse() && cost > cheapMoved)
        return "G4: " + nameOf(producer) + " would be computed again at other indices";
    }
  }
  return "";
}

/// Whether arithmetic of the group on `value`, from outside, could be the epilogue of a contraction or fold: nobody
/// else reads it (unless it `mayBeRead`), and it is such a result, or elementwise arithmetic after one.
bool Checker::endsProduct(Value value, bool mayBeRead) const {
  if (!mayBeRead && !llvm::all_of(value.getUsers(), [&](Operation *user) { return group.contains(user); }))
    return false;
  while (Operation *op = value.getDefiningOp()) {
    if (isa<tg::ContractOp, tg::FoldOp>(op))
      return true;
    if (!isPointwise(op) && !isBijection(op))
      return false;
    auto next = llvm::find_if(op->getOperands(), [&](Value operand) {
      return operand.getDefiningOp() && elementsOf(operand) == elementsOf(value);
    });
    if (next == op->operand_end())
      return false;
    value = *next;
  }
  return false;
}

static double bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return double(elementsOf(value)) * double(tg::getElementBits(type.getElementType())) / 8;
}

static double pointsOf(tg::ContractOp contract) {
  double points = 1;
  for (AffineExpr extent : contract.getDomainExtents())
    points *= double(estimateExtent(extent));
  return points;
}

/// Whether `value` is a weight or a constant, under another shape perhaps.
static bool isStored(Value value) {
  while (isa_and_nonnull<tg::ReshapeOp, tg::BitcastOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return isa_and_nonnull<tg::WeightOp, tg::ConstantOp>(value.getDefiningOp());
}

bool Checker::isPackedMatrix(tg::ContractOp contract, unsigned operand, const Prologue &before) const {
  Value value = contract->getOperand(operand);
  return before.isStored && before.packed && countPacked(before.packed) >= elementsOf(value) && !before.reduces &&
         !before.windows && mayUnpack(getElementTypeOrSelf(before.packed), getElementTypeOrSelf(value));
}

/// Packed weights are unpacked in the registers that multiply (../Models/Unpacked.h), and scales that an index finds
/// for each element are read as the weights are.
bool Checker::staysPacked(tg::ContractOp contract, unsigned operand, const Prologue &before) const {
  if (!isPackedMatrix(contract, operand, before))
    return false;
  int64_t rows = countOtherRows(contract, operand);
  if (rows <= mostUnpackedRows)
    return true;
  Value value = contract->getOperand(operand), other = contract->getOperand(1 - operand);
  if (contracts.size() > 1 || before.moved || isInside(other) || !hasAlignedRows(other))
    return false;
  int64_t depth = std::max<int64_t>(int64_t(pointsOf(contract) / double(elementsOf(contract.getResult()))), 1);
  int64_t bits = tg::getElementBits(getElementTypeOrSelf(before.packed));
  return paysByWarpgroups({rows, elementsOf(value) / depth, depth, bits}, device);
}

/// Sums up `last` and what the group computes for it.
void Checker::sumUpPrologue(Operation *last, Prologue &before) {
  SmallVector<Operation *> work{last};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!seen.insert(op).second)
      continue;
    if (isa<tg::GatherOp, tg::ConcatOp, tg::WindowOp>(op)) {
      before.moved = before.moved ? before.moved : op;
      before.choosesRows &= takesRows(op);
    }
    auto contract = dyn_cast<tg::ContractOp>(op);
    if (contract) {
      before.operations += pointsOf(contract);
      (tg::isWindowSum(contract) ? before.windows : before.chained) += 1;
    } else if (isa<tg::ReduceOp>(op))
      before.operations += double(elementsOf(op->getOperand(0)));
    else if (!isa<tg::CastOp>(op))
      before.operations += double(countInstructions(op)) * double(elementsOf(op->getResult(0)));
    before.reduces |= isa<tg::ReduceOp>(op);
    for (Value value : op->getOperands()) {
      if (isInside(value)) {
        work.push_back(value.getDefiningOp());
      } else {
        before.bytes += bytesOf(value);
        before.isStored &= isStored(value);
        if (countPacked(value) > countPacked(before.packed))
          before.packed = value;
        bool isInStep = !contract && elementsOf(value) == elementsOf(op->getResult(0));
        before.followed |= isInStep && endsProduct(value);
        before.followsRead |= isInStep && endsProduct(value, /*mayBeRead=*/true);
      }
    }
  }
}

/// G2 on the side of an operand: recomputing for each tile of the other side against the bytes of storing it once.
std::string Checker::checkPrologue(tg::ContractOp contract, unsigned operand) {
  Operation *producer = contract->getOperand(operand).getDefiningOp();
  if (!producer || !group.contains(producer))
    return "";
  Prologue before;
  sumUpPrologue(producer, before);
  bool isFree =
      staysPacked(contract, operand, before); // It reads less than the copy would take, and no kernel makes it.
  // A vector's kernel reads each row of the matrix once, wherever it lies, and computes nothing of it twice.
  isFree |= before.moved && before.choosesRows && countOtherRows(contract, operand) == 1;
  if (before.moved && !(isa<tg::GatherOp>(before.moved) && isFree))
    return "G2: " + nameOf(before.moved) + " before a contraction";
  if (before.operations == 0 || isMeasured || isFree)
    return "";
  if (device.hasWgmma() && isPackedMatrix(contract, operand, before))
    return "G2: warpgroups read a copy of what " + nameOf(producer) + " unpacks in less time";
  // Warps that unpack a matrix have no time to compute each its part of the rows.
  bool isBesideUnpacked =
      findPacked(contract->getOperand(1 - operand)) && countOtherRows(contract, 1 - operand) <= mostUnpackedRows;
  if (before.followed || (before.followsRead && isBesideUnpacked))
    return "G2: " + nameOf(producer) + " can be computed once, after the contraction that it reads";
  if (before.windows && before.reduces)
    return "G2: a reduction of windows before a contraction";
  double between = bytesOf(contract->getOperand(operand)), beside = bytesOf(contract->getOperand(1 - operand));
  double lost = priceOf(contract, operand, before);
  // Between two kernels it would be written and read: in the L2 where it fits with what they read beside it.
  MemoryLevel level = levelBetweenKernels(before.bytes + between + beside, device);
  double rate = level == MemoryLevel::L2 ? bandwidthOf(level, device) : device.groups.bytes;
  // A vector's kernel fills and drains the SMs; so does its CTA's wait for it.
  double saved = between * 2 / rate + (before.chained ? device.launchSeconds : device.kernelSeconds());
  if (lost > saved)
    return "G2: computing " + nameOf(producer) + " again for each tile costs " + std::to_string(int64_t(lost * 1e6)) +
           " us and saves " + std::to_string(int64_t(saved * 1e6)) + " us";
  return "";
}

/// Seconds that `contract` loses where `operand` is computed by its kernel.
double Checker::priceOf(tg::ContractOp contract, unsigned operand, const Prologue &before) const {
  // An operand that comes through registers loses a tenth of the contraction's time, and each step waits for its loads:
  // five GEMMs of 1152 elements took 72 us longer with their scales in front, launches less and all
  // (H100).
  constexpr double sms = 132, leastTile = 16, mostTile = 128, placesOfStep = 64;
  const AloneTimes &alone = device.alone;
  const GroupRates &rates = device.groups;
  double otherTiles = 1, rows = 1;
  AffineMap map = contract.getMap(operand);
  for (auto [d, extent] : llvm::enumerate(contract.getDomainExtents())) {
    if (!map.isFunctionOfDim(d))
      otherTiles *= double(estimateExtent(extent));
    else if (contract.getMap(2).isFunctionOfDim(d))
      rows *= double(estimateExtent(extent));
  }
  // Tiles are as large as leaves one for each SM of a large device.
  double tile = std::sqrt(double(elementsOf(contract.getResult())) / sms);
  tile = rows > 1 || before.chained ? std::clamp(double(llvm::bit_floor(uint64_t(tile))), leastTile, mostTile)
                                    : countStreamedColumns(contract, operand, contracts.size(), device);
  // A window has each element at several positions, which compute it again, step by step.
  double places = pointsOf(contract) / otherTiles;
  double taps = std::max(places / double(elementsOf(contract->getOperand(operand))), 1.0);
  otherTiles = std::ceil(otherTiles / tile);
  double whole =
      std::max(2 * pointsOf(contract) / rates.products, bytesOf(contract->getOperand(1 - operand)) / rates.bytes);
  if (before.windows)
    return secondsOfWindows(contract, operand, before.operations, device);
  double lost = (otherTiles * taps - 1) * before.operations / rates.operations;
  if (rows > 1)
    lost += 0.1 * whole + alone.step * places / rows / placesOfStep;
  if (before.chained)
    lost += secondsAlone(before.operations, before.bytes, before.chained, device);
  // Sums come before the first step, in each CTA alone: what was to be hidden by copies waits for them (7.5 us more,
  // and a launch less, for the norm before a decoded row's gates, an H100).
  if (before.reduces) {
    double share = std::ceil(rows / tile);
    lost += alone.productSum +
            std::max(before.operations / share / (rates.operations / sms), before.bytes / share / alone.rowBytes);
  }
  return lost;
}

double Checker::pricePrologues() {
  double lost = 0;
  if (!checkKinds().empty())
    return lost;
  for (tg::ContractOp contract : contracts)
    for (unsigned operand : {0u, 1u}) {
      Prologue before;
      if (!isInside(contract->getOperand(operand)))
        continue;
      sumUpPrologue(contract->getOperand(operand).getDefiningOp(), before);
      if (!before.moved && before.operations > 0 && !staysPacked(contract, operand, before))
        lost += priceOf(contract, operand, before);
    }
  return lost;
}

/// G2 for a fold: what it streams is loaded again for each tile of rows, by copies where it is memory; so views and
/// indices, of indices and extents. Where rows are few next to what is streamed (a cache), each element is read once or
/// so, and arithmetic and a cache with what is appended to it cost less there than a tensor.
std::string Checker::checkFoldOperands() {
  int64_t largest = 0;
  for (Value value : usedValues(fold))
    largest = std::max(largest, elementsOf(value));
  bool isOnce = elementsOf(fold->getResult(0)) / int64_t(fold.getParts().value_or(1)) <= largest / 16;
  llvm::SmallPtrSet<Operation *, 8> before;
  SmallVector<Operation *> work;
  for (Value value : usedValues(fold))
    if (isInside(value))
      work.push_back(value.getDefiningOp());
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    if (!before.insert(op).second)
      continue;
    bool isCheap = isOnce && ((isPointwise(op) && costUpTo(op) <= cheapMoved) || isa<tg::ConcatOp>(op));
    if (!isView(op) && !isa<tg::IotaOp, tg::ExtentsOp>(op) && !isCheap)
      return "G2: " + nameOf(op) + " would be computed again for each tile of the fold";
    for (Value value : op->getOperands())
      if (isInside(value))
        work.push_back(value.getDefiningOp());
  }
  return "";
}

/// G2 after the contractions or the fold.
std::string Checker::checkAnchors(ArrayRef<Operation *> anchors) {
  auto isAnchor = [&](Operation *op) { return llvm::is_contained(anchors, op); };
  llvm::SmallPtrSet<Operation *, 8> after = downstreamOf(isAnchor);
  for (Operation *sink : findSinks(group))
    if (!after.contains(sink))
      return "G2: a result that does not need the contraction";
  for (Operation *op : group) {
    if (isAnchor(op)) {
      if (llvm::any_of(usedValues(op), [&](Value v) { return after.contains(v.getDefiningOp()); }))
        return "G2: a contraction of another one's result";
      continue;
    }
    if (!after.contains(op) || isBijection(op) || inParts.contains(op))
      continue;
    if (!isPointwise(op))
      return "G2: " + nameOf(op) + " after a contraction";
    for (Value operand : op->getOperands())
      if (after.contains(operand.getDefiningOp()) && !dims.areSame(operand, op->getResult(0)) &&
          !canStretch(anchors, double(elementsOf(op->getResult(0))), device))
        return "G2: the contraction's result would be computed again under a broadcast";
  }
  // The result is computed where it is read: in one place.
  for (Operation *anchor : anchors) {
    unsigned moved = 0, kept = 0;
    for (Operation *user : anchor->getUsers())
      if (!inParts.contains(user))
        ++(group.contains(user) && isBijection(user) ? moved : kept);
    if (moved > 1 || (moved && kept))
      return "G2: the contraction's result is read at several indices";
  }
  return "";
}

/// Zeros around what a contraction reads cost nothing where it reads, and bytes where they are written.
std::string Checker::checkPads() {
  if (group.size() > 1)
    for (Operation *sink : findSinks(group))
      if (isa<tg::PadOp>(sink) && llvm::all_of(sink->getUsers(), llvm::IsaPred<tg::ContractOp>))
        return "G2: the contraction that reads " + nameOf(sink) + " pads for nothing";
  return "";
}

/// G3.
std::string Checker::checkRows() {
  auto after = downstreamOf([](Operation *op) { return isa<tg::ReduceOp>(op); });
  Ops moves = findRowMoves(group, reduce, after, dims);
  for (Operation *op : group) {
    if (auto other = dyn_cast<tg::ReduceOp>(op)) {
      if (other.getAxes() != reduce.getAxes() || !dims.areSame(other.getInput(), reduce.getInput()))
        return "G3: reductions over different axes or extents";
      continue;
    }
    bool isRow = dims.isOfRows(op->getResult(0), reduce);
    bool leaves = llvm::any_of(op->getUsers(), [&](Operation *user) { return !group.contains(userInBlock(op, user)); });
    if (after.contains(op) && !(isPointwise(op) && isRow) && (!moves.contains(op) || (leaves && !isRow)))
      return "G3: " + nameOf(op) + " does not go by rows";
    if (!after.contains(op) && !((isPointwise(op) || inner.contains(op)) && isRow) && costUpTo(op) > cheap)
      return "G3: " + nameOf(op) + " would be computed again for each row";
    if (auto concat = dyn_cast<tg::ConcatOp>(op);
        concat && isRow && !moves.contains(op) && llvm::is_contained(reduce.getAxes(), int64_t(concat.getAxis())))
      return "G3: " + nameOf(op) + " in a row";
    if (inner.contains(op))
      if (std::string violation = checkWindowRows(cast<tg::ContractOp>(op), reduce, device); !violation.empty())
        return violation;
  }
  return "";
}

/// G3 for a map whose reductions have few terms: each CTA computes them again.
bool Checker::readsStatistics() const {
  // Loads and two sums over a warp, in front of a tile of a wave of CTAs (an H100).
  constexpr double elementsOfWave = 4 * 4096;
  SmallVector<Operation *> sinks = findSinks(group);
  double elements = double(elementsOf(sinks.front()->getResult(0)));
  if (!inner.empty() || elements / (elementsOfWave * device.sms) * device.alone.sum > device.kernelSeconds())
    return false;
  auto after = downstreamOf(llvm::IsaPred<tg::ReduceOp>);
  return llvm::all_of(group,
                      [&](Operation *op) {
                        if (auto found = dyn_cast<tg::ReduceOp>(op))
                          return isStatistic(found, elements);
                        bool isMap = isPointwise(op) || isBijection(op);
                        return (isMap || !after.contains(op)) && !isa<tg::WindowOp, tg::ConcatOp>(op);
                      }) &&
         llvm::all_of(sinks,
                      [&](Operation *sink) { return dims.areSame(sink->getResult(0), sinks.front()->getResult(0)); });
}

std::string Checker::run() {
  for (auto check : {&Checker::checkKinds, &Checker::checkResults, &Checker::checkRepeats, &Checker::checkPads})
    if (std::string violation = (this->*check)(); !violation.empty())
      return violation;
  if (!contracts.empty()) {
    for (tg::ContractOp contract : contracts) {
      if (std::string violation = checkTogether(contract); !violation.empty())
        return violation;
      for (unsigned operand : {0u, 1u})
        if (std::string violation = checkPrologue(contract, operand); !violation.empty())
          return violation;
    }
    return checkAnchors(SmallVector<Operation *>(contracts.begin(), contracts.end()));
  }
  if (fold) {
    if (std::string violation = checkFoldOperands(); !violation.empty())
      return violation;
    return checkAnchors(fold.getOperation());
  }
  if (reduce) {
    std::string violation = checkRows();
    return violation.empty() || readsStatistics() ? "" : violation;
  }
  for (Operation *op : group)
    if (isa<tg::WindowOp>(op))
      return "G4: windows without their reduction";
  return "";
}

} // namespace

std::string findGpuViolation(const Group &group, const GroupOptions &options) { return Checker(group, options).run(); }

double priceGpuPrologues(const Group &group, const GroupOptions &options) {
  return Checker(group, options).pricePrologues();
}

} // namespace weft::plan
