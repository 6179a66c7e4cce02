// Launches from access maps: what a tile covers of each tensor, and how it moves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Along an axis of a tensor a tile covers `box` elements; its start is a sum over the kernel's dimensions of functions
// of their tile numbers (maps are affine with quotients and remainders, so the functions are found by evaluation). The
// unit of an axis is what all moves are multiples of. Where the unit is no less than the box, tiles are side by side
// and the axis is counted in boxes; otherwise boxes overlap and it is counted in places. Arrays of the model have rows
// and bytes: an axis that overlaps, or that the last tile does not fill, goes along the bytes, a second one along the
// rows, boxes of all others are numbered in row-major order.
#include "weft/Plan/KernelLaunch.h"
#include "weft/Traversal/GridOrder.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>

using namespace mlir;

namespace weft::plan {
namespace {

/// What a loop of the launch goes over: a dimension of the kernel with tiles or steps.
struct Loop {
  LaunchLoop kind = LaunchLoop::Row;
  int64_t count = 1, extent = 1; ///< Tiles or steps; elements of each.
  int64_t divisor = 1, modulus = 0;
};

/// How a tile moves along an axis, per number of a kernel dimension's tile.
struct Move {
  LoopTerm term;    ///< `factor` in places.
  int64_t most = 0; ///< The farthest start.
};

struct Axis {
  int64_t extent = 1, box = 1, unit = 0; ///< What is touched, by a tile, by what it moves (0: it does not).
  int64_t origin = 0;
  std::vector<Move> moves;

  bool overlaps() const { return unit && unit < box; }
  bool isRagged() const { return unit && extent % unit; }
  int64_t countBoxes() const {
    int64_t last = 0;
    for (const Move &move : moves)
      last += move.most / std::max<int64_t>(unit, 1);
    return last + 1;
  }
};

/// A tensor's accesses.
struct Operand {
  Value value;
  std::vector<Axis> axes;
  int64_t elementBits = 8;
  bool isWrite = false, inSteps = false, isUnknown = false;
};

/// The value of an expression; symbols count as in `estimateExtent`.
int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto pair = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!pair)
    return symbolEstimate;
  int64_t a = evaluate(pair.getLHS(), dims), b = evaluate(pair.getRHS(), dims);
  switch (pair.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::FloorDiv:
    return b > 0 ? llvm::divideFloorSigned(a, b) : 0;
  case AffineExprKind::CeilDiv:
    return b > 0 ? llvm::divideCeilSigned(a, b) : 0;
  default:
    return b > 0 ? a - b * llvm::divideFloorSigned(a, b) : 0;
  }
}

class Describer {
public:
  Describer(const KernelToSchedule &kernel, const ScheduleChoice &choice, const LaunchRequest &request)
      : kernel(kernel), choice(choice), request(request),
        access(analyseAccess(const_cast<func::FuncOp &>(kernel.func).getBody().front(), /*entersFolds=*/true)) {}

  std::optional<KernelLaunch> run();

private:
  bool makeGrid();
  void makeSteps();
  void addStep(unsigned dim, int64_t step);
  Operand followRequest(const KernelRequest &request, bool isWrite);
  Move findMove(AffineExpr at, unsigned dim, const Loop &loop);
  void addOperand(const Operand &operand);
  void addUnknown(const Operand &operand);
  void collectOperands();
  void orderBySteps(tg::FoldOp fold);
  void findProduct();
  double countOperations();
  std::string nameOf(const Operand &operand) const;
  int64_t extentOf(unsigned dim) const { return estimateExtent(access.dims[dim].extent); }

  const KernelToSchedule &kernel;
  const ScheduleChoice &choice;
  const LaunchRequest &request;
  KernelAccess access;
  KernelLaunch result;
  StageModel stage;
  std::vector<std::optional<Loop>> loops; ///< By dimension of the access; none: whole in every step.
};

} // namespace

