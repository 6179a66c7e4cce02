// One run of weft-compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using weft::onnx::ErrorClass;

namespace weft::tools {

bool Compilation::fail(ErrorClass cls, const llvm::Twine &cause) {
  (void)diagnostics.report(cls, cause);
  return false;
}

bool Compilation::parseFlags() {
  importOptions = flags.get(diagnostics);
  if (flags.target != "cpu")
    fail(ErrorClass::Usage, "--target: expected cpu, got `" + flags.target + "`");
  if (flags.fp != "strict" && flags.fp != "fast")
    fail(ErrorClass::Usage, "--fp: expected strict or fast, got `" + flags.fp + "`");
  if (flags.weights != "embed" && flags.weights != "external")
    fail(ErrorClass::Usage, "--weights: expected embed or external, got `" + flags.weights + "`");
  if (flags.diagFormat != "text" && flags.diagFormat != "json")
    fail(ErrorClass::Usage, "--diag-format: expected text or json, got `" + flags.diagFormat + "`");
  if (std::optional<Phase> phase = parsePhase(flags.compileFrom))
    from = *phase;
  else
    fail(ErrorClass::Usage, "--compile-from: expected a phase, got `" + flags.compileFrom + "`");

  llvm::StringRef what = flags.emit;
  std::string asPhase = "mlir:" + flags.compileTo;
  if (!flags.compileTo.empty())
    what = asPhase;
  std::optional<Phase> phase = what.consume_front("mlir:") ? parsePhase(what) : std::nullopt;
  if (phase)
    emission = {Emission::Mlir, *phase};
  else if (what == "llvm" || what == "asm" || what == "obj")
    emission.kind = what == "llvm" ? Emission::LlvmIr : what == "asm" ? Emission::Assembly : Emission::Object;
  else if (what != "bundle")
    fail(ErrorClass::Usage,
         "--emit: expected bundle, llvm, asm, obj or mlir:PHASE (import, normalize, plan, outline, lower), got `" +
             flags.emit + flags.compileTo + "`");
  llvm::Expected<emit::Target> resolved = emit::resolveTarget(flags.cpuName);
  if (resolved)
    target = *resolved;
  else
    fail(ErrorClass::Usage, "--cpu: " + llvm::toString(resolved.takeError()));
  return diagnostics.empty();
}

void Compilation::setUpThreads() {
  context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  llvm::ThreadPoolStrategy strategy = llvm::hardware_concurrency(flags.threads);
  if (strategy.compute_thread_count() > 1) {
    pool = std::make_unique<llvm::DefaultThreadPool>(strategy);
    context->setThreadPool(*pool);
  }
  loadCompilerDialects(*context);
  // Problems that passes report belong to the compiler, not the model: the importer has checked that.
  context->getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      fail(ErrorClass::Internal, diagnostic.str());
    return success();
  });
}

bool Compilation::readInput() {
  isOnnx = !llvm::StringRef(flags.input).ends_with(".mlir") && !llvm::StringRef(flags.input).ends_with(".mlirbc");
  if (isOnnx) {
    if (from != Phase::Import)
      return fail(ErrorClass::Usage, "--compile-from: an ONNX model starts at import");
    module = onnx::importModel(flags.input, importOptions, *context, diagnostics, &summary);
    return bool(module);
  }
  if (!llvm::sys::fs::exists(flags.input))
    return fail(ErrorClass::Invalid, "cannot open '" + flags.input + "'");
  context->allowUnregisteredDialects(false);
  module = parseSourceFile<ModuleOp>(flags.input, ParserConfig(context.get()));
  return module || fail(ErrorClass::Invalid, "not a module of Weft");
}

std::string Compilation::outputPath(llvm::StringRef suffix) const {
  if (!flags.output.empty())
    return flags.output;
  if (emission.kind == Emission::Mlir || emission.kind == Emission::LlvmIr || emission.kind == Emission::Assembly)
    return "-";
  return (llvm::sys::path::stem(flags.input) + suffix).str();
}

