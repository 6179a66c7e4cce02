// The options of a compilation: those of `weft compile`, which the C API takes as the same texts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COMPILER_COMPILEOPTIONS_H
#define WEFT_COMPILER_COMPILEOPTIONS_H

#include "weft/Compiler/ImportFlags.h"
#include "weft/Pipelines/Compile.h"

namespace weft {

struct CompileOptions : ImportFlags {
  FlagCategory compileCategory{*this, "Compilation"};
  Flag<std::string> target{*this, "target", "cpu", "list",
                           "Targets, separated by commas: cpu, sm_80, sm_86, sm_89, sm_90a, sm_120, or a device such "
                           "as H100, A100-40, RTX4090"};
  Flag<std::string> deviceTable{*this, "device-table", "", "file",
                                "GPU: measured rates of the GPU, as `weft calibrate` wrote them, for the cost models"};
  Flag<double> launchCost{
      *this, "launch-cost", 0, "us",
      "GPU: what one more kernel costs, 0 to 1000 us, in place of the device table's 3 (a kernel of a CUDA graph): "
      "more where programs are not captured in graphs, or for the fewest kernels"};
  Flag<std::string> fallback{*this, "fallback", "error", "",
                             "An op that a GPU target cannot do: error, or allow (the model runs on the CPU instead)"};
  Flag<std::string> cpuName{*this, "cpu", "native", "",
                            "CPU: native, x86-64-v2, x86-64-v3, x86-64-v4 or x86-64-v4-vnni"};
  Flag<std::string> ptxas{*this, "ptxas", "auto", "what",
                          "NVIDIA's assembler, which checks GPU code: auto (if it is on the PATH, in CUDA_HOME, "
                          "CUDA_PATH or /usr/local/cuda), off, or its path"};
  Flag<std::string> fp{*this, "fp", "strict", "",
                       "Floating point: strict (each op rounds once; only an op's own sum is split, into vectors of "
                       "partial sums), or fast (fastmath everywhere)"};
  Flag<bool> allowTf32{*this, "allow-tf32", false, "", "GPU: f32 contractions may round their operands to tf32"};
  Flag<std::string> dependentLaunch{
      *this, "dependent-launch", weft::GpuOptions().dependentLaunch ? "on" : "off", "",
      "sm_90 and up: on (kernels start while the one before still runs, and wait for it), or off"};
  Flag<std::string> traversal{*this, "traversal", "", "order",
                              "GPU: order of the tiles of GEMMs and folds, such as row, grouped<8>, hilbert or "
                              "table<...> (docs/traversal.md); default: the model's choice for each kernel"};
  Flag<std::string> weights{
      *this, "weights", "embed", "",
      "Weights: embed, external (by reference to the model's files or the caller's buffers), or omit "
      "(a bundle that explains itself and does not run)"};
  Flag<std::string> mergeLaunches{
      *this, "merge-launches", "on", "",
      "GPU: kernels that start as one: on (those that do not need each other, and those that do where the model says "
      "that it pays), independent (only the first), chains (all that can), or off"};
  Flag<unsigned> variants{
      *this, "variants", weft::PhaseOptions().mostVariants, "count",
      "GPU: the most plans for intervals of a dimension whose extent is not fixed, of which the run takes the one for "
      "its extent, 1 to 16 (default: as many as have 64 kernels together, at most 8; docs/symbols.md)"};
  Flag<std::string> mesh{*this, "mesh", "", "name:ranks",
                         "The program of several ranks, a process and a GPU each, as tp:4: split as --shard says, "
                         "or as the cost model finds (docs/multi-gpu.md)"};
  FlagList shard{*this, "shard", FlagList::Commas, "pattern:dim",
                 "Nodes, weights, inputs and outputs whose names match the pattern (* stands for any text) are split "
                 "over the ranks of --mesh along a dimension (of a node's result; -1: the last one), and what follows "
                 "from that is, too"};
  Flag<std::string> link{
      *this, "link", "", "GB/s:us",
      "Links of --mesh, instead of the device table's: what a rank sends in a second, and the time of a "
      "collective beside its bytes, as 450:6"};
  Flag<std::string> overlap{*this, "overlap", "on", "",
                            "--mesh: collectives beside kernels, in parts of rows beside their GEMMs: on (where the "
                            "model says that it pays), "
                            "off, or a number of parts for all"};
  Flag<std::string> planner{*this, "planner", "weft", "name",
                            "Who chooses which ops share a kernel, of what the rules allow: weft, dnnfusion, "
                            "tvm-rules, or exact (docs/explain.md)"};
  FlagList noFuse{*this,
                  "no-fuse",
                  FlagList::None,
                  "A,B",
                  "Nodes that share no kernel: A alone with nothing, A,B not with each other (* stands for any text); "
                  "without a value, one kernel an op",
                  FlagBase::Takes::Perhaps};
  FlagList forceFuse{*this, "force-fuse", FlagList::None, "A,B",
                     "Nodes that share a kernel, with all between, or an error that says why not"};
  Flag<std::string> plan{*this, "plan", "", "file",
                         "Which ops share a kernel, as --emit-plan wrote it for this model and target"};
  Flag<std::string> records{*this, "records", "", "file",
                            "Schedules and times that were measured, as `weft tune` wrote them, in place of the "
                            "planner's estimates (docs/records.md); shipped: those that come with Weft, of an H100"};
  Flag<std::string> emitPlan{*this, "emit-plan", "", "file",
                             "Write the plan: the program with its kernels, to edit and give to --plan"};
  Flag<std::string> emit{*this, "emit", "bundle", "what",
                         "bundle, mlir:PHASE, ptx, llvm, asm, obj, or candidates (a folder of what `weft tune` times); "
                         "PHASE: import, normalize, group, outline, plan, lower"};
  Flag<unsigned> candidates{*this, "candidates", 12, "count",
                            "--emit=candidates: the most schedules of a kernel, 1 to 64"};
  Flag<std::string> compileTo{*this, "compile-to", "", "phase", "Same as --emit=mlir:PHASE"};
  Flag<std::string> compileFrom{*this, "compile-from", "import", "phase", "Phase that a .mlir input has been through"};
  Flag<std::string> dump{*this, "dump", "", "folder", "Write the module after each phase there"};
  Flag<std::string> remarks{
      *this, "remarks", "", "categories",
      "Print the compiler's remarks of these categories (a regular expression: fusion, plan, layout; .* for all)"};
  Flag<std::string> explain{*this, "explain", "on", "", "What `weft explain` reads, in the bundle: on, or off"};
  Flag<unsigned> threads{*this, "threads", 0, "", "Threads (0: one a core)"};
};

} // namespace weft

#endif // WEFT_COMPILER_COMPILEOPTIONS_H
