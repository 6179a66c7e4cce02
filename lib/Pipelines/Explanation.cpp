// What a plan's decisions and a program's kernels say, as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Edges are most of it, so they are rows of numbers of some 40 bytes each; names and reasons stand once, in a table.
#include "weft/Pipelines/Explanation.h"
#include "DecisionNotes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/KernelLaunch.h"
#include "weft/Plan/KernelTime.h"
#include "weft/Plan/Passes.h"
#include "weft/Support/InputFile.h"
#include "weft/Target/ChainOrder.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/StringMap.h"
#include <mutex>

using namespace mlir;
namespace json = llvm::json;

namespace weft {

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
  json::Array take() { return json::Array(std::exchange(texts, {})); }

private:
  llvm::StringMap<int64_t> numbers;
  std::vector<json::Value> texts;
};

struct ProgramNotes {
  const Device *gpu = nullptr;
  plan::UnfusedFacts unfused;
  int64_t nodes = 0;
  DecisionNotes notes;                    ///< Until the end of Plan.
  OwningOpRef<tg::DecisionsOp> decisions; ///< From there on, or as they were read.
  NumbersByLocation dispatches;           ///< Of the planned program.
  llvm::StringMap<plan::KernelFacts> kernels;
  llvm::StringMap<std::string> texts;  ///< Kernels as they were planned, without large constants.
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

/// Of the dispatches of a program.
NumbersByLocation numberDispatches(ModuleOp program) {
  NumbersByLocation numbers;
  int64_t next = 0;
  for (auto function : program.getOps<func::FuncOp>())
    for (tg::DispatchOp dispatch : function.getOps<tg::DispatchOp>())
      numbers[dispatch.getLoc()].push_back(next++);
  return numbers;
}

} // namespace

//===--- What the phases say ---===//

struct Explanation::State {
  std::mutex mutex;
  std::vector<std::unique_ptr<ProgramNotes>> programs;
  bool wasRead = false;                           ///< The plan.
  std::vector<OwningOpRef<tg::DecisionsOp>> read; ///< Of it, or of its variants, until these begin.
  size_t variantsBegun = 0;
  DecisionNotes shared; ///< Up to Normalize.
  bool isListening = true;

  void add(const remark::detail::Remark &remark) {
    std::lock_guard lock(mutex);
    if (isListening && !wasRead) // What follows a plan that was read decides nothing.
      (programs.empty() ? shared : programs.back()->notes).add(remark);
  }
};

static json::Object writeProgram(ProgramNotes &notes, ModuleOp module);

/// What was decided since Plan: another schedule for a kernel whose registers spill. A plan without reasons has none.
static void settle(ProgramNotes &notes, ModuleOp module) {
  if (!notes.decisions)
    notes.decisions = notes.notes.write(module, {}, {}, 0);
  else
    notes.notes.append(module, *notes.decisions);
}

namespace {
class Streamer : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Streamer(std::function<void(const remark::detail::Remark &)> add) : add(std::move(add)) {}
  void streamOptimizationRemark(const remark::detail::Remark &remark) override { add(remark); }

private:
  std::function<void(const remark::detail::Remark &)> add;
};
} // namespace

Explanation::Explanation() : state(std::make_shared<State>()) {}

/// The streamer lives on with the context, which the ops must not outlive.
Explanation::~Explanation() {
  std::lock_guard lock(state->mutex);
  state->isListening = false;
  state->programs.clear();
  state->read.clear();
}

std::unique_ptr<remark::detail::MLIRRemarkStreamerBase> Explanation::makeStreamer() {
  return std::make_unique<Streamer>([state = state](const remark::detail::Remark &remark) {
    if (llvm::Regex(categories).match(remark.getCategoryName()))
      state->add(remark);
  });
}

void Explanation::readPlan(ModuleOp planned) {
  state->wasRead = true;
  for (auto decisions : llvm::make_early_inc_range(planned.getOps<tg::DecisionsOp>())) {
    decisions->remove();
    state->read.push_back(decisions);
  }
}

