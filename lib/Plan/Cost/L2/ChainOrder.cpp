// How two dependent kernels of a launch take turns.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A term of a launch's index is a digit (L / weight) % modulus of the CTA's number L, whatever grid it was written for;
// in the chain's grid of units (rows) and positions (columns) it is a digit of one of them, or of both where it lies
// across the border. The linked tensor has no layout that both launches share, so it gets one: for each unit so many
// rows of equal length, of which a block of the writer's has its part, a CTA its columns; the reader takes the rows of
// its block, a step its columns.
#include "weft/Plan/Cost/ChainOrder.h"

#include <algorithm>
#include <functional>
#include <queue>

using namespace weft::plan;
using When = AccessModel::When;

/// Lines of the simulation, too: what of a box is in the cache is there as a whole.
static constexpr int64_t sectorBytes = 32;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

//===--- Grids of units ---===//

/// Adds a term (L / weight) % modulus * factor of CTA numbers L = row * cols + col; modulus 0: none.
static bool addDigit(int64_t weight, int64_t modulus, int64_t factor, int64_t cols, std::vector<LoopTerm> &terms) {
  if (weight % cols == 0) {
    terms.push_back({LaunchLoop::Row, weight / cols, modulus, factor});
    return true;
  }
  if (cols % weight)
    return false;
  int64_t inCols = cols / weight;
  if (modulus && inCols % modulus == 0) {
    terms.push_back({LaunchLoop::Col, weight, modulus, factor});
    return true;
  }
  if (modulus % inCols)
    return false;
  terms.push_back({LaunchLoop::Row, 1, modulus / inCols, factor * inCols});
  terms.push_back({LaunchLoop::Col, weight, 0, factor});
  return true;
}

/// The index over a grid with `to` columns instead of `from`.
static bool moveIndex(AffineIndex &index, TileGrid from, int64_t to, int64_t rowDivisor) {
  std::vector<LoopTerm> terms = std::move(index.terms), moved;
  terms.push_back({LaunchLoop::Row, rowDivisor, 0, index.perRow});
  terms.push_back({LaunchLoop::Col, 1, 0, index.perCol});
  for (const LoopTerm &term : terms) {
    if (!term.factor)
      continue;
    if (term.loop == LaunchLoop::Step) {
      moved.push_back(term);
    } else if (term.loop == LaunchLoop::Row) {
      int64_t modulus = term.modulus && term.divisor < from.rows && term.modulus < ceilDiv(from.rows, term.divisor)
                            ? term.modulus
                            : 0;
      if (!addDigit(from.cols * term.divisor, modulus, term.factor, to, moved))
        return false;
    } else {
      if (term.divisor >= from.cols)
        continue; // 0 everywhere.
      int64_t most = from.cols / term.divisor, modulus = term.modulus ? std::min(term.modulus, most) : most;
      if (from.cols % term.divisor || most % modulus || !addDigit(term.divisor, modulus, term.factor, to, moved))
        return false;
    }
  }
  index = {index.base, 0, 0, index.perStep, std::move(moved)};
  return true;
}

//===--- Joining ---===//

/// Of fewer steps than the sample's, and of what is touched once, parts of the boxes stay.
static void sampleSteps(StageModel &stage, const ChainSample &sample) {
  int64_t bySteps = std::min(sample.depth, stage.steps);
  stage.steps /= bySteps;
  for (AccessModel &access : stage.accesses) {
    access.bytes = std::max<int64_t>(access.bytes / sample.thinning, 1);
    access.byte.base /= sample.thinning;
    access.byte.perStep /= sample.thinning;
    for (LoopTerm &term : access.byte.terms)
      term.factor /= sample.thinning;
    int64_t rest = access.when == When::EachStep ? sample.depth / bySteps : sample.depth,
            part = std::min(rest, access.outers);
    access.outers /= part;
    access.bytes = std::max<int64_t>(access.bytes * part / rest, 1);
  }
}

static const ArrayModel *findArray(const LaunchModel &launch, const std::string &name) {
  auto found = std::find_if(launch.arrays.begin(), launch.arrays.end(),
                            [&](const ArrayModel &array) { return array.name == name; });
  return found == launch.arrays.end() ? nullptr : &*found;
}

