// One kernel module to PTX: LLVM IR, the lean pipeline, the NVPTX back end.
//
// The pipeline cleans up what the lowering leaves and shares address arithmetic; it must not restructure loops: LLVM's
// default one peels the first iteration of a wgmma loop, and the moves that this puts between asynchronous matrix
// instructions make ptxas serialise them (C7515). Unrolling is the schedule's decision, in MLIR.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PtxModule.h"
#include "RunPasses.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "weft/Target/Device.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include <mutex>

using namespace mlir;

namespace weft::emit {

unsigned getFirstPtxVersion(llvm::StringRef architecture) {
  const Device *device = findDevice(architecture);
  return device && device->architecture == architecture ? device->can.firstPtx : 0;
}

namespace {

constexpr llvm::StringLiteral leanPipeline =
    "always-inline,function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),early-cse,"
    "instcombine<no-verify-fixpoint>,simplifycfg,"
    "separate-const-offset-from-gep,slsr,gvn,adce,sink)";

/// Pointers into shared memory are 32 bits wide, which saves registers and conversions. LLVM has this as an option of
/// the process alone, which a machine reads when it is made: it is on for as long as that takes, and as it was for
/// whoever else uses this LLVM.
class ShortPointers {
public:
  ShortPointers() : lock(mutex) {
    auto &options = llvm::cl::getRegisteredOptions();
    if (auto found = options.find("nvptx-short-ptr"); found != options.end())
      option = static_cast<llvm::cl::opt<bool> *>(found->second);
    before = option && *option;
    set(true);
  }
  ~ShortPointers() { set(before); }

private:
  void set(bool value) {
    if (option)
      option->setValue(value);
  }