void Explanation::writePlan(ModuleOp planned) {
  SmallVector<FlatSymbolRefAttr> variants;
  if (auto main = planned.lookupSymbol<func::FuncOp>("main"); main && !main.isExternal())
    for (auto joined : main.getOps<tg::VariantsOp>())
      llvm::append_range(variants, joined.getBodies().getAsRange<FlatSymbolRefAttr>());
  size_t next = 0;
  for (std::unique_ptr<ProgramNotes> &notes : state->programs) {
    if (!notes->decisions)
      continue;
    settle(*notes, planned);
    if (next < variants.size())
      notes->decisions->setProgramAttr(variants[next++]);
    planned.push_back(notes->decisions.release());
  }
  state->programs.clear();
}

void Explanation::beginProgram(const Device *gpu) {
  state->programs.push_back(std::make_unique<ProgramNotes>());
  state->programs.back()->gpu = gpu;
  state->variantsBegun = 0;
  if (state->read.size() == 1)
    state->programs.back()->decisions = std::move(state->read.front());
}

void Explanation::beginVariant(StringRef interval) {
  auto variant = std::make_unique<ProgramNotes>();
  variant->gpu = state->programs.back()->gpu;
  variant->interval = interval;
  if (size_t number = state->variantsBegun++; number < state->read.size())
    variant->decisions = std::move(state->read[number]);
  state->programs.push_back(std::move(variant));
}

void Explanation::setListening(bool listens) {
  std::lock_guard lock(state->mutex);
  state->isListening = listens;
}

void Explanation::measureModel(ModuleOp normalized, int64_t nodes) {
  ProgramNotes &notes = *state->programs.back();
  tg::LikelyExtents likely(normalized);
  notes.unfused = plan::measureUnfused(normalized);
  notes.nodes = nodes;
}

void Explanation::measureKernels(ModuleOp program) {
  ProgramNotes &notes = *state->programs.back();
  size_t bytes = 0;
  for (ModuleOp kernel : program.getOps<ModuleOp>()) {
    StringRef name = kernel.getSymName().value_or("");
    notes.kernels[name] = plan::measureKernel(kernel);
    if (bytes < mostTexts)
      bytes += (notes.texts[name] = printKernel(kernel)).size();
  }
  notes.dispatches = numberDispatches(program);
  notes.notes.finishOutline(program);
}

