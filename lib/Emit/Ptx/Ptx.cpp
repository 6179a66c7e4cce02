// All kernels of a program to one PTX text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Emit/Ptx.h"
#include "PtxModule.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "weft/Target/Device.h"
#include "llvm/Support/TargetSelect.h"
#include <mutex>

using namespace mlir;

namespace weft::emit {

static void initializeBackend() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

std::string joinPtx(llvm::ArrayRef<std::string> modules, llvm::StringRef target) {
  unsigned version = getFirstPtxVersion(target);
  std::string bodies;
  for (llvm::StringRef rest : modules) {
    while (!rest.empty()) {
      auto [line, tail] = rest.split('\n');
      rest = tail;
      llvm::StringRef number = line;
      unsigned major = 0, minor = 0;
      if (number.consume_front(".version ")) {
        if (!number.consumeInteger(10, major) && number.consume_front(".") && !number.consumeInteger(10, minor))
          version = std::max(version, 10 * major + minor);
      } else if (!line.starts_with(".target ") && !line.starts_with(".address_size ") && !line.starts_with("//")) {
        bodies += line.str() + '\n';
      }
    }
  }
  std::string text;
  llvm::raw_string_ostream(text) << ".version " << version / 10 << '.' << version % 10 << "\n.target " << target
                                 << "\n.address_size 64\n"
                                 << bodies;
  return text;
}

static llvm::Expected<std::string> compileOne(ModuleOp module, llvm::StringRef target, unsigned number) {
  llvm::Expected<GpuKernel> kernel = readGpuKernel(module);
  if (!kernel)
    return kernel.takeError();
  std::string name = module.getSymName().value_or("?").str();
  if (kernel->target != target)
    return llvm::createStringError("kernel %s: expected code for %s, got %s", name.c_str(), target.str().c_str(),
                                   kernel->target.c_str());
  llvm::Expected<std::string> text = compilePtxModule(module, *kernel, number);
  if (!text)
    return llvm::createStringError("kernel %s: %s", name.c_str(), llvm::toString(text.takeError()).c_str());
  return text;
}

/// Loads what translation needs, and turns nvvm ops that stand for inline PTX into it.
static LogicalResult prepareTranslation(ArrayRef<ModuleOp> kernels) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  ModuleOp first = kernels.front();
  MLIRContext *context = first.getContext();
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();
  PassManager pm(context);
  pm.addPass(createConvertNVVMToLLVMPass());
  for (ModuleOp kernel : kernels)
    if (failed(pm.run(kernel)))
      return failure();
  return success();
}

llvm::Expected<std::vector<std::string>> compilePtx(ArrayRef<ModuleOp> kernels, llvm::StringRef target,
                                                    unsigned firstNumber, llvm::function_ref<bool()> isCancelled) {
  if (!getFirstPtxVersion(target))
    return llvm::createStringError("expected %s as GPU target, got %s", getArchitectureList().str().c_str(),
                                   target.str().c_str());
  std::vector<std::string> texts(kernels.size()), errors(kernels.size());
  if (!kernels.empty()) {
    initializeBackend();
    if (failed(prepareTranslation(kernels)))
      return llvm::createStringError("nvvm ops without a form in PTX");
    ModuleOp first = kernels.front();
    parallelFor(first.getContext(), 0, kernels.size(), [&](size_t i) {
      if (isCancelled && isCancelled())
        return void(errors[i] = "cancelled");
      llvm::Expected<std::string> text = compileOne(kernels[i], target, firstNumber + i);
      if (text)
        texts[i] = std::move(*text);
      else
        errors[i] = llvm::toString(text.takeError());
    });
  }
  for (const std::string &error : errors)
    if (!error.empty())
      return llvm::createStringError(error);
  return texts;
}

} // namespace weft::emit
