// Kernels that spill registers, by what ptxas says: fewer CTAs on an SM, or another schedule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compile.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "weft/Emit/Ptx.h"
#include "weft/Plan/KernelTime.h"
#include "weft/Plan/Passes.h"
#include "llvm/Support/Threading.h"

using namespace mlir;

namespace weft::tools {

/// ptxas keeps a value or two in memory of its own choice, for a step of occupancy.
static bool spills(const emit::PtxasEntry &entry) {
  constexpr unsigned chosenBytes = 8;
  return std::max(entry.spillStores, entry.spillLoads) > chosenBytes;
}

void Compilation::keepKernels(ModuleOp program) {
  if (variantNumber == 0)
    outlined = {};
  bool printsOther = emission.kind == Emission::Mlir && emission.last != Phase::Plan;
  if (printsOther || getPtxas().empty())
    return;
  if (!outlined)
    outlined = ModuleOp::create(program.getLoc());
  for (ModuleOp kernel : program.getOps<ModuleOp>())
    outlined->push_back(kernel.clone());
}

namespace {
/// The same code with its registers dealt out in other ways. Where nothing bounds them, ptxas aims at a step of
/// occupancy and spills for it: fewer CTAs on an SM are stated. Where warpgroups hand them over (setmaxnreg), those
/// that receive want a number that ptxas makes good use of, which is not always the highest.
class RegisterDeal {
public:
  RegisterDeal(llvm::StringRef text, const emit::PtxasEntry &entry, const Device &device) : text(text) {
    constexpr unsigned warpThreads = 32;
    unsigned threads = 0;
    launchEnd = readNumber(text.find(launchText), launchText, threads);
    if (threads < warpThreads || entry.registers == 0)
      return;
    if (size_t at = text.find(takeText); at != llvm::StringRef::npos)
      readNumber(at, takeText, taken);
    else if (entry.registers + unit <= device.registersPerThread && !text.contains(".minnctapersm") &&
             !text.contains(".maxnreg"))
      ctas = device.registersPerSm / (llvm::alignTo(entry.registers, unit) * threads);
  }

  /// Goes on to the next way; false: there is none.
  bool next() {
    constexpr unsigned leastTaken = 192;
    if (taken > leastTaken)
      return taken -= unit;
    if (ctas < 2)
      return false;
    ctas -= std::max(ctas / 4, 1u);
    return true;
  }

  std::string getText() const {
    if (taken == 0)
      return (text.take_front(launchEnd) + "\n.minnctapersm " + llvm::Twine(ctas) + text.drop_front(launchEnd)).str();
    std::string changed = text.str();
    for (size_t at = changed.find(takeText); at != std::string::npos; at = changed.find(takeText, at + 1))
      if (size_t end = changed.find(';', at); end != std::string::npos)
        changed.replace(at, end - at, takeText.str() + " " + std::to_string(taken));
    return changed;
  }

private:
  /// What stands behind `before`, which is at `at`; returns its end.
  size_t readNumber(size_t at, llvm::StringRef before, unsigned &number) const {
    if (at == llvm::StringRef::npos)
      return at;
    llvm::StringRef rest = text.drop_front(at + before.size()).ltrim();
    rest.consumeInteger(10, number);
    return text.size() - rest.size();
  }

  static constexpr llvm::StringLiteral launchText = ".reqntid", takeText = "setmaxnreg.inc.sync.aligned.u32";
  static constexpr unsigned unit = 8; ///< Registers.
  llvm::StringRef text;
  unsigned ctas = 0;  ///< On an SM; 0: bounded already.
  unsigned taken = 0; ///< Of a thread that receives registers; 0: none does.
  size_t launchEnd = 0;
};
} // namespace

/// Kernels that spill get the first deal of registers with which they do not.
llvm::Error Compilation::dealRegisters(Assembly &assembly, const Device &device) {
  std::vector<std::pair<size_t, RegisterDeal>> deals;
  for (auto [i, entry] : llvm::enumerate(assembly.entries))
    if (spills(entry))
      deals.emplace_back(i, RegisterDeal(assembly.modules[i], entry, device));
  while (true) {
    llvm::erase_if(deals, [](auto &each) { return !each.second.next(); });
    if (deals.empty())
      return llvm::Error::success();
    std::vector<std::string> texts;
    for (auto &[i, deal] : deals)
      texts.push_back(deal.getText());
    auto entries = emit::assemblePtx(assembly.ptxas, texts, device.architecture, *context);
    if (!entries)
      return entries.takeError();
    std::vector<std::pair<size_t, RegisterDeal>> left;
    for (auto [k, each] : llvm::enumerate(deals)) {
      if (spills((*entries)[k])) {
        left.push_back(each);
        continue;
      }
      assembly.modules[each.first] = std::move(texts[k]);
      assembly.entries[each.first] = std::move((*entries)[k]);
    }
    deals = std::move(left);
  }
}

/// The kernel by another schedule, in a program of its own; null: there is none.
OwningOpRef<ModuleOp> Compilation::lowerAgain(Program &of, llvm::StringRef name, ArrayRef<Attribute> spilled) {
  auto kernel = of.outlined->lookupSymbol<ModuleOp>(name);
  // One whose schedule was given keeps it.
  if (!kernel || kernel->hasAttr(plan::scheduleAttr))
    return {};
  OwningOpRef<ModuleOp> program = ModuleOp::create(kernel.getLoc());
  program->push_back(kernel.clone());
  cast<ModuleOp>(program->getBody()->front())->setAttr(spilledAttr, ArrayAttr::get(context.get(), spilled));
  PhaseOptions options = makeOptions(of.gpu);
  options.gpu->mergeLaunches = "off";
  // That there is no other schedule, or that it cannot be lowered, is no problem of the model.
  ScopedDiagnosticHandler quiet(context.get(), [](mlir::Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() == DiagnosticSeverity::Error);
  });
  if (failed(weft::runPhases(*program, Phase::Outline, Phase::Lower, options)))
    return {};
  return program;
}

