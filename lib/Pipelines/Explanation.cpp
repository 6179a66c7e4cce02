// Remarks and measures of programs, as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Edges are most of it, so they are rows of numbers; names and reasons stand once, in tables. At most `mostEdges` edges
// and `mostRemarks` remarks are kept, the first ones, and `left_out` counts the others: 10,000 nodes have some 15,000
// edges of 40 bytes.
#include "weft/Pipelines/Explanation.h"
#include "EdgeLevels.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Explain/Decisions.h"
#include "weft/Plan/Explain/Facts.h"
#include "weft/Plan/KernelLaunch.h"
#include "weft/Plan/KernelTime.h"
#include "weft/Plan/Passes.h"
#include "weft/Support/InputFile.h"
#include "weft/Target/ChainOrder.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include <mutex>

using namespace mlir;
namespace json = llvm::json;

namespace weft {

static constexpr size_t mostEdges = 1 << 17, mostRemarks = 1 << 14;

namespace {

/// Texts by number.
class TextTable {
public:
  int64_t add(StringRef text) {
    auto [it, isNew] = numbers.try_emplace(text, texts.size());
    if (isNew)
      texts.push_back(json::fixUTF8(text));
    return it->second;
  }
  StringRef get(int64_t number) const { return texts[number].getAsString().value_or(""); }
  json::Array take() { return json::Array(std::exchange(texts, {})); }

private:
  llvm::StringMap<int64_t> numbers;
  std::vector<json::Value> texts;
};

struct Edge {
  int64_t producerNode, consumerNode, producerOp, consumerOp, reason; ///< Of `names`; reason -1: fused.
  int64_t producerGroup, consumerGroup;
  double bytes, savedBytes; ///< -1: no tensor goes along it.
  bool isInFold;
};

struct Remark {
  std::string kind, name, category, function, node, text;
};

struct ProgramNotes {
  const Device *gpu = nullptr;
  TextTable names;
  std::vector<Edge> edges;
  std::vector<Remark> remarks;
  llvm::StringSet<> missed; ///< Nodes and texts of those of what was not done.
  size_t edgesLeftOut = 0;
  json::Object planner; ///< What formed the groups, how many, and what they cost by its model.
  /// Numbers of groups by the location of their kernels, in order.
  using Groups = llvm::DenseMap<Location, SmallVector<int64_t, 1>>;
  Groups groups;
  EdgeLevels levels;
  llvm::StringMap<plan::KernelFacts> kernels;
  llvm::StringMap<std::string> texts; ///< Kernels as they were outlined, without large constants.
  std::vector<plan::DispatchFacts> dispatches;
  std::string interval;                ///< Of a variant of the program before it.
  std::optional<json::Object> written; ///< Of a variant: when it is lowered, since it becomes a part of the program.
};

/// The most of one kernel's text, and of all of a program's.
constexpr size_t mostText = 16 << 10, mostTexts = 1 << 20;

std::string printKernel(ModuleOp kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(16).useLocalScope();
  if (auto function = kernel.lookupSymbol<func::FuncOp>("kernel"))
    function->print(stream, flags);
  if (text.size() > mostText)
    text = text.substr(0, mostText) + "\n... cut off";
  return text;
}

StringRef findArgument(const remark::detail::Remark &remark, StringRef key) {
  for (const remark::detail::Remark::Arg &argument : remark.getArgs())
    if (argument.key == key)
      return argument.val;
  return "";
}

int64_t toNumber(StringRef text, int64_t otherwise) {
  int64_t value;
  return text.getAsInteger(10, value) ? otherwise : value;
}

Edge readEdge(const remark::detail::Remark &remark, TextTable &names) {
  Edge edge;
  edge.producerOp = names.add(findArgument(remark, "producer"));
  edge.consumerOp = names.add(findArgument(remark, "consumer"));
  edge.producerNode = names.add(findArgument(remark, "producer-node"));
  edge.consumerNode = names.add(findArgument(remark, "consumer-node"));
  bool isFused = remark.getRemarkName() == "fused";
  edge.reason = isFused ? -1 : names.add(findArgument(remark, "Remark"));
  auto [first, second] = findArgument(remark, "kernels").split(',');
  edge.producerGroup = toNumber(isFused ? findArgument(remark, "kernel") : first, -1);
  edge.consumerGroup = isFused ? edge.producerGroup : toNumber(second, -1);
  edge.bytes = double(toNumber(findArgument(remark, "bytes"), -1));
  edge.savedBytes = double(toNumber(findArgument(remark, "saved-bytes"), -1));
  edge.isInFold = !findArgument(remark, "inside").empty();
  return edge;
}

json::Object readPlanner(const remark::detail::Remark &remark) {
  json::Object planner{{"name", findArgument(remark, "planner").str()}};
  for (StringRef key : {"ops", "groups"})
    planner[key] = toNumber(findArgument(remark, key), 0);
  for (auto [key, field] : {std::pair("us", "us"), std::pair("unfused-us", "unfused_us")}) {
    double value = 0;
    (void)findArgument(remark, key).getAsDouble(value);
    planner[field] = value;
  }
  return planner;
}

/// All arguments, the text first.
std::string printArguments(const remark::detail::Remark &remark) {
  std::string text = findArgument(remark, "Remark").str();
  for (const remark::detail::Remark::Arg &argument : remark.getArgs())
    if (argument.key != "Remark")
      text += (text.empty() ? "" : ", ") + argument.key + "=" + argument.val;
  return text;
}

} // namespace

//===--- Groups and dispatches ---===//

/// What a location is made of.
static llvm::SmallSetVector<Location, 8> leavesOf(Location location) {
  llvm::SmallSetVector<Location, 8> leaves;
  location->walk([&](Location part) {
    if (!isa<FusedLoc>(part))
      leaves.insert(part);
    return WalkResult::advance();
  });
  return leaves;
}

/// Numbers of dispatches by numbers of groups: a kernel keeps its location, unless later passes put several into one,
/// whose location has the parts of all.
static std::vector<int64_t> mapGroups(ModuleOp module, ProgramNotes::Groups groups) {
  std::vector<int64_t> dispatchOf;
  auto assign = [&](int64_t group, int64_t dispatch) {
    if (group < 0)
      return;
    dispatchOf.resize(std::max(dispatchOf.size(), size_t(group) + 1), -1);
    dispatchOf[group] = dispatch;
  };
  llvm::DenseMap<Location, SmallVector<int64_t, 2>> dispatchesWith;
  int64_t number = 0;
  for (auto main : module.getOps<func::FuncOp>())
    for (tg::DispatchOp dispatch : main.getOps<tg::DispatchOp>()) {
      SmallVector<int64_t, 1> &waiting = groups[dispatch.getLoc()];
      if (!waiting.empty()) {
        assign(waiting.front(), number);
        waiting.erase(waiting.begin());
      }
      for (Location leaf : leavesOf(dispatch.getLoc()))
        dispatchesWith[leaf].push_back(number);
      ++number;
    }
  for (auto &[location, waiting] : groups) {
    if (waiting.empty())
      continue;
    auto leaves = leavesOf(location);
    for (int64_t candidate : dispatchesWith.lookup(leaves.empty() ? location : leaves.front()))
      if (llvm::all_of(leaves,
                       [&](Location leaf) { return llvm::is_contained(dispatchesWith.lookup(leaf), candidate); })) {
        for (int64_t group : waiting)
          assign(group, candidate);
        break;
      }
  }
  return dispatchOf;
}

//===--- What the phases say ---===//

struct Explanation::State {
  std::mutex mutex;
  std::vector<std::unique_ptr<ProgramNotes>> programs;
  ProgramNotes shared; ///< Up to Normalize.
  plan::UnfusedFacts unfused;
  int64_t nodes = 0;
  bool isListening = true;

