// Runs that a device can repeat.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See the header. A recording is found by comparison of all numbers, not by their hash.
#include "RecordedRuns.h"

#include <algorithm>

using namespace weft;
using namespace weft::bundle;

const Recording *RecordedRuns::find(const Key &key) {
  for (Run &run : runs)
    if (run.addresses == key.addresses && run.registers == key.registers) {
      run.lastUse = ++now;
      return run.recording.get();
    }
  return nullptr;
}

static Hash128 hash(const RecordedRuns::Key &key) {
  Hash128 parts[] = {hashBytes(key.registers.data(), key.registers.size() * sizeof(int64_t)),
                     hashBytes(static_cast<const void *>(key.addresses.data()), key.addresses.size() * sizeof(void *))};
  return hashBytes(parts, sizeof parts);
}

bool RecordedRuns::comesAgain(const Key &key) {
  Hash128 value = hash(key);
  if (std::find(seen.begin(), seen.end(), value) != seen.end())
    return true;
  if (seen.size() < seenCapacity)
    seen.push_back(value);
  else
    seen[nextSeen++ % seenCapacity] = value;
  return false;
}

std::unique_ptr<Recording> &RecordedRuns::add(const Key &key) {
  auto isOlder = [](const Run &a, const Run &b) { return a.lastUse < b.lastUse; };
  bool isFull = runs.size() == capacity;
  if (!isFull)
    runs.emplace_back();
  Run &run = isFull ? *std::min_element(runs.begin(), runs.end(), isOlder) : runs.back();
  run.registers = key.registers;
  run.addresses = key.addresses;
  run.lastUse = ++now;
  return run.recording;
}
