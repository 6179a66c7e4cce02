// The explanation as tables of text: a few lines for each program, one for each dispatch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Explain.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace weft;
using namespace weft::explain;
using llvm::StringRef;

static std::string scale(double value, const char *unit) {
  const char *prefixes[] = {"", "k", "M", "G", "T", "P"};
  size_t i = 0;
  for (; value >= 999.5 && i + 1 < std::size(prefixes); ++i)
    value /= 1000;
  std::string text;
  int digits = i == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  llvm::raw_string_ostream(text) << llvm::format("%.*f %s%s", digits, value, prefixes[i], unit);
  return text;
}

std::string weft::explain::formatBytes(double bytes) { return scale(bytes, "B"); }
std::string weft::explain::formatFlops(double flops) { return scale(flops, "FLOP"); }

static std::string formatMicroseconds(double seconds) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.1f", seconds * 1e6);
  return text;
}

/// "register 7.34 MB on 5 edges, ...": bytes of the tensors on each level.
static void printLevelTotals(const Program &program, llvm::raw_ostream &os) {
  const char *comma = "levels    ";
  for (const LevelTotal &total : sumUpLevels(program)) {
    os << comma << total.level << " " << formatBytes(total.bytes) << " on " << total.edges
       << (total.edges == 1 ? " edge" : " edges");
    comma = ", ";
  }
  if (*comma == ',')
    os << "\n";
}

/// "symbols   s0 is batch, estimates for 256; ...".
static void printSymbols(const Program &program, llvm::raw_ostream &os) {
  const char *comma = "symbols   ";
  for (auto [i, symbol] : llvm::enumerate(program.assumed)) {
    if (symbol.first.empty())
      continue;
    std::string name = bundle::quote(symbol.first);
    os << comma << "s" << i << " is " << name.substr(1, name.size() - 2) << ", estimates for " << symbol.second;
    comma = "; ";
  }
  if (*comma == ';')
    os << "\n";
}

static void printSummary(const Program &program, llvm::raw_ostream &os) {
  os << "program   " << program.target;
  if (program.device)
    os << " (" << program.device->name << ")";
  if (!program.interval.empty())
    os << ", variant for " << program.interval;
  os << ": ";
  const Summary &summary = program.summary;
  if (program.hasPlan) {
    if (summary.nodes > 0)
      os << llvm::format("%.0f nodes, ", summary.nodes);
    os << llvm::format("%.0f ops -> ", summary.ops);
  }
  os << program.dispatches.size() << " kernels, " << program.kernels << " distinct\n";
  printSymbols(program, os);
  if (const PlannerNote &planner = program.planner; !planner.name.empty()) {
    std::string name = bundle::quote(planner.name);
    os << "planner   " << name.substr(1, name.size() - 2)
       << llvm::format(": %.0f ops in %.0f groups, %.1f us by its model; alone %.1f us\n", planner.ops, planner.groups,
                       planner.microseconds, planner.unfusedMicroseconds);
  }
  double model = 0, bound = 0, compulsory = 0, seconds = 0;
  for (const Dispatch &dispatch : program.dispatches) {
    model += dispatch.modelBytes;
    bound += dispatch.boundBytes;
    compulsory += dispatch.compulsoryBytes;
    seconds += dispatch.seconds;
  }
  if (program.hasPlan) {
    os << "compute   " << formatFlops(summary.flops) << " (" << formatFlops(summary.unfusedFlops) << " unfused)\n";
    os << "traffic   " << formatBytes(summary.unfusedBytes) << " unfused -> " << formatBytes(summary.fusedBytes)
       << " fused; by the models " << formatBytes(model) << ", at least " << formatBytes(bound) << " (compulsory "
       << formatBytes(compulsory) << ")\n";
    os << "results   " << formatBytes(summary.intermediateBytes) << " between ops, of them "
       << formatBytes(summary.intermediateBytes - summary.keptIntermediateBytes) << " never stored\n";
    size_t fused = llvm::count_if(program.edges, [](const Edge &edge) { return edge.isFused; });
    os << "edges     " << program.edges.size() << " considered, " << fused << " fused, " << program.edges.size() - fused
       << " not";
    if (program.edgesLeftOut > 0)
      os << llvm::format("; %.0f more left out", program.edgesLeftOut);
    os << "\n";
    printLevelTotals(program, os);
  }
  if (program.memoryNote.empty())
    os << "memory    " << formatBytes(double(program.arenaBytes)) << " of activations ("
       << formatBytes(double(program.unsharedBytes)) << " without sharing)\n";
  else
    os << "memory    not known: " << program.memoryNote << "\n";
  for (const Remark &remark : program.remarks)
    if (remark.category == "shard" && remark.name == "layout")
      os << "ranks     " << remark.text << "\n";
    else if (remark.category == "overlap" && remark.name == "order")
      os << "overlap   " << remark.text << "\n";
  if (program.device)
    os << "time      at least " << formatMicroseconds(seconds) << " us at the device's peak rates, launches apart\n";
}

namespace {
/// Columns as wide as their widest cell; numbers to the right.
class TextTable {
public:
  explicit TextTable(std::vector<std::string> header, std::string left) : left(std::move(left)) {
    rows.push_back(std::move(header));
  }
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  void print(llvm::raw_ostream &os) const {
    std::vector<size_t> widths(rows[0].size());
    for (const std::vector<std::string> &row : rows)
      for (size_t i = 0; i < row.size(); ++i)
        widths[i] = std::max(widths[i], row[i].size());
    for (const std::vector<std::string> &row : rows) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        std::string fill(widths[i] - row[i].size(), ' ');
        line += (i ? "  " : "") + (left[i] == 'l' ? row[i] + fill : fill + row[i]);
      }
      os << StringRef(line).rtrim() << "\n";
    }
  }