/// The tensor between the parts: `rows` rows of `bytes` for each unit.
namespace {
struct Shared {
  int32_t array = 0;
  int64_t rows = 1, bytes = 1;
};
} // namespace

/// The part's share of the shared tensor: a block's rows, of which CTAs or steps (`isByStep`) have their columns each.
static AccessModel makeShare(const Shared &shared, const ChainPart &part, bool isWrite, int64_t steps) {
  AccessModel access;
  access.array = shared.array;
  access.isWrite = isWrite;
  access.outers = std::max<int64_t>(shared.rows / part.blocks, 1);
  access.outer.terms = {{LaunchLoop::Row, 1, 0, shared.rows}, {LaunchLoop::Col, part.ctas, 0, access.outers}};
  int64_t shares = isWrite ? part.ctas : steps, each = shared.bytes / shares;
  access.bytes = std::max<int64_t>(each, 1);
  if (isWrite)
    access.byte.terms = {{LaunchLoop::Col, 1, part.ctas, each}};
  else
    access.byte.terms = {{LaunchLoop::Step, 1, 0, each}};
  access.when = isWrite ? When::LastStep : steps > 1 ? When::EachStep : When::FirstStep;
  return access;
}

/// Moves a part's stage and its own arrays to `result`; linked arrays are `shared`.
static bool addPart(const ChainPart &part, const std::vector<std::string> &linked, const std::vector<Shared> &shared,
                    int64_t units, const ChainSample &sample, LaunchModel &result, std::string &error) {
  StageModel stage = part.launch.stages[0];
  int64_t cols = part.ctas * part.blocks;
  bool isFirst = result.stages.empty(), readsByStep = false;
  std::vector<int32_t> places(part.launch.arrays.size(), -1);
  for (size_t i = 0; i < places.size(); ++i) {
    const ArrayModel &array = part.launch.arrays[i];
    if (std::find(linked.begin(), linked.end(), array.name) != linked.end())
      continue;
    places[i] = int32_t(result.arrays.size());
    result.arrays.push_back({array.name, array.outers, std::max<int64_t>(array.rowBytes / sample.thinning, 1)});
  }
  std::vector<AccessModel> accesses;
  for (AccessModel &access : stage.accesses) {
    if (places[access.array] < 0) {
      readsByStep |= access.when == When::EachStep && !access.isWrite;
      continue;
    }
    access.array = places[access.array];
    if (!moveIndex(access.outer, stage.grid, cols, access.rowDivisor) ||
        !moveIndex(access.byte, stage.grid, cols, access.rowDivisor)) {
      error = "the accesses of " + result.arrays[access.array].name + " do not go by rows";
      return false;
    }
    access.rowDivisor = 1;
    accesses.push_back(access);
  }
  stage.accesses = std::move(accesses);
  stage.grid = {units, cols};
  stage.isStatic = false;
  sampleSteps(stage, sample);
  for (const Shared &each : shared) // Its bytes are those of the sample.
    stage.accesses.push_back(makeShare(each, part, isFirst, readsByStep ? stage.steps : 1));
  result.stages.push_back(std::move(stage));
  return true;
}

bool weft::plan::joinLaunches(const ChainProblem &problem, const ChainSample &sample, LaunchModel &result,
                              std::string &error) {
  constexpr int64_t mostCtas = 1 << 20;
  const ChainPart &first = problem.first, &second = problem.second;
  result = LaunchModel();
  result.name = "chain";
  for (const ChainPart *part : {&first, &second})
    if (part->launch.stages.size() != 1 || part->launch.stages[0].causalRows || part->ctas < 1 || part->blocks < 1 ||
        part->ctas > mostCtas || part->blocks > mostCtas || problem.units < 1 || problem.units > maxTiles) {
      error = "expected two launches of one stage whose tiles take equally many steps";
      return false;
    }
  std::vector<Shared> shared;
  std::vector<std::string> written, read;
  for (const ChainLink &link : problem.links) {
    const ArrayModel *array = findArray(first.launch, link.written);
    if (!array || !findArray(second.launch, link.read)) {
      error = "expected arrays " + link.written + " and " + link.read;
      return false;
    }
    // As many rows as can be sampled, of a sector (a byte in the sample) for each CTA of the writer, step of the
    // reader.
    int64_t bytes = std::max<int64_t>(array->outers * array->rowBytes / problem.units, 1);
    int64_t rows = first.blocks * second.blocks, part = sample.depth * sample.thinning;
    int64_t least = std::max(sectorBytes, part) * std::max(first.ctas, second.launch.stages[0].steps);
    for (int i = 0; i < 7 && bytes / (2 * rows) >= least; ++i)
      rows *= 2;
    Shared each{int32_t(result.arrays.size()), rows, std::max<int64_t>(bytes / rows / part, 1)};
    shared.push_back(each);
    result.arrays.push_back({link.written, rows * problem.units, each.bytes});
    written.push_back(link.written);
    read.push_back(link.read);
  }
  return addPart(first, written, shared, problem.units, sample, result, error) &&
         addPart(second, read, shared, problem.units, sample, result, error);
}

