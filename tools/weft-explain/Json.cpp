// The explanation as JSON: docs/explain.md lists the fields.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and reasons stand once, in `names`; edges are rows, since models have tens of thousands of them.
#include "Explain.h"
#include "llvm/ADT/StringMap.h"

using namespace weft;
using namespace weft::explain;
namespace json = llvm::json;

namespace {
class Names {
public:
  int64_t add(const std::string &text) {
    auto [it, isNew] = numbers.try_emplace(text, int64_t(texts.size()));
    if (isNew)
      texts.push_back(text);
    return it->second;
  }
  void write(json::OStream &out) const {
    out.attributeArray("names", [&] {
      for (const std::string &text : texts)
        out.value(json::fixUTF8(text));
    });
  }

private:
  llvm::StringMap<int64_t> numbers;
  std::vector<std::string> texts;
};
} // namespace

static void writeCounters(json::OStream &out, llvm::StringRef key, const plan::Counters &counters) {
  if (counters.empty())
    return;
  out.attributeObject(key, [&] {
    for (const auto &[name, value] : counters)
      out.attribute(name, value);
  });
}

static void writeDispatch(json::OStream &out, const Dispatch &dispatch, int64_t number) {
  out.object([&] {
    out.attribute("number", number);
    out.attribute("kernel", json::fixUTF8(dispatch.kernel));
    out.attribute("id", dispatch.kernelId);
    for (const auto &[key, list] :
         {std::pair("nodes", &dispatch.nodes), std::pair("ops", &dispatch.ops), std::pair("shapes", &dispatch.shapes),
          std::pair("kernel_shapes", &dispatch.kernelShapes)})
      out.attributeArray(key, [&, list = list] {
        for (const std::string &text : *list)
          out.value(json::fixUTF8(text));
      });
    for (const auto &[key, text] :
         {std::pair("grid", &dispatch.grid), std::pair("tile", &dispatch.tile),
          std::pair("traversal", &dispatch.traversal), std::pair("engine", &dispatch.engine),
          std::pair("fallback", &dispatch.fallback), std::pair("subgraph", &dispatch.subgraph),
          std::pair("kernel_subgraph", &dispatch.kernelSubgraph), std::pair("schedule", &dispatch.schedule)})
      if (!text->empty())
        out.attribute(key, json::fixUTF8(*text));
    for (auto [key, value] :
         {std::pair("flops", dispatch.flops), std::pair("read_bytes", dispatch.readBytes),
          std::pair("write_bytes", dispatch.writeBytes), std::pair("bound_bytes", dispatch.boundBytes),
          std::pair("compulsory_bytes", dispatch.compulsoryBytes), std::pair("model_bytes", dispatch.modelBytes),
          std::pair("seconds", dispatch.seconds)})
      out.attribute(key, value);
    if (dispatch.plannedSeconds > 0)
      out.attribute("planned_seconds", dispatch.plannedSeconds);
    if (dispatch.hitRate)
      out.attribute("l2_hit_pct", *dispatch.hitRate);
    if (*dispatch.boundBy)
      out.attribute("bound_by", dispatch.boundBy);
    writeCounters(out, "measured", dispatch.measured);
  });
}

static void writeEdges(json::OStream &out, const Program &program, Names &names) {
  out.attributeArray("edge_columns", [&] {
    for (const char *name :
         {"producer_node", "consumer_node", "producer_op", "consumer_op", "producer_dispatch", "consumer_dispatch",
          "reason", "bytes", "saved_bytes", "level", "tile_bytes", "level_reason", "in_fold"})
      out.value(name);
  });
  out.attributeArray("edges", [&] {
    for (const Edge &edge : program.edges)
      out.array([&] {
        for (const std::string *text : {&edge.producerNode, &edge.consumerNode, &edge.producerOp, &edge.consumerOp})
          out.value(names.add(*text));
        out.value(edge.producerDispatch);
        out.value(edge.consumerDispatch);
        out.value(edge.isFused ? -1 : names.add(edge.reason));
        out.value(int64_t(edge.bytes));
        out.value(int64_t(edge.savedBytes));
        out.value(names.add(edge.level));
        out.value(int64_t(edge.tileBytes));
        out.value(names.add(edge.levelReason));
        out.value(int64_t(edge.isInFold));
      });
  });
}

static void writeMemory(json::OStream &out, const Program &program) {
  out.attributeObject("memory", [&] {
    out.attribute("arena_bytes", program.arenaBytes);
    out.attribute("unshared_bytes", program.unsharedBytes);
    if (!program.memoryNote.empty())
      out.attribute("note", json::fixUTF8(program.memoryNote));
    out.attributeArray("buffer_columns", [&] {
      for (const char *name : {"size", "offset", "first_dispatch", "last_dispatch"})
        out.value(name);
    });
    out.attributeArray("buffers", [&] {
      for (const Buffer &buffer : program.buffers)
        out.array([&] {
          for (int64_t value : {buffer.size, buffer.offset, buffer.first, buffer.last})
            out.value(value);
        });
    });
  });
}

