// From a bundle: the explanation that the compiler left in it, and the memory plan that the runtime will make.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bundles are not trusted: every member of the JSON is looked at before it is used, and numbers that refer to something
// are checked.
#include "Explain.h"
#include "weft/Bundle/MemoryPlan.h"
#include "weft/Bundle/Reader.h"
#include "weft/Bundle/ShapeProgram.h"
#include "weft/Support/InputFile.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstring>

using namespace weft;
using namespace weft::explain;
using bundle::Error;
using bundle::ErrorCode;
namespace json = llvm::json;
using llvm::StringRef;

static constexpr int64_t otherSymbols = 256;

//===--- JSON ---===//

static std::string getText(const json::Object &object, StringRef key) {
  return object.getString(key).value_or("").str();
}

static double getNumber(const json::Object &object, StringRef key) { return object.getNumber(key).value_or(0); }

static std::vector<std::string> getTexts(const json::Object &object, StringRef key) {
  std::vector<std::string> texts;
  if (const json::Array *list = object.getArray(key))
    for (const json::Value &value : *list)
      texts.push_back(value.getAsString().value_or("").str());
  return texts;
}

/// "128x64" of an array of numbers.
static std::string getTile(const json::Object &object, StringRef key) {
  std::string text;
  if (const json::Array *list = object.getArray(key))
    for (const json::Value &value : *list)
      text += (text.empty() ? "" : "x") + std::to_string(value.getAsInteger().value_or(0));
  return text;
}

static void readSummary(const json::Object &plan, Program &program) {
  const json::Object *object = plan.getObject("summary");
  if (!object)
    return;
  program.hasPlan = true;
  Summary &summary = program.summary;
  for (auto [key, field] :
       {std::pair("nodes", &summary.nodes), std::pair("ops", &summary.ops), std::pair("flops", &summary.flops),
        std::pair("unfused_flops", &summary.unfusedFlops), std::pair("unfused_bytes", &summary.unfusedBytes),
        std::pair("fused_bytes", &summary.fusedBytes), std::pair("intermediate_bytes", &summary.intermediateBytes),
        std::pair("kept_intermediate_bytes", &summary.keptIntermediateBytes)})
    *field = getNumber(*object, key);
}

/// A row of `edges`: producer node, consumer node, producer op, consumer op (numbers of names), producer dispatch,
/// consumer dispatch, reason (a name, or -1), bytes, saved bytes; and, of what a compiler before did not say, level (a
/// name, or -1), bytes of a tile, the level's reason (a name, or -1), whether both ops are inside of one fold.
static bool readEdge(const json::Array &row, const std::vector<std::string> &names, int64_t dispatches, Edge &edge) {
  int64_t values[13] = {0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, 0};
  if (row.size() != std::size(values) && row.size() != 12 && row.size() != 9)
    return false;
  for (size_t i = 0; i < row.size(); ++i) {
    std::optional<int64_t> value = row[i].getAsInteger();
    if (!value)
      return false;
    values[i] = *value;
  }
  auto isName = [&](int64_t i) { return i >= 0 && i < int64_t(names.size()); };
  if (!isName(values[0]) || !isName(values[1]) || !isName(values[2]) || !isName(values[3]) ||
      (values[6] != -1 && !isName(values[6])) || (values[9] != -1 && !isName(values[9])) ||
      (values[11] != -1 && !isName(values[11])) || values[4] >= dispatches || values[5] >= dispatches)
    return false;
  edge.producerNode = names[values[0]];
  edge.consumerNode = names[values[1]];
  edge.producerOp = names[values[2]];
  edge.consumerOp = names[values[3]];
  edge.producerDispatch = values[4];
  edge.consumerDispatch = values[5];
  edge.isFused = values[6] == -1;
  edge.reason = edge.isFused ? "" : names[values[6]];
  edge.bytes = double(values[7]);
  edge.savedBytes = double(values[8]);
  edge.level = values[9] == -1 ? "" : names[values[9]];
  edge.tileBytes = double(values[10]);
  edge.levelReason = values[11] == -1 ? "" : names[values[11]];
  edge.isInFold = values[12] != 0;
  return true;
}

