// GPU code of one program, and what ptxas says of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Environment.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "weft/Compiler/Compilation.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Emit/Ptx.h"
#include "weft/Emit/Ptxas.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace weft {

/// The ONNX nodes behind a kernel, of all its dispatches: " (nodes `a`, `b`)".
static std::string nodesOf(ModuleOp program, llvm::StringRef kernel) {
  constexpr size_t shown = 4;
  llvm::SetVector<llvm::StringRef> names;
  for (auto main : program.getOps<func::FuncOp>())
    for (tg::DispatchOp op : main.getOps<tg::DispatchOp>())
      if (auto nodes = op->getAttrOfType<ArrayAttr>("tg.nodes"); nodes && op.getCallee().getRootReference() == kernel)
        for (Attribute node : nodes)
          names.insert(cast<StringAttr>(node).getValue());
  if (names.empty())
    return "";
  std::string text = names.size() == 1 ? " (node " : " (nodes ";
  for (size_t i = 0; i < std::min(shown, names.size()); ++i)
    text += (i ? ", `" : "`") + names[i].str() + "`";
  return text + (names.size() > shown ? llvm::formatv(" and {0} more)", names.size() - shown).str() : ")");
}

static std::string problemOf(const emit::PtxasEntry &entry) {
  std::string text;
  if (entry.spillStores || entry.spillLoads)
    text = llvm::formatv("spills registers ({0} bytes of stores, {1} of loads)", entry.spillStores, entry.spillLoads);
  for (const std::string &loss : entry.losses)
    text += (text.empty() ? "" : "; ") + loss;
  return text;
}

/// Its path; empty: none is wanted, or there is none.
std::string Compilation::getPtxas() const {
  return flags.ptxas == "auto" ? findPtxas() : flags.ptxas == "off" ? "" : flags.ptxas.getValue();
}

/// Sets `registers` and the program's line, mends kernels that spill where it can, and warns of those with problems.
/// That ptxas cannot assemble is an error if the user named it, else a warning: it may be older than the code.
llvm::Error Compilation::checkPtx(Program &program, Assembly &assembly, std::vector<unsigned> &registers) {
  assembly.ptxas = getPtxas();
  if (assembly.ptxas.empty() || assembly.modules.empty())
    return llvm::Error::success();
  beginActivity("ptxas", program.name(), assembly.modules.size());
  auto entries = emit::assemblePtx(assembly.ptxas, assembly.modules, program.name(), *context);
  if (!entries) {
    if (flags.ptxas != "auto")
      return entries.takeError();
    warnings.push_back(llvm::toString(entries.takeError()));
    return llvm::Error::success();
  }
  assembly.entries = std::move(*entries);
  if (llvm::Error error = mendSpills(assembly, *program.gpu))
    return error;
  if (llvm::Error error = replanKernels(program, assembly))
    return error;
  SmallVector<ModuleOp> kernels = emit::getKernels(*program.module);
  if (llvm::Error error = fillSms(kernels, assembly, *program.gpu))
    return error;
  if (llvm::Error error = leaveRegisters(kernels, assembly, *program.gpu))
    return error;
  unsigned most = 0, spilling = 0;
  for (auto [kernel, entry] : llvm::zip_equal(kernels, assembly.entries)) {
    registers.push_back(entry.registers);
    most = std::max(most, entry.registers);
    spilling += entry.spillStores || entry.spillLoads;
    llvm::StringRef name = kernel.getSymName().value_or("?");
    if (entry.hasProblem())
      warnings.push_back("kernel " + name.str() + nodesOf(*program.module, name) + ": " + problemOf(entry));
  }
  program.ptxas = llvm::formatv("at most {0} registers, {1}", most,
                                spilling ? llvm::formatv("{0} kernels spill", spilling).str() : "no spills");
  return llvm::Error::success();
}

llvm::Expected<std::string> Compilation::makePtx(Program &program, unsigned firstKernel,
                                                 std::vector<unsigned> &registers) {
  auto begin = std::chrono::steady_clock::now();
  auto lap = [&](llvm::StringRef name) {
    auto now = std::chrono::steady_clock::now();
    times.push_back({(name + " " + program.name()).str(), std::chrono::duration<double>(now - begin).count()});
    begin = now;
  };
  SmallVector<ModuleOp> kernels = emit::getKernels(*program.module);
  beginActivity("ptx", program.name(), kernels.size());
  auto modules = emit::compilePtx(kernels, program.name(), firstKernel, [this] { return checkCancelled(); });
  if (!modules)
    return modules.takeError();
  lap("ptx");
  Assembly assembly;
  assembly.firstKernel = firstKernel;
  assembly.modules = std::move(*modules);
  if (llvm::Error error = checkPtx(program, assembly, registers))
    return std::move(error);
  lap("ptxas");
  return emit::joinPtx(assembly.modules, program.name());
}

} // namespace weft
