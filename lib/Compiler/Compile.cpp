// One run of weft-compile: flags, input, problems.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Environment.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Parser/Parser.h"
#include "weft/Compiler/Compilation.h"
#include "weft/Dialect/TileGraph/IR/NodeNames.h"
#include "weft/Import/Onnx/MemorySources.h"
#include "weft/Plan/OrderModel.h"
#include "weft/Support/InputFile.h"
#include "weft/Target/ChainOrder.h"
#include "weft/Target/ContextDevices.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using weft::onnx::ErrorClass;

namespace weft {

bool Compilation::fail(ErrorClass cls, const llvm::Twine &cause) {
  (void)diagnostics.report(cls, cause);
  return false;
}

void Compilation::beginActivity(llvm::StringRef what, llvm::StringRef target, size_t kernels) {
  if (request.began)
    request.began(
        (what + (target.empty() ? "" : " ") + target + (kernels ? llvm::formatv(" of {0} kernels", kernels).str() : ""))
            .str());
  (void)checkCancelled();
}

bool Compilation::checkCancelled() {
  if (!cancelled && request.isCancelled && request.isCancelled())
    cancelled = true;
  return cancelled;
}

/// The targets' devices with the launch that the user states.
bool Compilation::useLaunchCost() {
  constexpr double most = 1000, micro = 1e-6;
  if (flags.launchCost.getNumOccurrences() == 0)
    return true;
  if (!(flags.launchCost >= 0 && flags.launchCost <= most))
    return fail(ErrorClass::Usage, "--launch-cost: expected 0 to 1000 (microseconds), got " +
                                       llvm::Twine(llvm::formatv("{0}", flags.launchCost.getValue()).str()));
  bool hasGpu = false;
  for (Program &program : programs) {
    if (!program.gpu)
      continue;
    Device device = *program.gpu;
    device.launchSeconds = std::max(flags.launchCost * micro - device.tailSeconds, 0.0);
    devices.set(device);
    program.gpu = devices.find(device.name);
    hasGpu = true;
  }
  return hasGpu || fail(ErrorClass::Usage, "--launch-cost: expected a GPU in --target, got `" + flags.target + "`");
}

/// Before any device is looked up.
bool Compilation::useMeasuredRates() {
  if (flags.deviceTable.empty())
    return true;
  Device device;
  std::string text, problem;
  if (!readInputFile(flags.deviceTable.getValue(), text, problem) || !readDeviceTable(text, device, problem))
    return fail(ErrorClass::Invalid, "--device-table: " + flags.deviceTable + ": " + problem);
  devices.set(device);
  return true;
}

/// Those that come with Weft lie beside the folder of the library or tool.
bool Compilation::findRecords() {
  records = flags.records;
  if (records != "shipped")
    return true;
  llvm::SmallString<256> path(llvm::sys::path::parent_path(getOwnPath()));
  llvm::sys::path::append(path, "..", "share", "weft", "records.jsonl");
  records = std::string(path);
  return llvm::sys::fs::exists(path) ||
         fail(ErrorClass::Usage, "--records=shipped: expected the records that come with Weft in '" + path.str() + "'");
}

bool Compilation::parseTargets() {
  SmallVector<llvm::StringRef> words;
  llvm::StringRef(flags.target).split(words, ',');
  for (llvm::StringRef word : words) {
    Program program;
    program.gpu = devices.find(word);
    if (word != "cpu" && !program.gpu)
      return fail(ErrorClass::Usage,
                  "--target: expected cpu, " + getArchitectureList() + " or a device such as H100, got `" + word + "`");
    if (llvm::any_of(programs, [&](const Program &other) { return other.name() == program.name(); }))
      return fail(ErrorClass::Usage, "--target: expected each target once, got " + program.name() + " twice");
    programs.insert(program.gpu ? programs.end() : programs.begin(), std::move(program));
  }
  return true;
}

bool Compilation::parseEmission() {
  llvm::StringRef what = flags.emit;
  std::string asPhase = "mlir:" + flags.compileTo;
  if (!flags.compileTo.empty())
    what = asPhase;
  std::optional<Phase> phase = what.consume_front("mlir:") ? parsePhase(what) : std::nullopt;
  if (phase)
    emission = {Emission::Mlir, *phase};
  else if (what == "llvm" || what == "asm" || what == "obj")
    emission.kind = what == "llvm" ? Emission::LlvmIr : what == "asm" ? Emission::Assembly : Emission::Object;
  else if (what == "ptx")
    emission.kind = Emission::Ptx;
  else if (what == "candidates")
    emission = {Emission::Candidates, Phase::Plan};
  else if (what != "bundle")
    return fail(ErrorClass::Usage,
                "--emit: expected bundle, ptx, llvm, asm, obj, candidates or mlir:PHASE (import, normalize, group, "
                "outline, plan, lower), got `" +
                    flags.emit + flags.compileTo + "`");
  if (programs.empty())
    return false;
  bool isCpuText =
      emission.kind == Emission::LlvmIr || emission.kind == Emission::Assembly || emission.kind == Emission::Object;
  if (emission.kind == Emission::Ptx && !programs.back().gpu)
    return fail(ErrorClass::Usage, "--emit=ptx: expected a GPU in --target, got `" + flags.target + "`");
  if (emission.kind == Emission::Candidates && (programs.size() > 1 || !programs.front().gpu))
    return fail(ErrorClass::Usage, "--emit=candidates: expected one GPU as --target, got `" + flags.target + "`");
  if (isCpuText && programs.front().gpu)
    return fail(ErrorClass::Usage, "--emit=" + flags.emit + ": expected cpu in --target, got `" + flags.target + "`");
  return true;
}

/// Flags whose values are words or numbers of a range.
bool Compilation::checkChoices() {
  auto expectWord = [&](const llvm::Twine &flag, const std::string &value, llvm::StringRef first,
                        llvm::StringRef second) {
    if (value != first && value != second)
      fail(ErrorClass::Usage, flag + ": expected " + first + " or " + second + ", got `" + value + "`");
  };
  expectWord("--fp", flags.fp, "strict", "fast");
  expectWord("--dependent-launch", flags.dependentLaunch, "on", "off");
  expectWord("--explain", flags.explain, "on", "off");
  if (flags.weights != "omit")
    expectWord("--weights", flags.weights, "embed", "external");
  if (flags.candidates < 1 || flags.candidates > 64)
    fail(ErrorClass::Usage, "--candidates: expected 1 to 64, got " + llvm::Twine(flags.candidates));
  if (flags.variants < 1 || flags.variants > 16)
    fail(ErrorClass::Usage, "--variants: expected 1 to 16, got " + llvm::Twine(flags.variants));
  if (!llvm::is_contained({"on", "independent", "chains", "off"}, flags.mergeLaunches))
    fail(ErrorClass::Usage,
         "--merge-launches: expected on, independent, chains or off, got `" + flags.mergeLaunches + "`");
  expectWord("--fallback", flags.fallback, "error", "allow");
  if (std::string problem; !flags.traversal.empty() && !gpu::parseChainOrder(flags.traversal) &&
                           !plan::checkOrderText(flags.traversal, problem))
    fail(ErrorClass::Usage, "--traversal: " + problem);
  return diagnostics.empty();
}

// As bundles have them.
static constexpr int64_t mostRanks = 1024;
static constexpr unsigned mostParts = 64;

bool Compilation::parseMesh() {
  unsigned parts = 0;
  if (flags.overlap != "on" && flags.overlap != "off" &&
      (llvm::StringRef(flags.overlap).getAsInteger(10, parts) || parts < 1 || parts > mostParts))
    return fail(ErrorClass::Usage, "--overlap: expected on, off or 1 to " + llvm::Twine(mostParts) + " parts, got `" +
                                       flags.overlap + "`");
  if (!programs.empty() && programs.back().gpu)
    mesh.target = programs.back().gpu->name;
  if (flags.mesh.empty())
    return (flags.shard.empty() && flags.link.empty()) ||
           fail(ErrorClass::Usage, (flags.shard.empty() ? "--link" : "--shard") +
                                       llvm::Twine(": expected --mesh=tp:N, which says how many ranks there are"));
  auto [name, count] = llvm::StringRef(flags.mesh).split(':');
  if (name.empty() || count.getAsInteger(10, mesh.ranks) || mesh.ranks < 2 || mesh.ranks > mostRanks)
    return fail(ErrorClass::Usage, "--mesh: expected a name and 2 to " + llvm::Twine(mostRanks) +
                                       " ranks such as tp:4 (one axis), got `" + flags.mesh + "`");
  auto [rate, latency] = llvm::StringRef(flags.link).split(':');
  if (!flags.link.empty() &&
      (rate.getAsDouble(mesh.linkRate) || latency.getAsDouble(mesh.linkLatency) ||
       !(mesh.linkRate > 0 && mesh.linkRate <= 1e6) || !(mesh.linkLatency >= 0 && mesh.linkLatency <= 1e6)))
    return fail(ErrorClass::Usage, "--link: expected GB/s and us, as 450:6, got `" + flags.link + "`");
  mesh.shards = flags.shard;
  return from < Phase::Normalize ||
         fail(ErrorClass::Usage,
              "--mesh: expected a model that is not normalized yet, got --compile-from=" + flags.compileFrom);
}

/// The name as a pattern that nothing else matches.
static std::string escapePattern(llvm::StringRef name) {
  std::string pattern;
  for (char c : name) {
    if (llvm::StringRef("*?[]{}\\").contains(c))
      pattern += '\\';
    pattern += c;
  }
  return pattern;
}

/// What the model itself says of devices, where --shard does not.
bool Compilation::useModelMesh() {
  const onnx::DeviceConfiguration *found = nullptr;
  std::string names;
  for (const onnx::DeviceConfiguration &each : summary.devices) {
    if (each.splits.empty())
      continue;
    bool isNamed = llvm::StringRef(flags.mesh).starts_with(each.name + ":");
    found = isNamed || names.empty() ? &each : found;
    names = isNamed ? each.name : names.empty() ? each.name : names + "`, `" + each.name;
    if (isNamed)
      break;
  }
  if (flags.shard.empty() && found && names != found->name)
    return fail(ErrorClass::Usage,
                "--mesh: expected NAME:N of a configuration of the model (`" + names + "`), which has several");
  if (!found || !flags.shard.empty()) {
    for (const onnx::DeviceConfiguration &each : summary.devices)
      if (flags.mesh.empty() && each.devices > 1)
        warnings.push_back("the model is for " + std::to_string(each.devices) + " devices (configuration `" +
                           each.name + "`) and does not say how it is split; say it by --mesh");
    return true;
  }
  if (found->devices > mostRanks)
    return fail(ErrorClass::Unsupported, "configuration `" + found->name + "`: expected at most " +
                                             llvm::Twine(mostRanks) + " devices, got " + llvm::Twine(found->devices));
  if (!flags.mesh.empty() && mesh.ranks != found->devices)
    return fail(ErrorClass::Usage, "--mesh: expected " + llvm::Twine(found->devices) +
                                       " ranks, for which the model's configuration `" + found->name +
                                       "` splits it, got " + llvm::Twine(mesh.ranks));
  mesh.ranks = found->devices;
  mesh.isOfModel = true;
  for (const auto &[name, axis] : found->splits)
    mesh.shards.push_back(escapePattern(name) + ":" + std::to_string(axis));
  return true;
}

bool Compilation::parseFlags() {
  importOptions = flags.get(diagnostics);
  if (!useMeasuredRates())
    return false;
  if (parseTargets())
    useLaunchCost();
  findRecords();
  checkChoices();
  if (std::optional<Phase> phase = parsePhase(flags.compileFrom))
    from = *phase;
  else
    fail(ErrorClass::Usage, "--compile-from: expected a phase, got `" + flags.compileFrom + "`");
  parseMesh();
  parseEmission();
  if (programs.size() > 1 && !(flags.plan.empty() && flags.emitPlan.empty()))
    fail(ErrorClass::Usage, (flags.plan.empty() ? "--emit-plan" : "--plan") +
                                llvm::Twine(": expected one target, since plans differ, got `") + flags.target + "`");
  llvm::Expected<emit::Target> resolved = emit::resolveTarget(flags.cpuName);
  if (resolved)
    cpu = *resolved;
  else
    fail(ErrorClass::Usage, "--cpu: " + llvm::toString(resolved.takeError()));
  return diagnostics.empty();
}

/// The category in a remark's text, which the engine has written.
static std::string categoryOf(llvm::StringRef text) {
  return text.split("| Category:").second.split(" |").first.trim().str();
}

/// Of an error about what the user asked of the plan (weft/Plan/Constraints.h): its class.
static std::optional<ErrorClass> classifyRequest(llvm::StringRef text) {
  if (text.starts_with("planner: ") || text.starts_with("no-fuse: ") || text.starts_with("force-fuse: ") ||
      text.starts_with("shard: "))
    return ErrorClass::Usage;
  if (text.starts_with("plan: ") || text.starts_with("records: "))
    return ErrorClass::Invalid;
  return std::nullopt;
}

void Compilation::setUpThreads() {
  context = std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  llvm::ThreadPoolStrategy strategy = llvm::hardware_concurrency(flags.threads);
  if (strategy.compute_thread_count() > 1) {
    pool = std::make_unique<ThreadPool>(strategy.compute_thread_count());
    context->setThreadPool(*pool);
  }
  loadCompilerDialects(*context);
  setDevices(*context, devices);
  // The importer has checked the model, so problems that passes report belong to the compiler, but for those of a GPU's
  // program: ops that it cannot do.
  context->getDiagEngine().registerHandler([this](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Remark) {
      if (!llvm::Regex(flags.remarks).match(categoryOf(diagnostic.str())))
        return success(); // One that only the explanation takes.
      std::string node = tg::findNodeName(diagnostic.getLocation()).str();
      remarks.push_back(
          (lowering + (lowering.empty() ? "" : ": ") + (node.empty() ? "" : "node `" + node + "`: ") + diagnostic.str())
              .str());
    }
    if (diagnostic.getSeverity() == DiagnosticSeverity::Warning)
      warnings.push_back(diagnostic.str());
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    if (std::optional<ErrorClass> request = classifyRequest(diagnostic.str())) {
      fail(*request, "--" + diagnostic.str());
      return success();
    }
    if (!refusals) {
      fail(ErrorClass::Internal, diagnostic.str());
      return success();
    }
    onnx::Diagnostic problem;
    problem.cls = ErrorClass::Unsupported;
    problem.node = tg::findNodeName(diagnostic.getLocation()).str();
    problem.cause = diagnostic.str();
    refusals->push_back(std::move(problem));
    return success();
  });
}