/// Seconds that the model gives a lowered kernel; 0: none.
static double secondsOf(ModuleOp kernel) {
  auto seconds = kernel->getAttrOfType<FloatAttr>(plan::secondsAttr);
  return seconds ? seconds.getValueAsDouble() : 0;
}

/// Kernels that spill though a thread has all registers that there are: by other schedules, as long as the model has
/// them not much slower, until one does not spill.
llvm::Error Compilation::replanKernels(Program &program, Assembly &assembly) {
  constexpr double mostSlower = 1.1;
  constexpr unsigned mostTries = 4;
  SmallVector<ModuleOp> kernels = emit::getKernels(*program.module);
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    if (!program.outlined || !spills(assembly.entries[i]))
      continue;
    beginActivity(("other schedules of " + kernel.getSymName().value_or("a kernel")).str(), program.name());
    SmallVector<Attribute> spilled = {kernel->getAttr(plan::scheduleAttr)};
    for (unsigned tries = 0; tries < mostTries && spilled.back(); ++tries) {
      OwningOpRef<ModuleOp> again = lowerAgain(program, kernel.getSymName().value_or(""), spilled);
      if (!again)
        break;
      ModuleOp other = emit::getKernels(*again).front();
      spilled.push_back(other->getAttr(plan::scheduleAttr));
      if (secondsOf(other) > mostSlower * secondsOf(kernel))
        continue;
      Assembly made;
      made.ptxas = assembly.ptxas;
      auto text = emit::compilePtx({other}, program.name(), assembly.firstKernel + i);
      if (!text)
        return text.takeError();
      made.modules = std::move(*text);
      auto entries = emit::assemblePtx(made.ptxas, made.modules, program.name(), *context);
      if (!entries)
        return entries.takeError();
      made.entries = std::move(*entries);
      if (llvm::Error error = dealRegisters(made, *program.gpu))
        return error;
      if (spills(made.entries.front()))
        continue;
      assembly.modules[i] = std::move(made.modules.front());
      assembly.entries[i] = std::move(made.entries.front());
      other->moveBefore(kernel);
      kernel.erase();
      break;
    }
  }
  return llvm::Error::success();
}

/// A plan that is printed has the schedules that its code will have: a copy goes on to the code.
bool Compilation::settlePlan(Program &program) {
  if (emission.last != Phase::Plan || !program.outlined)
    return true;
  Program trial;
  trial.gpu = program.gpu;
  trial.module = program.module->clone();
  trial.outlined = std::move(program.outlined);
  PhaseOptions options = makeOptions(program.gpu);
  options.started = [&](Phase phase) { beginActivity(getPhaseName(phase), program.name()); };
  if (failed(weft::runPhases(*trial.module, Phase::Plan, Phase::Lower, options)))
    return false;
  std::vector<unsigned> registers;
  size_t numWarnings = warnings.size(); // Those of the code are for whoever compiles on.
  llvm::Expected<std::string> ptx = makePtx(trial, 0, registers);
  if (!ptx)
    return fail(onnx::ErrorClass::Internal, llvm::toString(ptx.takeError()));
  warnings.resize(numWarnings);
  for (ModuleOp kernel : emit::getKernels(*trial.module)) {
    auto planned = program.module->lookupSymbol<ModuleOp>(kernel.getSymName().value_or(""));
    if (Attribute schedule = kernel->getAttr(plan::scheduleAttr); planned && schedule)
      planned->setAttr(plan::scheduleAttr, schedule);
  }
  return true;
}

} // namespace weft::tools