static void readAssumed(const json::Object &plan, Program &program) {
  const json::Array *list = plan.getArray("assumed");
  if (!list)
    return;
  for (const json::Value &each : *list) {
    const json::Array *pair = each.getAsArray();
    bool isKnown = pair && pair->size() == 2 && (*pair)[0].getAsString() && (*pair)[1].getAsInteger();
    program.assumed.emplace_back(isKnown ? (*pair)[0].getAsString()->str() : "",
                                 isKnown ? *(*pair)[1].getAsInteger() : 0);
  }
}

static void readPlanner(const json::Object &plan, PlannerNote &planner) {
  const json::Object *object = plan.getObject("planner");
  if (!object)
    return;
  planner.name = getText(*object, "name");
  for (auto [key, field] :
       {std::pair("ops", &planner.ops), std::pair("groups", &planner.groups), std::pair("us", &planner.microseconds),
        std::pair("unfused_us", &planner.unfusedMicroseconds)})
    *field = getNumber(*object, key);
}

static Error readPlan(const json::Object &plan, Program &program) {
  readSummary(plan, program);
  readAssumed(plan, program);
  readPlanner(plan, program.planner);
  std::vector<std::string> names = getTexts(plan, "names");
  if (const json::Array *rows = plan.getArray("edges"))
    for (const json::Value &row : *rows) {
      Edge edge;
      if (!row.getAsArray() || !readEdge(*row.getAsArray(), names, int64_t(program.dispatches.size()), edge))
        return Error(ErrorCode::Input, "the explanation has an edge that fits neither names nor dispatches");
      program.edges.push_back(std::move(edge));
    }
  if (const json::Array *list = plan.getArray("remarks"))
    for (const json::Value &value : *list)
      if (const json::Object *remark = value.getAsObject())
        program.remarks.push_back({getText(*remark, "kind"), getText(*remark, "name"), getText(*remark, "category"),
                                   getText(*remark, "function"), getText(*remark, "node"), getText(*remark, "text")});
  if (const json::Object *left = plan.getObject("left_out")) {
    program.edgesLeftOut = getNumber(*left, "edges");
    program.remarksLeftOut = getNumber(*left, "remarks");
  }
  return {};
}

/// A kernel, or one of several that start as one: their tiles side by side, the engine of the fastest.
static void readPart(const json::Object &facts, Dispatch &dispatch) {
  if (const json::Object *launch = facts.getObject("launch"))
    dispatch.launches.push_back({launch, getNumber(facts, "launch_bytes"), {}});
  const json::Object *schedule = facts.getObject("schedule");
  if (!schedule)
    return;
  std::string engine = getText(*schedule, "engine");
  if (dispatch.engine.empty() || engine == "wgmma" || (engine == "mma" && dispatch.engine == "simt"))
    dispatch.engine = engine;
  double seconds = getNumber(facts, "seconds"); // Of several kernels all, or none.
  bool isFirst = dispatch.tile.empty();
  dispatch.plannedSeconds =
      seconds > 0 && (isFirst || dispatch.plannedSeconds > 0) ? dispatch.plannedSeconds + seconds : 0;
  dispatch.tile += (dispatch.tile.empty() || !dispatch.hasParts ? "" : " + ") + getTile(*schedule, "tile");
  if (std::string stream = getTile(*schedule, "stream"); !stream.empty())
    dispatch.tile += " by " + stream;
}

/// What the compiler says of a kernel; members may be missing.
static void readKernel(const json::Object &kernel, const json::Object *facts, Dispatch &dispatch) {
  dispatch.kernelId = kernel.getInteger("id").value_or(-1);
  dispatch.ops = getTexts(kernel, "ops");
  dispatch.grid = getText(kernel, "grid");
  dispatch.tile = getTile(kernel, "tile");
  dispatch.fallback = getText(kernel, "fallback");
  dispatch.kernelSubgraph = getText(kernel, "subgraph");
  dispatch.kernelShapes = getTexts(kernel, "shapes");
  dispatch.schedule = getText(kernel, "schedule");
  if (!facts)
    return;
  if (std::vector<std::string> ops = getTexts(*facts, "ops"); !ops.empty())
    dispatch.ops = std::move(ops); // Before the target's own rewrites.
  dispatch.traversal = getText(*facts, "traversal");
  const json::Array *parts = facts->getArray("parts");
  dispatch.hasParts = parts && !parts->empty();
  if (!dispatch.hasParts)
    return readPart(*facts, dispatch);
  for (const json::Value &part : *parts)
    if (const json::Object *object = part.getAsObject())
      readPart(*object, dispatch);
}