/// Remarks come as diagnostics, in the order of the modules whatever the threads do.
bool Compilation::setUpRemarks() {
  if (flags.remarks.empty() && !isExplaining())
    return true;
  std::string error;
  if (!flags.remarks.empty() && !llvm::Regex(flags.remarks).isValid(error))
    return fail(ErrorClass::Usage, "--remarks: expected a regular expression, got `" + flags.remarks + "`: " + error);
  remark::RemarkCategories categories;
  std::string wanted = flags.remarks;
  if (isExplaining())
    wanted += (wanted.empty() ? "" : "|") + Explanation::categories.str();
  categories.passed = categories.missed = categories.failed = categories.analysis = wanted;
  (void)remark::enableOptimizationRemarks(*context, isExplaining() ? explanation.makeStreamer() : nullptr,
                                          std::make_unique<remark::RemarkEmittingPolicyAll>(), categories,
                                          /*printAsEmitRemarks=*/!flags.remarks.empty());
  return true;
}

/// Of a module the import is over: what these flags ask of it would be passed over in silence.
bool Compilation::checkModuleFlags() {
  for (const FlagBase *flag :
       {static_cast<const FlagBase *>(&flags.from), static_cast<const FlagBase *>(&flags.to),
        static_cast<const FlagBase *>(&flags.bind), static_cast<const FlagBase *>(&flags.elements)})
    if (flag->getNumOccurrences())
      return fail(ErrorClass::Usage, "--" + flag->name + ": expected an ONNX model, got the module '" + request.model +
                                         "'; give the flag where the model is imported (--compile-to=import)");
  if (!importOptions.dims.empty())
    return fail(ErrorClass::Usage,
                "--dim: expected " + importOptions.dims.front().first + "=low..high or " +
                    importOptions.dims.front().first +
                    "=low..high:likely for a module, whose dimensions are symbols already, got one extent; fix it "
                    "where the model is imported (--compile-to=import)");
  return true;
}