private:
  std::string left; ///< 'l' or 'r' for each column.
  std::vector<std::vector<std::string>> rows;
};
} // namespace

/// "2 register, 1 L2": of the edges that end in a dispatch.
static std::vector<std::string> listLevels(const Program &program) {
  std::vector<std::map<StringRef, int>> counts(program.dispatches.size());
  for (const Edge &edge : program.edges)
    if (edge.consumerDispatch >= 0 && !edge.level.empty())
      ++counts[edge.consumerDispatch][edge.level];
  std::vector<std::string> texts;
  for (const auto &count : counts) {
    std::string text;
    for (const char *level : {"register", "cache", "shared", "cluster", "L2", "memory"})
      if (auto found = count.find(level); found != count.end())
        text += (text.empty() ? "" : ", ") + std::to_string(found->second) + " " + level;
    texts.push_back(text.empty() ? "-" : text);
  }
  return texts;
}

static std::string orDash(std::string text) { return text.empty() ? "-" : text; }

static void printDispatches(const Program &program, llvm::raw_ostream &os) {
  bool isMeasured = llvm::any_of(program.dispatches, [](const Dispatch &d) { return !d.measured.empty(); });
  std::vector<std::string> header{"#",     "kernel", "ops",        "grid",  "tile",     "order",    "edges",
                                  "flops", "bound",  "compulsory", "model", "L2 hit %", "bound by", "us"};
  std::string align = "rlrllllrrrrrlr";
  if (isMeasured) {
    header.insert(header.end(), {"measured", "L2 hit %", "us"});
    align += "rrr";
  }
  TextTable table(std::move(header), align);
  std::vector<std::string> levels = listLevels(program);
  auto number = [](double value) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.1f", value);
    return text;
  };
  for (size_t i = 0; i < program.dispatches.size(); ++i) {
    const Dispatch &d = program.dispatches[i];
    std::vector<std::string> row{std::to_string(i),
                                 bundle::quote(d.kernel),
                                 std::to_string(d.ops.size()),
                                 orDash(d.grid),
                                 orDash(d.tile),
                                 orDash(d.traversal),
                                 levels[i],
                                 formatFlops(d.flops),
                                 formatBytes(d.boundBytes),
                                 formatBytes(d.compulsoryBytes),
                                 formatBytes(d.modelBytes),
                                 d.hitRate ? number(*d.hitRate) : "-",
                                 orDash(d.boundBy),
                                 d.seconds > 0 ? formatMicroseconds(d.seconds) : "-"};
    row[1] = row[1].substr(1, row[1].size() - 2);
    if (isMeasured) {
      auto get = [&](const char *name) {
        auto it = d.measured.find(name);
        return it == d.measured.end() ? -1 : it->second;
      };
      double read = get("dram__bytes_read.sum"), write = get("dram__bytes_write.sum");
      double hit = get("lts__t_sector_hit_rate.pct"), time = get("gpu__time_duration.sum");
      row.push_back(read < 0 ? "-" : formatBytes(read + std::max(write, 0.0)));
      row.push_back(hit < 0 ? "-" : number(hit));
      row.push_back(time < 0 ? "-" : number(time / 1e3)); // ncu's nanoseconds.
    }
    table.add(std::move(row));
  }
  table.print(os);
}

void weft::explain::printComparison(const std::vector<Model> &models, llvm::raw_ostream &os) {
  TextTable table(
      {"target", "planner", "ops", "groups", "kernels", "distinct", "traffic", "bound", "model of groups us"},
      "llrrrrrrr");
  for (size_t p = 0; !models.empty() && p < models.front().programs.size(); ++p)
    for (const Model &model : models) {
      if (p >= model.programs.size())
        continue;
      const Program &program = model.programs[p];
      double bound = 0;
      for (const Dispatch &dispatch : program.dispatches)
        bound += dispatch.boundBytes;
      auto count = [](double value) { return std::to_string(int64_t(value)); };
      table.add({program.target, program.planner.name, count(program.planner.ops), count(program.planner.groups),
                 count(double(program.dispatches.size())), count(double(program.kernels)),
                 formatBytes(program.summary.fusedBytes), formatBytes(bound),
                 formatMicroseconds(program.planner.microseconds * 1e-6)});
    }
  table.print(os);
}

void weft::explain::printLevels(const Model &model, llvm::raw_ostream &os) {
  auto nameOf = [](const std::string &node, const std::string &op) {
    std::string name = node.empty() ? op : bundle::quote(node);
    return node.empty() ? name : name.substr(1, name.size() - 2) + " (" + op + ")";
  };
  for (const Program &program : model.programs) {
    TextTable table({"#", "from", "to", "level", "bytes", "a tile", "why"}, "rlllrrl");
    for (const Edge &edge : program.edges) {
      if (edge.level.empty())
        continue;
      std::string kernels = std::to_string(edge.consumerDispatch);
      if (edge.producerDispatch != edge.consumerDispatch)
        kernels = std::to_string(edge.producerDispatch) + " -> " + kernels;
      table.add({kernels, nameOf(edge.producerNode, edge.producerOp), nameOf(edge.consumerNode, edge.consumerOp),
                 edge.level, formatBytes(edge.bytes), edge.tileBytes < 0 ? "-" : formatBytes(edge.tileBytes),
                 edge.levelReason});
    }
    os << "program   " << program.target << "\n";
    table.print(os);
  }
}

void weft::explain::printTable(const Model &model, llvm::raw_ostream &os) {
  std::string name = bundle::quote(model.name);
  os << "model     " << name.substr(1, name.size() - 2) << " (" << model.version << ")\n";
  for (const Program &program : model.programs) {
    os << "\n";
    printSummary(program, os);
    os << "\n";
    printDispatches(program, os);
  }
}
