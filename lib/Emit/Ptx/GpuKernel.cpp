// The attributes of a lowered kernel module, read and checked.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "weft/Emit/Ptx.h"
#include "weft/Target/Device.h"
#include "weft/Target/KernelAttributes.h"

using namespace mlir;

namespace weft::emit {

namespace {

constexpr int64_t kMaxWarps = 32, kMaxTensorMaps = 16, kMaxRank = 5, kMaxBox = 256, kMaxStep = 8, kMaxCtas = 0x7fffffff;

/// Reads one kernel module; the first problem ends it.
class Reader {
public:
  explicit Reader(ModuleOp module) : module(module) {}
  llvm::Error read();
  GpuKernel kernel;

private:
  llvm::Error readSignature(LLVM::LLVMFuncOp function);
  llvm::Error readMaps();
  llvm::Error readTensorMap(Attribute attribute);
  llvm::Error readInteger(llvm::StringRef name, int64_t low, int64_t high, std::optional<int64_t> absent,
                          unsigned &value);
  llvm::Error readPlaces(DictionaryAttr map, llvm::StringRef name, size_t count,
                         llvm::SmallVectorImpl<unsigned> &places);

  ModuleOp module;
  unsigned scalarCount = 0, tensorMapCount = 0;
};

template <class... Parts> llvm::Error problem(const char *format, Parts... parts) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), format, parts...);
}

/// ()[s0, s1, ...] -> (s0, s1, ...)
AffineMap symbolMap(unsigned count, MLIRContext *context) {
  SmallVector<AffineExpr> symbols;
  for (unsigned i = 0; i < count; ++i)
    symbols.push_back(getAffineSymbolExpr(i, context));
  return AffineMap::get(0, count, symbols, context);
}

bool isTensorMap(LLVM::LLVMFuncOp function, unsigned argument) {
  return bool(function.getArgAttr(argument, LLVM::LLVMDialect::getByValAttrName()));
}

llvm::Error Reader::readInteger(llvm::StringRef name, int64_t low, int64_t high, std::optional<int64_t> absent,
                                unsigned &value) {
  auto attribute = module->getAttrOfType<IntegerAttr>(name);
  if (!attribute && module->hasAttr(name))
    return problem("expected an integer as %s", name.str().c_str());
  if (!attribute && !absent)
    return problem("expected the attribute %s", name.str().c_str());
  int64_t number = attribute ? attribute.getInt() : *absent;
  if (number < low || number > high)
    return problem("expected %s from %lld to %lld, got %lld", name.str().c_str(), (long long)low, (long long)high,
                   (long long)number);
  value = unsigned(number);
  return llvm::Error::success();
}

llvm::Error Reader::readSignature(LLVM::LLVMFuncOp function) {
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    if (isTensorMap(function, i)) {
      ++tensorMapCount;
    } else if (isa<LLVM::LLVMPointerType>(type) && !scalarCount && !tensorMapCount) {
      ++kernel.buffers;
    } else if (type.isInteger(64) && !tensorMapCount) {
      ++scalarCount;
    } else {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      return problem("expected pointers, then i64, then tensor maps by value as parameters, got %s as parameter %zu",
                     text.c_str(), i);
    }
  }
  return llvm::Error::success();
}

llvm::Error Reader::readMaps() {
  auto grid = module->getAttrOfType<AffineMapAttr>(gpu::gridAttr);
  if (!grid || grid.getValue().getNumResults() == 0 || grid.getValue().getNumDims() != 0)
    return problem("expected a map of the kernel's symbols as tg.grid");
  kernel.grid = grid.getValue();
  if (auto scalars = module->getAttrOfType<AffineMapAttr>(gpu::scalarsAttr))
    kernel.scalars = scalars.getValue();
  else
    kernel.scalars = symbolMap(scalarCount, module.getContext());
  if (kernel.scalars.getNumResults() != scalarCount || kernel.scalars.getNumDims() != 0)
    return problem("expected %u results of tk.scalars, one for each i64 parameter, got %u", scalarCount,
                   kernel.scalars.getNumResults());
  return llvm::Error::success();
}

/// The positions in the list of scalars of the results of the map `name`.
llvm::Error Reader::readPlaces(DictionaryAttr map, llvm::StringRef name, size_t count,
                               llvm::SmallVectorImpl<unsigned> &places) {
  auto attribute = map.getAs<AffineMapAttr>(name);
  if (!attribute || attribute.getValue().getNumResults() != count)
    return problem("expected a map of %zu results as %s", count, name.str().c_str());
  for (AffineExpr expr : attribute.getValue().getResults()) {
    ArrayRef<AffineExpr> scalars = kernel.scalars.getResults();
    const auto *found = llvm::find(scalars, expr);
    if (found == scalars.end()) {
      std::string text;
      llvm::raw_string_ostream(text) << expr;
      return problem("%s: %s is not a scalar of the kernel; run --weft-gpu-tensor-maps", name.str().c_str(),
                     text.c_str());
    }
    places.push_back(found - scalars.begin());
  }
  return llvm::Error::success();
}

