// weft-inspect model.onnx: what the model is made of and what of it is supported, all at once, without reading its
// weights. The answer comes from the importer itself, so it is the compiler's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../common/CompilerTools.h"
#include "../common/ToolFlags.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "weft/Compiler/ImportFlags.h"
#include "weft/Import/Onnx/Handler.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace weft::onnx;
using llvm::StringRef;

static std::string qualified(StringRef domain, StringRef op) {
  return domain.empty() ? op.str() : (domain + "::" + op).str();
}

//===--- --list-ops ---===//

static std::string lastVersion(const OpEntry &entry) {
  return entry.until == anyOpset ? "newest" : std::to_string(entry.until);
}

static void listOps(llvm::raw_ostream &os, bool json) {
  if (json) {
    llvm::json::OStream stream(os, 1);
    stream.array([&] {
      for (const OpEntry &entry : getOpTable())
        stream.object([&] {
          stream.attribute("domain", entry.domain);
          stream.attribute("op", entry.op);
          stream.attribute("since", entry.since);
          stream.attribute("until", lastVersion(entry));
          stream.attribute("note", entry.note);
        });
    });
    os << '\n';
    return;
  }
  for (const OpEntry &entry : getOpTable())
    os << llvm::format("%-44s %3d to %-7s %s\n", qualified(entry.domain, entry.op).c_str(), entry.since,
                       lastVersion(entry).c_str(), entry.note.str().c_str());
  os << getOpTable().size() << " rows; ONNX IR versions 3 to " << newestIrVersion << ", opsets to " << newestOpset
     << '\n';
}

//===--- A model ---===//

static StringRef statusOf(const ModelSummary::Op &op) {
  if (op.failed)
    return "unsupported";
  return op.known ? "supported" : "function";
}

