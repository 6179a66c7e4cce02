// --emit=candidates: for each kernel of a program several schedules, each a bundle of its own, for `weft tune` to time.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The folder has candidates.jsonl: a line for the file, and then one for each bundle. A bundle's program takes what the
// kernel takes and dispatches it once. A schedule that cannot be compiled, or whose code spills, is left out; the
// planner's own comes first in any case.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "weft/Compiler/Compilation.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/Rewrite/Passes.h"
#include "weft/Plan/Passes.h"
#include "weft/Plan/RankSchedules.h"
#include "weft/Plan/Records.h"
#include "weft/Plan/Schedule.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using weft::onnx::ErrorClass;

namespace weft {

/// Names of a kernel's symbols in the program of that kernel alone.
static std::string nameSymbol(unsigned number) { return "s" + std::to_string(number); }

static unsigned countSymbols(ModuleOp kernel) {
  auto func = kernel.lookupSymbol<func::FuncOp>("kernel");
  auto count = func ? func->getAttrOfType<IntegerAttr>("tg.num_symbols") : IntegerAttr();
  return count ? unsigned(count.getInt()) : 0;
}

/// A program that takes what `kernel` takes and dispatches it once, with `schedule` if there is one.
static OwningOpRef<ModuleOp> makeProgram(ModuleOp kernel, tg::ScheduleAttr schedule) {
  MLIRContext *context = kernel.getContext();
  OpBuilder builder(context);
  Location loc = kernel.getLoc();
  OwningOpRef<ModuleOp> program = ModuleOp::create(loc);
  unsigned numSymbols = countSymbols(kernel);
  SmallVector<Attribute> names;
  SmallVector<AffineExpr> symbols;
  for (unsigned i = 0; i < numSymbols; ++i) {
    names.push_back(builder.getStringAttr(nameSymbol(i)));
    symbols.push_back(getAffineSymbolExpr(i, context));
  }
  (*program)->setAttr(tg::TileGraphDialect::symbolsAttrName, builder.getArrayAttr(names));
  builder.setInsertionPointToEnd(program->getBody());
  auto func = kernel.lookupSymbol<func::FuncOp>("kernel");
  auto main = func::FuncOp::create(builder, loc, "main", func.getFunctionType());
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    main.setArgAttr(i, "tg.name", builder.getStringAttr("x" + std::to_string(i)));
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    main.setResultAttr(i, "tg.name", builder.getStringAttr("y" + std::to_string(i)));
  Block *body = main.addEntryBlock();
  OpBuilder inside = OpBuilder::atBlockEnd(body);
  auto callee = SymbolRefAttr::get(kernel.getSymNameAttr(), FlatSymbolRefAttr::get(context, "kernel"));
  auto dispatch = tg::DispatchOp::create(inside, loc, func.getResultTypes(), callee, body->getArguments(),
                                         AffineMap::get(0, numSymbols, symbols, context));
  func::ReturnOp::create(inside, loc, dispatch.getResults());
  ModuleOp own = kernel.clone();
  own->removeAttr(plan::scheduleAttr);
  if (schedule)
    own->setAttr(plan::scheduleAttr, schedule);
  program->push_back(own);
  return program;
}

/// The extents that the symbols of a kernel are planned for: "s0=512".
static llvm::json::Object describeSymbols(ModuleOp kernel) {
  llvm::json::Object dims;
  tg::LikelyExtents likely(kernel);
  for (unsigned i = 0; i < countSymbols(kernel); ++i)
    dims[nameSymbol(i)] = tg::estimateExtent(getAffineSymbolExpr(i, kernel.getContext()));
  return dims;
}

/// Compiles a program of one kernel to a bundle: with its schedule for a GPU, or for the CPU. False, without a message,
/// where that cannot be or its code spills.
bool Compilation::writeProgram(ModuleOp kernel, const Device *gpu, llvm::StringRef path) {
  ScopedDiagnosticHandler quiet(context.get(), [](mlir::Diagnostic &diagnostic) {
    return success(diagnostic.getSeverity() != DiagnosticSeverity::Note);
  });
  Program program;
  program.gpu = gpu;
  program.module = kernel.clone();
  if (!gpu) { // Its loops know no folds.
    PassManager pm(context.get());
    pm.addPass(tg::createUnrollFolds());
    if (failed(pm.run(*program.module)))
      return false;
  }
  if (failed(weft::runPhases(*program.module, Phase::Plan, Phase::Lower, makeOptions(gpu))))
    return false;
  size_t numWarnings = warnings.size();
  emit::BundleOptions options;
  options.path = path.str();
  options.productVersion = "weft " WEFT_VERSION;
  options.modelName = llvm::sys::path::stem(path).str();
  options.weights = emit::Weights::Embed;
  options.explain = false;
  emit::BundleWriter writer(options);
  llvm::Error error = addToBundle(writer, program);
  bool spills = warnings.size() > numWarnings;
  warnings.resize(numWarnings);
  if (error || spills || !diagnostics.empty()) {
    llvm::consumeError(std::move(error));
    diagnostics = {};
    return false;
  }
  llvm::Expected<emit::BundleStatistics> written = writer.write();
  if (!written)
    llvm::consumeError(written.takeError());
  return bool(written);
}

/// Multiply-adds of all of a kernel's elements: what the CPU would take for it.
static double countOperations(ModuleOp kernel) {
  double count = 2;
  for (int64_t extent : plan::KernelToSchedule(kernel.lookupSymbol<func::FuncOp>("kernel")).extents)
    count *= double(extent);
  return count;
}

/// The name of a bundle for the CPU, whose results are right; empty where there is none: the CPU cannot do the kernel,
/// or not in the time that whoever tunes would wait.
std::string Compilation::writeReference(ModuleOp kernel, llvm::StringRef folder) {
  constexpr double mostOperations = 1e10;
  if (countOperations(kernel) > mostOperations)
    return "";
  std::string file = (kernel.getSymName().value_or("kernel") + "-reference.weft").str();
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, file);
  OwningOpRef<ModuleOp> program = makeProgram(kernel, tg::ScheduleAttr());
  return writeProgram(*program, nullptr, path) ? file : "";
}