llvm::Error Reader::readTensorMap(Attribute attribute) {
  auto map = dyn_cast<DictionaryAttr>(attribute);
  auto argument = map ? map.getAs<IntegerAttr>("argument") : IntegerAttr();
  auto swizzle = map ? map.getAs<IntegerAttr>("swizzle") : IntegerAttr();
  auto box = map ? map.getAs<DenseI64ArrayAttr>("box") : DenseI64ArrayAttr();
  if (!argument || !swizzle || !box)
    return problem("expected {argument, box, swizzle, extents, strides}");
  GpuTensorMap result;
  if (argument.getInt() < 0 || argument.getInt() >= kernel.buffers)
    return problem("expected an argument below %u, got %lld", kernel.buffers, (long long)argument.getInt());
  result.argument = unsigned(argument.getInt());
  int64_t span = swizzle.getInt();
  if (span != 0 && span != 32 && span != 64 && span != 128)
    return problem("expected a swizzle of 0, 32, 64 or 128 bytes, got %lld", (long long)span);
  result.swizzle = unsigned(span);
  if (box.empty() || box.size() > kMaxRank)
    return problem("expected a box of 1 to %lld dimensions, got %lld", (long long)kMaxRank, (long long)box.size());
  for (int64_t size : box.asArrayRef()) {
    if (size < 1 || size > kMaxBox)
      return problem("expected box sizes from 1 to %lld, got %lld", (long long)kMaxBox, (long long)size);
    result.box.push_back(unsigned(size));
  }
  result.steps.assign(box.size(), 1);
  if (auto steps = map.getAs<DenseI64ArrayAttr>("steps")) {
    if (steps.size() != box.size() || llvm::any_of(steps.asArrayRef(), [](int64_t s) { return s < 1 || s > kMaxStep; }))
      return problem("expected a step from 1 to %lld for each of %lld dimensions, got %lld of them",
                     (long long)kMaxStep, (long long)box.size(), (long long)steps.size());
    llvm::copy(steps.asArrayRef(), result.steps.begin());
  }
  if (llvm::Error error = readPlaces(map, "extents", box.size(), result.extents))
    return error;
  if (llvm::Error error = readPlaces(map, "strides", box.size() - 1, result.strides))
    return error;
  kernel.tensorMaps.push_back(std::move(result));
  return llvm::Error::success();
}

llvm::Error Reader::read() {
  LLVM::LLVMFuncOp function = getKernelFunction(module);
  if (!function)
    return problem("expected one llvm.func with the attribute nvvm.kernel");
  auto target = module->getAttrOfType<StringAttr>(gpu::targetAttr);
  const Device *device = target ? findDevice(target.getValue()) : nullptr;
  if (!device)
    return problem("expected %s as tk.target, got %s", getArchitectureList().str().c_str(),
                   target ? target.str().c_str() : "nothing");
  kernel.target = device->architecture;
  unsigned warps = 0;
  if (llvm::Error error = readInteger(gpu::warpsAttr, 1, kMaxWarps, std::nullopt, warps))
    return error;
  kernel.threads = 32 * warps;
  if (llvm::Error error = readInteger(gpu::clusterAttr, 1, device->maxCluster, 1, kernel.cluster))
    return error;
  if (llvm::Error error = readInteger(gpu::residentAttr, 0, kMaxCtas, 0, kernel.resident))
    return error;
  if (llvm::Error error = readInteger(gpu::sharedBytesAttr, 0, device->sharedPerCta, 0, kernel.sharedBytes))
    return error;
  if (llvm::Error error = readInteger(gpu::ptxVersionAttr, 0, 90, 0, kernel.ptxVersion))
    return error;
  if (llvm::Error error = readSignature(function))
    return error;
  if (llvm::Error error = readMaps())
    return error;
  auto maps = module->getAttrOfType<ArrayAttr>(gpu::tensorMapsAttr);
  unsigned given = maps ? maps.size() : 0;
  if (given != tensorMapCount || given > kMaxTensorMaps)
    return problem("expected %u entries of tk.tensor_maps, one for each tensor map parameter and at most %lld, got %u",
                   tensorMapCount, (long long)kMaxTensorMaps, given);
  for (unsigned i = 0; i < given; ++i)
    if (llvm::Error error = readTensorMap(maps[i]))
      return problem("tensor map %u: %s", i, llvm::toString(std::move(error)).c_str());
  return llvm::Error::success();
}

} // namespace

LLVM::LLVMFuncOp getKernelFunction(ModuleOp module) {
  LLVM::LLVMFuncOp found;
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    if (function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName())) {
      if (found || function.isExternal())
        return {};
      found = function;
    }
  return found;
}

llvm::Expected<GpuKernel> readGpuKernel(ModuleOp module) {
  Reader reader(module);
  if (llvm::Error error = reader.read())
    return problem("kernel %s: %s", module.getSymName().value_or("?").str().c_str(),
                   llvm::toString(std::move(error)).c_str());
  return std::move(reader.kernel);
}

} // namespace weft::emit
