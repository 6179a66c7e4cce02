// weft-explain: a model's explanation, read from a bundle, completed by the cost models, and its forms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_EXPLAIN_EXPLAIN_H
#define WEFT_TOOLS_EXPLAIN_EXPLAIN_H

#include "weft/Bundle/Error.h"
#include "weft/Plan/Cost/Counters.h"
#include "weft/Target/DeviceTable.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft::explain {

/// What the cost models know of a kernel, or of one of several that start as one.
struct Launch {
  const llvm::json::Object *source = nullptr;
  double bytes = 0; ///< Of its tensors; the rest of the kernel's is read or written once.
  plan::Counters predicted;
};

/// Bytes and operations may be estimates, for the symbols of Program::assumed.
struct Dispatch {
  int64_t kernelId = -1;
  std::string kernel;
  std::vector<std::string> nodes, ops;
  std::string grid, tile, traversal, engine, fallback;
  /// What records call the group of ops and, as planned, the kernel (docs/records.md); and its #tg.schedule.
  std::string subgraph, kernelSubgraph, schedule;
  std::vector<std::string> shapes, kernelShapes;
  double flops = 0, readBytes = 0, writeBytes = 0;
  std::vector<Launch> launches; ///< Of its kernels, those whose kind the cost models know.
  bool hasParts = false;        ///< Several kernels start as one.

  // By the models.
  double boundBytes = 0, compulsoryBytes = 0, modelBytes = 0;
  std::optional<double> hitRate; ///< Per cent.
  const char *boundBy = "";      ///< "memory", "compute", or empty without a device.
  double seconds = 0;            ///< At the device's peak rates; 0 without a device.
  double plannedSeconds = 0;     ///< By the model that chose the schedule; 0 where it has no price.
  plan::Counters measured;
};

struct Edge {
  std::string producerNode, consumerNode, producerOp, consumerOp;
  int64_t producerDispatch = -1, consumerDispatch = -1;
  bool isFused = false;
  bool isInFold = false;  ///< Both ops are inside of one fold, which is one op to the planner.
  std::string reason;     ///< Of an edge that is not fused.
  double bytes = -1;      ///< -1: the pair shares an operand, no tensor goes along it.
  double savedBytes = -1; ///< By fusing it, or lost by not doing so.
  /// Where the tensor is between the two: "register", "shared", "cluster", "cache", "L2", "memory"; empty where none
  /// goes along it.
  std::string level;
  std::string levelReason;
  double tileBytes = -1; ///< Of it, what a tile of the kernel holds; -1: not known.
};

/// Edges whose tensors are on one level.
struct LevelTotal {
  std::string level;
  int64_t edges = 0;
  double bytes = 0;
};

/// A transient buffer of the memory plan.
struct Buffer {
  int64_t size = 0, offset = 0;
  int64_t first = 0, last = 0; ///< Dispatches.
};

struct Remark {
  std::string kind, name, category, function, node, text;
};

struct Summary {
  double nodes = 0, ops = 0, flops = 0, unfusedFlops = 0, unfusedBytes = 0, fusedBytes = 0, intermediateBytes = 0,
         keptIntermediateBytes = 0;
};

/// Who chose the groups, and what its model says of them. Groups are not kernels: passes may cut or join them.
struct PlannerNote {
  std::string name; ///< Empty: not known.
  double ops = 0, groups = 0, microseconds = 0, unfusedMicroseconds = 0;
};

/// What a kernel is, as outlined, and what it became; long texts are cut off.
struct KernelText {
  std::string name, ir, ptx;
};