/// Tiles along each dimension of the result; false for grids that nobody may estimate or too large for an order.
bool Describer::makeGrid() {
  unsigned rank = access.resultRank;
  if (choice.tile.size() != rank)
    return false;
  loops.resize(access.dims.size());
  for (unsigned d = 0; d < rank; ++d) {
    bool isKnown = tg::getConstant(access.dims[d].extent).has_value();
    if ((!isKnown && !request.isLikely) || extentOf(d) < 1 || choice.tile[d] < 1)
      return false;
    result.counts.push_back(int64_t(llvm::divideCeil(extentOf(d), choice.tile[d])));
    result.countsOfLaunch.push_back(isKnown ? result.counts.back() : countOfLaunch);
  }
  stage.grid = foldGrid(result.counts, request.colDims);
  if (stage.grid.rows > maxTiles / stage.grid.cols)
    return false;
  int64_t cols = 1, rows = 1;
  bool isCol = true;
  for (unsigned d = rank; d-- > 0;) {
    isCol &= cols < stage.grid.cols;
    int64_t &below = isCol ? cols : rows;
    int64_t tile = std::min(choice.tile[d], extentOf(d));
    loops[d] = Loop{isCol ? LaunchLoop::Col : LaunchLoop::Row, result.counts[d], tile, below, result.counts[d]};
    below *= result.counts[d];
  }
  return true;
}

void Describer::addStep(unsigned dim, int64_t step) {
  step = std::clamp<int64_t>(step, 1, extentOf(dim));
  loops[dim] = Loop{LaunchLoop::Step, int64_t(llvm::divideCeil(extentOf(dim), step)), step, 1, 0};
}

/// Steps go along what a fold streams, or what contractions and reductions sum up beyond the result's dimensions.
void Describer::makeSteps() {
  llvm::MapVector<Operation *, SmallVector<unsigned>> reduced;
  for (auto [i, dim] : llvm::enumerate(access.dims))
    if (dim.reducer && dim.along == i)
      reduced[dim.reducer].push_back(i);
  for (auto &[op, dims] : reduced) {
    bool isStream = isa<tg::FoldOp>(op) || (isa<tg::ContractOp>(op) && !isa<tg::FoldOp>(op->getParentOp())) ||
                    (!kernel.find<tg::FoldOp>() && !kernel.find<tg::ContractOp>());
    if (!isStream || dims.size() != choice.stream.size())
      continue;
    llvm::sort(dims, [&](unsigned a, unsigned b) { return access.dims[a].domainDim < access.dims[b].domainDim; });
    unsigned longest = *llvm::max_element(dims, [&](unsigned a, unsigned b) { return extentOf(a) < extentOf(b); });
    for (auto [dim, step] : llvm::zip_equal(dims, choice.stream))
      if (!request.mergesTaps || dim == longest)
        addStep(dim, step);
    int64_t below = 1;
    for (unsigned dim : llvm::reverse(dims))
      if (loops[dim]) {
        loops[dim]->divisor = below;
        loops[dim]->modulus = loops[dim]->count;
        below *= loops[dim]->count;
      }
    stage.steps = std::max(stage.steps, below);
  }
}

/// `in` or `out` with the number of the kernel's argument or result.
std::string Describer::nameOf(const Operand &operand) const {
  if (!operand.isWrite)
    return "in" + std::to_string(cast<BlockArgument>(operand.value).getArgNumber());
  func::FuncOp func = kernel.func;
  auto results = func.getBody().front().getTerminator()->getOperands();
  return "out" + std::to_string(llvm::find(results, operand.value) - results.begin());
}