bool Compilation::writeFile(llvm::StringRef suffix, llvm::function_ref<void(llvm::raw_ostream &)> write) {
  std::string error;
  std::unique_ptr<llvm::ToolOutputFile> file = openOutputFile(outputPath(suffix), &error);
  if (!file)
    return fail(ErrorClass::Usage, error);
  write(file->os());
  file->keep();
  return true;
}

void Compilation::dumpPhase(Phase phase, ModuleOp op) {
  llvm::SmallString<256> path(flags.dump);
  llvm::sys::path::append(path, llvm::Twine(unsigned(phase)) + "-" + getPhaseName(phase) + ".mlir");
  std::error_code code = llvm::sys::fs::create_directories(flags.dump);
  llvm::raw_fd_ostream os(path, code);
  if (code) {
    fail(ErrorClass::Usage, "--dump: cannot write '" + path + "': " + code.message());
    return;
  }
  op.print(os, OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/true));
}

bool Compilation::runPhases() {
  PhaseOptions options;
  options.fuse = !flags.noFuse;
  options.strategy.vectorBits = target.vectorBits;
  options.strategy.fastMath = flags.fp == "fast";
  bool tty = llvm::sys::Process::StandardErrIsDisplayed() && !flags.quiet;
  options.finished = [&](Phase phase, ModuleOp op, double seconds) {
    times.push_back({getPhaseName(phase).str(), seconds});
    if (tty)
      llvm::errs() << "\r" << getPhaseName(phase) << " done        \r";
    if (!flags.dump.empty())
      dumpPhase(phase, op);
  };
  if (!flags.dump.empty() && from == Phase::Import)
    dumpPhase(Phase::Import, *module);
  if (succeeded(weft::runPhases(*module, from, emission.last, options)))
    return diagnostics.empty();
  return diagnostics.empty() ? fail(ErrorClass::Internal, "a pass failed without saying why") : false;
}

bool Compilation::writeText() {
  if (emission.kind == Emission::Mlir)
    return writeFile(".mlir", [&](llvm::raw_ostream &os) { module->print(os); });
  emit::CodeKind kind = emission.kind == Emission::LlvmIr     ? emit::CodeKind::LlvmIr
                        : emission.kind == Emission::Assembly ? emit::CodeKind::Assembly
                                                              : emit::CodeKind::Object;
  llvm::Expected<std::vector<std::string>> code = emit::compileKernels(emit::getKernels(*module), target, kind);
  if (!code)
    return fail(ErrorClass::Internal, llvm::toString(code.takeError()));
  if (emission.kind != Emission::Object)
    return writeFile("", [&](llvm::raw_ostream &os) {
      for (const std::string &text : *code)
        os << text << '\n';
    });
  llvm::Expected<std::vector<uint8_t>> elf = emit::linkObjects(*code);
  if (!elf)
    return fail(ErrorClass::Internal, llvm::toString(elf.takeError()));
  return writeFile(".so",
                   [&](llvm::raw_ostream &os) { os.write(reinterpret_cast<const char *>(elf->data()), elf->size()); });
}

bool Compilation::writeBundle() {
  auto begin = std::chrono::steady_clock::now();
  auto lap = [&](const char *name) {
    auto now = std::chrono::steady_clock::now();
    times.push_back({name, std::chrono::duration<double>(now - begin).count()});
    begin = now;
  };
  llvm::Expected<std::vector<std::string>> code =
      emit::compileKernels(emit::getKernels(*module), target, emit::CodeKind::Object);
  if (!code)
    return fail(ErrorClass::Internal, llvm::toString(code.takeError()));
  lap("native code");
  llvm::Expected<std::vector<uint8_t>> elf = emit::linkObjects(*code);
  if (!elf)
    return fail(ErrorClass::Internal, llvm::toString(elf.takeError()));
  lap("link");
  emit::BundleOptions options;
  options.path = outputPath(".weft");
  options.productVersion = "weft " WEFT_VERSION;
  options.modelName = llvm::sys::path::filename(flags.input).str();
  options.weights = flags.weights == "external" ? emit::Weights::External : emit::Weights::Embed;
  llvm::Expected<emit::BundleStatistics> statistics = emit::writeBundle(*module, target, std::move(*elf), options);
  if (!statistics)
    return fail(ErrorClass::Unsupported, llvm::toString(statistics.takeError()));
  lap("bundle");
  if (!flags.quiet)
    summarise(*statistics);
  return true;
}