  ProgramNotes &current() { return programs.empty() ? shared : *programs.back(); }

  void add(const remark::detail::Remark &remark) {
    std::lock_guard lock(mutex);
    if (!isListening)
      return;
    ProgramNotes &notes = current();
    StringRef name = remark.getRemarkName();
    if (remark.getCategoryName() == "fusion" && (name == "fused" || name == "not-fused")) {
      if (notes.edges.size() < mostEdges)
        notes.edges.push_back(readEdge(remark, notes.names));
      else
        ++notes.edgesLeftOut;
      return;
    }
    if (remark.getCategoryName() == "fusion" && name == "kernel") {
      notes.groups[remark.getLocation()].push_back(toNumber(findArgument(remark, "kernel"), -1));
      return;
    }
    if (remark.getCategoryName() == "fusion" && name == "planner") {
      if (remark.getFunction() == "main")
        notes.planner = readPlanner(remark);
      return;
    }
    if (remark.getCategoryName() == "levels") {
      notes.levels.add(remark.getFunction(),
                       {plan::findNodeName(remark.getLocation()).str(), findArgument(remark, "op").str(),
                        findArgument(remark, "readers").str(), findArgument(remark, "level").str(),
                        findArgument(remark, "reason").str(), toNumber(findArgument(remark, "bytes"), -1),
                        toNumber(findArgument(remark, "tensor-bytes"), -1)});
      return;
    }
    Remark row{remark.getRemarkTypeString().str(),
               name.str(),
               remark.getCombinedCategoryName().str(),
               remark.getFunction().str(),
               plan::findNodeName(remark.getLocation()).str(),
               printArguments(remark)};
    // A pass that runs again misses the same again.
    bool isMissed = remark.getRemarkType() == llvm::remarks::Type::Missed;
    if (isMissed && !notes.missed.insert(row.node + '\n' + row.text).second)
      return;
    notes.remarks.push_back(std::move(row));
  }
};

static json::Object writeProgram(ProgramNotes &notes, ModuleOp module, const ProgramNotes &shared,
                                 const plan::UnfusedFacts &unfused, int64_t nodes);

namespace {
class Streamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Streamer(std::function<void(const remark::detail::Remark &)> add) : add(std::move(add)) {}
  void streamOptimizationRemark(const remark::detail::Remark &remark) override { add(remark); }

private:
  std::function<void(const remark::detail::Remark &)> add;
};
} // namespace