/// The start along one axis as a function of a dimension's tile number: factor * (number / divisor % modulus).
Move Describer::findMove(AffineExpr at, unsigned dim, const Loop &loop) {
  constexpr int64_t mostLooked = 4096;
  SmallVector<int64_t> places(access.dims.size(), 0);
  int64_t zero = evaluate(at, places), count = std::min(loop.count, mostLooked);
  auto startOf = [&](int64_t number) {
    places[dim] = number * loop.extent;
    return evaluate(at, places) - zero;
  };
  Move move;
  move.term = {loop.kind, loop.divisor, loop.modulus, 0};
  int64_t change = 1;
  while (change < count && startOf(change) == 0)
    ++change;
  if (change >= count)
    return move;
  move.term.factor = startOf(change);
  int64_t period = change; // Until the start is 0 again.
  while (period < count && startOf(period) != 0)
    ++period;
  move.most = std::abs(move.term.factor) * ((std::min(period, loop.count) - 1) / change);
  move.term.divisor *= change;
  if (period < count)
    move.term.modulus = period / change;
  else if (move.term.modulus)
    move.term.modulus = int64_t(llvm::divideCeil(move.term.modulus, change));
  return move;
}

Operand Describer::followRequest(const KernelRequest &asked, bool isWrite) {
  auto type = cast<RankedTensorType>(asked.value.getType());
  Operand operand;
  operand.value = asked.value;
  operand.elementBits = std::max<int64_t>(tg::getElementBits(type.getElementType()), 1);
  operand.isWrite = isWrite;
  for (auto [at, extent] : llvm::zip_equal(asked.coordinates, tg::getDims(type))) {
    Axis axis;
    axis.extent = estimateExtent(extent);
    operand.isUnknown |= !at;
    if (at) {
      SmallVector<int64_t> places(access.dims.size(), 0);
      int64_t zero = axis.origin = evaluate(at, places);
      for (unsigned d = 0; d < access.dims.size(); ++d) {
        if (!at.isFunctionOfDim(d))
          continue;
        unsigned along = access.dims[d].along < access.resultRank ? d : access.dims[d].along;
        const std::optional<Loop> &loop = loops[along];
        places[d] = (loop ? loop->extent : extentOf(d)) - 1;
        axis.box += std::abs(evaluate(at, places) - zero);
        places[d] = 0;
        if (!loop)
          continue;
        Move move = findMove(at, d, *loop);
        if (!move.term.factor)
          continue;
        axis.unit = std::gcd(axis.unit, std::abs(move.term.factor));
        axis.moves.push_back(move);
        operand.inSteps |= move.term.loop == LaunchLoop::Step;
      }
    }
    axis.box = std::min(axis.box, axis.extent);
    if (axis.box == axis.extent) { // All of it, wherever it starts.
      axis.moves.clear();
      axis.unit = 0;
    }
    int64_t reach = axis.box;
    for (const Move &move : axis.moves)
      reach += move.most;
    axis.extent = std::min(axis.extent, reach);
    operand.axes.push_back(axis);
  }
  return operand;
}

/// Some of a tensor that depends on data: each tile has a part of its own.
void Describer::addUnknown(const Operand &operand) {
  int64_t tiles = stage.grid.rows * stage.grid.cols, bytes = operand.elementBits;
  for (const Axis &axis : operand.axes)
    bytes = llvm::MulOverflow(bytes, axis.extent, bytes) ? INT64_MAX : bytes;
  AccessModel access;
  access.array = int32_t(result.launch.arrays.size());
  access.bytes = std::clamp<int64_t>(bytes / 8 / tiles, 1, int64_t(1) << 30);
  access.outer.perRow = stage.grid.cols;
  access.outer.perCol = 1;
  access.isWrite = operand.isWrite;
  access.when = operand.isWrite ? AccessModel::When::LastStep : AccessModel::When::FirstStep;
  result.launch.arrays.push_back({nameOf(operand), tiles, access.bytes});
  stage.accesses.push_back(access);
}

