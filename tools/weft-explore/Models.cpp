// The models as WebAssembly: what the pages ask of lib/Traversal and lib/Plan/Cost. web/models.js is the other side.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The page puts numbers and a text into two buffers, calls a function and takes numbers and a text out of the same two.
// A function that fails is false and leaves its message as the text. Parts of a text end with a zero byte. One launch
// is open at a time: the page opens another one when it asks about that. The page has checked every range.
#include "weft/Plan/Cost/Bounds.h"
#include "weft/Plan/Cost/PanelModel.h"
#include "weft/Plan/Cost/PanelTrace.h"
#include "weft/Plan/Cost/Simulate.h"

using namespace weft::plan;

#define WEFT_EXPORT(NAME) extern "C" [[clang::export_name(#NAME)]]

namespace {
std::vector<double> numbers;
std::string text;

/// The launch that is open. Panels are those of all tiles, stage by stage, row by row; empty until they are asked for.
struct OpenLaunch {
  LaunchModel launch;
  AffineGroup group; ///< Of its bound; without statements where only the boxes are known.
  PanelTrace panels;
};
OpenLaunch open;

/// Takes the numbers of a call one by one; zeros behind the last.
class Reader {
public:
  double real() { return at < numbers.size() ? numbers[at++] : 0; }
  int64_t whole() { return int64_t(real()); }
  template <typename T> std::vector<T> list() {
    std::vector<T> values(std::min(size_t(whole()), numbers.size() - at));
    for (T &value : values)
      value = T(real());
    return values;
  }
  bool isAtEnd() const { return at == numbers.size(); }

private:
  size_t at = 0;
};

void put(std::initializer_list<double> values) { numbers.insert(numbers.end(), values); }

template <typename T> void putList(const std::vector<T> &values) {
  numbers.push_back(double(values.size()));
  numbers.insert(numbers.end(), values.begin(), values.end());
}

std::vector<std::string> splitText() {
  std::vector<std::string> parts;
  for (size_t begin = 0, end; (end = text.find('\0', begin)) != std::string::npos; begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  return parts;
}
} // namespace

WEFT_EXPORT(resizeNumbers) double *resizeNumbers(int32_t count) {
  numbers.resize(size_t(count));
  return numbers.data();
}
WEFT_EXPORT(countNumbers) int32_t countNumbers() { return int32_t(numbers.size()); }
WEFT_EXPORT(getNumbers) const double *getNumbers() { return numbers.data(); }

WEFT_EXPORT(resizeText) char *resizeText(int32_t bytes) {
  text.resize(size_t(bytes));
  return text.data();
}
WEFT_EXPORT(countText) int32_t countText() { return int32_t(text.size()); }
WEFT_EXPORT(getText) const char *getText() { return text.data(); }

//===--- Orders ---===//

/// The text of a traversal.
WEFT_EXPORT(checkOrder) bool checkOrder() {
  Traversal traversal;
  return parseTraversal(std::string(text), traversal, text);
}

static bool makeOrder(const std::string &order, const std::vector<TileGrid> &grids, TileOrder &result) {
  Traversal traversal;
  return parseTraversal(order, traversal, text) && TileOrder::create(traversal, grids, result, text);
}

/// Text: a traversal. In: rows and columns of each grid. Out: stage, row and column of each block's tile.
WEFT_EXPORT(listTiles) bool listTiles() {
  Reader reader;
  std::vector<TileGrid> grids;
  while (!reader.isAtEnd()) {
    int64_t rows = reader.whole();
    grids.push_back({rows, reader.whole()});
  }
  TileOrder order;
  if (!makeOrder(std::string(text), grids, order))
    return false;
  numbers.clear();
  for (const Tile &tile : order.getTiles())
    put({double(tile.stage), double(tile.row), double(tile.col)});
  return true;
}

//===--- Launches ---===//

static AffineIndex readIndex(Reader &reader) {
  AffineIndex index;
  index.base = reader.whole();
  for (int64_t count = reader.whole(); count > 0; --count) {
    LoopTerm term;
    term.loop = LaunchLoop(reader.whole());
    term.divisor = reader.whole();
    term.modulus = reader.whole();
    term.factor = reader.whole();
    index.terms.push_back(term);
  }
  return index;
}

static AccessModel readAccess(Reader &reader) {
  AccessModel access;
  access.array = int32_t(reader.whole());
  access.outers = reader.whole();
  access.bytes = reader.whole();
  access.when = AccessModel::When(reader.whole());
  access.isWrite = reader.whole();
  access.outer = readIndex(reader);
  access.byte = readIndex(reader);
  return access;
}

/// A launch of any tiles (docs/explorer.md); its arrays have the names `names`.
static LaunchModel readTiles(Reader &reader, const std::vector<std::string> &names) {
  LaunchModel launch;
  launch.name = "tiles";
  StageModel stage;
  stage.grid.rows = reader.whole();
  stage.grid.cols = reader.whole();
  stage.steps = reader.whole();
  stage.isStatic = reader.whole();
  if (reader.whole()) {
    stage.causalRows = reader.whole();
    stage.causalCols = reader.whole();
    stage.causalBase = reader.whole();
    if (reader.whole())
      stage.causalPlace = readIndex(reader);
  }
  for (const std::string &name : names) {
    int64_t outers = reader.whole();
    launch.arrays.push_back({name, outers, reader.whole()});
  }
  for (int64_t count = reader.whole(); count > 0; --count)
    stage.accesses.push_back(readAccess(reader));
  launch.stages = {stage};
  return launch;
}

static AffineGroup readGroup(Reader &reader) {
  AffineGroup group;
  for (int64_t extent : reader.list<int64_t>())
    group.dims.push_back({"d" + std::to_string(group.dims.size()), extent});
  for (int64_t count = reader.whole(); count > 0; --count) {
    GroupArray array;
    array.name = "T" + std::to_string(group.arrays.size());
    array.kind = GroupArray::Kind(reader.whole());
    array.elementBytes = reader.whole();
    for (int64_t axes = reader.whole(); axes > 0; --axes) {
      std::vector<int32_t> dims = reader.list<int32_t>();
      array.axes.push_back({dims, reader.list<int64_t>()});
    }
    group.arrays.push_back(std::move(array));
  }
  for (int64_t count = reader.whole(); count > 0; --count) {
    std::vector<int32_t> dims = reader.list<int32_t>(), reads = reader.list<int32_t>();
    group.statements.push_back({dims, reads, int32_t(reader.whole())});
  }
  return group;
}

enum class Problem { Gemm, Chain, Attention, Tiles };

static void readProblem(const std::vector<std::string> &names) {
  Reader reader;
  auto kind = Problem(reader.whole());
  int64_t tileM = reader.whole(), tileN = reader.whole(), tileK = reader.whole(), bytes = reader.whole();
  if (kind == Problem::Tiles) {
    open.launch = readTiles(reader, names);
    int64_t hasProduct = reader.whole();
    if (!hasProduct) {
      open.group = readGroup(reader);
      return;
    }
    int64_t batch = reader.whole(), m = reader.whole(), n = reader.whole(), k = reader.whole();
    open.group = makeGemmGroup(m, n, k, bytes, batch);
    return;
  }
  int64_t p[6];
  for (int64_t &extent : p)
    extent = reader.whole();
  if (kind == Problem::Gemm) {
    GemmModelShape shape{p[0], p[1], p[2], tileM, tileN, tileK, bytes, bytes};
    open.launch = makeGemmLaunch(shape);
    open.group = makeGemmGroup(p[0], p[1], p[2], bytes);
  } else if (kind == Problem::Chain) {
    open.launch = makeChainLaunch({p[0], p[1], p[2], p[3], tileM, tileN, tileK, bytes});
    open.group = makeChainGroup(p[0], p[1], p[2], p[3], bytes);
  } else {
    open.launch = makeAttentionLaunch({p[0], p[1], p[2], p[3], p[4], tileM, tileN, bytes, p[5] != 0});
    open.group = makeAttentionGroup(p[0], p[1], p[2], p[3], p[4], p[5] != 0, bytes);
  }
}

/// Text: hints, then names of arrays. In: kind, sides of the tile, bytes of an element, the problem. Out: compulsory
/// bytes; of each array rows and bytes of a row; of each stage the grid, steps and of each access the array, whether it
/// writes, and what a row and a column of tiles add to its position. Text: names of arrays.
WEFT_EXPORT(openLaunch) bool openLaunch() {
  std::vector<std::string> parts = splitText();
  open = OpenLaunch();
  readProblem({parts.begin() + 1, parts.end()});
  if (!applyHints(parts.front(), open.launch, text))
    return false;
  const LaunchModel &launch = open.launch;
  numbers.clear();
  put({double(launch.getCompulsoryReads()), double(launch.getCompulsoryWrites()), double(launch.arrays.size())});
  text.clear();
  for (const ArrayModel &array : launch.arrays) {
    put({double(array.outers), double(array.rowBytes)});
    text += array.name + '\0';
  }
  put({double(launch.stages.size())});
  for (const StageModel &stage : launch.stages) {
    put({double(stage.grid.rows), double(stage.grid.cols), double(stage.steps), double(stage.accesses.size())});
    for (const AccessModel &access : stage.accesses)
      put({double(access.array), double(access.isWrite), double(access.outer.perRow), double(access.outer.perCol),
           double(access.byte.perCol)});
  }
  return true;
}

//===--- Panels ---===//

static bool findPanels() {
  const std::vector<TileGrid> grids = open.launch.getGrids();
  TileOrder order;
  std::string inRows = grids.size() > 1 ? "chain<" + std::to_string(grids[0].rows) + ",row>" : "row";
  return !open.panels.uses.empty() ||
         (makeOrder(inRows, grids, order) && listPanels(open.launch, order, open.panels, text));
}

/// Out: bytes and arrays of the panels, then of each tile the uses, twice the panel and 1 if it is written. Text:
/// names.
WEFT_EXPORT(listLaunchPanels) bool listLaunchPanels() {
  if (!findPanels())
    return false;
  numbers.clear();
  text.clear();
  putList(open.panels.bytes);
  putList(open.panels.arrays);
  for (const std::vector<PanelUse> &uses : open.panels.uses) {
    put({double(uses.size())});
    for (const PanelUse &use : uses)
      put({2.0 * use.panel + use.isWrite});
  }
  for (const std::string &name : open.panels.names)
    text += name + '\0';
  return true;
}

/// The panels of the tiles whose numbers are what is left of `reader`.
static PanelTrace readPath(Reader &reader) {
  PanelTrace trace;
  trace.bytes = open.panels.bytes;
  while (!reader.isAtEnd())
    trace.uses.push_back(open.panels.uses[size_t(reader.whole())]);
  return trace;
}

/// In: bytes of the cache, replacement, tiles. Out: the traffic.
WEFT_EXPORT(runPath) bool runPath() {
  if (!findPanels())
    return false;
  Reader reader;
  int64_t capacity = reader.whole();
  auto replacement = Replacement(reader.whole());
  PanelTraffic traffic = runPanels(readPath(reader), capacity, replacement);
  numbers.clear();
  put({double(traffic.reads), double(traffic.loads), double(traffic.writes), double(traffic.left)});
  return true;
}

/// In: bytes of the cache, replacement, which block, tiles. Out: the traffic so far; panels found, loaded, written,
/// evicted, held.
WEFT_EXPORT(watchPath) bool watchPath() {
  if (!findPanels())
    return false;
  Reader reader;
  int64_t capacity = reader.whole();
  auto replacement = Replacement(reader.whole());
  auto block = size_t(reader.whole());
  PanelStep step = watchPanels(readPath(reader), capacity, replacement, block);
  numbers.clear();
  put({double(step.traffic.reads), double(step.traffic.loads), double(step.traffic.writes), double(step.traffic.left)});
  for (const std::vector<int32_t> *list : {&step.hits, &step.loads, &step.stored, &step.evicted, &step.held})
    putList(*list);
  return true;
}

/// In: whether writes count, tiles. Out: first uses, then uses by distance.
WEFT_EXPORT(reusePath) bool reusePath() {
  if (!findPanels())
    return false;
  Reader reader;
  bool countsWrites = reader.whole();
  std::vector<int32_t> uses;
  for (const std::vector<PanelUse> &block : readPath(reader).uses)
    for (const PanelUse &use : block)
      if (countsWrites || !use.isWrite)
        uses.push_back(use.panel);
  ReuseHistogram reuse = computeReuse(uses);
  numbers.clear();
  put({double(reuse.cold)});
  numbers.insert(numbers.end(), reuse.counts.begin(), reuse.counts.end());
  return true;
}

//===--- Simulation, bounds, optima ---===//

/// Text: a traversal. In: the machine. Out: the counters, then sectors from memory by array.
WEFT_EXPORT(simulateOrder) bool simulateOrder() {
  Reader reader;
  MachineModel machine;
  for (int64_t *field : {&machine.sms, &machine.blocksPerSm, &machine.skew, &machine.drift, &machine.smsPerPort,
                         &machine.sampling, &machine.cache.bytes, &machine.cache.lineBytes, &machine.cache.sectorBytes,
                         &machine.cache.ways, &machine.cache.partitions})
    *field = reader.whole();
  TileOrder order;
  SimulationResult r;
  if (!makeOrder(std::string(text), open.launch.getGrids(), order) || !simulate(open.launch, order, machine, r, text))
    return false;
  numbers.clear();
  for (int64_t count : {r.readSectors, r.writtenSectors, r.merged, r.lookups, r.hits, r.writeLookups, r.dramReads,
                        r.dramWrites, r.dirty, r.fabric, r.ticks, r.blocks, r.resident, r.sampling})
    numbers.push_back(double(count));
  numbers.insert(numbers.end(), r.dramReadsByArray.begin(), r.dramReadsByArray.end());
  return true;
}

/// In: bytes of fast memory. Out: the bound by partitions, and the compulsory bytes.
WEFT_EXPORT(boundTraffic) bool boundTraffic() {
  TrafficBound bound;
  bound.compulsory = double(open.launch.getCompulsoryReads() + open.launch.getCompulsoryWrites());
  if (!open.group.statements.empty() && !computeTrafficBound(open.group, Reader().real(), bound, text))
    return false;
  numbers.clear();
  put({bound.partition, bound.compulsory});
  return true;
}

/// In: rows, columns, panels that fit. Out: the fewest loads, then the table of an order.
WEFT_EXPORT(searchOrder) bool searchOrder() {
  Reader reader;
  TileGrid grid;
  grid.rows = reader.whole();
  grid.cols = reader.whole();
  OptimalOrder optimum;
  if (!findOptimalOrder(grid, reader.whole(), optimum, text))
    return false;
  numbers.clear();
  put({double(optimum.loads)});
  numbers.insert(numbers.end(), optimum.table.begin(), optimum.table.end());
  return true;
}
