// Reads of registers that nothing has written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quarters of slots that may have been written, at the beginning of each block; joined by union until nothing changes.
// What packs words of parts and takes them apart again moves quarters: compilers pack a half that nobody ever reads.

#include "Emulator/Sanitizer/UndefinedRegisters.h"

#include <algorithm>
#include <unordered_map>

using namespace weft::emu;

namespace {

/// Four bits for each slot.
using SlotSet = std::vector<uint64_t>;
constexpr unsigned kQuarters = 4, kAllQuarters = 15, kSlotsPerWord = 64 / kQuarters;

class Analysis {
public:
  explicit Analysis(const FunctionCode &code) : code(code) {}
  std::vector<uint32_t> run();

private:
  void findBlocks();
  template <typename Visit> void forSuccessors(uint32_t last, Visit &&visit) const;
  void apply(const Step &step, SlotSet &written) const;
  void movesParts(const Step &step, SlotSet &written) const;
  bool readsUndefined(const Step &step, const SlotSet &written) const;
  uint32_t numberOf(Slot slot) const {
    auto known = numbers.find(slot);
    return known == numbers.end() ? 0 : known->second;
  }
  /// The quarters of what is read there.
  unsigned quartersOf(const SlotSet &set, Slot slot) const {
    uint32_t i = numberOf(slot);
    return slot & kConstantSlot ? kAllQuarters
                                : set[i / kSlotsPerWord] >> (i % kSlotsPerWord * kQuarters) & kAllQuarters;
  }
  void add(SlotSet &set, Slot slot, unsigned quarters = kAllQuarters) const {
    uint32_t i = numberOf(slot);
    set[i / kSlotsPerWord] |= uint64_t(quarters) << (i % kSlotsPerWord * kQuarters);
  }
  void remove(SlotSet &set, Slot slot) const {
    uint32_t i = numberOf(slot);
    set[i / kSlotsPerWord] &= ~(uint64_t(kAllQuarters) << (i % kSlotsPerWord * kQuarters));
  }

  const FunctionCode &code;
  std::unordered_map<Slot, uint32_t> numbers; ///< Of slots that are written somewhere, from 1.
  std::vector<uint32_t> starts;               ///< First steps of blocks, ascending.
  std::vector<uint32_t> blockOf;              ///< By step: its block if it begins one.
};

bool isWritten(Role role) { return role != Role::Use && role != Role::LateUse; }

template <typename Visit> void Analysis::forSuccessors(uint32_t last, Visit &&visit) const {
  const Step &step = code.steps[last];
  bool isGuarded = step.guard != kNoSlot;
  bool isBranch = step.flags & step_flag::Branch, isEnd = step.flags & step_flag::End;
  if (isBranch && (step.flags & step_flag::Indexed))
    for (uint64_t i = 0; i < step.immediate; ++i)
      visit(code.targets[step.target + i]);
  else if (isBranch)
    visit(step.target);
  if (((!isBranch && !isEnd) || isGuarded) && last + 1 < code.steps.size())
    visit(last + 1);
}

void Analysis::findBlocks() {
  uint32_t count = uint32_t(code.steps.size());
  std::vector<bool> begins(count + 1);
  begins[0] = true;
  for (uint32_t i = 0; i < count; ++i) {
    const Step &step = code.steps[i];
    for (unsigned j = 0; j < step.slotCount; ++j)
      if (step.slots[j] != kNoSlot && isWritten(code.roleOf(step, j)))
        numbers.try_emplace(step.slots[j], uint32_t(numbers.size() + 1));
    if (!(step.flags & (step_flag::Branch | step_flag::End)))
      continue;
    begins[i + 1] = true;
    forSuccessors(i, [&](uint32_t target) { begins[target] = true; });
  }
  blockOf.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (begins[i])
      starts.push_back(i);
    blockOf[i] = uint32_t(starts.size() - 1);
  }
}