Explanation::Explanation() : state(std::make_unique<State>()) {}
Explanation::~Explanation() = default;

std::unique_ptr<remark::detail::MLIRRemarkStreamerBase> Explanation::makeStreamer() {
  return std::make_unique<Streamer>([this](const remark::detail::Remark &remark) {
    if (llvm::Regex(categories).match(remark.getCategoryName()))
      state->add(remark);
  });
}

void Explanation::beginProgram(const Device *gpu) {
  state->programs.push_back(std::make_unique<ProgramNotes>());
  state->programs.back()->gpu = gpu;
}

void Explanation::beginVariant(StringRef interval) {
  auto variant = std::make_unique<ProgramNotes>();
  variant->gpu = state->current().gpu;
  variant->interval = interval;
  state->programs.push_back(std::move(variant));
}

void Explanation::setListening(bool listens) {
  std::lock_guard lock(state->mutex);
  state->isListening = listens;
}

void Explanation::measureModel(ModuleOp normalized, int64_t nodes) {
  state->unfused = plan::measureUnfused(normalized);
  state->nodes = nodes;
}

void Explanation::finishPhase(Phase phase, ModuleOp module) {
  if (state->programs.empty())
    return;
  ProgramNotes &notes = *state->programs.back();
  if (phase == Phase::Lower && !notes.interval.empty())
    notes.written = writeProgram(notes, module, state->shared, state->unfused, state->nodes);
  if (phase != Phase::Outline)
    return;
  size_t bytes = 0;
  for (ModuleOp kernel : module.getOps<ModuleOp>()) {
    notes.kernels[kernel.getSymName().value_or("")] = plan::measureKernel(kernel);
    if (bytes < mostTexts)
      bytes += (notes.texts[kernel.getSymName().value_or("")] = printKernel(kernel)).size();
  }
  notes.dispatches = plan::measureDispatches(module, notes.kernels);
  notes.levels.mapGroups(module, mapGroups(module, notes.groups));
}

//===--- As JSON ---===//

