// Live ranges of registers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers whose uses all follow a definition in the same block need one pass over their references. The others are
// solved in groups of 64, one word per block, so that memory stays linear in the text and no bit set of registers by
// blocks is ever held. A guarded definition does not end what was live before: lanes may keep the old value.
//
// Points: step i (in the order of blocks) has the points 2 i before and 2 i + 1 behind it. A live range is a
// segment of points within a block; sums of starts and ends over the points give the pressure.
#include "Emulator/Program/Slots.h"

#include <algorithm>

namespace weft::emu {

using ptx::kNone;

namespace {

enum class Access : uint8_t { Read, Write, GuardedWrite };

struct Reference {
  uint32_t place; ///< In the order of blocks.
  Access access;
};

/// Consecutive references of one register in one block.
struct Cluster {
  uint32_t block; ///< Its position in the order.
  const Reference *begin, *end;
};

class Analysis {
public:
  Analysis(const BoundCode &code, const ControlFlow &flow, const Boundary &boundary, Liveness &result)
      : code(code), flow(flow), boundary(boundary), result(result) {}
  void run();

private:
  void collect();
  void collectHeld();
  bool endsHere(const Block &block) const;
  bool hasEdge(uint32_t from, uint32_t to) const;
  template <typename Visit> void forSteps(Visit visit) const;
  template <typename Visit> void forReferences(const BoundStep &bound, Visit visit) const;
  void number();
  bool isLiveBefore(const Cluster &cluster, bool isLiveAfter) const;
  void addRange(uint32_t reg, const Cluster &cluster, bool isLiveAfter);
  void addSegment(uint32_t reg, uint32_t from, uint32_t to);
  template <typename Visit> void forClusters(uint32_t reg, Visit visit) const;
  bool solveLocally(uint32_t reg);
  void solveGroup(const uint32_t *registers, uint32_t count);
  void propagate();
  void spread(const uint32_t *registers, uint32_t count);
  void holdRegisters();
  void measure();
  uint32_t weight(uint32_t reg) const;

