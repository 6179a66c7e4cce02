// Two compiles side by side: totals, decisions that changed, kernels that are other ones.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the two are the same if they compute the same nodes (ops where nodes have no names), the first with the
// first where several do. Edges are the same between the same nodes and ops.
#include "Explain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace weft;
using namespace weft::explain;
namespace json = llvm::json;

/// A kernel's identity in both.
static std::string keyOf(const Dispatch &dispatch) {
  return llvm::join(dispatch.nodes, "\n") + "\n\n" + llvm::join(dispatch.ops, "\n");
}

static std::string keyOf(const Edge &edge) {
  return edge.producerNode + "\n" + edge.consumerNode + "\n" + edge.producerOp + "\n" + edge.consumerOp;
}

/// Numbers of entries by what they are; those of the other list are taken from the front.
template <typename T> static std::map<std::string, std::vector<size_t>> numberAll(const std::vector<T> &list) {
  std::map<std::string, std::vector<size_t>> numbers;
  for (size_t i = list.size(); i-- > 0;)
    numbers[keyOf(list[i])].push_back(i);
  return numbers;
}

static bool differs(const Dispatch &a, const Dispatch &b) {
  return a.tile != b.tile || a.traversal != b.traversal || a.grid != b.grid || a.engine != b.engine ||
         a.modelBytes != b.modelBytes || a.seconds != b.seconds;
}

static ProgramDiff compare(const Program &before, const Program &now) {
  ProgramDiff diff;
  diff.target = now.target;
  auto sum = [](const Program &program, double Dispatch::*field) {
    double total = 0;
    for (const Dispatch &dispatch : program.dispatches)
      total += dispatch.*field;
    return total;
  };
  diff.totals = {{"kernels", double(before.dispatches.size()), double(now.dispatches.size())},
                 {"distinct_kernels", double(before.kernels), double(now.kernels)},
                 {"flops", sum(before, &Dispatch::flops), sum(now, &Dispatch::flops)},
                 {"model_bytes", sum(before, &Dispatch::modelBytes), sum(now, &Dispatch::modelBytes)},
                 {"bound_bytes", sum(before, &Dispatch::boundBytes), sum(now, &Dispatch::boundBytes)},
                 {"seconds", sum(before, &Dispatch::seconds), sum(now, &Dispatch::seconds)},
                 {"arena_bytes", double(before.arenaBytes), double(now.arenaBytes)}};
  auto oldKernels = numberAll(before.dispatches);
  for (const Dispatch &dispatch : now.dispatches) {
    std::vector<size_t> &same = oldKernels[keyOf(dispatch)];
    if (same.empty()) {
      diff.kernels.push_back({nullptr, &dispatch});
      continue;
    }
    const Dispatch &old = before.dispatches[same.back()];
    same.pop_back();
    if (differs(old, dispatch))
      diff.kernels.push_back({&old, &dispatch});
  }
  for (const Dispatch &old : before.dispatches)
    if (std::vector<size_t> &left = oldKernels[keyOf(old)]; !left.empty()) {
      diff.kernels.push_back({&old, nullptr});
      left.pop_back();
    }
  auto oldEdges = numberAll(before.edges);
  for (const Edge &edge : now.edges) {
    std::vector<size_t> &same = oldEdges[keyOf(edge)];
    const Edge *old = same.empty() ? nullptr : &before.edges[same.back()];
    if (!same.empty())
      same.pop_back();
    if (old && old->isFused != edge.isFused)
      diff.edges.push_back({old, &edge});
  }
  return diff;
}

bundle::Error weft::explain::compareModels(const Model &before, const Model &now, ModelDiff &diff) {
  diff.before = before.name + " (" + before.version + ")";
  diff.now = now.name + " (" + now.version + ")";
  for (const Program &program : now.programs)
    for (const Program &old : before.programs)
      if (old.target == program.target && old.interval == program.interval)
        diff.programs.push_back(compare(old, program));
  return diff.programs.empty() ? bundle::Error(bundle::ErrorCode::Usage, "the two models have no target in common")
                               : bundle::Error();
}