static json::Object writeSchedule(tg::ScheduleAttr schedule) {
  return json::Object{{"tile", json::Array(schedule.getTile())},
                      {"stream", json::Array(schedule.getStream())},
                      {"engine", tg::stringifyEngine(schedule.getEngine())},
                      {"warps", schedule.getWarps()},
                      {"stages", schedule.getStages()},
                      {"persistent", schedule.getPersistent()},
                      {"split", schedule.getSplit()}};
}

/// A product of two matrices or attention in the terms that the explorer can edit; none where the tile is not one of a
/// matrix.
static std::optional<json::Object> nameProblem(const plan::LaunchProblem &problem, tg::ScheduleAttr schedule) {
  ArrayRef<int64_t> tile = schedule.getTile(), stream = schedule.getStream();
  SmallVector<int64_t> sides;
  for (int64_t side : tile)
    if (side > 1 || tile.size() == 2)
      sides.push_back(side);
  bool isRows = schedule.getOrder() == "row" || tile.size() == 2; // Of the same grid as the kernel's.
  if (sides.size() != 2 || stream.size() != 1 || problem.isAttention || !isRows)
    return std::nullopt;
  return json::Object{{"problem", json::Object{{"kind", "gemm"}, {"m", problem.m}, {"n", problem.n}, {"k", problem.k}}},
                      {"tile", json::Object{{"m", sides[0]}, {"n", sides[1]}, {"k", stream[0]}}},
                      {"elementBytes", problem.elementBytes}};
}

/// The launch as the cost models and the explorer take it.
static void writeLaunch(StringAttr text, const plan::KernelFacts &facts, tg::ScheduleAttr schedule,
                        json::Object &object) {
  std::string error;
  std::optional<json::Value> read = parseJson(text ? text.getValue() : StringRef("0"), error);
  json::Object *launch = read ? read->getAsObject() : nullptr;
  if (!launch)
    return;
  object["launch_bytes"] = launch->getNumber("bytes").value_or(0);
  launch->erase("bytes");
  if (facts.problem)
    if (std::optional<json::Object> named = nameProblem(*facts.problem, schedule)) {
      for (auto &[key, value] : *named)
        (*launch)[key] = std::move(value);
      object["launch_bytes"] = facts.problem->bytes;
    }
  object["launch"] = std::move(*launch);
}

/// What is known of the kernel `name` as outlined, and of what the plan made of it.
static json::Object writeParts(StringRef name, tg::ScheduleAttr schedule, StringAttr launch, FloatAttr seconds,
                               const ProgramNotes &notes) {
  json::Object object{{"name", json::fixUTF8(name)}};
  auto facts = notes.kernels.find(name);
  if (facts == notes.kernels.end())
    return object;
  object["ops"] = json::Array(facts->second.ops);
  if (auto text = notes.texts.find(name); text != notes.texts.end())
    object["ir"] = json::fixUTF8(text->second);
  if (!schedule)
    return object;
  object["schedule"] = writeSchedule(schedule);
  object["traversal"] = schedule.getOrder();
  if (seconds)
    object["seconds"] = seconds.getValueAsDouble();
  if (notes.gpu)
    writeLaunch(launch, facts->second, schedule, object);
  return object;
}

/// Kernels that were merged into the module, as the merge writes them; a program from a file may say anything.
static SmallVector<DictionaryAttr> partsOf(ModuleOp kernel) {
  SmallVector<DictionaryAttr> parts;
  if (auto list = kernel->getAttrOfType<ArrayAttr>(gpu::partsAttr))
    for (Attribute each : list)
      if (auto part = dyn_cast<DictionaryAttr>(each);
          part && part.getAs<StringAttr>("name") && part.getAs<DenseI64ArrayAttr>("wired"))
        parts.push_back(part);
  return parts;
}

static StringRef nameOf(DictionaryAttr part) { return part.getAs<StringAttr>("name").getValue(); }