static std::string megabytes(uint64_t bytes) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.1f MB", double(bytes) * 1e-6);
  return text;
}

/// Where the nodes went: those that a dispatch names run there; the rest became constants, views or shape arithmetic.
std::string Compilation::placement() const {
  llvm::StringSet<> inKernels;
  unsigned dispatches = 0, views = 0;
  for (auto main : module.get().getOps<func::FuncOp>())
    for (Operation &op : main.getOps()) {
      views += isa<tg::ReshapeOp, tg::BitcastOp>(op);
      if (!isa<tg::DispatchOp>(op))
        continue;
      ++dispatches;
      if (auto nodes = op.getAttrOfType<ArrayAttr>("tg.nodes"))
        for (Attribute node : nodes)
          inKernels.insert(cast<StringAttr>(node).getValue());
    }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << dispatches << " dispatches on cpu (" << target.cpu << ')';
  // A name stands for several nodes where functions or loops were expanded.
  if (isOnnx && inKernels.size() <= summary.nodes)
    os << " run " << inKernels.size() << " of " << summary.nodes << " nodes";
  if (views)
    os << "; " << views << " views without work";
  return text;
}

void Compilation::summarise(const emit::BundleStatistics &statistics) {
  llvm::raw_ostream &os = llvm::errs();
  if (isOnnx)
    os << "read      " << onnx::escape(flags.input) << "  ir " << summary.irVersion << ", " << summary.nodes
       << " nodes, " << llvm::format("%.1f", double(summary.parameters) * 1e-6) << " M parameters ("
       << megabytes(summary.parameterBytes) << ", mapped)\n";
  os << "placement " << placement() << "\n";
  os << "kernels   " << statistics.dispatches << " dispatches of " << statistics.kernels << " distinct kernels";
  unsigned fallbacks =
      llvm::count_if(emit::getKernels(*module), [](ModuleOp op) { return op->hasAttr(cpu::fallbackAttr); });
  if (fallbacks)
    os << ", " << fallbacks << " by plain loops";
  os << "\n";
  if (statistics.arenaBytes)
    os << "memory    " << megabytes(statistics.arenaBytes) << " of activations (" << megabytes(statistics.unsharedBytes)
       << " without sharing)\n";
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  os << "wrote     " << onnx::escape(outputPath(".weft")) << "  " << megabytes(statistics.fileBytes) << " (weights "
     << megabytes(statistics.weightBytes) << ", code " << megabytes(statistics.codeBytes) << ") in "
     << llvm::format("%.1f s", seconds.count()) << "\n";
}

int Compilation::report() {
  if (flags.timeReport)
    for (const auto &[name, seconds] : times)
      llvm::errs() << llvm::left_justify(name, 12) << llvm::format("%8.3f s", seconds) << '\n';
  if (diagnostics.empty())
    return 0;
  if (flags.diagFormat == "json") {
    llvm::json::OStream json(llvm::errs(), 2);
    diagnostics.print(json);
    llvm::errs() << '\n';
  } else {
    diagnostics.print(llvm::errs(), flags.input);
  }
  return diagnostics.exitCode();
}

int Compilation::run() {
  if (!parseFlags())
    return report();
  setUpThreads();
  auto begin = std::chrono::steady_clock::now();
  bool read = readInput();
  times.push_back({"import", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
  if (read && runPhases())
    emission.kind == Emission::Bundle ? writeBundle() : writeText();
  return report();
}

} // namespace weft::tools