static std::string bytesText(uint64_t bytes) {
  const char *units[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(units); ++unit)
    value /= 1000;
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

static void printModel(llvm::raw_ostream &os, StringRef file, const ModelSummary &summary) {
  os << escape(file) << ": IR " << summary.irVersion;
  for (const auto &[domain, version] : summary.opsets)
    os << ", " << (domain.empty() ? std::string("ai.onnx") : escape(domain)) << ' ' << version;
  if (!summary.producer.empty())
    os << ", by " << escape(summary.producer);
  os << '\n' << summary.nodes << " nodes";
  if (summary.unusedNodes)
    os << " (" << summary.unusedNodes << " not needed)";
  os << ", " << summary.initializers << " initialisers, " << summary.parameters << " parameters, "
     << bytesText(summary.parameterBytes) << '\n';
  for (const auto &[label, values] : {std::pair("input ", &summary.inputs), std::pair("output", &summary.outputs)})
    for (const ModelSummary::Value &value : *values)
      os << label << "  " << escape(value.name) << ": " << escape(value.type) << '\n';
  if (!summary.symbols.empty())
    os << "dims    " << escape(llvm::join(summary.symbols, ", "), 1000) << '\n';
  os << '\n' << llvm::format("%-40s %7s %6s  %-12s %s\n", "op", "version", "count", "status", "note");
  uint64_t total = 0, failed = 0;
  for (const ModelSummary::Op &op : summary.ops) {
    total += op.count;
    failed += op.failed;
    os << llvm::format("%-40s %7lld %6llu  %-12s ", escape(qualified(op.domain, op.op)).c_str(),
                       static_cast<long long>(op.version), static_cast<unsigned long long>(op.count),
                       statusOf(op).str().c_str());
    if (op.failed) {
      os << escape(op.reason, 300) << "; nodes: " << escape(llvm::join(op.failedNodes, ", "), 600);
      if (op.failed > op.failedNodes.size())
        os << " and " << op.failed - op.failedNodes.size() << " more";
    } else {
      os << op.note;
    }
    os << '\n';
  }
  os << total - failed << " of " << total << " needed nodes supported\n";
}

static void printModel(llvm::json::OStream &json, StringRef file, const ModelSummary &summary,
                       const Diagnostics &diagnostics) {
  auto values = [&](StringRef key, const std::vector<ModelSummary::Value> &list) {
    json.attributeArray(key, [&] {
      for (const ModelSummary::Value &value : list)
        json.object([&] {
          json.attribute("name", escape(value.name));
          json.attribute("type", escape(value.type));
        });
    });
  };
  json.attribute("file", escape(file));
  json.attribute("supported", diagnostics.empty());
  json.attribute("ir_version", summary.irVersion);
  json.attribute("producer", escape(summary.producer));
  json.attributeObject("opsets", [&] {
    for (const auto &[domain, version] : summary.opsets)
      json.attribute(domain.empty() ? std::string("ai.onnx") : escape(domain), version);
  });
  json.attribute("nodes", summary.nodes);
  json.attribute("unused_nodes", summary.unusedNodes);
  json.attribute("initializers", summary.initializers);
  json.attribute("parameters", summary.parameters);
  json.attribute("parameter_bytes", summary.parameterBytes);
  values("inputs", summary.inputs);
  values("outputs", summary.outputs);
  json.attributeArray("dims", [&] {
    for (const std::string &name : summary.symbols)
      json.value(escape(name));
  });
  json.attributeArray("ops", [&] {
    for (const ModelSummary::Op &op : summary.ops)
      json.object([&] {
        json.attribute("domain", escape(op.domain));
        json.attribute("op", escape(op.op));
        json.attribute("version", op.version);
        json.attribute("count", op.count);
        json.attribute("status", statusOf(op));
        json.attribute("note", op.note);
        json.attribute("failed", op.failed);
        json.attribute("reason", escape(op.reason, 1000));
        json.attributeArray("failed_nodes", [&] {
          for (const std::string &name : op.failedNodes)
            json.value(escape(name));
        });
      });
  });
}

static int inspect(StringRef file, const weft::ImportFlags &flags, bool json) {
  Diagnostics diagnostics;
  ModelSummary summary;
  ImportOptions options = flags.get(diagnostics);
  options.needWeights = false;
  if (diagnostics.empty()) {
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    importModel(file, options, context, diagnostics, &summary);
  }
  bool wasRead = summary.irVersion != 0;
  if (json) {
    llvm::json::OStream stream(llvm::outs(), 1);
    stream.object([&] {
      if (wasRead)
        printModel(stream, file, summary, diagnostics);
      stream.attributeBegin("problems");
      diagnostics.print(stream);
      stream.attributeEnd();
    });
    llvm::outs() << '\n';
    return diagnostics.exitCode();
  }
  if (wasRead)
    printModel(llvm::outs(), file, summary);
  llvm::outs().flush();
  diagnostics.print(llvm::errs(), file);
  return diagnostics.exitCode();
}

namespace {
struct InspectFlags : weft::ImportFlags {
  weft::FlagCategory own{*this, "weft-inspect"};
  weft::Flag<std::string> input{*this, "", "", "model.onnx", "The model"};
  weft::Flag<bool> json{*this, "json", false, "", "Print JSON"};
  weft::Flag<bool> ops{*this, "list-ops", false, "", "Print the table of supported operators"};
  weft::Flag<bool> capability{*this, "capability", false, "", "What the tool does anyway; for scripts that say it"};
  weft::tools::CommonFlags common{*this};
};
} // namespace

int weft::tools::runInspect(int argc, char **argv) {
  InspectFlags flags;
  if (std::optional<int> code = weft::tools::parseFlags(flags, flags.common, argc, argv, "weft-inspect",
                                                        "what an ONNX model is made of, and what of it Weft supports"))
    return *code;
  if (flags.ops) {
    listOps(llvm::outs(), flags.json);
    return 0;
  }
  if (flags.input.empty())
    return weft::tools::failUsage("weft-inspect", "expected a model; see --help");
  return inspect(flags.input, flags, flags.json);
}