  const BoundCode &code;
  const ControlFlow &flow;
  const Boundary &boundary;
  Liveness &result;
  std::vector<uint32_t> blockStart;      ///< By block in the order: its first instruction's position; and the end.
  std::vector<uint32_t> blockOfPlace;    ///< By position of an instruction.
  std::vector<Reference> references;     ///< By register, then by position; reads before writes.
  std::vector<uint32_t> firstReference;  ///< By register, and the end.
  std::vector<bool> isResult;            ///< Results in registers: read where the body falls off its end.
  std::vector<bool> isHeld;              ///< Registers of asynchronous operations.
  uint32_t heldFrom = kNone, heldTo = 0; ///< Positions between which they may be in use.
  // One group.
  std::vector<uint64_t> gen, kill, liveIn, liveOut;
  std::vector<int32_t> pressure; ///< By point: difference to the point before.
  std::vector<uint32_t> through; ///< By block: registers that are live all through it without a reference.
};

uint32_t Analysis::weight(uint32_t reg) const {
  uint32_t width = code.registerWidths[reg];
  return width == 0 ? 0 : (width + 3) / 4;
}

/// Positions of blocks and instructions in the order of priorities.
void Analysis::number() {
  uint32_t place = 0;
  for (uint32_t block : flow.order) {
    blockStart.push_back(place);
    place += flow.blocks[block].count;
  }
  blockStart.push_back(place);
  blockOfPlace.resize(place);
  for (uint32_t block = 0; block + 1 < blockStart.size(); ++block)
    std::fill(blockOfPlace.begin() + blockStart[block], blockOfPlace.begin() + blockStart[block + 1], block);
}

/// Calls visit(register, access) for the registers of a step, reads before writes.
template <typename Visit> void Analysis::forReferences(const BoundStep &bound, Visit visit) const {
  bool isGuarded = bound.guard.reg != kNone || bound.guard.constant != kNoSlot;
  if (bound.guard.reg != kNone)
    visit(bound.guard.reg, Access::Read);
  const SlotRef *slots = code.slots.data() + bound.firstSlot;
  for (uint32_t i = 0; i < bound.slotCount; ++i)
    if (slots[i].reg != kNone && slots[i].role != Role::Def)
      visit(slots[i].reg, Access::Read);
  for (uint32_t i = 0; i < bound.slotCount; ++i)
    if (slots[i].reg != kNone && slots[i].role != Role::Use && slots[i].role != Role::LateUse)
      visit(slots[i].reg, isGuarded ? Access::GuardedWrite : Access::Write);
}

/// Two passes over the steps: count, then fill.
void Analysis::collect() {
  uint32_t count = uint32_t(code.registerWidths.size());
  firstReference.assign(count + 1, 0);
  forSteps([&](uint32_t, const BoundStep &bound) {
    forReferences(bound, [&](uint32_t reg, Access) { ++firstReference[reg + 1]; });
  });
  for (uint32_t i = 0; i < count; ++i)
    firstReference[i + 1] += firstReference[i];
  references.resize(firstReference[count]);
  std::vector<uint32_t> fill(firstReference.begin(), firstReference.end() - 1);
  forSteps([&](uint32_t place, const BoundStep &bound) {
    forReferences(bound, [&](uint32_t reg, Access access) { references[fill[reg]++] = {place, access}; });
  });
  isResult.assign(count, false);
  for (uint32_t reg : boundary.results)
    isResult[reg] = true;
}

/// Which registers asynchronous operations use, and between which positions: whole outermost loops, because an
/// operation of one round may end in the next.
void Analysis::collectHeld() {
  isHeld.assign(code.registerWidths.size(), false);
  forSteps([&](uint32_t place, const BoundStep &bound) {
    bool isLate = bound.step.flags & step_flag::WaitsLate;
    for (uint32_t i = bound.firstSlot; i < bound.firstSlot + bound.slotCount; ++i) {
      const SlotRef &slot = code.slots[i];
      if (slot.reg == kNone || (slot.role != Role::LateUse && slot.role != Role::LateDef))
        continue;
      isHeld[slot.reg] = isLate = true;
    }
    if (!isLate)
      return;
    uint32_t block = blockOfPlace[place];
    bool isInLoop = flow.loopEnd[block] > flow.loopBegin[block] + 1 || hasEdge(block, block);
    heldFrom = std::min(heldFrom, isInLoop ? blockStart[flow.loopBegin[block]] : place);
    heldTo = std::max(heldTo, isInLoop ? blockStart[flow.loopEnd[block]] - 1 : place);
  });
}

/// True if the block's last step is a return or an exit.
bool Analysis::endsHere(const Block &block) const {
  return block.count > 0 && (code.steps[block.first + block.count - 1].step.flags & step_flag::End);
}

bool Analysis::hasEdge(uint32_t from, uint32_t to) const {
  const Graph &graph = flow.graph;
  uint32_t block = flow.order[from];
  for (uint32_t edge = graph.first[block]; edge < graph.first[block + 1]; ++edge)
    if (flow.blocks[graph.targets[edge]].priority == to)
      return true;
  return false;
}

template <typename Visit> void Analysis::forSteps(Visit visit) const {
  uint32_t place = 0;
  for (uint32_t block : flow.order)
    for (uint32_t i = 0; i < flow.blocks[block].count; ++i)
      visit(place++, code.steps[flow.blocks[block].first + i]);
}

template <typename Visit> void Analysis::forClusters(uint32_t reg, Visit visit) const {
  const Reference *end = references.data() + firstReference[reg + 1];
  for (const Reference *begin = references.data() + firstReference[reg]; begin != end;) {
    Cluster cluster{blockOfPlace[begin->place], begin, begin};
    while (cluster.end != end && cluster.end->place < blockStart[cluster.block + 1])
      ++cluster.end;
    visit(cluster);
    begin = cluster.end;
  }
}

bool Analysis::isLiveBefore(const Cluster &cluster, bool isLiveAfter) const {
  for (const Reference *i = cluster.begin; i != cluster.end; ++i)
    if (i->access != Access::GuardedWrite)
      return i->access == Access::Read;
  return isLiveAfter;
}

/// A register is live from point `from` to point `to`.
void Analysis::addSegment(uint32_t reg, uint32_t from, uint32_t to) {
  LiveHull &hull = result.hulls[reg];
  hull.first = std::min(hull.first, from / 2);
  hull.last = std::max(hull.last, to / 2);
  pressure[from] += int32_t(weight(reg));
  pressure[to + 1] -= int32_t(weight(reg));
}

void Analysis::addRange(uint32_t reg, const Cluster &cluster, bool isLiveAfter) {
  bool isLive = isLiveAfter;
  uint32_t to = blockStart[cluster.block + 1] * 2 - 1;
  for (const Reference *i = cluster.end; i-- != cluster.begin;) {
    if (i->access == Access::Read) {
      if (!isLive)
        to = i->place * 2;
      isLive = true;
    } else if (!isLive) { // the value is lost, but it needs a register to go
      addSegment(reg, i->place * 2 + 1, i->place * 2 + 1);
    } else if (i->access == Access::Write) {
      addSegment(reg, i->place * 2 + 1, to);
      isLive = false;
    }
  }
  if (isLive)
    addSegment(reg, blockStart[cluster.block] * 2, to);
}

/// Solves a register that does not leave its block; false if it may.
bool Analysis::solveLocally(uint32_t reg) {
  if (firstReference[reg] == firstReference[reg + 1])
    return true;
  const Reference &first = references[firstReference[reg]], &last = references[firstReference[reg + 1] - 1];
  uint32_t block = blockOfPlace[first.place];
  Cluster cluster{block, &first, &last + 1};
  if (blockOfPlace[last.place] != block || isLiveBefore(cluster, false))
    return false;
  addRange(reg, cluster, false);
  return true;
}

/// Backward until nothing changes. In the reverse of the order most functions need two or three sweeps.
void Analysis::propagate() {
  const Graph &graph = flow.graph;
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (size_t i = flow.order.size(); i-- > 0;) {
      uint32_t block = flow.order[i];
      uint64_t out = liveOut[i];
      for (uint32_t edge = graph.first[block]; edge < graph.first[block + 1]; ++edge)
        out |= liveIn[flow.blocks[graph.targets[edge]].priority];
      uint64_t in = gen[i] | (out & ~kill[i]);
      hasChanged = hasChanged || in != liveIn[i];
      liveIn[i] = in;
      liveOut[i] = out;
    }
  }
}

/// Hulls and pressure of blocks that a register crosses without a reference: the first and the last such block decide.
void Analysis::spread(const uint32_t *registers, uint32_t count) {
  uint64_t masks[3] = {}; // by weight 1, 2, 4
  for (uint32_t i = 0; i < count; ++i)
    if (uint32_t w = weight(registers[i]))
      masks[w / 2] |= uint64_t(1) << i;
  size_t blocks = flow.order.size();
  uint64_t seen = 0;
  auto extend = [&](size_t block) {
    if (blockStart[block] == blockStart[block + 1])
      return;
    for (uint64_t fresh = liveIn[block] & ~seen; fresh; fresh &= fresh - 1) {
      LiveHull &hull = result.hulls[registers[__builtin_ctzll(fresh)]];
      hull.first = std::min(hull.first, blockStart[block]);
      hull.last = std::max(hull.last, blockStart[block]);
    }
    seen |= liveIn[block];
  };
  for (size_t block = 0; block < blocks; ++block)
    extend(block);
  seen = 0;
  for (size_t block = blockOfPlace.empty() ? 0 : blocks; block-- > 0;) {
    for (uint64_t fresh = liveOut[block] & ~seen; fresh; fresh &= fresh - 1) {
      LiveHull &hull = result.hulls[registers[__builtin_ctzll(fresh)]];
      hull.last = std::max(hull.last, blockStart[block + 1] - 1);
      hull.first = std::min(hull.first, blockStart[block + 1] - 1);
    }
    seen |= liveOut[block];
  }
  for (size_t block = 0; block < blocks; ++block) {
    uint64_t crossing = liveIn[block] & liveOut[block] & ~gen[block] & ~kill[block];
    for (unsigned i = 0; i < 3; ++i)
      through[block] += uint32_t(__builtin_popcountll(crossing & masks[i])) << i;
  }
}

void Analysis::solveGroup(const uint32_t *registers, uint32_t count) {
  size_t blocks = flow.order.size();
  for (auto *words : {&gen, &kill, &liveIn, &liveOut})
    words->assign(blocks, 0);
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t bit = uint64_t(1) << i;
    forClusters(registers[i], [&](const Cluster &cluster) {
      if (isLiveBefore(cluster, false))
        gen[cluster.block] |= bit;
      if (!isLiveBefore(cluster, true))
        kill[cluster.block] |= bit;
    });
    if (isResult[registers[i]])
      for (const Block &block : flow.blocks)
        if (block.fallsOff || endsHere(block))
          liveOut[block.priority] |= bit;
  }
  propagate();
  // What is left in `gen` and `kill` from here on: blocks with a reference.
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t bit = uint64_t(1) << i;
    forClusters(registers[i], [&](const Cluster &cluster) {
      addRange(registers[i], cluster, liveOut[cluster.block] & bit);
      kill[cluster.block] |= bit;
    });
  }
  spread(registers, count);
}

