// Compiling and calling kernels in this process; see Jit.h.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Jit.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/Support/TargetSelect.h"
#include <cstring>
#include <new>

using namespace mlir;

namespace weft::check {

/// What the kernel of the running call has allocated. Its code never frees: the results outlive it, and no pass of the
/// pipeline deallocates temporaries.
static std::vector<std::unique_ptr<char[]>> &allocations() {
  static std::vector<std::unique_ptr<char[]>> list;
  return list;
}

/// `malloc` of the compiled kernels.
static void *allocate(size_t bytes) { return allocations().emplace_back(new (std::nothrow) char[bytes]).get(); }

static llvm::orc::SymbolMap kernelSymbols(llvm::orc::MangleAndInterner mangle) {
  return {{mangle("malloc"), {llvm::orc::ExecutorAddr::fromPtr(&allocate), llvm::JITSymbolFlags::Exported}}};
}

std::unique_ptr<Jit> Jit::create(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    function->setAttr("llvm.emit_c_interface", UnitAttr::get(module.getContext()));
  StringRef pipeline = "func.func(weft-lower-to-linalg),canonicalize,cse,weft-expand-math,"
                       "one-shot-bufferize{bufferize-function-boundaries allow-return-allocs-from-loops "
                       "function-boundary-type-conversion=identity-layout-map},"
                       "func.func(convert-linalg-to-loops,scf-forall-to-for),"
                       "expand-strided-metadata,lower-affine,arith-expand,convert-scf-to-cf,convert-math-to-llvm,"
                       "convert-cf-to-llvm,convert-ub-to-llvm,"
                       "convert-arith-to-llvm,finalize-memref-to-llvm,convert-func-to-llvm,reconcile-unrealized-casts";
  PassManager passes(module.getContext());
  if (failed(parsePassPipeline(pipeline, passes)) || failed(passes.run(module)))
    return nullptr;
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  ExecutionEngineOptions options;
  // memrefCopy, which upstream's lowering calls for strided copies.
  StringRef libraries[] = {WEFT_C_RUNNER_UTILS};
  options.sharedLibPaths = libraries;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::None;
  auto engine = ExecutionEngine::create(module, options);
  if (!engine) {
    emitError(module.getLoc(), "cannot compile: ") << llvm::toString(engine.takeError());
    return nullptr;
  }
  (*engine)->registerSymbols(kernelSymbols);
  auto jit = std::unique_ptr<Jit>(new Jit);
  jit->engine = std::move(*engine);
  return jit;
}

Jit::~Jit() = default;

/// Words of a memref descriptor: allocated and aligned pointer, offset, sizes, strides.
static std::vector<int64_t> describe(const Buffer &buffer) {
  std::vector<int64_t> words{int64_t(buffer.bytes.data()), int64_t(buffer.bytes.data()), 0};
  words.insert(words.end(), buffer.shape.begin(), buffer.shape.end());
  int64_t stride = 1;
  std::vector<int64_t> strides(buffer.shape.size());
  for (size_t d = buffer.shape.size(); d-- > 0; stride *= std::max<int64_t>(buffer.shape[d], 1))
    strides[d] = stride;
  words.insert(words.end(), strides.begin(), strides.end());
  return words;
}

/// Fills a buffer from the descriptor at `words`; the layout is dense.
static void fetch(const int64_t *words, Buffer &buffer) {
  size_t rank = buffer.shape.size();
  int64_t bytes = buffer.elementBytes;
  for (size_t d = 0; d < rank; ++d) {
    buffer.shape[d] = words[3 + d];
    bytes *= buffer.shape[d];
  }
  const char *data = reinterpret_cast<const char *>(words[1]) + words[2] * buffer.elementBytes;
  buffer.bytes.assign(data, data + bytes);
}

llvm::Error Jit::call(StringRef function, ArrayRef<Buffer> inputs, ArrayRef<int64_t> symbols,
                      MutableArrayRef<Buffer> outputs) {
  auto entry = engine->lookupPacked(("_mlir_ciface_" + function).str());
  if (!entry)
    return entry.takeError();
  size_t resultWords = 0;
  for (const Buffer &output : outputs)
    resultWords += 3 + 2 * output.shape.size();
  std::vector<int64_t> results(resultWords);
  std::vector<std::vector<int64_t>> descriptors;
  for (const Buffer &input : inputs)
    descriptors.push_back(describe(input));
  // Packed arguments are pointers to the arguments, which are pointers to descriptors and plain indices.
  std::vector<void *> arguments{results.data()};
  for (std::vector<int64_t> &words : descriptors)
    arguments.push_back(words.data());
  std::vector<void *> packed;
  for (void *&argument : arguments)
    packed.push_back(&argument);
  for (const int64_t &symbol : symbols)
    packed.push_back(const_cast<int64_t *>(&symbol));
  (*entry)(packed.data());
  const int64_t *words = results.data();
  for (Buffer &output : outputs) {
    fetch(words, output);
    words += 3 + 2 * output.shape.size();
  }
  allocations().clear();
  return llvm::Error::success();
}

} // namespace weft::check
