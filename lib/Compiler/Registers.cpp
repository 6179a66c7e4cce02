// Registers by what ptxas says: CTAs that only just do not fit on an SM are made to; kernels that spill keep
// their loops, are dealt others, or get another schedule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/SymbolTable.h"
#include "weft/Compiler/Compilation.h"
#include "weft/Emit/Ptx.h"
#include "weft/Plan/KernelTime.h"
#include "weft/Plan/Passes.h"
#include "llvm/Support/Threading.h"

using namespace mlir;

namespace weft {

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

/// What stands in `text` behind `before` from `from` on, and where it ends; none: it is not there.
static std::optional<std::pair<unsigned, size_t>> findNumber(llvm::StringRef text, llvm::StringRef before,
                                                             size_t from = 0) {
  size_t at = text.find(before, from);
  if (at == llvm::StringRef::npos)
    return std::nullopt;
  llvm::StringRef rest = text.drop_front(at + before.size()).ltrim();
  unsigned number = 0;
  if (rest.consumeInteger(10, number))
    return std::nullopt;
  return std::pair(number, text.size() - rest.size());
}

/// Gives the modules of these numbers these texts, where `accepts` what ptxas says of them.
llvm::Error Compilation::replaceTexts(Assembly &assembly, ArrayRef<size_t> numbers, std::vector<std::string> texts,
                                      const Device &device,
                                      llvm::function_ref<bool(size_t, const emit::PtxasEntry &)> accepts) {
  if (texts.empty())
    return llvm::Error::success();
  auto entries = emit::assemblePtx(assembly.ptxas, texts, device.architecture, *context);
  if (!entries)
    return entries.takeError();
  for (auto [k, i] : llvm::enumerate(numbers)) {
    if (!accepts(k, (*entries)[k]))
      continue;
    assembly.modules[i] = std::move(texts[k]);
    assembly.entries[i] = std::move((*entries)[k]);
  }
  return llvm::Error::success();
}

static constexpr unsigned registerUnit = 8; ///< They are dealt out to warps by so many a thread.

//===--- Occupancy ---===//

/// How many CTAs the SM would hold if each thread gave up an eighth of its registers at most; 0: no more than now, or
/// the registers in use would hardly grow. ptxas knows nothing of shared memory and grids, so it is not asked to aim
/// at a step of occupancy by itself.
static unsigned findFullerSm(const emit::PtxasEntry &entry, const emit::GpuKernel &kernel, const Device &device) {
  if (entry.registers == 0)
    return 0;
  unsigned used = llvm::alignTo(entry.registers, registerUnit),
           byRegisters = device.registersPerSm / (used * kernel.threads);
  unsigned room = std::min({device.sharedPerSm / (kernel.sharedBytes + device.sharedReservedPerCta),
                            device.threadsPerSm / kernel.threads, device.ctasPerSm}),
           more = byRegisters + 1;
  if (byRegisters == 0 || room < more)
    return 0;
  auto grid = dyn_cast<AffineConstantExpr>(kernel.grid.getResult(0));
  if (kernel.grid.getNumResults() == 1 && grid && grid.getValue() <= int64_t(byRegisters) * int64_t(device.sms))
    return 0;
  unsigned fewer = llvm::alignDown(device.registersPerSm / (more * kernel.threads), registerUnit);
  return 8 * fewer >= 7 * used && 8 * more * fewer >= 9 * byRegisters * used ? more : 0;
}

/// Kernels of which one CTA more fits on an SM by a few registers say so, where they do not spill for it.
llvm::Error Compilation::fillSms(ArrayRef<ModuleOp> kernels, Assembly &assembly, const Device &device) {
  constexpr llvm::StringLiteral one = ".minnctapersm 1\n";
  std::vector<std::string> texts;
  std::vector<size_t> numbers;
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    llvm::StringRef text = assembly.modules[i];
    size_t at = text.find(one);
    if (at == llvm::StringRef::npos || text.contains("setmaxnreg.") || spills(assembly.entries[i]))
      continue;
    auto read = emit::readGpuKernel(kernel);
    if (!read)
      return read.takeError();
    unsigned ctas = findFullerSm(assembly.entries[i], *read, device);
    if (ctas == 0)
      continue;
    numbers.push_back(i);
    texts.push_back(
        (text.take_front(at) + ".minnctapersm " + llvm::Twine(ctas) + "\n" + text.drop_front(at + one.size())).str());
  }
  return replaceTexts(assembly, numbers, std::move(texts), device,
                      [](size_t, const emit::PtxasEntry &entry) { return !spills(entry); });
}

//===--- Registers that stay free ---===//

static constexpr llvm::StringLiteral dealing = "setmaxnreg.";

