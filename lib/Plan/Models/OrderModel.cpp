// The order of a launch's tiles: which orders are tried, what they cost, which is taken.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A wave of W CTAs runs together, so it reads each panel that it needs once: r row panels of a bytes and c column
// panels of b bytes, r c = W. A formula for each order says how many waves there are and what the L2 keeps between
// them. The formulas' best are simulated. There one part in `depth` of every panel stands for the whole, in a cache of
// that part of the size: CTAs walk k side by side, so all of k does not tell more than a few steps.
#include "weft/Plan/OrderModel.h"
#include "weft/Plan/Cost/Configuration.h"
#include "weft/Plan/Cost/Simulate.h"
#include "weft/Plan/Schedule.h"
#include "weft/Traversal/GridOrder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

namespace weft::plan {

/// The part of the L2 that holds operands; the rest is for what streams through and for results.
static constexpr double operandPart = 0.8;

namespace {
/// A grid of tiles in panels of bytes.
struct Panels {
  double rows, cols;         ///< Of tiles.
  double rowBytes, colBytes; ///< Of a row's and of a column's panel.
  double wave;               ///< CTAs that run together.
  double capacity;           ///< Bytes that the L2 keeps.

  double getCompulsory() const { return rows * rowBytes + cols * colBytes; }
  Panels transposed() const { return {cols, rows, colBytes, rowBytes, wave, capacity}; }
};
} // namespace

static Panels getPanels(const OrderProblem &problem, const Device &device) {
  MachineModel machine = makeMachine(device);
  double capacity = operandPart * double(machine.cache.bytes) / double(machine.cache.partitions);
  return {double(problem.getRows()),
          double(problem.getCols()),
          double(problem.tileM * problem.k * problem.lhsBytes),
          double(problem.tileN * problem.k * problem.rhsBytes),
          double(problem.ctasPerSm * machine.sms),
          capacity};
}

/// Strips of `height` rows, each column by column.
static double estimateStrips(const Panels &p, double height, bool isSnake) {
  height = std::min(height, p.rows);
  double strips = std::ceil(p.rows / height), columns = p.cols * p.colBytes;
  double inWave = p.wave / height; // Columns of a wave.
  if (inWave >= p.cols) {          // A wave holds several strips, and all columns.
    double waveRows = std::min(p.wave / p.cols, p.rows);
    double waves = std::ceil(p.rows / waveRows);
    bool keepsColumns = waveRows * p.rowBytes + columns <= p.capacity;
    return p.rows * p.rowBytes + (keepsColumns ? 1 : waves) * columns;
  }
  double stripRows = height * p.rowBytes;
  if (stripRows + columns <= p.capacity)
    return p.getCompulsory();
  bool keepsRows = stripRows + inWave * p.colBytes <= p.capacity;
  double rows = (keepsRows ? 1 : p.cols / inWave) * p.rows * p.rowBytes;
  double kept = isSnake ? std::clamp(p.capacity - 2 * stripRows, 0.0, columns) : 0;
  return rows + strips * columns - (strips - 1) * kept;
}

/// Waves that are nearly square in tiles; `excess` is what their ragged outlines add.
static double estimateCurve(const Panels &p, double excess) {
  if (p.getCompulsory() <= p.capacity)
    return p.getCompulsory();
  double side = std::sqrt(p.wave), rows = std::min(side, p.rows), cols = std::min(p.wave / rows, p.cols);
  double waves = std::ceil(p.rows * p.cols / p.wave);
  return std::max(p.getCompulsory(), waves * excess * (rows * p.rowBytes + cols * p.colBytes));
}

static double estimateReads(const Traversal &order, const Panels &p) {
  using Kind = Traversal::Kind;
  switch (order.kind) {
  case Kind::Grouped:
  case Kind::GroupedSnake:
    return estimateStrips(order.isByColumns ? p.transposed() : p, double(order.width),
                          order.kind == Kind::GroupedSnake);
  case Kind::Column:
    return estimateStrips(p.transposed(), 1, false);
  case Kind::Serpentine:
    return estimateStrips(p, 1, true);
  case Kind::Morton:
    return estimateCurve(p, 1.25);
  case Kind::Hilbert:
    return estimateCurve(p, 1.15);
  default:
    return estimateStrips(p, 1, false);
  }
}

double estimateOrderBytes(const OrderProblem &problem, const std::string &order, const Device &device) {
  Traversal traversal;
  std::string error;
  if (!parseTraversal(order, traversal, error))
    return HUGE_VAL;
  double results = double(problem.m) * double(problem.n) * double(problem.resultBytes);
  return double(problem.batch) * (estimateReads(traversal, getPanels(problem, device)) + results);
}

//===--- Simulation ---===//

/// One in `depth` parts of every panel and result.
static LaunchModel makeLaunch(const OrderProblem &problem, int64_t depth) {
  GemmModelShape shape;
  shape.m = problem.m, shape.n = problem.n;
  shape.k = std::max<int64_t>(problem.k / depth, 1);
  shape.tileM = problem.tileM, shape.tileN = problem.tileN;
  shape.tileK = std::min(problem.tileK, shape.k);
  LaunchModel launch = makeGemmLaunch(shape);
  auto setBytes = [](int64_t &bytes, int64_t perElement, int64_t part) {
    bytes = std::max<int64_t>(bytes / 2 * perElement / part, 1); // The shape's elements have two bytes.
  };
  std::vector<AccessModel> &accesses = launch.stages[0].accesses;
  for (auto [i, perElement, part] :
       {std::tuple(0, problem.lhsBytes, int64_t(1)), std::tuple(1, problem.rhsBytes, int64_t(1)),
        std::tuple(2, problem.resultBytes, depth)}) {
    setBytes(launch.arrays[i].rowBytes, perElement, part);
    setBytes(accesses[i].bytes, perElement, part);
    for (int64_t *step : {&accesses[i].byte.perCol, &accesses[i].byte.perStep})
      if (*step)
        setBytes(*step, perElement, part);
  }
  return launch;
}

/// The part of the depth to simulate: so that a candidate takes a few milliseconds, and a tile's result is still some
/// sectors.
static int64_t chooseDepth(const OrderProblem &problem) {
  constexpr int64_t mostSteps = 1 << 12, leastResult = 32;
  int64_t tiles = problem.getRows() * problem.getCols(), depth = 1;
  auto steps = [&](int64_t part) { return std::max<int64_t>(problem.k / part / problem.tileK, 1); };
  while (tiles * steps(depth) > mostSteps && steps(depth) > 2 &&
         problem.tileN * problem.resultBytes / (2 * depth) >= leastResult)
    depth *= 2;
  return depth;
}

/// How many candidates the time allows.
static int64_t countSimulated(const OrderProblem &problem) {
  constexpr int64_t mostSteps = 1 << 15;
  int64_t steps = std::max<int64_t>(problem.k / chooseDepth(problem) / problem.tileK, 1);
  return std::clamp<int64_t>(mostSteps / (problem.getRows() * problem.getCols() * steps), 2, 4);
}

static bool simulateOrder(const OrderProblem &problem, const Device &device, OrderCandidate &candidate) {
  int64_t depth = chooseDepth(problem);
  MachineModel machine = makeMachine(device);
  machine.blocksPerSm = problem.ctasPerSm;
  machine.cache.bytes /= depth;
  machine.drift = 0; // Less than a step of the sample; orders that it harms read more anyway.
  LaunchModel launch = makeLaunch(problem, depth);
  Traversal traversal;
  TileOrder order;
  SimulationResult result;
  std::string error;
  if (!parseTraversal(candidate.order, traversal, error) ||
      !TileOrder::create(traversal, launch.getGrids(), order, error) ||
      !simulate(launch, order, machine, result, error))
    return false;
  double sectors = double(result.dramReads + result.dramWrites + result.dirty);
  candidate.simulatedBytes = double(problem.batch * depth * machine.cache.sectorBytes) * sectors;
  candidate.hitRate = result.getHitRate();
  return true;
}

//===--- Choice ---===//

/// From the shortest index arithmetic to the longest.
static std::vector<std::string> listOrders(const OrderProblem &problem) {
  int64_t rows = problem.getRows(), cols = problem.getCols();
  std::vector<std::string> orders = {"row", "column"};
  for (const char *name : {"grouped", "grouped-snake"})
    for (int64_t width : {2, 4, 8, 16, 32}) {
      if (width < rows)
        orders.push_back(llvm::formatv("{0}<{1}>", name, width));
      if (width < cols)
        orders.push_back(llvm::formatv("{0}<{1},columns>", name, width));
    }
  if (!problem.isOfLaunch)
    orders.push_back("hilbert");
  return orders;
}

std::string OrderChoice::describe() const {
  constexpr double mega = 1e6;
  if (candidates.empty())
    return "";
  std::string text = "order " + order + ":", rest;
  for (const OrderCandidate &candidate : candidates) {
    if (candidate.simulatedBytes < 0)
      rest += llvm::formatv("{0}{1} {2:f0}", rest.empty() ? "" : ", ", candidate.order, candidate.formulaBytes / mega);
    else
      text += llvm::formatv("{0} {1} {2:f1} MB (L2 {3:f0} %, formula {4:f0})", &candidate == &candidates[0] ? "" : ",",
                            candidate.order, candidate.simulatedBytes / mega, 100 * candidate.hitRate,
                            candidate.formulaBytes / mega);
  }
  return rest.empty() ? text : text + "; by formula " + rest;
}

OrderChoice chooseOrder(const OrderProblem &problem, const Device &device) {
  constexpr int64_t mostTiles = 1 << 12; // More are ranked by the formulas alone.
  constexpr double same = 1.01;
  OrderChoice choice;
  int64_t rows = problem.getRows(), cols = problem.getCols();
  if (rows < 2 || cols < 2 || rows * cols <= problem.ctasPerSm * int64_t(device.sms))
    return choice;
  for (const std::string &order : listOrders(problem))
    choice.candidates.push_back({order, estimateOrderBytes(problem, order, device)});
  auto sortBy = [&](auto bytes) { // Of equals, the shorter name.
    llvm::sort(choice.candidates, [&](const OrderCandidate &a, const OrderCandidate &b) {
      return std::make_tuple(bytes(a), a.order.size(), a.order) < std::make_tuple(bytes(b), b.order.size(), b.order);
    });
  };
  sortBy([](const OrderCandidate &c) { return c.formulaBytes; });
  int64_t simulated = rows * cols <= mostTiles ? countSimulated(problem) : 0;
  for (int64_t i = 0; i < std::min<int64_t>(simulated, int64_t(choice.candidates.size())); ++i)
    simulateOrder(problem, device, choice.candidates[i]);
  auto bytesOf = [](const OrderCandidate &c) { return c.simulatedBytes < 0 ? c.formulaBytes : c.simulatedBytes; };
  double least = HUGE_VAL;
  bool isSimulated = choice.candidates[0].simulatedBytes >= 0;
  for (const OrderCandidate &candidate : choice.candidates)
    if (!isSimulated || candidate.simulatedBytes >= 0)
      least = std::min(least, bytesOf(candidate));
  std::vector<std::string> orders = listOrders(problem);
  for (const std::string &order : orders) {
    auto found = llvm::find_if(choice.candidates, [&](const OrderCandidate &c) { return c.order == order; });
    if ((!isSimulated || found->simulatedBytes >= 0) && bytesOf(*found) <= same * least) {
      choice.order = order;
      break;
    }
  }
  sortBy([&](const OrderCandidate &c) { return std::pair(c.simulatedBytes < 0, bytesOf(c)); });
  return choice;
}

/// Whether column panels are more bytes than row panels. Requests for what DRAM has not yet brought merge before the
/// L2 if they come side by side; the smaller operand has sharers everywhere.
static bool readsMoreByColumns(const OrderProblem &problem) {
  return problem.getRows() > 1 && problem.getCols() > 1 && problem.n * problem.rhsBytes > problem.m * problem.lhsBytes;
}

/// Tiles along each dimension of the result; `countOfLaunch` where the extent is a symbol's.
static std::vector<int64_t> countTilesOfLaunch(const KernelToSchedule &kernel, const ScheduleChoice &choice) {
  std::vector<int64_t> counts;
  for (auto [dim, tile] : llvm::zip(kernel.access.dims, choice.tile)) {
    std::optional<int64_t> extent = tg::getConstant(dim.extent);
    counts.push_back(extent ? std::max<int64_t>(llvm::divideCeil(*extent, tile), 1) : countOfLaunch);
  }
  return counts;
}

/// Whether the order of this text can be built for so many tiles along each dimension.
static bool fits(const std::string &text, const std::vector<int64_t> &counts, std::string &error) {
  GridOrder order;
  IndexProgram program;
  return parseGridOrder(text, order, error) && buildGridOrder(order, counts, program, error);
}

void chooseOrderOf(const KernelToSchedule &kernel, const GemmProblem &problem, const GemmChoice &best, unsigned m,
                   unsigned n, const Device &device, ScheduleChoice &choice) {
  unsigned rank = kernel.access.resultRank;
  if (rank < 2 || m != rank - 2 || n != rank - 1)
    return;
  // Several dimensions on a side make several grids of tiles; only those with all of the side's tiles are modelled.
  if (kernel.extents[m] != problem.m || kernel.extents[n] != problem.n)
    return;
  OrderProblem launch;
  launch.batch = problem.batch;
  launch.m = problem.m, launch.n = problem.n, launch.k = problem.k * problem.taps;
  launch.tileM = best.tile.m, launch.tileN = best.tile.n, launch.tileK = best.tile.k;
  launch.lhsBytes = problem.lhsBytes * problem.lhsTensors;
  launch.rhsBytes = problem.rhsBytes * problem.rhsTensors;
  launch.resultBytes = problem.resultBytes;
  launch.ctasPerSm = std::max<int64_t>(best.cost.ctasPerSm, 1);
  std::vector<int64_t> counts = countTilesOfLaunch(kernel, choice);
  launch.isOfLaunch = counts[m] == countOfLaunch || counts[n] == countOfLaunch;
  if (isLongWave(problem, best.tile, best.cost.tiles, device) && readsMoreByColumns(launch)) {
    choice.order = "column";
    choice.isOrdered = true;
    choice.reason += "; order column: tiles that read one panel of the larger operand start together";
    return;
  }
  OrderChoice order = chooseOrder(launch, device);
  bool isBatch = launch.batch > 1 && order.order != "row";
  choice.order = isBatch ? llvm::formatv("each<{0},{1}>", launch.batch, order.order).str() : order.order;
  choice.isOrdered = true;
  if (std::string error; isBatch && !fits(choice.order, counts, error)) // The launch has another number of grids.
    choice.order = "row";
  if (std::string numbers = order.describe(); !numbers.empty())
    choice.reason += "; " + numbers;
}

//===--- Orders by hand ---===//

bool checkOrderText(const std::string &text, std::string &error) {
  GridOrder order;
  if (!parseGridOrder(text, order, error))
    return false;
  if (order.traversal.kind == Traversal::Kind::Chain)
    error = "traversal " + text + ": expected an order of one grid of tiles: no launch holds a chain";
  else if (int64_t(order.traversal.table.size()) > maxTableTiles)
    error = "traversal table: expected at most " + std::to_string(maxTableTiles) + " tiles, got " +
            std::to_string(order.traversal.table.size());
  return error.empty();
}

bool overrideOrder(const KernelToSchedule &kernel, const std::string &text, ScheduleChoice &choice,
                   std::string &error) {
  error.clear();
  if (!checkOrderText(text, error))
    return false;
  mlir::func::FuncOp func = kernel.func;
  auto reuses = [](mlir::Operation &op) { return llvm::isa<tg::ContractOp, tg::FoldOp>(op); };
  unsigned rank = kernel.access.resultRank;
  if (llvm::none_of(func.getBody().front(), reuses) || choice.tile.size() != rank)
    return true;
  std::vector<int64_t> ofLaunch = countTilesOfLaunch(kernel, choice), counts = ofLaunch;
  for (unsigned d = 0; d < rank; ++d)
    if (counts[d] == countOfLaunch)
      counts[d] = std::max<int64_t>(llvm::divideCeil(estimateExtent(kernel.access.dims[d].extent), choice.tile[d]), 1);
  GridOrder order;
  TileOrder tiles;
  if (!fits(text, ofLaunch, error) || !parseGridOrder(text, order, error))
    return false;
  TileGrid grid = foldGrid(counts, order.colDims);
  if (grid.rows < 2 || grid.cols < 2)
    return true;
  if (!TileOrder::create(order.traversal, {grid}, tiles, error))
    return false;
  choice.order = order.print();
  choice.reason +=
      llvm::formatv("; order {0} of {1} x {2} tiles as asked for",
                    order.traversal.kind == Traversal::Kind::Table ? "table" : choice.order, grid.rows, grid.cols);
  return true;
}

} // namespace weft::plan