/// Slot 0 is the whole, the others are its parts: two, of two quarters each, or four.
void Analysis::movesParts(const Step &step, SlotSet &written) const {
  unsigned parts = step.slotCount - 1u, each = kQuarters / parts, shrink = kQuarters / each;
  unsigned ofPart = (1u << each) - 1, ofQuarter = (1u << shrink) - 1;
  bool isPack = isWritten(code.roleOf(step, 0));
  unsigned whole = isPack ? 0 : quartersOf(written, step.slots[0]);
  for (unsigned i = 0; i < parts; ++i) {
    Slot slot = step.slots[i + 1];
    if (slot == kNoSlot)
      continue;
    unsigned narrow = whole >> (i * each) & ofPart, wide = 0; // The part as quarters of the whole, and as its own.
    unsigned own = isPack ? quartersOf(written, slot) : 0;
    for (unsigned q = 0; q < each; ++q) {
      wide |= narrow >> q & 1 ? ofQuarter << (q * shrink) : 0;
      whole |= (own >> (q * shrink) & ofQuarter) == ofQuarter && isPack ? 1u << (i * each + q) : 0;
    }
    if (isPack)
      continue;
    if (step.guard == kNoSlot)
      remove(written, slot);
    add(written, slot, wide);
  }
  if (!isPack)
    return;
  if (step.guard == kNoSlot)
    remove(written, step.slots[0]);
  add(written, step.slots[0], whole);
}

void Analysis::apply(const Step &step, SlotSet &written) const {
  if (step.flags & step_flag::Parts)
    return movesParts(step, written);
  for (unsigned i = 0; i < step.slotCount; ++i)
    if (step.slots[i] != kNoSlot && isWritten(code.roleOf(step, i)))
      add(written, step.slots[i]);
}

/// Of parts that are packed or taken from a word, one has to be defined.
bool Analysis::readsUndefined(const Step &step, const SlotSet &written) const {
  bool readsParts = step.flags & step_flag::Parts;
  unsigned undefined = 0, defined = 0;
  for (unsigned i = 0; i < step.slotCount; ++i)
    if (step.slots[i] != kNoSlot && !isWritten(code.roleOf(step, i))) {
      unsigned quarters = quartersOf(written, step.slots[i]);
      undefined += quarters != kAllQuarters;
      defined += quarters != 0;
    }
  bool isGuardUndefined = step.guard != kNoSlot && quartersOf(written, step.guard) == 0;
  return isGuardUndefined || (undefined != 0 && (!readsParts || defined == 0));
}

std::vector<uint32_t> Analysis::run() {
  std::vector<uint32_t> found;
  if (code.steps.empty())
    return found;
  findBlocks();
  for (Slot slot : code.parameterSlots)
    numbers.try_emplace(slot, uint32_t(numbers.size() + 1));
  size_t words = numbers.size() / kSlotsPerWord + 1;
  std::vector<SlotSet> before(starts.size(), SlotSet(words));
  std::vector<bool> isReached(starts.size()), isPending(starts.size());
  for (Slot slot : code.parameterSlots)
    add(before[0], slot);
  std::vector<uint32_t> pending = {0};
  isReached[0] = true;
  while (!pending.empty()) {
    uint32_t block = pending.back();
    pending.pop_back();
    isPending[block] = false;
    SlotSet written = before[block];
    uint32_t end = block + 1 < starts.size() ? starts[block + 1] : uint32_t(code.steps.size());
    for (uint32_t i = starts[block]; i < end; ++i)
      apply(code.steps[i], written);
    forSuccessors(end - 1, [&](uint32_t target) {
      uint32_t next = blockOf[target];
      bool isChanged = !isReached[next];
      for (size_t i = 0; i < words; ++i) {
        isChanged |= (written[i] & ~before[next][i]) != 0;
        before[next][i] |= written[i];
      }
      isReached[next] = true;
      if (isChanged && !isPending[next]) {
        isPending[next] = true;
        pending.push_back(next);
      }
    });
  }
  for (uint32_t block = 0; block < starts.size(); ++block) {
    SlotSet written = before[block];
    uint32_t end = block + 1 < starts.size() ? starts[block + 1] : uint32_t(code.steps.size());
    for (uint32_t i = starts[block]; isReached[block] && i < end; ++i) {
      if (readsUndefined(code.steps[i], written))
        found.push_back(i);
      apply(code.steps[i], written);
    }
  }
  return found;
}

} // namespace

std::vector<uint32_t> weft::emu::undefinedReads(const FunctionCode &code) { return Analysis(code).run(); }