/// The code without the instructions that deal registers out anew.
static std::string keepShares(llvm::StringRef text) {
  std::string kept;
  for (llvm::StringRef line : llvm::split(text, '\n'))
    if (!line.contains(dealing))
      kept += (line + "\n").str();
  kept.pop_back(); // Behind the last line there was none.
  return kept;
}

/// CTAs that deal registers out anew take all of an SM's, whatever they need. Those of one wave keep an even share
/// where a part of it is enough: the next kernel's CTAs find room beside them.
llvm::Error Compilation::leaveRegisters(ArrayRef<ModuleOp> kernels, Assembly &assembly, const Device &device) {
  std::vector<std::string> texts;
  std::vector<size_t> numbers;
  std::vector<unsigned> shares; // Of a thread.
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    if (!llvm::StringRef(assembly.modules[i]).contains(dealing))
      continue;
    auto read = emit::readGpuKernel(kernel);
    if (!read)
      return read.takeError();
    auto grid = dyn_cast<AffineConstantExpr>(read->grid.getResult(0));
    if (read->grid.getNumResults() != 1 || !grid || grid.getValue() > int64_t(device.sms))
      continue;
    numbers.push_back(i);
    shares.push_back(device.registersPerSm / read->threads);
    texts.push_back(keepShares(assembly.modules[i]));
  }
  return replaceTexts(assembly, numbers, std::move(texts), device, [&](size_t k, const emit::PtxasEntry &entry) {
    return !spills(entry) && entry.losses.empty() && 4 * llvm::alignTo(entry.registers, registerUnit) <= 3 * shares[k];
  });
}

//===--- Spills ---===//

/// The code with loops that ptxas leaves as they are.
static std::string keepLoops(llvm::StringRef text) {
  std::string kept;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    kept += (line + (rest.empty() && !text.ends_with("\n") ? "" : "\n")).str();
    text = rest;
    if (line.starts_with("$") && line.ends_with(":") && rest.contains((line.drop_back() + ";").str()))
      kept += "\t.pragma \"nounroll\";\n"; // Something further down goes back to it.
  }
  return kept;
}

/// ptxas unrolls loops of few turns, whatever they hold: a product of twelve steps, 128 x 256 by eight warps of
/// mma.sync, spills 128 bytes for that, one of thirteen none. Kernels that spill keep their loops, and are
/// then dealt other registers.
llvm::Error Compilation::mendSpills(Assembly &assembly, const Device &device) {
  std::vector<std::string> texts;
  std::vector<size_t> numbers;
  for (auto [i, entry] : llvm::enumerate(assembly.entries)) {
    std::string kept = spills(entry) ? keepLoops(assembly.modules[i]) : std::string();
    if (kept.size() <= assembly.modules[i].size())
      continue;
    numbers.push_back(i);
    texts.push_back(std::move(kept));
  }
  if (llvm::Error error = replaceTexts(assembly, numbers, std::move(texts), device,
                                       [](size_t, const emit::PtxasEntry &entry) { return !spills(entry); }))
    return error;
  return dealRegisters(assembly, device);
}

namespace {
/// The same code with the registers that warpgroups receive (setmaxnreg) dealt out in other ways: they want a number
/// that ptxas makes good use of, which is not always the highest.
class RegisterDeal {
public:
  explicit RegisterDeal(llvm::StringRef text) : text(text) {
    if (auto number = findNumber(text, takeText))
      taken = number->first;
  }

  /// Goes on to the next way; false: there is none.
  bool next() {
    constexpr unsigned leastTaken = 192;
    return taken > leastTaken && (taken -= registerUnit);
  }

  std::string getText() const {
    std::string changed;
    size_t end = 0;
    while (auto number = findNumber(text, takeText, end)) {
      size_t at = text.find(takeText, end) + takeText.size();
      changed += (text.slice(end, at) + " " + llvm::Twine(taken)).str();
      end = number->second;
    }
    return changed + text.drop_front(end).str();
  }

private:
  static constexpr llvm::StringLiteral takeText = "setmaxnreg.inc.sync.aligned.u32";
  llvm::StringRef text;
  unsigned taken = 0; ///< Of a thread that receives registers; 0: none does.
};
} // namespace

/// Kernels that spill get the first deal of registers with which they do not.
llvm::Error Compilation::dealRegisters(Assembly &assembly, const Device &device) {
  std::vector<std::pair<size_t, RegisterDeal>> deals;
  for (auto [i, entry] : llvm::enumerate(assembly.entries))
    if (spills(entry))
      deals.emplace_back(i, RegisterDeal(assembly.modules[i]));
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
      if (llvm::Error error = mendSpills(made, *program.gpu))
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

} // namespace weft