struct Program {
  std::string target, interval; ///< Of a variant: of which values of which symbol.
  int64_t firstDispatch = 0;    ///< Among those of the program that it is a variant of.
  const Device *device = nullptr;
  bool hasPlan = false; ///< Compiled from a model; otherwise edges and the summary are empty.
  /// What symbols of the inputs' extents count as in all estimates; `sN` of a grid is entry N. Empty names: not known.
  std::vector<std::pair<std::string, int64_t>> assumed;
  Summary summary;
  PlannerNote planner;
  int64_t kernels = 0; ///< Distinct ones.
  std::vector<Dispatch> dispatches;
  std::vector<KernelText> texts; ///< Of distinct kernels.
  std::vector<Edge> edges;
  std::vector<Remark> remarks;
  double edgesLeftOut = 0, remarksLeftOut = 0;
  std::vector<Buffer> buffers;
  int64_t arenaBytes = 0, unsharedBytes = 0;
  std::string memoryNote; ///< Why there is no memory plan.
};

struct Model {
  std::string name, version;
  std::vector<Program> programs;
  llvm::json::Value source = nullptr; ///< What was read; dispatches point into it.
};

/// Two compiles of a model, of the same target. Pointers go into the models.
struct Total {
  const char *name; ///< A field of the JSON; "bytes", "flops" and "seconds" have these units.
  double before, now;
};
struct ProgramDiff {
  std::string target;
  std::vector<Total> totals;
  std::vector<std::pair<const Edge *, const Edge *>> edges; ///< Fused in one of the two: before, now.
  /// Before and now: null where the other has no kernel of the same nodes.
  std::vector<std::pair<const Dispatch *, const Dispatch *>> kernels;
};
struct ModelDiff {
  std::string before, now;
  std::vector<ProgramDiff> programs;
};

// Levels.cpp
/// Finds the levels of edges: of those in a kernel the compiler's word, of the others by what moves in between.
void findLevels(Program &program);
/// By level, the nearest to the arithmetic first.
std::vector<LevelTotal> sumUpLevels(const Program &program);

/// Values of symbols; others are 256.
using Symbols = std::map<std::string, int64_t>;

// Load.cpp
/// Reads a bundle that was compiled with its explanation.
bundle::Error loadBundle(const std::string &path, const Symbols &symbols, const DeviceTable &devices, Model &model);
// Compile.cpp
/// Compiles the file `path` into a temporary bundle by the weft-compile in `folder`, with `flags`, and reads that.
bundle::Error compileAndLoad(const std::string &folder, const std::string &path, const std::vector<std::string> &flags,
                             const Symbols &symbols, const DeviceTable &devices, Model &model);
// Predict.cpp
/// Completes dispatches and edges by the cost models. A launch that they refuse is a stream, and has a remark.
void predict(Model &model);
/// Measured values of the program's dispatches, from ncu's CSV or launches with `measured`.
bundle::Error readMeasured(const std::string &path, Program &program);
// Table.cpp
void printTable(const Model &model, llvm::raw_ostream &os);
/// A row for each edge along which a tensor goes: where it is, and why.
void printLevels(const Model &model, llvm::raw_ostream &os);
/// A row for each program of each of `models`, which are one model by several planners.
void printComparison(const std::vector<Model> &models, llvm::raw_ostream &os);
// Why.cpp
/// Answers why two nodes share a kernel, or do not: at most ten lines for each program.
bundle::Error printReason(const Model &model, const std::string &request, llvm::raw_ostream &os);
// Json.cpp
/// Everything, schema "weft.explain/3", with `launches` that the explorer opens; and `diff`, if there is one.
std::string writeJson(const Model &model, const ModelDiff *diff = nullptr);
// Diff.cpp
/// Programs of the same targets; fails if there are none.
bundle::Error compareModels(const Model &before, const Model &now, ModelDiff &diff);
void printDiff(const ModelDiff &diff, llvm::raw_ostream &os);
/// The attribute `diff` of an object.
void writeDiff(const ModelDiff &diff, llvm::json::OStream &out);

/// "3.20 MB", "1.24 GFLOP": 3 digits.
std::string formatBytes(double bytes);
std::string formatFlops(double flops);

} // namespace weft::explain

#endif // WEFT_TOOLS_EXPLAIN_EXPLAIN_H
