// Faults, findings, and the queue of asynchronous operations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Placement and turns are in Scheduler.cpp, memory in Resolve.cpp.
#include "Emulator/Exec/Machine.h"
#include "Emulator/Exec/Barriers.h"
#include "Emulator/Exec/Scheduler.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

using namespace weft;
using namespace weft::emu;
using bundle::ErrorCode;

Machine::Machine(const Card &card, GlobalMemory &global, const ModuleCode &module, const FunctionCode &entry,
                 const LaunchSpec &spec, LaunchResult &result)
    : card(card), global(global), module(module), entry(entry), spec(spec), result(result), random(spec.options.seed) {
  parameters.resize(entry.parameterBytes);
  if (spec.parameterBytes)
    std::memcpy(parameters.data(), spec.parameters, std::min(parameters.size(), spec.parameterBytes));
}

Machine::~Machine() = default;

//===--------------------------------------------------------------------------------------------------------------===//
// Faults and findings
//===--------------------------------------------------------------------------------------------------------------===//

const FunctionCode &Machine::functionOf(const Step &step) const {
  for (const FunctionCode &code : module.functions)
    if (!code.steps.empty() && &step >= code.steps.data() && &step < code.steps.data() + code.steps.size())
      return code;
  return entry;
}

static std::string format(const char *text, va_list arguments) {
  char buffer[1024];
  vsnprintf(buffer, sizeof buffer, text, arguments);
  return buffer;
}

std::string Machine::place(const Warp &warp, const Step &step, unsigned lane) const {
  Dim3 cta = warp.cta->id;
  Dim3 thread = warp.threadId(lane < 32 ? lane : 0);
  char buffer[512];
  int used =
      snprintf(buffer, sizeof buffer, "kernel %s, line %u:%u, %s, cta (%u,%u,%u), ", functionOf(step).name.c_str(),
               step.line, step.column, opcodeOf(step).c_str(), cta.x, cta.y, cta.z);
  if (used < 0 || size_t(used) >= sizeof buffer)
    return buffer;
  if (lane < 32)
    snprintf(buffer + used, sizeof buffer - size_t(used), "thread (%u,%u,%u)", thread.x, thread.y, thread.z);
  else
    snprintf(buffer + used, sizeof buffer - size_t(used), "warp %u", warp.index);
  return buffer;
}

Outcome Machine::fault(Warp &warp, const Step &step, unsigned lane, const char *text, ...) {
  if (error)
    return Outcome::Fault;
  va_list arguments;
  va_start(arguments, text);
  std::string message = format(text, arguments);
  va_end(arguments);
  error = Error(ErrorCode::Input, place(warp, step, lane) + ": " + message);
  return Outcome::Fault;
}

void Machine::find(std::string_view kind, Warp &warp, const Step &step, unsigned lane, uint64_t address,
                   const char *text, ...) {
  for (Finding &known : result.findings) {
    if (known.line != step.line || known.column != step.column || known.kind != kind)
      continue;
    ++known.count;
    return;
  }
  if (result.findings.size() >= kMaxFindings)
    return;
  va_list arguments;
  va_start(arguments, text);
  std::string message = format(text, arguments);
  va_end(arguments);
  Finding finding;
  finding.kind = std::string(kind);
  finding.kernel = functionOf(step).name;
  finding.line = step.line;
  finding.column = step.column;
  finding.cta = warp.cta->id;
  finding.thread = warp.threadId(lane < 32 ? lane : unsigned(__builtin_ctz(warp.present)));
  finding.address = address;
  finding.message = place(warp, step, lane) + ": " + message;
  if (spec.options.stopsAtFinding && !error)
    error = Error(ErrorCode::Input, finding.message);
  result.findings.push_back(std::move(finding));
}

void Machine::lanesExited(Warp &warp, LaneMask mask) {
  Cta &cta = *warp.cta;
  uint32_t count = uint32_t(__builtin_popcount(mask));
  observe([&](Observer &observer) { observer.lanesExited(warp, mask); });
  progress();
  cta.liveThreads -= count;
  cta.cluster->liveThreads -= count;
  // Those that had arrived at the cluster's barrier without waiting are not counted twice.
  forLanes(mask & warp.clusterArrived, [&](unsigned lane) {
    if (warp.clusterPhase[lane] == cta.cluster->phase)
      --cta.cluster->arrived;
  });
  warp.clusterArrived &= ~mask;
  recheckBarriers(cta);
  recheckCluster(*cta.cluster);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Asynchronous operations
//===--------------------------------------------------------------------------------------------------------------===//

/// How many turns' worth of the resident warps an operation takes at most, when its moment is drawn.
static constexpr uint32_t kStepsPerWarp = 192;

bool Machine::issue(std::shared_ptr<AsyncOp> op) {
  op->id = nextOp++;
  observe([&](Observer &observer) { observer.asyncIssued(*op); });
  if (spec.options.timing == AsyncTiming::Early)
    return perform(*op);
  op->due = ~uint64_t(0);
  if (spec.options.timing == AsyncTiming::Random) {
    op->due = time + 1 + random.below(kStepsPerWarp * std::max<uint32_t>(residentWarps, 1));
    nextDue = std::min(nextDue, op->due);
  }
  queue.push_back(std::move(op));
  return true;
}

bool Machine::perform(AsyncOp &op) {
  if (op.isDone)
    return true;
  // Chains may be long: the oldest one that has not been done goes first.
  for (;;) {
    AsyncOp *first = &op;
    while (first->previous && !first->previous->isDone)
      first = first->previous.get();
    first->previous.reset();
    first->isDone = true;
    if (!first->perform(*this))
      return false;
    progress();
    observe([&](Observer &observer) { observer.asyncDone(*first); });
    if (first == &op)
      return true;
  }
}

void Machine::sweepQueue() {
  queue.erase(std::remove_if(queue.begin(), queue.end(), [](const auto &op) { return op->isDone; }), queue.end());
  nextDue = ~uint64_t(0);
  for (const auto &op : queue)
    nextDue = std::min(nextDue, op->due);
}

bool Machine::force(AsyncOp &op) { return perform(op); }

bool Machine::performDueNow() {
  // perform() may issue more: indices, not iterators.
  for (size_t i = 0; i < queue.size(); ++i) {
    std::shared_ptr<AsyncOp> op = queue[i];
    if (op->due <= time && !perform(*op))
      return false;
  }
  sweepQueue();
  return true;
}

bool Machine::performOldest() {
  sweepQueue();
  if (queue.empty())
    return false;
  std::shared_ptr<AsyncOp> op = queue.front();
  bool isGood = perform(*op);
  sweepQueue();
  return isGood;
}

bool Machine::forceAll(const Cta &cta) {
  for (size_t i = 0; i < queue.size(); ++i) {
    std::shared_ptr<AsyncOp> op = queue[i];
    if (op->cta == &cta && !perform(*op))
      return false;
  }
  sweepQueue();
  return true;
}