void Describer::addOperand(const Operand &operand) {
  if (operand.isUnknown)
    return addUnknown(operand);
  // The axes that go along the bytes and along the rows: first those whose boxes overlap, then ragged ones, the
  // longest.
  std::vector<size_t> moving;
  for (auto [i, axis] : llvm::enumerate(operand.axes))
    if (axis.unit)
      moving.push_back(i);
  llvm::sort(moving, [&](size_t a, size_t b) {
    auto rank = [&](const Axis &x) { return std::tuple(!x.overlaps(), !x.isRagged(), -x.extent); };
    return std::pair(rank(operand.axes[a]), a) < std::pair(rank(operand.axes[b]), b);
  });
  auto needsPlaces = [&](size_t k) {
    return moving.size() > k && (operand.axes[moving[k]].overlaps() || operand.axes[moving[k]].isRagged());
  };
  const Axis *alongBytes = needsPlaces(0) ? &operand.axes[moving[0]] : nullptr;
  const Axis *alongRows = needsPlaces(1) ? &operand.axes[moving[1]] : nullptr;
  int64_t bits = operand.elementBits, boxes = 1;
  AccessModel access;
  access.array = int32_t(result.launch.arrays.size());
  access.isWrite = operand.isWrite;
  access.when = operand.isWrite   ? AccessModel::When::LastStep
                : operand.inSteps ? AccessModel::When::EachStep
                                  : AccessModel::When::FirstStep;
  int64_t rows = alongRows ? alongRows->extent : 1;
  for (const Axis &axis : llvm::reverse(operand.axes)) {
    if (&axis == alongBytes || &axis == alongRows)
      continue;
    bits *= axis.unit ? std::min(axis.box, axis.unit) : axis.box;
    for (const Move &move : axis.moves) {
      LoopTerm term = move.term;
      term.factor = std::abs(term.factor) / axis.unit * boxes * rows;
      access.outer.terms.push_back(term);
    }
    boxes *= axis.unit ? axis.countBoxes() : 1;
  }
  int64_t unit = std::max<int64_t>(bits / 8, 1), places = alongBytes ? alongBytes->box : 1;
  // Rows of a box stand for rows of the array: one of several is simulated.
  int64_t fold = 1;
  if (!alongRows)
    while (fold < request.mostRows && unit % (2 * fold) == 0 && unit / (2 * fold) * places >= request.rowBytes)
      fold *= 2;
  unit /= fold;
  if (alongRows) {
    access.outers = alongRows->box;
    for (const Move &move : alongRows->moves)
      access.outer.terms.push_back(move.term);
  } else {
    access.outers = fold;
    for (LoopTerm &term : access.outer.terms)
      term.factor *= fold;
  }
  access.bytes = places * unit;
  if (alongBytes)
    for (const Move &move : alongBytes->moves) {
      LoopTerm term = move.term;
      term.factor *= unit;
      access.byte.terms.push_back(term);
    }
  result.launch.arrays.push_back({nameOf(operand), boxes * rows * fold, alongBytes ? alongBytes->extent * unit : unit});
  stage.accesses.push_back(access);
}

/// Whether the elements of an operand are those of a tensor in memory.
static bool isInMemory(Value operand) {
  while (isa_and_nonnull<tg::ReshapeOp, tg::TransposeOp>(operand.getDefiningOp()))
    operand = operand.getDefiningOp()->getOperand(0);
  return isa<BlockArgument>(operand);
}