bool Compilation::writeCandidatesOf(ModuleOp kernel, const Device &device, llvm::StringRef folder,
                                    llvm::raw_ostream &list) {
  auto func = kernel.lookupSymbol<func::FuncOp>("kernel");
  plan::Group ops;
  for (Operation &op : func.getBody().front().without_terminator())
    ops.insert(&op);
  tg::LikelyExtents likely(kernel);
  plan::SubgraphKey key = plan::describeSubgraph(ops);
  llvm::StringRef name = kernel.getSymName().value_or("kernel");
  std::string reference = writeReference(kernel, folder);
  unsigned number = 0;
  for (const plan::RankedSchedule &ranked : plan::rankSchedules(kernel, device, flags.allowTf32, flags.candidates)) {
    std::string file = llvm::formatv("{0}-{1}.weft", name, number);
    llvm::SmallString<256> path(folder);
    llvm::sys::path::append(path, file);
    OwningOpRef<ModuleOp> program = makeProgram(kernel, ranked.schedule);
    if (!writeProgram(*program, &device, path))
      continue;
    std::string schedule;
    llvm::raw_string_ostream(schedule) << ranked.schedule;
    llvm::json::Object line{{"kernel", name},
                            {"subgraph", key.name},
                            {"shapes", llvm::json::Array(key.shapes)},
                            {"schedule", schedule},
                            {"model_seconds", ranked.seconds},
                            {"bundle", file},
                            {"dims", describeSymbols(kernel)}};
    if (!reference.empty())
      line["reference"] = reference;
    list << llvm::json::Value(std::move(line)) << '\n';
    list.flush();
    ++number;
  }
  return true;
}

bool Compilation::writeCandidates() {
  std::string folder = request.output.empty() ? outputPath(".candidates") : request.output;
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return fail(ErrorClass::Usage, "cannot make the folder '" + folder + "': " + code.message());
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, "candidates.jsonl");
  std::error_code code;
  llvm::raw_fd_ostream list(path, code);
  if (code)
    return fail(ErrorClass::Usage, "cannot write '" + path.str() + "': " + code.message());
  Program &program = programs.front();
  if (!program.module)
    return true;
  llvm::json::Object head{{"schema", "weft.candidates/1"},
                          {"device", program.gpu->name},
                          {"version", "weft " WEFT_VERSION},
                          {"model", llvm::sys::path::filename(request.model)}};
  list << llvm::json::Value(std::move(head)) << '\n';
  llvm::StringSet<> seen;
  SmallVector<ModuleOp> kernels = emit::getKernels(*program.module);
  for (auto [i, kernel] : llvm::enumerate(kernels)) {
    beginActivity(llvm::formatv("candidates of kernel {0} of {1}", i + 1, kernels.size()).str(), program.name());
    auto func = kernel.lookupSymbol<func::FuncOp>("kernel");
    if (func && !func.isExternal() && func.getNumResults() > 0 && kernel->hasAttr(plan::scheduleAttr))
      writeCandidatesOf(kernel, *program.gpu, folder, list);
  }
  return diagnostics.empty();
}

} // namespace weft
