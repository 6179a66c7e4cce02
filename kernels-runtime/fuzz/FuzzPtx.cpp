// Fuzzer of the PTX front end.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses arbitrary bytes as PTX and, if they are a module, makes the program of it: layout, binding, control flow,
// liveness, slots. What must hold of any program is checked; it is not run. Seeds: the folder ptx.
#include "Emulator/Program/Build.h"
#include "Emulator/Ptx/Parser.h"

#include <cstdio>
#include <cstdlib>

using namespace weft;
using namespace weft::emu;

static void demand(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// Branches and slots stay inside of their function.
static void check(const FunctionCode &code) {
  demand(!code.steps.empty(), "a function has steps");
  for (const Step &step : code.steps) {
    demand(step.run != nullptr, "a step has a function");
    if ((step.flags & step_flag::Branch) && !(step.flags & step_flag::Indexed))
      demand(step.target < code.steps.size(), "a branch goes to a step");
    if (step.flags & step_flag::Indexed)
      for (uint64_t i = 0; i < step.immediate; ++i)
        demand(code.targets[step.target + i] < code.steps.size(), "an indexed branch goes to steps");
    demand(step.guard == kNoSlot || step.guard < code.frameBytes, "a guard is in the frame");
  }
  const uint8_t lastFlags = code.steps.back().flags;
  demand(lastFlags & (step_flag::Branch | step_flag::End), "control does not run off the last step");
  for (size_t i = 0; i < code.slots.size(); ++i) {
    uint32_t bytes = code.widths[i] == 0 ? 4 : code.widths[i] * 32u;
    if (code.slots[i] != kNoSlot && !(code.slots[i] & kConstantSlot))
      demand(code.slots[i] + bytes <= code.frameBytes, "a slot is in the frame");
  }
}

static Outcome runNothing(Warp &, const Step &, LaneMask) { return Outcome::Next; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  ptx::Module module;
  if (Error error = ptx::parse(std::string_view(reinterpret_cast<const char *>(bytes), size), module))
    return 0;
  std::vector<Placement> globals;
  for (const ptx::Variable &variable : module.variables)
    globals.push_back({uint64_t(1) << 40, variable.size});
  ModuleCode code;
  if (Error error = buildModule(module, globals, {runNothing, runNothing}, code))
    return 0;
  for (const FunctionCode &function : code.functions)
    check(function);
  return 0;
}