/// One product of tensors in memory, whose result leaves whole: no windows, no fold.
void Describer::findProduct() {
  func::FuncOp func = kernel.func;
  tg::ContractOp contract;
  int64_t products = 0;
  func.walk([&](tg::ContractOp each) {
    contract = contract ? contract : each;
    ++products;
  });
  auto elementOf = [](Value value) {
    return std::max<int64_t>(tg::getElementBits(cast<RankedTensorType>(value.getType()).getElementType()) / 8, 1);
  };
  result.elementBytes = contract ? elementOf(contract.getLhs()) : kernel.getWidestBytes();
  if (products != 1 || kernel.find<tg::FoldOp>() || !isInMemory(contract.getLhs()) || !isInMemory(contract.getRhs()) ||
      elementOf(contract.getRhs()) < result.elementBytes)
    return;
  ProductExtents product;
  AffineMap lhs = contract.getMap(0), rhs = contract.getMap(1), target = contract.getMap(2);
  if (!lhs.isProjectedPermutation(true) || !rhs.isProjectedPermutation(true))
    return;
  SmallVector<AffineExpr> extents = cast<tg::TileOpInterface>(contract.getOperation()).getDomainExtents();
  for (auto [d, extent] : llvm::enumerate(extents)) {
    bool isLeft = lhs.isFunctionOfDim(d), isRight = rhs.isFunctionOfDim(d);
    int64_t &side = !target.isFunctionOfDim(d) ? product.k
                    : isLeft && isRight        ? product.batch
                    : isLeft                   ? product.m
                                               : product.n;
    if (llvm::MulOverflow(side, estimateExtent(extent), side) || side > int64_t(1) << 31)
      return;
  }
  double written = 0;
  for (Value value : func.getBody().front().getTerminator()->getOperands()) {
    double bytes = double(elementOf(value));
    for (AffineExpr extent : tg::getDims(value.getType()))
      bytes *= double(estimateExtent(extent));
    written += bytes;
  }
  if (written >= double(product.batch) * double(product.m) * double(product.n) * double(result.elementBytes))
    result.product = product;
}

/// A part of a tensor: reads that start at the same index are of the same part.
static std::vector<int64_t> partOf(const Operand &operand) {
  std::vector<int64_t> key{operand.isWrite};
  for (const Axis &axis : operand.axes)
    key.push_back(axis.origin);
  return key;
}

/// Of several reads of one part the one of all steps stands for all: the others find it in the cache. Bytes of a tile.
static std::pair<bool, double> weigh(const Operand &operand) {
  double box = 1;
  for (const Axis &axis : operand.axes)
    box *= double(axis.extent);
  return {operand.inSteps, box};
}

void Describer::collectOperands() {
  func::FuncOp func = kernel.func;
  Block &body = func.getBody().front();
  llvm::SmallSetVector<Value, 4> results(body.getTerminator()->operand_begin(), body.getTerminator()->operand_end());
  std::vector<Operand> operands;
  std::map<std::pair<void *, std::vector<int64_t>>, size_t> seen;
  auto add = [&](const Operand &operand) {
    auto [it, isNew] = seen.try_emplace({operand.value.getAsOpaquePointer(), partOf(operand)}, operands.size());
    if (isNew)
      operands.push_back(operand);
    else if (weigh(operand) > weigh(operands[it->second]))
      operands[it->second] = operand;
  };
  for (const KernelRequest &asked : access.requests) {
    if (results.remove(asked.value)) // Results are asked for first.
      add(followRequest(asked, /*isWrite=*/true));
    else if (auto argument = dyn_cast<BlockArgument>(asked.value);
             argument && argument.getOwner() == &body && isa<RankedTensorType>(argument.getType()))
      add(followRequest(asked, /*isWrite=*/false));
  }
  for (Value result : results) { // With other extents than the first.
    auto type = cast<RankedTensorType>(result.getType());
    Operand operand;
    operand.value = result;
    operand.elementBits = tg::getElementBits(type.getElementType());
    operand.isWrite = operand.isUnknown = true;
    for (AffineExpr extent : tg::getDims(type)) {
      operand.axes.emplace_back();
      operand.axes.back().extent = estimateExtent(extent);
    }
    add(operand);
  }
  for (const Operand &operand : operands)
    addOperand(operand);
}

/// Of all products.
double Describer::countOperations() {
  func::FuncOp func = kernel.func;
  double operations = 0;
  func.walk([&](tg::ContractOp contract) {
    double points = 2;
    for (AffineExpr extent : cast<tg::TileOpInterface>(contract.getOperation()).getDomainExtents())
      points *= double(estimateExtent(extent));
    operations += points;
  });
  return operations;
}

void Describer::orderBySteps(tg::FoldOp fold) {
  std::optional<GrowingFold> growing = findGrowingFold(fold, access);
  if (!growing || choice.stream.empty())
    return;
  const Loop &loop = *loops[growing->dim];
  stage.causalRows = loop.extent;
  stage.causalCols = std::max<int64_t>(choice.stream[0], 1);
  stage.causalBase = growing->base;
  stage.causalPlace = {loop.count - 1, 0, 0, 0, {{loop.kind, loop.divisor, loop.modulus, -1}}}; // Long ones first.
}