/// The IR of kernels, by their numbers in the bundle.
static void readTexts(const json::Array &kernels, const json::Array &facts, Program &program) {
  for (size_t i = 0; i < std::min(kernels.size(), facts.size()); ++i) {
    const json::Object *kernel = kernels[i].getAsObject(), *fact = facts[i].getAsObject();
    if (kernel && fact)
      program.texts.push_back({getText(*kernel, "name"), getText(*fact, "ir"), ""});
  }
}

static Error readProgram(const json::Object &object, const DeviceTable &devices, Program &program) {
  program.target = getText(object, "target");
  program.interval = getText(object, "interval");
  program.firstDispatch = object.getInteger("first_dispatch").value_or(0);
  const json::Object *plan = object.getObject("plan");
  std::string device = plan ? getText(*plan, "device") : "";
  program.device = device.empty() ? nullptr : devices.find(device);
  if (!program.device && program.target != "cpu")
    program.device = devices.find(program.target);
  std::map<std::string, std::pair<const json::Object *, const json::Object *>> kernels;
  const json::Array *facts = plan ? plan->getArray("kernel_facts") : nullptr;
  if (const json::Array *list = object.getArray("kernels"); list && facts)
    readTexts(*list, *facts, program);
  if (const json::Array *list = object.getArray("kernels"))
    for (size_t i = 0; i < list->size(); ++i)
      if (const json::Object *kernel = (*list)[i].getAsObject())
        kernels[getText(*kernel, "name")] = {kernel, facts && i < facts->size() ? (*facts)[i].getAsObject() : nullptr};
  program.kernels = int64_t(kernels.size());
  const json::Array *measures = plan ? plan->getArray("dispatch_facts") : nullptr;
  if (const json::Array *list = object.getArray("dispatches"))
    for (size_t i = 0; i < list->size(); ++i) {
      const json::Object *entry = (*list)[i].getAsObject();
      if (!entry)
        return Error(ErrorCode::Input, "the explanation has a dispatch that is no object");
      Dispatch dispatch;
      dispatch.kernel = getText(*entry, "kernel");
      dispatch.nodes = getTexts(*entry, "nodes");
      dispatch.subgraph = getText(*entry, "subgraph");
      dispatch.shapes = getTexts(*entry, "shapes");
      if (auto found = kernels.find(dispatch.kernel); found != kernels.end())
        readKernel(*found->second.first, found->second.second, dispatch);
      if (const json::Array *row = measures && i < measures->size() ? (*measures)[i].getAsArray() : nullptr;
          row && row->size() == 3) {
        dispatch.flops = (*row)[0].getAsNumber().value_or(0);
        dispatch.readBytes = (*row)[1].getAsNumber().value_or(0);
        dispatch.writeBytes = (*row)[2].getAsNumber().value_or(0);
      }
      program.dispatches.push_back(std::move(dispatch));
    }
  return plan ? readPlan(*plan, program) : Error();
}

//===--- The memory plan ---===//

/// Sizes by the shape program, for these symbols. Fails where one depends on data.
static Error readMemory(const bundle::Tables &tables, const bundle::EntryView &entry, const Symbols &symbols,
                        Program &program) {
  std::vector<int64_t> values, registers(entry.instructions.size);
  for (const bundle::SymbolRecord &symbol : entry.symbols) {
    auto given = symbols.find(std::string(tables.getString(symbol.name)));
    values.push_back(given != symbols.end() ? given->second : std::clamp(otherSymbols, symbol.min, symbol.max));
  }
  bundle::ShapeEnvironment environment{values.data(), nullptr, [&](uint32_t i) { return tables.getString(i); }};
  if (Error error = bundle::evaluateShapes(entry.instructions.begin(), 0, uint32_t(entry.instructions.size),
                                           environment, registers.data()))
    return error;
  std::vector<int64_t> dispatchOf; // Dispatches before each command.
  int64_t count = 0;
  for (const bundle::CommandRecord &command : entry.commands) {
    dispatchOf.push_back(count);
    count += command.kind == uint16_t(bundle::CommandKind::Dispatch);
  }
  std::vector<bundle::PlanRequest> requests;
  for (const bundle::BufferRecord &buffer : entry.buffers)
    if (buffer.kind == uint8_t(bundle::BufferKind::Transient))
      requests.push_back({registers[buffer.sizeRegister], buffer.firstCommand, buffer.lastCommand});
  bundle::MemoryPlan plan;
  if (!bundle::planMemory(requests, plan))
    return Error(ErrorCode::Input, "sizes of buffers leave 64 bits");
  program.arenaBytes = plan.total;
  int64_t first = program.firstDispatch, end = first + int64_t(program.dispatches.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    int64_t born = dispatchOf[requests[i].first], last = dispatchOf[requests[i].last];
    if (!program.interval.empty() && (born < first || last > end))
      continue; // Another variant's.
    program.buffers.push_back({requests[i].size, plan.offsets[i], born - first, last - first});
    program.unsharedBytes += requests[i].size;
  }
  return {};
}