static json::Object writeKernel(ModuleOp kernel, const ProgramNotes &notes) {
  StringRef name = kernel.getSymName().value_or("");
  json::Object object = writeParts(name, kernel->getAttrOfType<tg::ScheduleAttr>(plan::scheduleAttr),
                                   kernel->getAttrOfType<StringAttr>(plan::launchAttr),
                                   kernel->getAttrOfType<FloatAttr>(plan::secondsAttr), notes);
  if (auto bytes = kernel->getAttrOfType<IntegerAttr>(gpu::sharedBytesAttr))
    object["shared_bytes"] = bytes.getInt();
  if (auto order = kernel->getAttrOfType<StringAttr>(gpu::traversalAttr))
    object["traversal"] = order.getValue();
  json::Array parts, ops;
  std::string text;
  for (DictionaryAttr part : partsOf(kernel)) {
    json::Object each = writeParts(nameOf(part), part.getAs<tg::ScheduleAttr>("schedule"),
                                   part.getAs<StringAttr>("launch"), part.getAs<FloatAttr>("seconds"), notes);
    if (json::Array *list = each.getArray("ops"))
      llvm::append_range(ops, *list);
    text += each.getString("ir").value_or("");
    each.erase("ir");
    parts.push_back(std::move(each));
  }
  if (parts.empty())
    return object;
  object["ops"] = std::move(ops);
  object["ir"] = text.size() > mostText ? json::fixUTF8(text.substr(0, mostText)) + "\n... cut off" : text;
  object["parts"] = std::move(parts);
  return object;
}

/// Facts of dispatches as they are now: of launches of several kernels those of all, without what one of them writes
/// for another.
static std::vector<plan::DispatchFacts> measureLaunches(ModuleOp module, const ProgramNotes &notes) {
  llvm::StringMap<plan::KernelFacts> kernels;
  bool hasParts = false;
  for (ModuleOp kernel : module.getOps<ModuleOp>()) {
    StringRef name = kernel.getSymName().value_or("");
    SmallVector<DictionaryAttr> parts = partsOf(kernel);
    hasParts |= !parts.empty();
    if (auto found = notes.kernels.find(name); parts.empty() && found != notes.kernels.end())
      kernels[name] = found->second;
    for (DictionaryAttr part : parts) {
      auto facts = notes.kernels.find(nameOf(part));
      if (facts == notes.kernels.end())
        continue;
      kernels[name].flops += facts->second.flops;
      for (auto [i, bytes] : llvm::enumerate(facts->second.readBytes))
        if (!llvm::is_contained(part.getAs<DenseI64ArrayAttr>("wired").asArrayRef(), int64_t(i)))
          kernels[name].readBytes.push_back(bytes);
    }
  }
  return hasParts ? plan::measureDispatches(module, kernels) : notes.dispatches;
}

static json::Array writeEdges(ModuleOp module, ProgramNotes &notes) {
  std::vector<int64_t> dispatchOf = mapGroups(module, notes.groups);
  auto dispatch = [&](int64_t group) { return size_t(group) < dispatchOf.size() ? dispatchOf[group] : -1; };
  json::Array edges;
  for (const Edge &edge : notes.edges) {
    const LevelNote *found = nullptr;
    if (edge.reason < 0 && edge.bytes >= 0)
      found =
          notes.levels.find(edge.producerGroup, notes.names.get(edge.producerNode), notes.names.get(edge.producerOp),
                            notes.names.get(edge.consumerOp), int64_t(edge.bytes));
    edges.push_back(json::Array{edge.producerNode, edge.consumerNode, edge.producerOp, edge.consumerOp,
                                dispatch(edge.producerGroup), dispatch(edge.consumerGroup), edge.reason,
                                int64_t(edge.bytes), int64_t(edge.savedBytes),
                                found ? notes.names.add(found->level) : -1, found ? found->bytes : -1,
                                found ? notes.names.add(found->reason) : -1, int64_t(edge.isInFold)});
  }
  return edges;
}