std::optional<KernelLaunch> Describer::run() {
  if (!makeGrid())
    return std::nullopt;
  result.colDims = request.colDims;
  makeSteps();
  collectOperands();
  stage.isStatic = choice.persistent;
  if (auto fold = kernel.find<tg::FoldOp>())
    orderBySteps(fold);
  findProduct();
  stage.operations = countOperations();
  result.launch.name = "tiles";
  for (const ArrayModel &array : result.launch.arrays)
    result.bytes += double(array.outers) * double(array.rowBytes);
  result.launch.stages = {stage};
  return result;
}

std::optional<KernelLaunch> describeLaunch(const KernelToSchedule &kernel, const ScheduleChoice &choice,
                                           const LaunchRequest &request) {
  return Describer(kernel, choice, request).run();
}

//===--- Causal masks ---===//

/// What an index tensor holds at the indices where the kernel asks for it: sums of iotas and numbers.
static AffineExpr formOf(Value value, const KernelAccess &access) {
  Operation *op = value.getDefiningOp();
  MLIRContext *context = value.getContext();
  if (auto iota = dyn_cast_or_null<tg::IotaOp>(op)) {
    SmallVector<const KernelRequest *> requests = access.of(value);
    return requests.empty() ? AffineExpr() : requests.front()->coordinates[iota.getAxis()];
  }
  if (auto constant = dyn_cast_or_null<tg::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseIntElementsAttr>(constant.getValue());
    return elements && elements.isSplat()
               ? getAffineConstantExpr(elements.getSplatValue<APInt>().getSExtValue(), context)
               : AffineExpr();
  }
  if (isa_and_nonnull<tg::AddOp, tg::SubOp>(op)) {
    AffineExpr a = formOf(op->getOperand(0), access), b = formOf(op->getOperand(1), access);
    return !a || !b ? AffineExpr() : isa<tg::AddOp>(op) ? a + b : a - b;
  }
  return isa_and_nonnull<tg::CastOp, tg::ReshapeOp>(op) ? formOf(op->getOperand(0), access) : AffineExpr();
}

std::optional<GrowingFold> findGrowingFold(tg::FoldOp fold, const KernelAccess &access) {
  std::optional<GrowingFold> found;
  const_cast<tg::FoldOp &>(fold).getUpdate().walk([&](tg::CmpOp compare) {
    AffineExpr a = formOf(compare.getLhs(), access), b = formOf(compare.getRhs(), access);
    if (!a || !b || found)
      return;
    // What is kept has margin >= 0.
    auto predicate = compare.getPredicate();
    bool isLess = predicate == tg::CmpPredicate::Lt || predicate == tg::CmpPredicate::Le;
    bool isStrict = predicate == tg::CmpPredicate::Lt || predicate == tg::CmpPredicate::Gt;
    if (!isLess && predicate != tg::CmpPredicate::Gt && predicate != tg::CmpPredicate::Ge)
      return;
    AffineExpr margin = (isLess ? b - a : a - b) - int64_t(isStrict);
    SmallVector<int64_t> places(access.dims.size(), 0);
    int64_t base = evaluate(margin, places);
    std::optional<unsigned> grows;
    bool hasStream = false;
    for (auto [d, dim] : llvm::enumerate(access.dims)) {
      if (!margin.isFunctionOfDim(d))
        continue;
      places[d] = 1;
      int64_t change = evaluate(margin, places) - base;
      places[d] = 0;
      if (dim.reducer == fold.getOperation())
        hasStream = change == -1;
      else if (d < access.resultRank && change == 1)
        grows = d;
    }
    if (hasStream && grows)
      found = GrowingFold{*grows, base};
  });
  return found;
}

} // namespace weft::plan
