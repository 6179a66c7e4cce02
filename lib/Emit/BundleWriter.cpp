// Programs and their code put together to a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/BundleWriter.h"
#include "Explain.h"
#include "ProgramWriter.h"

using namespace mlir;

namespace weft::emit {

SmallVector<ModuleOp> getKernels(ModuleOp program) { return llvm::to_vector(program.getOps<ModuleOp>()); }

struct BundleWriter::State {
  explicit State(const BundleOptions &options)
      : options(options), builder(this->options.productVersion), data(builder, this->options) {}

  BundleOptions options;
  bundle::Builder builder;
  BundleData data;
  unsigned nextKernel = 0;
  std::vector<ExplainedProgram> explained;
  BundleStatistics statistics;

  void finish(ModuleOp program, const ProgramWriter &writer, uint64_t codeBytes) {
    ProgramStatistics measured = writer.measure();
    measured.codeBytes = codeBytes;
    explained.push_back({program, measured.target, nextKernel, {}});
    nextKernel += getKernels(program).size();
    statistics.programs.push_back(std::move(measured));
  }
};

BundleWriter::BundleWriter(const BundleOptions &options) : state(std::make_unique<State>(options)) {}
BundleWriter::~BundleWriter() = default;

unsigned BundleWriter::getNextKernel() const { return state->nextKernel; }

llvm::Error BundleWriter::addCpuProgram(ModuleOp program, const Target &target, std::vector<uint8_t> elf) {
  if (state->nextKernel)
    return llvm::createStringError("expected the program for the CPU before those for GPUs");
  ProgramWriter writer(program, "", state->builder, state->data);
  if (llvm::Error error = writer.write())
    return error;
  uint64_t bytes = elf.size();
  state->builder.setMetadata("cpu", target.cpu);
  state->builder.addNativeCode(target.triple, target.features, std::move(elf));
  state->finish(program, writer, bytes);
  return llvm::Error::success();
}

llvm::Error BundleWriter::addGpuProgram(ModuleOp program, llvm::StringRef architecture, llvm::StringRef ptx,
                                        ArrayRef<unsigned> registers) {
  ProgramWriter writer(program, architecture, state->builder, state->data);
  if (llvm::Error error = writer.write())
    return error;
  state->builder.addPtx(architecture.str(), ptx.str(), writer.getGpuKernels(registers));
  state->finish(program, writer, ptx.size());
  return llvm::Error::success();
}

void BundleWriter::setPlans(std::vector<llvm::json::Object> plans) {
  if (!state->explained.empty())
    state->explained.back().plans = std::move(plans);
}

llvm::Expected<BundleStatistics> BundleWriter::write() {
  state->builder.setMetadata("model", state->options.modelName);
  if (state->options.explain)
    state->builder.setExplain(explain(state->explained, state->options.modelName));
  state->statistics.weightBytes = state->data.getWeightBytes();
  std::vector<uint8_t> *bytes = state->options.bytes;
  bundle::Error error = bytes ? state->builder.build(*bytes)
                              : state->builder.writeFile(state->options.path, &state->statistics.fileBytes);
  if (error)
    return llvm::createStringError("%s", error.getMessage().c_str());
  if (bytes)
    state->statistics.fileBytes = bytes->size();
  return state->statistics;
}

} // namespace weft::emit