bool Compilation::readInput() {
  isOnnx = !llvm::StringRef(request.model).ends_with(".mlir") && !llvm::StringRef(request.model).ends_with(".mlirbc");
  if (isOnnx) {
    if (from != Phase::Import)
      return fail(ErrorClass::Usage, "--compile-from: an ONNX model starts at import");
    for (const auto &[location, bytes] : request.externalData)
      if (!onnx::addMemorySource(*context, location, bytes))
        return fail(ErrorClass::Usage,
                    "external data in memory: expected each location once, got `" + location + "` twice");
    module = request.bytes ? onnx::importModel(onnx::MappedBytes{*request.bytes, nullptr, ""}, importOptions, *context,
                                               diagnostics, &summary)
                           : onnx::importModel(request.model, importOptions, *context, diagnostics, &summary);
    llvm::append_range(warnings, diagnostics.warnings());
    if (!useModelMesh())
      return false;
    if (module)
      flags.setRanges(*module, diagnostics);
    return module && diagnostics.empty();
  }
  if (!checkModuleFlags())
    return false;
  if (!llvm::sys::fs::exists(request.model))
    return fail(ErrorClass::Invalid, "cannot open '" + request.model + "'");
  context->allowUnregisteredDialects(false);
  module = parseSourceFile<ModuleOp>(request.model, ParserConfig(context.get()));
  if (!module)
    return fail(ErrorClass::Invalid, "not a module of Weft");
  llvm::SmallString<128> folder(request.model);
  llvm::sys::path::remove_filename(folder);
  if (llvm::Error error = tg::addFilesOf(*module, folder))
    return fail(ErrorClass::Invalid, llvm::toString(std::move(error)));
  flags.setRanges(*module, diagnostics);
  return diagnostics.empty();
}

bool Compilation::run() {
  if (!parseFlags())
    return false;
  setUpThreads();
  if (!setUpRemarks())
    return false;
  auto begin = std::chrono::steady_clock::now();
  beginActivity("import");
  bool read = !cancelled && readInput();
  times.push_back({"import", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
  std::optional<std::string> key = read && mayCache() ? makeKey() : std::nullopt;
  if (key && takeCached(*key))
    return true;
  if (read && compileModule() && key && warnings.empty())
    request.bundle ? request.cache->insert(*key, *request.bundle)
                   : request.cache->insertFile(*key, outputPath(".weft"));
  return diagnostics.empty() && !cancelled;
}

bool Compilation::compileModule() {
  if (!runPhases())
    return false;
  switch (emission.kind) {
  case Emission::Bundle:
    return writeBundle() && !cancelled;
  case Emission::Candidates:
    return writeCandidates();
  default:
    return writeText();
  }
}

} // namespace weft
