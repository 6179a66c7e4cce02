// The `explain` section of a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Explain.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Emit/BundleWriter.h"
#include "weft/Lower/Cpu/Passes.h"
#include "weft/Target/PlanAttributes.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace weft::emit {

static std::string mapText(Operation *op, llvm::StringRef attribute) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto map = op->getAttrOfType<AffineMapAttr>(attribute))
    llvm::interleaveComma(map.getValue().getResults(), os);
  return text;
}

/// What records call a kernel or the group of a dispatch (docs/records.md).
static void explainSubgraph(llvm::json::OStream &json, Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(plan::subgraphAttr);
  auto shapes = op->getAttrOfType<ArrayAttr>(plan::shapesAttr);
  if (!name || !shapes)
    return;
  json.attribute("subgraph", name.getValue());
  json.attributeArray("shapes", [&] {
    for (Attribute shape : shapes)
      json.value(cast<StringAttr>(shape).getValue());
  });
}

static void explainKernel(llvm::json::OStream &json, ModuleOp kernel, unsigned number) {
  json.object([&] {
    json.attribute("id", int64_t(number));
    json.attribute("name", llvm::json::fixUTF8(kernel.getSymName().value_or("")));
    json.attribute("grid", mapText(kernel, cpu::gridAttr));
    json.attribute("scratch", mapText(kernel, cpu::scratchAttr));
    if (auto tile = kernel->getAttrOfType<DenseI64ArrayAttr>(cpu::tileSizesAttr))
      json.attributeArray("tile", [&] {
        for (int64_t size : tile.asArrayRef())
          json.value(size);
      });
    explainSubgraph(json, kernel);
    if (Attribute schedule = kernel->getAttr(plan::scheduleAttr)) {
      std::string text;
      llvm::raw_string_ostream(text) << schedule;
      json.attribute("schedule", text);
    }
    if (auto reason = kernel->getAttrOfType<StringAttr>(cpu::fallbackAttr))
      json.attribute("fallback", llvm::json::fixUTF8(reason.getValue()));
    if (auto ops = kernel->getAttrOfType<ArrayAttr>(cpu::opsAttr))
      json.attributeArray("ops", [&] {
        for (Attribute op : ops)
          json.value(cast<StringAttr>(op).getValue());
      });
  });
}

static void explainDispatch(llvm::json::OStream &json, tg::DispatchOp op) {
  json.object([&] {
    json.attribute("kernel", llvm::json::fixUTF8(op.getCallee().getRootReference().getValue()));
    json.attributeArray("nodes", [&] {
      if (auto nodes = op->getAttrOfType<ArrayAttr>("tg.nodes"))
        for (Attribute node : nodes)
          json.value(llvm::json::fixUTF8(cast<StringAttr>(node).getValue()));
    });
    explainSubgraph(json, op);
  });
}

/// What runs together: a program, or the variant of one in function `main`.
struct ExplainedPart {
  func::FuncOp main;
  SmallVector<ModuleOp> kernels;
  std::string interval; ///< Of a variant: of which values of which symbol.
};

/// "T 2-63", or "T 64-" of the last one.
static std::string intervalOf(tg::VariantsOp op, size_t number) {
  auto symbol = dyn_cast<AffineSymbolExpr>(op.getValue().getResult(0));
  SmallVector<std::string> names = tg::getSymbolNames(op->getParentOfType<ModuleOp>());
  std::string text = symbol && symbol.getPosition() < names.size() ? names[symbol.getPosition()] + " " : "";
  if (number == op.getLow().size())
    return text + (number ? std::to_string(op.getHigh().back() + 1) + "-" : "");
  int64_t low = op.getLow()[number], high = op.getHigh()[number];
  return text + std::to_string(low) + (high > low ? "-" + std::to_string(high) : "");
}

/// The parts of a program whose @main has variants; else none.
static std::vector<ExplainedPart> partsOf(ModuleOp module) {
  std::vector<ExplainedPart> parts;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main || main.isExternal())
    return parts;
  for (auto variants : main.getOps<tg::VariantsOp>())
    for (auto [i, name] : llvm::enumerate(variants.getBodies().getAsRange<FlatSymbolRefAttr>())) {
      ExplainedPart part;
      part.main = module.lookupSymbol<func::FuncOp>(name.getValue());
      part.interval = intervalOf(variants, i);
      if (auto names = part.main ? part.main->getAttrOfType<ArrayAttr>(variantKernelsAttr) : ArrayAttr())
        for (auto kernel : names.getAsRange<StringAttr>())
          if (auto found = module.lookupSymbol<ModuleOp>(kernel))
            part.kernels.push_back(found);
      if (part.main)
        parts.push_back(std::move(part));
    }
  return parts;
}

static void explainDispatches(llvm::json::OStream &json, func::FuncOp function) {
  for (tg::DispatchOp op : function.getOps<tg::DispatchOp>())
    explainDispatch(json, op);
}

static int64_t countDispatches(func::FuncOp function) { return llvm::range_size(function.getOps<tg::DispatchOp>()); }

static void explainProgram(llvm::json::OStream &json, const ExplainedProgram &program) {
  llvm::DenseMap<Operation *, unsigned> numbers;
  for (ModuleOp kernel : getKernels(program.module))
    numbers.try_emplace(kernel, program.firstKernel + numbers.size());
  std::vector<ExplainedPart> parts = partsOf(program.module);
  int64_t firstDispatch = 0;
  for (size_t i = 0; i < std::max<size_t>(parts.size(), 1); ++i)
    json.object([&] {
      json.attribute("target", program.target);
      if (!parts.empty()) {
        json.attribute("interval", llvm::json::fixUTF8(parts[i].interval));
        json.attribute("first_dispatch", firstDispatch);
      }
      json.attributeArray("kernels", [&] {
        for (ModuleOp kernel : parts.empty() ? getKernels(program.module) : parts[i].kernels)
          explainKernel(json, kernel, numbers.lookup(kernel));
      });
      if (i < program.plans.size() && !program.plans[i].empty())
        json.attribute("plan", llvm::json::Object(program.plans[i]));
      json.attributeArray("dispatches", [&] {
        if (!parts.empty())
          return explainDispatches(json, parts[i].main);
        for (auto main : ModuleOp(program.module).getOps<func::FuncOp>())
          explainDispatches(json, main);
      });
      firstDispatch += parts.empty() ? 0 : countDispatches(parts[i].main);
    });
}

std::string explain(ArrayRef<ExplainedProgram> programs, llvm::StringRef model) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("schema", "weft.explain/3");
    json.attribute("model", llvm::json::fixUTF8(model));
    json.attributeArray("programs", [&] {
      for (const ExplainedProgram &program : programs)
        explainProgram(json, program);
    });
  });
  return text;
}

} // namespace weft::emit
