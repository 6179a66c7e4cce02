// Which program of a bundle a device runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EntryChoice.h"

#include "GpuCode.h"

#include <string>

using namespace weft;
using namespace weft::bundle;

static constexpr std::string_view cpuArchitecture = "cpu";
static constexpr uint32_t maxListed = 8;

namespace {
/// "main@sm_90a" as "main" and "sm_90a".
struct EntryName {
  explicit EntryName(std::string_view text) : function(text.substr(0, text.find('@'))) {
    if (function.size() < text.size())
      target = text.substr(function.size() + 1);
  }
  std::string_view function, target;
};
} // namespace

/// Whether a device of `architecture` runs code for `target`, and its rank among what it runs: higher is better.
static bool getRank(std::string_view architecture, std::string_view target, uint32_t &rank) {
  GpuArchitecture own, code;
  if (!GpuArchitecture::parse(architecture, own) || !GpuArchitecture::parse(target, code) || !own.runs(code))
    return false;
  rank = code.getRank();
  return true;
}

static Error makeNoEntryError(const Tables &tables, std::string_view name) {
  std::string known;
  for (uint32_t i = 0; i < tables.entries.size && i < maxListed; ++i)
    known += (i ? ", " : "") + quote(tables.getString(tables.entries[i].name));
  return Error(ErrorCode::Usage, "the bundle has no entry " + quote(name) + "; it has: " + known);
}

Error weft::makeNoCodeError(const Tables &tables, std::string_view architecture) {
  std::string present;
  auto add = [&](const std::string &target) { present += (present.empty() ? "" : ", ") + target; };
  GpuArchitecture known;
  for (uint32_t i = 0; i < tables.gpuModules.size && i < maxListed; ++i) {
    std::string_view target = tables.getString(tables.gpuModules[i].target);
    add(GpuArchitecture::parse(target, known) ? std::string(target) : quote(target));
  }
  if (tables.variants.size)
    add(std::string(cpuArchitecture));
  return Error(ErrorCode::Device, "expected code for " + std::string(architecture) + ", the bundle has " +
                                      (present.empty() ? "none" : present) +
                                      "; compile the model with --target=" + std::string(architecture));
}

Error weft::chooseEntry(const Tables &tables, std::string_view name, std::string_view architecture,
                        EntryChoice &choice) {
  if (tables.entries.size == 0)
    return Error(ErrorCode::Input, "the bundle has no entry function");
  EntryName wanted(name.empty() ? EntryName(tables.getString(tables.entries[0].name)).function : name);
  bool isExact = !wanted.target.empty();
  uint32_t plain = kNone, best = kNone, bestRank = 0;
  bool hasTargets = false;
  for (uint32_t i = 0; i < tables.entries.size; ++i) {
    EntryName entry(tables.getString(tables.entries[i].name));
    if (entry.function != wanted.function || (isExact && entry.target != wanted.target))
      continue;
    if (entry.target.empty()) {
      plain = i;
      continue;
    }
    hasTargets = true;
    uint32_t rank = 0;
    if (getRank(architecture, entry.target, rank) && (best == kNone || rank > bestRank)) {
      best = i;
      bestRank = rank;
    }
  }
  if (plain == kNone && !hasTargets)
    return makeNoEntryError(tables, name);
  if (best == kNone && plain != kNone && (architecture == cpuArchitecture || !hasTargets))
    best = plain;
  if (best == kNone)
    return makeNoCodeError(tables, architecture);
  choice.index = best;
  choice.target = EntryName(tables.getString(tables.entries[best].name)).target;
  return {};
}
