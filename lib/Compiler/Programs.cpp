// The phases: up to Normalize once for all targets, from Plan on once for each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Compilation.h"
#include "weft/Target/KernelAttributes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using weft::onnx::ErrorClass;

namespace weft {

void Compilation::dumpPhase(Phase phase, ModuleOp op, const Device *gpu) {
  llvm::SmallString<256> path(flags.dump);
  llvm::sys::path::append(path, llvm::Twine(unsigned(phase)) + "-" + getPhaseName(phase) +
                                    (gpu ? llvm::Twine("-") + gpu->architecture : llvm::Twine()) +
                                    (variant.empty() ? "" : "-" + llvm::Twine(variantNumber)) + ".mlir");
  std::error_code code = llvm::sys::fs::create_directories(flags.dump);
  llvm::raw_fd_ostream os(path, code);
  if (code) {
    fail(ErrorClass::Usage, "--dump: cannot write '" + path + "': " + code.message());
    return;
  }
  op.print(os, OpPrintingFlags().enableDebugInfo(true, /*prettyForm=*/true));
}

PhaseOptions Compilation::makeOptions(const Device *gpu) const {
  PhaseOptions options;
  options.fuse = !llvm::is_contained(flags.noFuse, "");
  options.planner = flags.planner;
  options.noFuse =
      llvm::join(llvm::make_filter_range(flags.noFuse, [](const std::string &s) { return !s.empty(); }), ";");
  options.forceFuse = llvm::join(flags.forceFuse, ";");
  options.plan = flags.plan;
  options.records = records;
  options.nameSubgraphs = isExplaining() && emission.kind == Emission::Bundle;
  options.emitPlan = flags.emitPlan;
  options.printsPhases = !flags.dump.empty();
  options.mesh = mesh;
  options.overlap = flags.overlap;
  options.writesWeights = flags.weights == "embed";
  options.strategy.vectorBits = cpu.vectorBits;
  options.strategy.addsQuads = llvm::is_contained(cpu.features, "avx512vnni");
  options.strategy.fastMath = flags.fp == "fast";
  if (gpu)
    options.gpu = GpuOptions{gpu->name,       flags.fp == "fast",
                             flags.allowTf32, flags.dependentLaunch != "off",
                             flags.traversal, options.fuse ? flags.mergeLaunches.getValue() : "off",
                             records,         options.nameSubgraphs};
  if (emission.kind == Emission::Candidates && options.gpu)
    options.gpu->mergeLaunches = "off"; // Each kernel for itself.
  options.mostVariants = flags.variants;
  options.isCancelled = [this] { return cancelled.load(); };
  if (flags.variants.getNumOccurrences())
    options.mostVariantKernels = 0;
  return options;
}

bool Compilation::runPhases(ModuleOp op, Phase first, Phase last, const Device *gpu) {
  PhaseOptions options = makeOptions(gpu);
  options.started = [&](Phase phase) { beginActivity(getPhaseName(phase), gpu ? gpu->architecture : ""); };
  options.hush = [&](bool isTrial) { explanation.setListening(!isTrial); };
  options.beginVariant = [&](llvm::StringRef interval) {
    variantNumber = variant.empty() || interval.empty() ? 0 : variantNumber + 1;
    variant = interval;
    if (isExplaining() && !interval.empty())
      explanation.beginVariant(interval);
  };
  if (isExplaining()) {
    options.beforePlan = [&](ModuleOp program) {
      explanation.measureModel(program, isOnnx ? int64_t(summary.nodes) : 0);
    };
    options.measured = [&](ModuleOp program) { explanation.measureKernels(program); };
  }
  options.finished = [&](Phase phase, ModuleOp module, double seconds) {
    times.push_back({getPhaseName(phase).str() + (gpu ? " " + std::string(gpu->architecture) : ""), seconds});
    if (isExplaining())
      explanation.finishPhase(phase, module);
    if (!flags.dump.empty())
      dumpPhase(phase, module, gpu);
    if (gpu && phase == Phase::Outline && phase < last)
      keepKernels(module);
  };
  if (gpu && first == Phase::Outline)
    keepKernels(op);
  return succeeded(weft::runPhases(op, first, last, options));
}

/// Of phases that said nothing.
bool Compilation::failPass() {
  return cancelled ? false : fail(ErrorClass::Internal, "a pass failed without saying why");
}

bool Compilation::lowerProgram(Program &program) {
  std::vector<onnx::Diagnostic> problems;
  refusals = program.gpu ? &problems : nullptr;
  lowering = program.name();
  if (isExplaining())
    explanation.beginProgram(program.gpu);
  bool done = runPhases(*program.module, std::max(from, Phase::Normalize), emission.last, program.gpu);
  program.outlined = std::move(outlined);
  done = done && settlePlan(program);
  if (done && isExplaining() && emission.kind == Emission::Mlir && program.module)
    explanation.writePlan(*program.module);
  refusals = nullptr;
  if (!program.gpu || !diagnostics.empty())
    return done || (diagnostics.empty() && failPass());
  if (done && problems.empty())
    return true;
  if (problems.empty())
    return failPass();
  if (flags.fallback == "allow") {
    const onnx::Diagnostic &first = problems.front();
    program.refusal =
        (first.node.empty() ? "" : "node `" + onnx::escape(first.node) + "`: ") + onnx::escape(first.cause);
    program.module = {};
    return true;
  }
  for (onnx::Diagnostic &problem : problems) {
    problem.remedy = "compile with --target=cpu or --fallback=allow";
    (void)diagnostics.report(std::move(problem));
  }
  return false;
}

/// A program that is planned already says for what.
bool Compilation::checkTargets() {
  if (programs.size() > 1)
    return fail(ErrorClass::Usage, "--target: expected one target for a program that is planned already");
  for (ModuleOp kernel : emit::getKernels(*module)) {
    auto attribute = kernel->getAttrOfType<StringAttr>(gpu::targetAttr);
    llvm::StringRef target = attribute ? attribute.getValue() : "cpu";
    if (target != programs.front().name())
      return fail(ErrorClass::Usage, "--target: expected " + target + ", which kernel " +
                                         kernel.getSymName().value_or("?") + " was planned for, got " +
                                         programs.front().name());
    auto schedule = kernel->getAttrOfType<tg::ScheduleAttr>("tg.schedule");
    const Device *gpu = programs.front().gpu;
    if (schedule && gpu && schedule.getEngine() == tg::Engine::Wgmma && !gpu->hasWgmma())
      return fail(ErrorClass::Usage, "kernel " + kernel.getSymName().value_or("?") +
                                         ": expected engine = mma or simt on " + gpu->architecture + ", got wgmma");
  }
  return true;
}

bool Compilation::runPhases() {
  if (!flags.dump.empty() && from == Phase::Import)
    dumpPhase(Phase::Import, *module, nullptr);
  if (from >= Phase::Plan && !checkTargets())
    return false;
  if (from == Phase::Plan)
    explanation.readPlan(*module);
  if (from < Phase::Normalize && !runPhases(*module, from, std::min(emission.last, Phase::Normalize), /*gpu=*/nullptr))
    return diagnostics.empty() ? failPass() : false;
  if (emission.last <= Phase::Normalize)
    return diagnostics.empty();
  for (size_t i = 0; i < programs.size(); ++i) {
    programs[i].module = module->clone();
    if (!lowerProgram(programs[i]))
      return false;
  }
  bool needsCpu = llvm::any_of(programs, [](const Program &program) { return !program.refusal.empty(); });
  if (needsCpu && programs.front().gpu) {
    programs.insert(programs.begin(), Program());
    programs.front().module = module->clone();
    if (!lowerProgram(programs.front()))
      return false;
  }
  return diagnostics.empty();
}

} // namespace weft