void Analysis::holdRegisters() {
  for (uint32_t reg = 0; reg < isHeld.size(); ++reg)
    if (isHeld[reg]) {
      result.hulls[reg].first = std::min(result.hulls[reg].first, heldFrom);
      result.hulls[reg].last = std::max(result.hulls[reg].last, heldTo);
    }
}

void Analysis::measure() {
  int64_t current = 0;
  for (uint32_t block = 0; block + 1 < blockStart.size(); ++block)
    for (uint32_t point = blockStart[block] * 2; point < blockStart[block + 1] * 2; ++point) {
      current += pressure[point];
      result.peakRegisters = std::max(result.peakRegisters, uint32_t(current + through[block]));
    }
}

void Analysis::run() {
  number();
  collect();
  collectHeld();
  uint32_t count = uint32_t(code.registerWidths.size());
  result.hulls.assign(count, LiveHull());
  pressure.assign(blockOfPlace.size() * 2 + 1, 0);
  through.assign(flow.order.size(), 0);
  std::vector<uint32_t> global;
  for (uint32_t reg = 0; reg < count; ++reg)
    if (isResult[reg] || !solveLocally(reg))
      global.push_back(reg);
  for (size_t i = 0; i < global.size(); i += 64)
    solveGroup(global.data() + i, uint32_t(std::min<size_t>(64, global.size() - i)));
  for (uint32_t reg : boundary.parameters) // written before the first step
    result.hulls[reg].first = 0;
  if (blockOfPlace.empty()) // an empty body passes its results on
    for (uint32_t reg : boundary.results)
      result.hulls[reg].first = 0;
  holdRegisters();
  measure();
}

} // namespace

Liveness analyseLiveness(const BoundCode &code, const ControlFlow &flow, const Boundary &boundary) {
  Liveness result;
  Analysis(code, flow, boundary, result).run();
  return result;
}

} // namespace weft::emu