  static inline std::mutex mutex;
  std::lock_guard<std::mutex> lock;
  llvm::cl::opt<bool> *option = nullptr;
  bool before = false;
};

std::unique_ptr<llvm::TargetMachine> createMachine(const GpuKernel &kernel, std::string &error) {
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  // Only operations that carry the `contract` flag may be fused.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  ShortPointers scope;
  unsigned version = std::max(kernel.ptxVersion, getFirstPtxVersion(kernel.target));
  return std::unique_ptr<llvm::TargetMachine>(
      backend->createTargetMachine(triple, kernel.target, "+ptx" + std::to_string(version), options, llvm::Reloc::PIC_,
                                   std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Loops keep one counter: strength reduction would carry a register for each address of a main loop. The gate is of
/// one context, where the option of the back end that says so would be the process's.
class WithoutStrengthReduction : public llvm::OptPassGate {
public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override { return pass != "Loop Strength Reduction"; }
};

/// Names the entry, and makes the other names of the module its own.
void renameSymbols(llvm::Module &module, llvm::Function &entry, const std::string &name) {
  for (llvm::GlobalVariable &variable : module.globals())
    if (!variable.getName().starts_with("llvm."))
      variable.setName(name + "_" + variable.getName());
  for (llvm::Function &function : module)
    if (&function != &entry && !function.isDeclaration())
      function.setName(name + "_" + function.getName());
  entry.setName(name);
}

void setLaunchBounds(llvm::Function &entry, const GpuKernel &kernel) {
  entry.addFnAttr(llvm::Attribute::NoUnwind);
  if (!entry.hasFnAttribute("nvvm.reqntid"))
    entry.addFnAttr("nvvm.reqntid", std::to_string(kernel.threads));
  // One CTA on an SM leaves all registers to a thread. Where nothing is said, ptxas takes its own step of occupancy if
  // it compiles an executable, and does not if it compiles for a linker, as drivers do in some ways of loading; and it
  // ignores setmaxnreg (C7508) where it does not know the registers at entry.
  if (!entry.hasFnAttribute("nvvm.minctasm"))
    entry.addFnAttr("nvvm.minctasm", "1");
  if (kernel.cluster > 1 && !entry.hasFnAttribute("nvvm.cluster_dim"))
    entry.addFnAttr("nvvm.cluster_dim", std::to_string(kernel.cluster) + ",1,1");
}

/// Math that the back end would turn into a call of a library that does not exist, or could not select.
bool needsExpansion(const llvm::Function &intrinsic) {
  switch (intrinsic.getIntrinsicID()) {
  case llvm::Intrinsic::exp:
  case llvm::Intrinsic::exp10:
  case llvm::Intrinsic::log:
  case llvm::Intrinsic::log2:
  case llvm::Intrinsic::log10:
  case llvm::Intrinsic::pow:
  case llvm::Intrinsic::powi:
  case llvm::Intrinsic::tan:
  case llvm::Intrinsic::asin:
  case llvm::Intrinsic::acos:
  case llvm::Intrinsic::atan:
  case llvm::Intrinsic::atan2:
  case llvm::Intrinsic::sinh:
  case llvm::Intrinsic::cosh:
    return true;
  case llvm::Intrinsic::exp2:
  case llvm::Intrinsic::sin:
  case llvm::Intrinsic::cos:
  case llvm::Intrinsic::tanh:
    return intrinsic.getReturnType()->getScalarType()->isDoubleTy();
  default:
    return false;
  }
}

/// What is used but has no code: empty if nothing. The back end would end the process on some of it.
std::string findUndefined(const llvm::Module &module) {
  for (const llvm::Function &function : module) {
    if (!function.isDeclaration() || function.use_empty())
      continue;
    if (!function.isIntrinsic())
      return ("calls the function '" + function.getName() + "', which the module does not define").str();
    if (needsExpansion(function))
      return ("expected math that the GPU has instructions for, got " + function.getName() + "; run --weft-gpu-math")
          .str();
  }
  for (const llvm::Function &function : module)
    for (const llvm::BasicBlock &block : function)
      for (const llvm::Instruction &instruction : block)
        if (instruction.getOpcode() == llvm::Instruction::FRem)
          return "expected math that the GPU has instructions for, got frem; run --weft-gpu-math";
  return "";
}

/// False with `error` set if the pipeline cannot be built.
bool optimize(llvm::Module &module, llvm::TargetMachine &machine, std::string &error) {
  auto parse = [](llvm::PassBuilder &builder, llvm::ModulePassManager &passes) {
    return builder.parsePassPipeline(passes, leanPipeline);
  };
  error = llvm::toString(runPasses(module, machine, {}, parse));
  return error.empty();
}

/// Keeps the first error that the back end reports, instead of ending the process.
void collectErrors(llvm::LLVMContext &context, std::string &error) {
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *text) {
        auto &first = *static_cast<std::string *>(text);
        if (info->getSeverity() != llvm::DS_Error || !first.empty())
          return;
        llvm::raw_string_ostream os(first);
        llvm::DiagnosticPrinterRawOStream printer(os);
        info->print(printer);
      },
      &error);
}

} // namespace

llvm::Expected<std::string> compilePtxModule(ModuleOp module, const GpuKernel &kernel, unsigned number) {
  std::string error, name = "k" + std::to_string(number);
  llvm::LLVMContext context;
  collectErrors(context, error);
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, name);
  llvm::Function *entry = code ? code->getFunction(getKernelFunction(module).getSymName()) : nullptr;
  if (!entry)
    return llvm::createStringError("cannot be translated to LLVM IR");
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(kernel, error);
  if (!machine)
    return llvm::createStringError(error);
  code->setTargetTriple(machine->getTargetTriple());
  code->setDataLayout(machine->createDataLayout());
  renameSymbols(*code, *entry, name);
  setLaunchBounds(*entry, kernel);
  if (!optimize(*code, *machine, error))
    return llvm::createStringError(error);
  if (std::string undefined = findUndefined(*code); !undefined.empty())
    return llvm::createStringError(undefined);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  WithoutStrengthReduction gate;
  context.setOptPassGate(gate);
  llvm::legacy::PassManager emitter;
  if (machine->addPassesToEmitFile(emitter, os, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("the back end cannot emit PTX");
  emitter.run(*code);
  if (!error.empty())
    return llvm::createStringError(error);
  return std::string(text);
}

} // namespace weft::emit
