// The `explain` section of a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Explain.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
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

/// What profiles call a kernel or the group of a dispatch (docs/profile.md).
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

static void explainProgram(llvm::json::OStream &json, const ExplainedProgram &program) {
  json.object([&] {
    json.attribute("target", program.target);
    json.attributeArray("kernels", [&] {
      unsigned number = program.firstKernel;
      for (ModuleOp kernel : getKernels(program.module))
        explainKernel(json, kernel, number++);
    });
    if (!program.plan.empty())
      json.attribute("plan", llvm::json::Object(program.plan));
    json.attributeArray("dispatches", [&] {
      for (auto main : ModuleOp(program.module).getOps<func::FuncOp>())
        for (tg::DispatchOp op : main.getOps<tg::DispatchOp>())
          explainDispatch(json, op);
    });
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
