// Who waits for what.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The picture of a launch that cannot go on: one line per group of warps of a CTA that wait at the same position for
// the same thing, then what is known of each thing: who has arrived, who is missing and where those are.
#include "Emulator/Exec/Scheduler.h"

#include <cstdarg>
#include <cstdio>
#include <map>

using namespace weft;
using namespace weft::emu;
using bundle::ErrorCode;

static constexpr size_t kMaxLines = 24;

static std::string print(const char *format, ...) __attribute__((format(printf, 1, 2)));
static std::string print(const char *format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

static std::string reasonOf(const Cta &cta, const Split &split) {
  const WaitReason &wait = split.wait;
  switch (wait.kind) {
  case WaitKind::Barrier: {
    const Barrier &barrier = cta.barriers[wait.object & 15];
    if (barrier.expected == Barrier::kAll)
      return print("waits at barrier %llu: %u of %u live threads have arrived", (unsigned long long)wait.object,
                   barrier.arrived, cta.liveThreads);
    return print("waits at barrier %llu: %u of %u threads have arrived", (unsigned long long)wait.object,
                 barrier.arrived, barrier.expected);
  }
  case WaitKind::ClusterBarrier:
    return print("waits at the cluster's barrier: %u of %u live threads have arrived", cta.cluster->arrived,
                 cta.cluster->liveThreads);
  case WaitKind::WarpSync:
    return print("waits for the lanes 0x%08x of its warp", unsigned(wait.object));
  case WaitKind::Mbarrier:
    return print("waits for the mbarrier at shared address 0x%llx, phase parity %llu", (unsigned long long)wait.object,
                 (unsigned long long)wait.detail);
  case WaitKind::AsyncGroup:
    return "waits for asynchronous copies";
  case WaitKind::Wgmma:
    return "waits for wgmma";
  case WaitKind::Grid:
    return "waits for the grid before";
  case WaitKind::Other:
    return "waits";
  case WaitKind::None:
    break;
  }
  return "runs in a loop that nothing ends";
}

static std::string rangeOf(const std::vector<uint32_t> &warps) {
  std::string text;
  for (size_t i = 0; i < warps.size();) {
    size_t j = i;
    while (j + 1 < warps.size() && warps[j + 1] <= warps[j] + 1)
      ++j;
    text += text.empty() ? "" : ",";
    text += warps[i] == warps[j] ? print("%u", warps[i]) : print("%u-%u", warps[i], warps[j]);
    i = j + 1;
  }
  return text;
}

/// The lines of one CTA.
static void describe(Machine &machine, const Cta &cta, std::vector<std::string> &lines) {
  std::map<std::string, std::vector<uint32_t>> groups;
  std::vector<uint32_t> ended;
  for (const auto &warp : cta.warps) {
    if (!warp->live)
      ended.push_back(warp->index);
    for (const Split &split : warp->splits) {
      const Step &step = split.activation->code->steps[split.pc];
      std::string text = print("%s:%u:%u %s", split.activation->code->name.c_str(), step.line, step.column,
                               machine.opcodeOf(step).c_str());
      if (split.lanes != warp->present)
        text += print(" (lanes 0x%08x)", split.lanes);
      groups[text + ": " + reasonOf(cta, split)].push_back(warp->index);
    }
  }
  for (const auto &[text, warps] : groups)
    lines.push_back(print("  cta (%u,%u,%u) warp %s at ", cta.id.x, cta.id.y, cta.id.z, rangeOf(warps).c_str()) + text);
  if (!ended.empty())
    lines.push_back(print("  cta (%u,%u,%u) warp %s: ended", cta.id.x, cta.id.y, cta.id.z, rangeOf(ended).c_str()));
}

void Scheduler::reportDeadlock(bool isLivelock) {
  std::vector<std::string> lines;
  for (const Cta *cta : resident)
    describe(machine, *cta, lines);
  std::string picture;
  for (size_t i = 0; i < lines.size() && i < kMaxLines; ++i)
    picture += "\n" + lines[i];
  if (lines.size() > kMaxLines)
    picture += print("\n  ... and %zu more", lines.size() - kMaxLines);
  if (nextCluster < clusterCount)
    picture += print("\n  %llu of %llu ctas have not started: the others hold the sms",
                     (unsigned long long)((clusterCount - nextCluster) * machine.spec.cluster.count()),
                     (unsigned long long)machine.spec.grid.count());
  Warp *first = nullptr;
  for (auto &warp : resident.front()->warps)
    if (warp->live && !first)
      first = warp.get();
  const Split &split = first->splits.front();
  const Step &step = split.activation->code->steps[split.pc];
  const char *kind = isLivelock ? "livelock" : "deadlock";
  Finding finding;
  finding.kind = kind;
  finding.kernel = split.activation->code->name;
  finding.line = step.line;
  finding.column = step.column;
  finding.cta = first->cta->id;
  finding.thread = first->threadId(unsigned(__builtin_ctz(split.lanes)));
  finding.address = split.wait.kind == WaitKind::Mbarrier ? split.wait.object : 0;
  finding.message = print("kernel %s, line %u:%u: %s: no warp can ever go on", machine.entry.name.c_str(), step.line,
                          step.column, kind) +
                    picture;
  machine.setError(Error(ErrorCode::Input, finding.message));
  machine.result.findings.push_back(std::move(finding));
}