/// Kernels are lowered side by side: their remarks go by the kernels' places, each kernel's as they came; those that
/// name no kernel, or one that is a part of a launch now, go by what they say, so that two compiles give equal bytes.
static json::Array writeRemarks(ModuleOp module, const ProgramNotes &shared, const ProgramNotes &notes,
                                int64_t &leftOut) {
  llvm::StringMap<size_t> place;
  for (ModuleOp kernel : module.getOps<ModuleOp>())
    place[kernel.getSymName().value_or("")] = place.size() + 1;
  std::vector<const Remark *> list;
  for (const ProgramNotes *each : {&shared, &notes})
    for (const Remark &remark : each->remarks)
      list.push_back(&remark);
  auto key = [&](size_t i) {
    bool hasKernel = place.count(list[i]->function) || list[i]->function == "main";
    return std::tuple(place.lookup(list[i]->function), hasKernel ? StringRef() : StringRef(list[i]->node),
                      hasKernel ? StringRef() : StringRef(list[i]->text),
                      hasKernel ? StringRef() : StringRef(list[i]->function), i);
  };
  std::vector<size_t> order(list.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  llvm::sort(order, [&](size_t a, size_t b) { return key(a) < key(b); });
  leftOut = int64_t(order.size() - std::min(order.size(), mostRemarks));
  order.resize(order.size() - leftOut);
  json::Array remarks;
  for (size_t i : order)
    remarks.push_back(json::Object{{"kind", list[i]->kind},
                                   {"name", list[i]->name},
                                   {"category", list[i]->category},
                                   {"function", json::fixUTF8(list[i]->function)},
                                   {"node", json::fixUTF8(list[i]->node)},
                                   {"text", json::fixUTF8(list[i]->text)}});
  return remarks;
}

static json::Object writeProgram(ProgramNotes &notes, ModuleOp module, const ProgramNotes &shared,
                                 const plan::UnfusedFacts &unfused, int64_t nodes) {
  double flops = 0, bytes = 0, intermediates = 0;
  json::Array dispatches, kernels;
  notes.dispatches = measureLaunches(module, notes);
  for (const plan::DispatchFacts &facts : notes.dispatches) {
    flops += facts.flops;
    bytes += facts.readBytes + facts.writeBytes;
    intermediates += facts.intermediateBytes;
    dispatches.push_back(json::Array{facts.flops, facts.readBytes, facts.writeBytes});
  }
  for (ModuleOp kernel : module.getOps<ModuleOp>())
    kernels.push_back(writeKernel(kernel, notes));
  int64_t remarksLeftOut = 0;
  json::Array remarks = writeRemarks(module, shared, notes, remarksLeftOut);
  json::Object object{{"device", notes.gpu ? notes.gpu->name : ""},
                      {"summary", json::Object{{"nodes", nodes},
                                               {"ops", unfused.ops},
                                               {"kernels", int64_t(notes.dispatches.size())},
                                               {"flops", flops},
                                               {"unfused_flops", unfused.flops},
                                               {"unfused_bytes", unfused.bytes},
                                               {"fused_bytes", bytes},
                                               {"intermediate_bytes", unfused.intermediateBytes},
                                               {"kept_intermediate_bytes", intermediates}}},
                      {"kernel_facts", std::move(kernels)},
                      {"dispatch_facts", std::move(dispatches)},
                      {"edges", writeEdges(module, notes)},
                      {"remarks", std::move(remarks)},
                      {"left_out", json::Object{{"edges", int64_t(notes.edgesLeftOut)}, {"remarks", remarksLeftOut}}}};
  object["names"] = notes.names.take();
  if (!notes.planner.empty())
    object["planner"] = std::move(notes.planner);
  return object;
}

std::vector<json::Object> Explanation::takeProgram(StringRef target, ModuleOp module) {
  auto isOf = [&](const std::unique_ptr<ProgramNotes> &notes) {
    return target == (notes->gpu ? notes->gpu->architecture : "cpu");
  };
  std::vector<json::Object> objects;
  auto found = llvm::find_if(state->programs, isOf);
  if (found == state->programs.end())
    return objects;
  for (auto it = std::next(found); it != state->programs.end() && isOf(*it) && (*it)->written; ++it)
    objects.push_back(std::move(*(*it)->written));
  if (objects.empty())
    objects.push_back(writeProgram(**found, module, state->shared, state->unfused, state->nodes));
  llvm::erase_if(state->programs, isOf);
  return objects;
}

} // namespace weft
