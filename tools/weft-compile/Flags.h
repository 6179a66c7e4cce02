// Flags of weft-compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_COMPILE_FLAGS_H
#define WEFT_TOOLS_WEFT_COMPILE_FLAGS_H

#include "ImportFlags.h"
#include "weft/Pipelines/Compile.h"

namespace weft::tools {

/// Construct one in `main` before parsing the command line.
struct CompileFlags : ImportFlags {
  cl::OptionCategory compileCategory{"Compilation"};
  cl::opt<std::string> input{cl::Positional, cl::Required, cl::value_desc("model"),
                             cl::desc("model.onnx, or .mlir to go on from"), cl::cat(compileCategory)};
  cl::opt<std::string> output{"o", cl::value_desc("file"),
                              cl::desc("Output (default: the model's name with .weft; - is stdout for text)"),
                              cl::cat(compileCategory)};
  cl::opt<std::string> target{
      "target", cl::init("cpu"), cl::value_desc("list"), cl::cat(compileCategory),
      cl::desc("Targets, separated by commas: cpu, sm_80, sm_86, sm_89, sm_90a, or a device such "
               "as H100, A100-40, RTX4090")};
  cl::opt<std::string> deviceTable{
      "device-table", cl::value_desc("file"), cl::cat(compileCategory),
      cl::desc("GPU: measured rates of the card, as `weft calibrate` wrote them, for the cost models")};
  cl::opt<double> launchCost{
      "launch-cost", cl::value_desc("us"), cl::cat(compileCategory),
      cl::desc("GPU: what one kernel more costs, 0 to 1000 us, in place of the device table's 3 (a kernel of a CUDA "
               "graph): more where programs are not captured in graphs, or for the fewest kernels")};
  cl::opt<std::string> fallback{
      "fallback", cl::init("error"), cl::cat(compileCategory),
      cl::desc("An op that a GPU target cannot do: error, or allow (the model runs on the CPU instead)")};
  cl::opt<std::string> cpuName{"cpu", cl::init("native"),
                               cl::desc("CPU: native, x86-64-v2, x86-64-v3, x86-64-v4 or x86-64-v4-vnni"),
                               cl::cat(compileCategory)};
  cl::opt<std::string> ptxas{
      "ptxas", cl::init("auto"), cl::value_desc("what"), cl::cat(compileCategory),
      cl::desc("NVIDIA's assembler, which checks GPU code: auto (if it is on the PATH, in CUDA_HOME, "
               "CUDA_PATH or /usr/local/cuda), off, or its path")};
  cl::opt<std::string> fp{"fp", cl::init("strict"), cl::cat(compileCategory),
                          cl::desc("Floating point: strict (each op rounds once; only an op's own sum is split, into "
                                   "vectors of partial sums), or fast (fastmath everywhere)")};
  cl::opt<bool> allowTf32{"allow-tf32", cl::desc("GPU: f32 contractions may round their operands to tf32"),
                          cl::cat(compileCategory)};
  cl::opt<std::string> dependentLaunch{
      "dependent-launch", cl::init(weft::GpuOptions().dependentLaunch ? "on" : "off"), cl::cat(compileCategory),
      cl::desc("sm_90 and up: on (kernels start while the one before still runs, and wait for it), or off")};
  cl::opt<std::string> traversal{"traversal", cl::value_desc("order"), cl::cat(compileCategory),
                                 cl::desc("GPU: order of the tiles of products and folds, such as row, grouped<8>, "
                                          "hilbert or table<...> (docs/traversal.md); "
                                          "default: the model's choice for each kernel")};
  cl::opt<std::string> weights{
      "weights", cl::init("embed"),
      cl::desc("Weights: embed, external (by reference to the model's files), or omit (a bundle "
               "that explains itself and does not run)"),
      cl::cat(compileCategory)};
  cl::opt<std::string> mergeLaunches{
      "merge-launches", cl::init("on"), cl::cat(compileCategory),
      cl::desc(
          "GPU: kernels that start as one: on (those that do not need each other, and those that do where the model "
          "says that it pays), levels (only the first), chains (all that can), or off")};
  cl::opt<unsigned> variants{
      "variants", cl::init(weft::PhaseOptions().mostVariants), cl::value_desc("count"), cl::cat(compileCategory),
      cl::desc(
          "GPU: the most plans for intervals of a dimension whose extent is not fixed, of which the run takes the "
          "one for its extent, 1 to 16 (default: as many as have 64 kernels together, at most 8; docs/symbols.md)")};
  cl::opt<std::string> planner{
      "planner", cl::init("weft"), cl::value_desc("name"), cl::cat(compileCategory),
      cl::desc("Who chooses which ops share a kernel, of what the rules allow: weft, dnnfusion, tvm-rules, or exact "
               "(docs/explain.md)")};
  cl::list<std::string> noFuse{
      "no-fuse", cl::ValueOptional, cl::value_desc("A,B"), cl::cat(compileCategory),
      cl::desc(
          "Nodes that share no kernel: A alone with nothing, A,B not with each other (* stands for any text); without "
          "a value, one kernel an op")};
  cl::list<std::string> forceFuse{
      "force-fuse", cl::value_desc("A,B"), cl::cat(compileCategory),
      cl::desc("Nodes that share a kernel, with what lies between, or an error that says why not")};
  cl::opt<std::string> plan{"plan", cl::value_desc("file"), cl::cat(compileCategory),
                            cl::desc("Which ops share a kernel, as --emit-plan wrote it for this model and target")};
  cl::opt<std::string> records{
      "records", cl::value_desc("file"), cl::cat(compileCategory),
      cl::desc("Schedules and times that were measured, as `weft tune` wrote them, in place of the planner's estimates "
               "(docs/records.md); shipped: those that come with Weft, of an H100")};
  cl::opt<std::string> emitPlan{"emit-plan", cl::value_desc("file"), cl::cat(compileCategory),
                                cl::desc("Write the plan: the program with its kernels, to edit and give to --plan")};
  cl::opt<std::string> emit{
      "emit", cl::init("bundle"), cl::value_desc("what"), cl::cat(compileCategory),
      cl::desc(
          "bundle, mlir:PHASE, ptx, llvm, asm, obj, or candidates (a folder of what `weft tune` times); PHASE: import, "
          "normalize, group, outline, plan, lower")};
  cl::opt<unsigned> candidates{"candidates", cl::init(12), cl::value_desc("count"), cl::cat(compileCategory),
                               cl::desc("--emit=candidates: the most schedules of a kernel, 1 to 64")};
  cl::opt<std::string> compileTo{"compile-to", cl::value_desc("phase"), cl::desc("Same as --emit=mlir:PHASE"),
                                 cl::cat(compileCategory)};
  cl::opt<std::string> compileFrom{"compile-from", cl::init("import"), cl::value_desc("phase"),
                                   cl::desc("Phase that a .mlir input has been through"), cl::cat(compileCategory)};
  cl::opt<std::string> dump{"dump", cl::value_desc("folder"), cl::desc("Write the module after each phase there"),
                            cl::cat(compileCategory)};
  cl::opt<std::string> remarks{
      "remarks", cl::value_desc("categories"), cl::cat(compileCategory),
      cl::desc("Print the compiler's remarks of these categories (a regular expression: fusion, "
               "plan, layout; .* for all)")};
  cl::opt<std::string> explain{"explain", cl::init("on"), cl::cat(compileCategory),
                               cl::desc("What `weft explain` reads, in the bundle: on, or off")};
  cl::opt<std::string> progress{
      "progress", cl::init("auto"), cl::value_desc("when"), cl::cat(compileCategory),
      cl::desc("Say on stderr what is being done: auto (after 5 s, if that is a terminal), on (always), or off")};
  cl::opt<bool> timeReport{"time-report", cl::desc("Print the time of each phase"), cl::cat(compileCategory)};
  cl::opt<unsigned> threads{"threads", cl::init(0), cl::desc("Threads (0: one a core)"), cl::cat(compileCategory)};
  cl::opt<std::string> diagFormat{"diag-format", cl::init("text"), cl::desc("Problems as text or json"),
                                  cl::cat(compileCategory)};
  cl::opt<bool> quiet{"quiet", cl::desc("No summary"), cl::cat(compileCategory)};
};

} // namespace weft::tools

#endif // WEFT_TOOLS_WEFT_COMPILE_FLAGS_H