void Explanation::finishPhase(Phase phase, ModuleOp module) {
  if (state->programs.empty())
    return;
  ProgramNotes &notes = *state->programs.back();
  if (phase == Phase::Plan)
    notes.decisions = notes.notes.write(module, state->shared, notes.unfused, notes.nodes);
  else if (phase == Phase::Lower && !notes.interval.empty())
    notes.written = writeProgram(notes, module);
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
  for (ModuleOp kernel : module.getOps<ModuleOp>()) {
    StringRef name = kernel.getSymName().value_or("");
    SmallVector<DictionaryAttr> parts = partsOf(kernel);
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
  return plan::measureDispatches(module, kernels);
}

static json::Array writeEdges(ProgramNotes &notes, ModuleOp module, TextTable &names) {
  std::vector<int64_t> dispatchOf = mapToDispatches(module, notes.dispatches);
  auto dispatch = [&](int64_t planned) {
    return planned >= 0 && size_t(planned) < dispatchOf.size() ? dispatchOf[planned] : -1;
  };
  auto number = [](IntegerAttr value) { return value ? value.getInt() : -1; };
  auto name = [&](StringAttr text) { return text ? names.add(text) : -1; };
  json::Array edges;
  for (auto edge : notes.decisions->getBody().getOps<tg::EdgeOp>())
    edges.push_back(json::Array{names.add(edge.getProducerNode()), names.add(edge.getConsumerNode()),
                                names.add(edge.getProducer()), names.add(edge.getConsumer()),
                                dispatch(edge.getFromAttr().getInt()), dispatch(edge.getToAttr().getInt()),
                                name(edge.getApartAttr()), edge.getBytesAttr().getInt(), edge.getSavedAttr().getInt(),
                                name(edge.getLevelAttr()), number(edge.getTileBytesAttr()),
                                name(edge.getLevelReasonAttr()), int64_t(edge.getInFold())});
  return edges;
}

static json::Array writeRemarks(tg::DecisionsOp decisions) {
  json::Array remarks;
  for (auto remark : decisions.getBody().getOps<tg::RemarkOp>())
    remarks.push_back(json::Object{{"kind", remark.getKind()},
                                   {"name", remark.getName()},
                                   {"category", remark.getCategory()},
                                   {"function", json::fixUTF8(remark.getFunction())},
                                   {"node", json::fixUTF8(remark.getNode())},
                                   {"text", json::fixUTF8(remark.getText())}});
  return remarks;
}

/// What symbols of the inputs' extents count as in all estimates: [name, number] each, null without a name for those
/// that no input has, so that symbol `sN` of a grid is entry N.
static json::Array writeAssumed(ModuleOp module) {
  tg::LikelyExtents likely(module);
  SmallVector<bool> isUsed(tg::getSymbolNames(module).size(), false);
  if (auto main = module.lookupSymbol<func::FuncOp>("main"))
    for (Type type : main.getArgumentTypes())
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        for (AffineExpr extent : tg::getDims(tensor))
          for (size_t i = 0; i < isUsed.size(); ++i)
            isUsed[i] = isUsed[i] || extent.isFunctionOfSymbol(i);
  json::Array list;
  for (auto [i, name] : llvm::enumerate(tg::getSymbolNames(module))) {
    AffineExpr symbol = getAffineSymbolExpr(i, module.getContext());
    list.push_back(isUsed[i] ? json::Value(json::Array{json::fixUTF8(name), tg::estimateExtent(symbol)})
                             : json::Value(nullptr));
  }
  return list;
}

static json::Object writeProgram(ProgramNotes &notes, ModuleOp module) {
  settle(notes, module);
  tg::DecisionsOp decisions = *notes.decisions;
  double flops = 0, bytes = 0, intermediates = 0;
  json::Array dispatches, kernels;
  for (const plan::DispatchFacts &facts : measureLaunches(module, notes)) {
    flops += facts.flops;
    bytes += facts.readBytes + facts.writeBytes;
    intermediates += facts.intermediateBytes;
    dispatches.push_back(json::Array{facts.flops, facts.readBytes, facts.writeBytes});
  }
  auto numDispatches = int64_t(dispatches.size());
  for (ModuleOp kernel : module.getOps<ModuleOp>())
    kernels.push_back(writeKernel(kernel, notes));
  TextTable names;
  json::Object object{
      {"device", notes.gpu ? notes.gpu->name : ""},
      {"assumed", writeAssumed(module)},
      {"summary", json::Object{{"nodes", decisions.getNodes()},
                               {"ops", decisions.getOps()},
                               {"kernels", numDispatches},
                               {"flops", flops},
                               {"unfused_flops", int64_t(decisions.getFlops())},
                               {"unfused_bytes", int64_t(decisions.getBytes())},
                               {"fused_bytes", bytes},
                               {"intermediate_bytes", int64_t(decisions.getIntermediateBytes())},
                               {"kept_intermediate_bytes", intermediates}}},
      {"kernel_facts", std::move(kernels)},
      {"dispatch_facts", std::move(dispatches)},
      {"edges", writeEdges(notes, module, names)},
      {"remarks", writeRemarks(decisions)},
      {"left_out", json::Object{{"edges", decisions.getEdgesLeftOut()}, {"remarks", decisions.getRemarksLeftOut()}}}};
  object["names"] = names.take();
  for (auto planner : decisions.getBody().getOps<tg::PlannerOp>())
    object["planner"] = json::Object{{"name", planner.getPlanner()},
                                     {"ops", planner.getOps()},
                                     {"groups", planner.getGroups()},
                                     {"us", planner.getMicroseconds().convertToDouble()},
                                     {"unfused_us", planner.getAlone().convertToDouble()}};
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
    objects.push_back(writeProgram(**found, module));
  llvm::erase_if(state->programs, isOf);
  return objects;
}

} // namespace weft