//===--- The choice ---===//

/// What is read in each step keeps a sector of every row.
static int64_t chooseThinning(const ChainProblem &problem) {
  int64_t thinning = 64;
  for (const ChainPart *part : {&problem.first, &problem.second})
    for (const StageModel &stage : part->launch.stages)
      for (const AccessModel &access : stage.accesses)
        if (access.when == When::EachStep)
          while (thinning > 1 && access.bytes < thinning * sectorBytes)
            thinning /= 2;
  return thinning;
}

/// One of so many rows: of what is read in each step every box has one.
static int64_t chooseSampling(const LaunchModel &launch) {
  int64_t sampling = 1024;
  for (const StageModel &stage : launch.stages)
    for (const AccessModel &access : stage.accesses)
      if (access.when == When::EachStep)
        while (sampling > std::min(access.outers, launch.arrays[access.array].outers))
          sampling /= 2;
  return sampling;
}

static int64_t countLookups(const LaunchModel &launch) {
  int64_t sampling = chooseSampling(launch), count = 0;
  for (const StageModel &stage : launch.stages)
    for (const AccessModel &access : stage.accesses)
      count += stage.grid.rows * stage.grid.cols * (access.when == When::EachStep ? stage.steps : 1) *
               std::max<int64_t>(access.outers / sampling, 1) * ceilDiv(access.bytes, sectorBytes);
  return count;
}

/// Until the last CTA is done: positions take CTAs in order, and one of the second part waits for its row of the first.
static double schedule(const ChainProblem &problem, const LaunchModel &launch, const TileOrder &order, int64_t places) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  std::vector<double> done(launch.stages[0].grid.rows, 0);
  double last = 0;
  for (int64_t i = 0; i < order.size(); ++i) {
    const Tile &tile = order[i];
    const ChainPart &part = tile.stage ? problem.second : problem.first;
    double start = 0;
    if (i >= places) {
      start = free.top();
      free.pop();
    }
    if (tile.stage)
      start = std::max(start, done[tile.row]);
    double end = start + double(part.launch.stages[0].steps) * part.stepSeconds;
    if (!tile.stage)
      done[tile.row] = std::max(done[tile.row], end);
    free.push(end);
    last = std::max(last, end);
  }
  return last;
}

namespace {
/// A problem as far as the time allows to simulate it.
class Sampler {
public:
  Sampler(const ChainProblem &problem, const MachineModel &machine, double bytesPerSecond)
      : problem(problem), machine(machine), bytesPerSecond(bytesPerSecond) {}

  /// False where there is nothing to choose, or too much to simulate.
  bool prepare();
  bool simulate(ChainCandidate &candidate) const;
  /// A part of the steps was simulated. CTAs of a wave are as many as before: if what they ask for at once takes half
  /// of the smaller cache, bytes are too many, and count only against turns.
  bool isCoarse() const { return sample.depth > 1 && 2 * waveBytes > machine.cache.bytes; }
  int64_t lookups = 0; ///< Of one simulation.

private:
  bool join();

  const ChainProblem &problem;
  MachineModel machine;
  double bytesPerSecond;
  ChainSample sample;
  LaunchModel launch;
  int64_t waveBytes = 0; ///< Of one step of all CTAs that run at once, at most.
};
} // namespace

bool Sampler::join() {
  std::string error;
  if (!joinLaunches(problem, sample, launch, error))
    return false;
  lookups = countLookups(launch);
  return true;
}

