// What comes out: a bundle, or text of some stage.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Support/FileUtilities.h"
#include "weft/Compiler/Compilation.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Dialect/TileGraph/IR/WeightPart.h"
#include "weft/Dialect/TileGraph/IR/WeightStore.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using weft::onnx::ErrorClass;

namespace weft {

std::string Compilation::outputPath(llvm::StringRef suffix) const {
  if (!request.output.empty())
    return request.output;
  if (emission.kind != Emission::Bundle && emission.kind != Emission::Object)
    return "-";
  return (llvm::sys::path::stem(request.model) + suffix).str();
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

/// Gives weights that are in no file one beside the text: FILE.weights. In text that goes to stdout or a device they
/// keep the names of buffers, which nobody can read again.
bool Compilation::writeBuffers(llvm::ArrayRef<ModuleOp> modules) {
  std::string path = outputPath(".mlir");
  if (path == "-" || (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path)))
    return true;
  path += ".weights";
  constexpr size_t alignment = 64;
  std::string bytes;
  llvm::StringMap<int64_t> begins;
  tg::WeightStore &store = context->getOrLoadDialect<tg::TileGraphDialect>()->getWeightStore();
  for (ModuleOp each : modules)
    each.walk([&](tg::WeightOp weight) {
      tg::DataAttr data = weight.getData();
      std::optional<tg::WeightPart> part = tg::WeightPart::parse(data.getSource());
      llvm::StringRef name = part ? llvm::StringRef(part->source) : data.getSource();
      const tg::WeightStore::Source *source = store.find(name);
      if (!source || !source->path.empty())
        return;
      auto [begin, inserted] = begins.try_emplace(name, llvm::alignTo(bytes.size(), alignment));
      if (inserted) {
        bytes.resize(begin->second);
        bytes.append(source->bytes.begin(), source->bytes.end());
      }
      std::string file = llvm::sys::path::filename(path).str();
      int64_t offset = begin->second + data.getOffset();
      if (part) {
        part->source = file;
        part->offset += begin->second;
        file = part->getName();
        offset = data.getOffset();
      }
      weight.setDataAttr(tg::DataAttr::get(context.get(), file, offset, data.getSize()));
    });
  std::error_code error;
  if (begins.empty())
    return true;
  llvm::raw_fd_ostream file(path, error);
  file << bytes;
  file.close();
  if (!error)
    error = file.error();
  file.clear_error();
  return !error || fail(ErrorClass::Usage, "cannot write '" + path + "': " + error.message());
}

/// The module up to Normalize, or that of each target.
bool Compilation::writeMlir() {
  SmallVector<ModuleOp> modules;
  if (emission.last <= Phase::Normalize)
    modules.push_back(*module);
  else
    for (Program &program : programs)
      if (program.module)
        modules.push_back(*program.module);
  return writeBuffers(modules) && writeFile(".mlir", [&](llvm::raw_ostream &os) {
           for (ModuleOp each : modules)
             each.print(os);
         });
}

bool Compilation::writePtx() {
  std::string text;
  for (Program &program : programs) {
    if (!program.gpu || !program.module)
      continue;
    std::vector<unsigned> registers;
    llvm::Expected<std::string> ptx = makePtx(program, 0, registers);
    if (!ptx)
      return fail(ErrorClass::Internal, llvm::toString(ptx.takeError()));
    text += *ptx;
  }
  return writeFile(".ptx", [&](llvm::raw_ostream &os) { os << text; });
}

bool Compilation::writeText() {
  if (emission.kind == Emission::Mlir)
    return writeMlir();
  if (emission.kind == Emission::Ptx)
    return writePtx();
  emit::CodeKind kind = emission.kind == Emission::LlvmIr     ? emit::CodeKind::LlvmIr
                        : emission.kind == Emission::Assembly ? emit::CodeKind::Assembly
                                                              : emit::CodeKind::Object;
  llvm::Expected<std::vector<std::string>> code =
      emit::compileKernels(emit::getKernels(*programs.front().module), cpu, kind);
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

/// Makes the code of one program and adds both. What cannot be compiled is an error of the compiler, what has no form
/// in a bundle is reported here.
llvm::Error Compilation::addToBundle(emit::BundleWriter &writer, Program &program) {
  auto begin = std::chrono::steady_clock::now();
  auto lap = [&](std::string name) {
    auto now = std::chrono::steady_clock::now();
    times.push_back({std::move(name), std::chrono::duration<double>(now - begin).count()});
    begin = now;
  };
  SmallVector<ModuleOp> kernels = emit::getKernels(*program.module);
  if (program.gpu) {
    std::vector<unsigned> registers;
    llvm::Expected<std::string> ptx = makePtx(program, writer.getNextKernel(), registers);
    if (!ptx)
      return ptx.takeError();
    if (llvm::Error error = writer.addGpuProgram(*program.module, program.name(), *ptx, registers))
      fail(ErrorClass::Unsupported, llvm::toString(std::move(error)));
    return llvm::Error::success();
  }
  beginActivity("native code", "cpu", kernels.size());
  llvm::Expected<std::vector<std::string>> code =
      emit::compileKernels(kernels, cpu, emit::CodeKind::Object, [this] { return checkCancelled(); });
  if (!code)
    return code.takeError();
  lap("native code");
  llvm::Expected<std::vector<uint8_t>> elf = emit::linkObjects(*code);
  if (!elf)
    return elf.takeError();
  lap("link");
  if (llvm::Error error = writer.addCpuProgram(*program.module, cpu, std::move(*elf)))
    fail(ErrorClass::Unsupported, llvm::toString(std::move(error)));
  return llvm::Error::success();
}

bool Compilation::writeBundle() {
  emit::BundleOptions options;
  options.path = request.bundle ? "" : outputPath(".weft");
  options.bytes = request.bundle;
  options.productVersion = "weft " WEFT_VERSION;
  options.modelName = llvm::sys::path::filename(request.model).str();
  options.weights = flags.weights == "external" ? emit::Weights::External
                    : flags.weights == "omit"   ? emit::Weights::Omit
                                                : emit::Weights::Embed;
  options.explain = isExplaining();
  emit::BundleWriter writer(options);
  for (Program &program : programs) {
    if (!program.module)
      continue;
    llvm::Error error = addToBundle(writer, program);
    if (cancelled) {
      llvm::consumeError(std::move(error));
      return false;
    }
    if (error)
      return fail(ErrorClass::Internal, llvm::toString(std::move(error)));
    if (!diagnostics.empty())
      return false;
    if (isExplaining())
      writer.setPlans(explanation.takeProgram(program.name(), *program.module));
  }
  auto begin = std::chrono::steady_clock::now();
  llvm::Expected<emit::BundleStatistics> statistics = writer.write();
  if (!statistics)
    return fail(ErrorClass::Unsupported, llvm::toString(statistics.takeError()));
  times.push_back({"bundle", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()});
  summarise(*statistics);
  return true;
}

} // namespace weft