//===--- Forms ---===//

static std::string formatTotal(const Total &total, double value) {
  llvm::StringRef name = total.name;
  if (name.ends_with("bytes"))
    return formatBytes(value);
  if (name == "flops")
    return formatFlops(value);
  std::string text;
  llvm::raw_string_ostream(text) << (name == "seconds" ? llvm::format("%.1f us", value * 1e6)
                                                       : llvm::format("%.0f", value));
  return text;
}

static std::string describe(const Dispatch *dispatch) {
  if (!dispatch)
    return "-";
  std::string text = dispatch->kernel + ", " + formatBytes(dispatch->modelBytes);
  if (!dispatch->tile.empty())
    text += ", tile " + dispatch->tile;
  if (!dispatch->traversal.empty())
    text += ", order " + dispatch->traversal;
  return text;
}

void weft::explain::printDiff(const ModelDiff &diff, llvm::raw_ostream &os) {
  constexpr size_t mostLines = 100;
  os << "before    " << diff.before << "\nnow       " << diff.now << "\n";
  for (const ProgramDiff &program : diff.programs) {
    os << "program   " << program.target << "\n";
    for (const Total &total : program.totals)
      os << "  " << llvm::left_justify(total.name, 18) << formatTotal(total, total.before) << " -> "
         << formatTotal(total, total.now) << "\n";
    os << program.edges.size() << " decisions changed\n";
    for (const auto &[before, now] : llvm::ArrayRef(program.edges).take_front(mostLines))
      os << "  " << (now->isFused ? "fused now" : "fused before") << ": " << now->producerNode << " -> "
         << now->consumerNode << (now->isFused ? "" : ": " + now->reason) << "\n";
    os << program.kernels.size() << " kernels changed\n";
    for (const auto &[before, now] : llvm::ArrayRef(program.kernels).take_front(mostLines))
      os << "  " << describe(before) << "  ->  " << describe(now) << "\n";
  }
}

static void writeKernel(json::OStream &out, llvm::StringRef key, const Dispatch *dispatch) {
  if (!dispatch)
    return out.attribute(key, nullptr);
  out.attributeObject(key, [&] {
    for (const auto &[name, text] : {std::pair("kernel", &dispatch->kernel), std::pair("tile", &dispatch->tile),
                                     std::pair("traversal", &dispatch->traversal)})
      out.attribute(name, json::fixUTF8(*text));
    out.attribute("model_bytes", dispatch->modelBytes);
    out.attribute("seconds", dispatch->seconds);
  });
}

void weft::explain::writeDiff(const ModelDiff &diff, json::OStream &out) {
  out.attributeObject("diff", [&] {
    out.attribute("before", json::fixUTF8(diff.before));
    out.attribute("now", json::fixUTF8(diff.now));
    out.attributeArray("programs", [&] {
      for (const ProgramDiff &program : diff.programs)
        out.object([&] {
          out.attribute("target", json::fixUTF8(program.target));
          out.attributeArray("totals", [&] {
            for (const Total &total : program.totals)
              out.value(json::Array{total.name, total.before, total.now});
          });
          out.attributeArray("edges", [&] {
            for (const auto &[before, now] : program.edges)
              out.object([&, now = now] {
                out.attribute("producer", json::fixUTF8(now->producerNode));
                out.attribute("consumer", json::fixUTF8(now->consumerNode));
                out.attribute("fused_now", now->isFused);
                out.attribute("reason", json::fixUTF8(now->reason));
              });
          });
          out.attributeArray("kernels", [&] {
            for (const auto &[before, now] : program.kernels)
              out.object([&, before = before, now = now] {
                out.attributeArray("nodes", [&] {
                  for (const std::string &node : (now ? now : before)->nodes)
                    out.value(json::fixUTF8(node));
                });
                writeKernel(out, "before", before);
                writeKernel(out, "now", now);
              });
          });
        });
    });
  });
}