bool Sampler::prepare() {
  constexpr int64_t mostTiles = 1 << 14, leastCandidates = 4;
  sample.thinning = chooseThinning(problem);
  if (problem.units < 2 || !join())
    return false;
  int64_t tiles = 0, steps = 0;
  for (const StageModel &stage : launch.stages) {
    tiles += stage.grid.rows * stage.grid.cols;
    steps = std::max(steps, stage.steps);
  }
  if (tiles > mostTiles)
    return false;
  while (lookups > mostChainLookups / leastCandidates && 2 * sample.depth < steps) {
    sample.depth *= 2;
    if (!join())
      return false;
  }
  int64_t part = sample.depth * sample.thinning;
  machine.cache.bytes = std::max<int64_t>(machine.cache.bytes / part, sectorBytes);
  for (const StageModel &stage : launch.stages) {
    int64_t bytes = 0;
    for (const AccessModel &access : stage.accesses)
      bytes += access.when == When::EachStep ? access.outers * access.bytes : 0;
    waveBytes = std::max(waveBytes, machine.sms * machine.blocksPerSm * bytes);
  }
  machine.cache.lineBytes = machine.cache.sectorBytes = sectorBytes;
  machine.cache.ways = 0; // A few boxes: sets would be smaller than one.
  machine.drift = 0;
  machine.sampling = chooseSampling(launch);
  return true;
}

bool Sampler::simulate(ChainCandidate &candidate) const {
  Traversal traversal, rows;
  traversal.kind = Traversal::Kind::Chain;
  traversal.width = candidate.units;
  traversal.inner = std::make_shared<Traversal>(rows);
  TileOrder order;
  SimulationResult result;
  std::string error;
  if (!TileOrder::create(traversal, launch.getGrids(), order, error) ||
      !weft::plan::simulate(launch, order, machine, result, error))
    return false;
  candidate.bytes = double(sample.depth * sample.thinning * sectorBytes) *
                    double(result.dramReads + result.dramWrites + result.dirty);
  candidate.seconds = schedule(problem, launch, order, machine.sms * machine.blocksPerSm);
  if (!isCoarse())
    candidate.seconds = std::max(candidate.seconds, candidate.bytes / bytesPerSecond);
  candidate.hitRate = result.getHitRate();
  return true;
}

/// Of those that gain more than the model errs; all units first.
static int64_t chooseUnits(const std::vector<ChainCandidate> &candidates, bool isCoarse) {
  constexpr double fewerBytes = 0.95, lessTime = 0.97, sameTime = 1.005, same = 1.01;
  const ChainCandidate &last = candidates[0];
  std::vector<const ChainCandidate *> better;
  for (const ChainCandidate &each : candidates)
    if (isCoarse ? each.seconds < lessTime * last.seconds && each.bytes <= same * last.bytes
                 : each.seconds < lessTime * last.seconds ||
                       (each.seconds <= sameTime * last.seconds && each.bytes < fewerBytes * last.bytes))
      better.push_back(&each);
  double leastSeconds = last.seconds, leastBytes = last.bytes;
  for (const ChainCandidate *each : better)
    leastSeconds = std::min(leastSeconds, each->seconds);
  for (const ChainCandidate *each : better)
    if (each->seconds <= same * leastSeconds)
      leastBytes = std::min(leastBytes, each->bytes);
  int64_t units = 0;
  for (const ChainCandidate *each : better)
    if (each->seconds <= same * leastSeconds && each->bytes <= same * leastBytes)
      units = each->units;
  return units;
}

ChainChoice weft::plan::chooseChain(const ChainProblem &problem, const MachineModel &machine, double bytesPerSecond) {
  constexpr int64_t mostUnits = 32;
  ChainChoice choice;
  Sampler sampler(problem, machine, bytesPerSecond);
  if (!sampler.prepare())
    return choice;
  std::vector<int64_t> heights = {problem.units};
  for (int64_t units = 1; units <= mostUnits && units < problem.units; units *= 2)
    heights.push_back(units);
  for (int64_t units : heights) {
    ChainCandidate candidate;
    candidate.units = units;
    if (choice.lookups + sampler.lookups > mostChainLookups || !sampler.simulate(candidate))
      break;
    choice.lookups += sampler.lookups;
    choice.candidates.push_back(candidate);
  }
  if (choice.candidates.size() < 2)
    return ChainChoice();
  choice.units = chooseUnits(choice.candidates, sampler.isCoarse());
  return choice;
}