static void readMemory(const bundle::Tables &tables, const Symbols &symbols, Program &program) {
  std::string name = program.target == "cpu" ? "main" : "main@" + program.target;
  for (uint32_t i = 0; i < tables.entries.size; ++i)
    if (tables.getString(tables.entries[i].name) == name)
      if (Error error = readMemory(tables, bundle::getEntry(tables, i), symbols, program))
        program.memoryNote = error.getMessage();
}

//===--- Code ---===//

/// The entry of every kernel in the PTX of the program's module; at most 64 KiB each and 2 MiB in all.
static void readPtx(const bundle::Reader &reader, Program &program) {
  constexpr size_t mostText = 64 << 10, mostTexts = 2 << 20;
  const bundle::Tables &tables = reader.getTables();
  std::map<std::string, int64_t> numbers;
  for (const Dispatch &dispatch : program.dispatches)
    numbers[dispatch.kernel] = dispatch.kernelId;
  for (const bundle::GpuModuleRecord &module : tables.gpuModules) {
    if (tables.getString(module.target) != program.target)
      continue;
    bundle::Blob blob = reader.getSection(module.section);
    StringRef ptx(reinterpret_cast<const char *>(blob.data), blob.size);
    size_t bytes = 0;
    for (KernelText &text : program.texts) {
      auto number = numbers.find(text.name);
      if (number == numbers.end() || bytes >= mostTexts)
        continue;
      size_t begin = ptx.find(".visible .entry k" + std::to_string(number->second) + "(");
      if (begin == StringRef::npos)
        continue;
      StringRef entry = ptx.slice(begin, ptx.find(".visible .entry", begin + 1));
      entry = entry.take_front(entry.rfind("\n}") + 2); // Blocks of inline assembly have such lines too.
      text.ptx = json::fixUTF8(entry.take_front(mostText)) + (entry.size() > mostText ? "\n... cut off" : "");
      bytes += text.ptx.size();
    }
  }
}

//===--- The bundle ---===//

Error weft::explain::loadBundle(const std::string &path, const Symbols &symbols, const DeviceTable &devices,
                                Model &model) {
  auto fail = [&](ErrorCode code, const std::string &text) { return Error(code, bundle::quote(path) + ": " + text); };
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(ErrorCode::Input, file.getError().message());
  bundle::Reader reader;
  if (Error error = bundle::Reader::open((*file)->getBufferStart(), (*file)->getBufferSize(), false, reader))
    return std::move(error).within(bundle::quote(path));
  const bundle::Tables &tables = reader.getTables();
  StringRef text(reinterpret_cast<const char *>(tables.explain.data), tables.explain.size);
  if (text.empty())
    return fail(ErrorCode::Usage, "the bundle has no explanation: it was compiled with --explain=off");
  std::string reason;
  std::optional<json::Value> value = parseJson(text, reason);
  if (!value)
    return fail(ErrorCode::Input, "its explanation: " + reason);
  model.source = std::move(*value);
  const json::Object *root = model.source.getAsObject();
  std::string schema = root ? getText(*root, "schema") : "";
  if (schema != "weft.explain/3")
    return fail(ErrorCode::Unsupported,
                "expected an explanation of schema weft.explain/3, got '" + schema + "'; compile the model again");
  model.name = getText(*root, "model");
  model.version = std::string(reader.getProductVersion());
  if (const json::Array *programs = root->getArray("programs"))
    for (const json::Value &each : *programs) {
      const json::Object *object = each.getAsObject();
      if (!object)
        return fail(ErrorCode::Input, "its explanation has a program that is no object");
      Program program;
      if (Error error = readProgram(*object, devices, program))
        return std::move(error).within(bundle::quote(path));
      readMemory(tables, symbols, program);
      readPtx(reader, program);
      model.programs.push_back(std::move(program));
    }
  return {};
}