static void writeSummary(json::OStream &out, const Summary &summary) {
  out.attributeObject("summary", [&] {
    for (auto [key, value] :
         {std::pair("nodes", summary.nodes), std::pair("ops", summary.ops), std::pair("flops", summary.flops),
          std::pair("unfused_flops", summary.unfusedFlops), std::pair("unfused_bytes", summary.unfusedBytes),
          std::pair("fused_bytes", summary.fusedBytes), std::pair("intermediate_bytes", summary.intermediateBytes),
          std::pair("kept_intermediate_bytes", summary.keptIntermediateBytes)})
      out.attribute(key, value);
  });
}

static void writeAssumed(json::OStream &out, const Program &program) {
  out.attributeObject("assumed", [&] {
    for (const auto &[name, value] : program.assumed)
      if (!name.empty())
        out.attribute(json::fixUTF8(name), value);
  });
}

static void writePlanner(json::OStream &out, const PlannerNote &planner) {
  out.attributeObject("planner", [&] {
    out.attribute("name", json::fixUTF8(planner.name));
    for (auto [key, value] :
         {std::pair("ops", planner.ops), std::pair("groups", planner.groups), std::pair("us", planner.microseconds),
          std::pair("unfused_us", planner.unfusedMicroseconds)})
      out.attribute(key, value);
  });
}

static void writeProgram(json::OStream &out, const Program &program) {
  Names names;
  out.object([&] {
    out.attribute("target", json::fixUTF8(program.target));
    if (!program.interval.empty())
      out.attribute("interval", json::fixUTF8(program.interval));
    if (program.device) {
      out.attribute("device", program.device->name);
      out.attribute("bandwidth", program.device->memoryBandwidth);
      out.attribute("l2_bytes", int64_t(program.device->l2Bytes));
    }
    if (program.hasPlan)
      writeAssumed(out, program);
    writeSummary(out, program.summary);
    if (!program.planner.name.empty())
      writePlanner(out, program.planner);
    out.attribute("kernels", program.kernels);
    out.attributeArray("dispatches", [&] {
      for (size_t i = 0; i < program.dispatches.size(); ++i)
        writeDispatch(out, program.dispatches[i], int64_t(i));
    });
    out.attributeArray("code", [&] {
      for (const KernelText &text : program.texts)
        out.object([&] {
          for (const auto &[key, value] :
               {std::pair("kernel", &text.name), std::pair("ir", &text.ir), std::pair("ptx", &text.ptx)})
            if (!value->empty())
              out.attribute(key, json::fixUTF8(*value));
        });
    });
    writeEdges(out, program, names);
    out.attributeArray("levels", [&] {
      for (const LevelTotal &total : sumUpLevels(program))
        out.object([&] {
          out.attribute("level", total.level);
          out.attribute("edges", total.edges);
          out.attribute("bytes", total.bytes);
        });
    });
    names.write(out);
    out.attribute("edges_left_out", program.edgesLeftOut);
    out.attributeArray("remarks", [&] {
      for (const Remark &remark : program.remarks)
        out.object([&] {
          for (const auto &[key, text] :
               {std::pair("kind", &remark.kind), std::pair("name", &remark.name),
                std::pair("category", &remark.category), std::pair("function", &remark.function),
                std::pair("node", &remark.node), std::pair("text", &remark.text)})
            out.attribute(key, json::fixUTF8(*text));
        });
    });
    out.attribute("remarks_left_out", program.remarksLeftOut);
    writeMemory(out, program);
  });
}

/// For the explorer: each distinct launch once, or each that was measured; and which dispatch of which program it is.
static void writeLaunches(json::OStream &out, const Model &model) {
  std::vector<std::pair<int64_t, int64_t>> places;
  out.attributeArray("launches", [&] {
    for (size_t p = 0; p < model.programs.size(); ++p) {
      std::map<std::string, bool> done;
      for (size_t i = 0; i < model.programs[p].dispatches.size(); ++i) {
        const Dispatch &dispatch = model.programs[p].dispatches[i];
        if (dispatch.launches.empty() || (done[dispatch.kernel] && dispatch.measured.empty()))
          continue;
        done[dispatch.kernel] = true;
        for (const Launch &launch : dispatch.launches) {
          places.push_back({p, i});
          out.object([&] {
            for (const auto &[key, value] : *launch.source)
              out.attribute(key, value);
            writeCounters(out, "predicted", launch.predicted);
            if (!dispatch.hasParts) // Of one of several kernels nothing is measured.
              writeCounters(out, "measured", dispatch.measured);
          });
        }
      }
    }
  });
  out.attributeArray("launch_places", [&] {
    for (auto [program, dispatch] : places)
      out.array([&, program = program, dispatch = dispatch] {
        out.value(program);
        out.value(dispatch);
      });
  });
}

std::string weft::explain::writeJson(const Model &model, const ModelDiff *diff) {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::OStream out(os);
  out.object([&] {
    out.attribute("schema", "weft.explain/3");
    out.attribute("model", json::fixUTF8(model.name));
    out.attribute("version", json::fixUTF8(model.version));
    out.attributeArray("programs", [&] {
      for (const Program &program : model.programs)
        writeProgram(out, program);
    });
    writeLaunches(out, model);
    if (diff)
      writeDiff(*diff, out);
  });
  return text;
}
