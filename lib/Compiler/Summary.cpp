// The lines that weft-compile prints about what it made.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Compiler/Compilation.h"
#include "weft/Dialect/TileGraph/IR/Program.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"

using namespace mlir;

namespace weft {

/// "768", "110.1 M": a small model has not 0.0 of everything.
static std::string inMillions(uint64_t count) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (count < 100000)
    os << count;
  else
    os << llvm::format("%.1f M", double(count) * 1e-6);
  return text;
}

static std::string inBytes(uint64_t bytes) { return inMillions(bytes) + (bytes < 100000 ? " B" : "B"); }

/// Where the nodes went: those that a dispatch names run there; the rest became constants, views or shape arithmetic.
std::string Compilation::placement(const Program &program) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!program.module) {
    os << "nothing on " << program.name() << "; all on cpu: " << program.refusal;
    return text;
  }
  llvm::StringSet<> inKernels;
  unsigned dispatches = 0, views = 0;
  size_t variants = 0;
  for (auto main : program.module.get().getOps<func::FuncOp>())
    for (Operation &op : main.getOps()) {
      views += isa<tg::ReshapeOp, tg::BitcastOp>(op);
      if (auto joined = dyn_cast<tg::VariantsOp>(op))
        variants += joined.getBodies().size();
      if (!isa<tg::DispatchOp>(op))
        continue;
      ++dispatches;
      if (auto nodes = op.getAttrOfType<ArrayAttr>("tg.nodes"))
        for (Attribute node : nodes)
          inKernels.insert(cast<StringAttr>(node).getValue());
    }
  os << dispatches << " dispatches" << (variants ? " of " + llvm::Twine(variants) + " variants" : "").str() << " on "
     << program.name() << " (" << (program.gpu ? program.gpu->name : cpu.cpu) << ')';
  // A name stands for several nodes where functions or loops were expanded.
  if (isOnnx && inKernels.size() <= summary.nodes)
    os << " run " << inKernels.size() << " of " << summary.nodes << " nodes";
  if (views)
    os << "; " << views << " views without work";
  return text;
}

void Compilation::summarise(const emit::BundleStatistics &statistics) {
  llvm::raw_string_ostream os(summaryText);
  if (isOnnx)
    os << "read      " << onnx::escape(request.model) << "  ir " << summary.irVersion << ", " << summary.nodes
       << " nodes, " << inMillions(summary.parameters) << " parameters (" << inBytes(summary.parameterBytes)
       << ", mapped)\n";
  for (const Program &program : programs)
    os << "placement " << placement(program) << "\n";
  bool several = statistics.programs.size() > 1;
  uint64_t codeBytes = 0;
  for (const emit::ProgramStatistics &program : statistics.programs) {
    codeBytes += program.codeBytes;
    os << "kernels   " << program.dispatches << " dispatches of " << program.kernels << " distinct kernels";
    auto made = llvm::find_if(programs, [&](const Program &p) { return p.name() == program.target; });
    unsigned fallbacks =
        llvm::count_if(emit::getKernels(*made->module), [](ModuleOp op) { return op->hasAttr(cpu::fallbackAttr); });
    if (fallbacks)
      os << ", " << fallbacks << " by plain loops";
    os << (several ? " on " + program.target : "") << "\n";
    if (!made->ptxas.empty())
      os << "ptxas     " << made->ptxas << (several ? " (" + program.target + ")" : "") << "\n";
    if (program.arenaBytes)
      os << "memory    " << inBytes(program.arenaBytes) << " of activations (" << inBytes(program.unsharedBytes)
         << " without sharing)" << (several ? " on " + program.target : "") << "\n";
  }
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  os << "wrote     " << onnx::escape(outputPath(".weft")) << "  " << inBytes(statistics.fileBytes) << " (weights "
     << inBytes(statistics.weightBytes) << ", code " << inBytes(codeBytes) << ") in "
     << llvm::format("%.1f s", seconds.count()) << "\n";
}

} // namespace weft
