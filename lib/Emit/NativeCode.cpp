// One kernel module at a time: LLVM IR, optimisation, object code. Each has an LLVMContext of its own, so kernels
// compile in parallel.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/NativeCode.h"
#include "Ptx/RunPasses.h"
#include "RuntimeCalls.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "weft/Lower/Cpu/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace mlir;

namespace weft::emit {

namespace {

void initializeX86() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

/// The features as LLVM's flags: a processor's name alone does not say all of them.
std::string featuresOf(const Target &target) {
  return target.features.empty() ? "" : "+" + llvm::join(target.features, ",+");
}

std::unique_ptr<llvm::TargetMachine> createMachine(const Target &target, std::string &error) {
  llvm::Triple triple(target.triple);
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  // Only operations that carry the `contract` flag may be fused.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  options.FunctionSections = true;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(triple, target.cpu, featuresOf(target),
                                                                           options, llvm::Reloc::PIC_, std::nullopt,
                                                                           llvm::CodeGenOptLevel::Default));
}

void setFunctionAttributes(llvm::Module &module, const Target &target) {
  for (llvm::Function &function : module) {
    function.addFnAttr("target-cpu", target.cpu);
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-features", featuresOf(target));
    function.addFnAttr("prefer-vector-width", std::to_string(target.vectorBits));
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  llvm::cantFail(runPasses(module, machine, tuning, [](llvm::PassBuilder &builder, llvm::ModulePassManager &passes) {
    passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2);
    return llvm::Error::success();
  }));
}

/// Code of one kernel, or an empty string with `error` set.
std::string compileKernel(ModuleOp kernel, unsigned number, const Target &target, CodeKind kind, std::string &error) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernel, context, "k" + std::to_string(number));
  llvm::Function *entry = module ? module->getFunction(cpu::entryName) : nullptr;
  if (!entry) {
    error = "cannot be translated to LLVM IR";
    return "";
  }
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, error);
  if (!machine)
    return "";
  entry->setName("k" + std::to_string(number));
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  setFunctionAttributes(*module, target);
  optimize(*module, *machine);
  defineRuntimeCalls(*module);
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream os(code);
  if (kind == CodeKind::LlvmIr) {
    module->print(os, nullptr);
    return std::string(code);
  }
  llvm::legacy::PassManager emitter;
  auto type = kind == CodeKind::Assembly ? llvm::CodeGenFileType::AssemblyFile : llvm::CodeGenFileType::ObjectFile;
  if (machine->addPassesToEmitFile(emitter, os, nullptr, type)) {
    error = "the back end cannot emit this kind of file";
    return "";
  }
  emitter.run(*module);
  return std::string(code);
}

} // namespace

llvm::Expected<std::vector<std::string>> compileKernels(ArrayRef<ModuleOp> kernels, const Target &target, CodeKind kind,
                                                        llvm::function_ref<bool()> isCancelled) {
  std::vector<std::string> code(kernels.size());
  if (kernels.empty())
    return code;
  initializeX86();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  ModuleOp first = kernels.front();
  MLIRContext *context = first.getContext();
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();
  std::vector<std::string> errors(kernels.size());
  parallelFor(context, 0, kernels.size(), [&](size_t i) {
    ModuleOp kernel = kernels[i];
    if (isCancelled && isCancelled())
      return void(errors[i] = "cancelled");
    code[i] = compileKernel(kernel, i, target, kind, errors[i]);
  });
  for (auto [i, error] : llvm::enumerate(errors))
    if (!error.empty()) {
      ModuleOp kernel = kernels[i];
      return llvm::createStringError("kernel %s: %s", kernel.getSymName().value_or("?").str().c_str(), error.c_str());
    }
  return code;
}

} // namespace weft::emit
