// Who touched each word of a CTA's shared memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An access by agent s conflicts with a recorded one by agent a at clock c, one of the two being a write, unless s
// knows a at c or later. A write that is ordered after everything recorded replaces it all; so does a racing one, which
// keeps one fault from being reported at every later access.

#include "Emulator/Sanitizer/SharedShadow.h"

using namespace weft::emu;

struct SharedShadow::Check {
  SharedUse use;
  const Party &self;
  const Knowledge &knows;
  ConflictSink &sink;
  /// The conflict that was told last: words in a row have mostly the same.
  mutable Party told;
  mutable Conflict toldKind = Conflict::Race;

  bool isOrdered(const Party &earlier) const {
    if (earlier.agent != self.agent)
      return knows.seen[earlier.agent] >= earlier.clock;
    if (self.flags & Party::Async)
      return earlier.clock == self.clock || knows.seen[earlier.agent] >= earlier.clock;
    if (earlier.lane == self.lane || ((earlier.flags | self.flags) & Party::Unsure))
      return true;
    return sink.isOrderedInWarp(earlier);
  }
  void tell(Conflict kind, uint32_t offset, const Party &other, bool isWrite) const {
    if (toldKind == kind && told.clock == other.clock && told.agent == other.agent && told.site == other.site &&
        told.clock != 0)
      return;
    told = other;
    toldKind = kind;
    sink.conflict(kind, offset, other, isWrite);
  }
  void against(const Party &earlier, bool isWrite, uint32_t offset) const {
    if (earlier.clock == 0 || (earlier.flags & self.flags & Party::Strong))
      return;
    if (!isOrdered(earlier))
      tell(Conflict::Race, offset, earlier, isWrite);
    else if (isWrite && (self.flags & Party::AsyncProxy) && !(earlier.flags & Party::AsyncProxy) &&
             knows.fenced[earlier.agent] < earlier.clock)
      tell(Conflict::MissingFence, offset, earlier, isWrite);
  }
};

SharedShadow::SharedShadow(uint32_t bytes) : pages((bytes / 4 + kPageWords) / kPageWords) {}

SharedShadow::Page &SharedShadow::page(uint32_t word) {
  std::unique_ptr<Page> &slot = pages[word / kPageWords];
  if (!slot)
    slot = std::make_unique<Page>();
  return *slot;
}

void SharedShadow::forget(Record &record) {
  if (record.more != 0) {
    readLists[record.more - 1].clear();
    freeLists.push_back(record.more - 1);
  }
  record = Record();
}

/// Takes the place of an older read that is ordered before, else of none.
void SharedShadow::addRead(Record &record, const Check &check) {
  for (Party &read : record.reads)
    if (read.clock == 0 || check.isOrdered(read)) {
      read = check.self;
      return;
    }
  if (record.more == 0) {
    if (freeLists.empty()) {
      freeLists.push_back(uint32_t(readLists.size()));
      readLists.emplace_back();
    }
    record.more = freeLists.back() + 1;
    freeLists.pop_back();
  }
  std::vector<Party> &list = readLists[record.more - 1];
  for (Party &read : list)
    if (check.isOrdered(read)) {
      read = check.self;
      return;
    }
  list.push_back(check.self);
}

void SharedShadow::accessRecord(Record &record, const Check &check, uint32_t offset) {
  check.against(record.write, /*isWrite=*/true, offset);
  if (check.use == SharedUse::Read)
    return addRead(record, check);
  for (const Party &read : record.reads)
    check.against(read, (read.flags & Party::Wrote) != 0, offset);
  if (record.more != 0)
    for (const Party &read : readLists[record.more - 1])
      check.against(read, (read.flags & Party::Wrote) != 0, offset);
  // Strong accesses do not order each other: those that are still unordered must meet a later plain one, too.
  Party unordered[4];
  unsigned count = 0;
  if (check.self.flags & Party::Strong)
    for (const Party *party : {&record.write, &record.reads[0], &record.reads[1]})
      if (party->clock != 0 && (party->flags & Party::Strong) && !check.isOrdered(*party))
        unordered[count++] = *party;
  if (count != 0 && unordered[0].agent == record.write.agent && unordered[0].clock == record.write.clock)
    unordered[0].flags |= Party::Wrote;
  forget(record);
  record.write = check.self;
  for (unsigned i = 0; i < count && i < 2; ++i)
    record.reads[i] = unordered[i];
}

/// A word of which some bytes are accessed, or that has been accessed so before. Strong accesses of a whole word that
/// is split keep it so.
void SharedShadow::accessBytes(Page &page, uint32_t word, uint8_t bytes, const Check &check) {
  Record &record = page.records[word % kPageWords];
  uint8_t &isSplit = page.isSplit[word % kPageWords];
  if (!isSplit) {
    if (freeSplits.empty()) {
      freeSplits.push_back(uint32_t(splitWords.size()));
      splitWords.emplace_back();
    }
    uint32_t index = freeSplits.back();
    freeSplits.pop_back();
    for (Record &byte : splitWords[index]) {
      byte = record;
      byte.more = 0;
      if (record.more == 0)
        continue;
      if (freeLists.empty()) {
        freeLists.push_back(uint32_t(readLists.size()));
        readLists.emplace_back();
      }
      byte.more = freeLists.back() + 1;
      freeLists.pop_back();
      readLists[byte.more - 1] = readLists[record.more - 1];
    }
    forget(record);
    record.more = index;
    isSplit = 1;
  }
  std::array<Record, 4> &split = splitWords[record.more];
  for (uint32_t byte = 0; byte < 4; ++byte)
    if (bytes >> byte & 1)
      accessRecord(split[byte], check, word * 4 + byte);
  if (bytes != 0xf || check.use == SharedUse::Read)
    return;
  for (Record &byte : split)
    forget(byte);
  freeSplits.push_back(record.more);
  record = Record();
  record.write = check.self;
  isSplit = 0;
}

void SharedShadow::access(uint32_t offset, uint32_t bytes, SharedUse use, const Party &self, const Knowledge &knows,
                          ConflictSink &sink) {
  Check check{use, self, knows, sink, Party(), Conflict::Race};
  bool isUninitialisedTold = false;
  for (uint32_t end = offset + bytes; offset < end;) {
    uint32_t word = offset / 4;
    Page &home = page(word);
    uint32_t stop = (word + 1) * 4 < end ? (word + 1) * 4 : end;
    uint8_t mask = uint8_t(((1u << (stop - offset)) - 1) << (offset % 4));
    uint8_t &initialised = home.initialised[word % kPageWords];
    if (use == SharedUse::Write) {
      initialised |= mask;
    } else if ((initialised & mask) != mask && !isUninitialisedTold) {
      isUninitialisedTold = true;
      sink.conflict(Conflict::Uninitialised, word * 4 + uint32_t(__builtin_ctz(mask & ~initialised)), Party(), false);
      initialised |= use == SharedUse::Update ? mask : 0;
    }
    if (mask == 0xf && !home.isSplit[word % kPageWords])
      accessRecord(home.records[word % kPageWords], check, offset);
    else
      accessBytes(home, word, mask, check);
    offset = stop;
  }
}

void SharedShadow::markInitialised(uint32_t offset, uint32_t bytes) {
  for (uint32_t end = offset + bytes; offset < end; ++offset)
    page(offset / 4).initialised[offset / 4 % kPageWords] |= uint8_t(1u << offset % 4);
}
