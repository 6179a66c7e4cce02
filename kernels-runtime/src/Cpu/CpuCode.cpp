// Native code of a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code is written to an anonymous file (memfd), sealed, and given to the dynamic linker: nothing touches the disk,
// and nobody can change the bytes between their hash check and their execution.
#include "CpuCode.h"

#include "CpuFeatures.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace weft;
using namespace weft::bundle;

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

std::string weft::describeVariant(const LoadedBundle &bundle, uint32_t index) {
  const Tables &tables = bundle.getTables();
  const VariantRecord &variant = tables.variants[index];
  std::string text(tables.getString(variant.target));
  for (uint32_t feature : tables.features.slice(variant.firstFeature, variant.featureCount))
    text += " " + std::string(tables.getString(feature));
  return text;
}

/// What `variant` needs and this machine lacks; empty if it can run.
static std::string getMissing(const Tables &tables, const VariantRecord &variant) {
  std::string_view target = tables.getString(variant.target);
  if (!isNativeTarget(target))
    return "target " + quote(target);
  std::string missing;
  for (uint32_t feature : tables.features.slice(variant.firstFeature, variant.featureCount))
    if (std::string_view name = tables.getString(feature); !hasCpuFeature(name))
      missing += (missing.empty() ? "CPU feature " : ", ") + quote(name);
  return missing;
}

Error weft::chooseVariant(const LoadedBundle &bundle, uint32_t &variant) {
  const Tables &tables = bundle.getTables();
  if (tables.variants.size == 0)
    return Error(ErrorCode::Device, "the bundle holds no native code; compile the model with --target=cpu");
  std::string reasons;
  constexpr uint32_t reported = 4;
  for (uint32_t i = 0; i < tables.variants.size; ++i) {
    std::string missing = getMissing(tables, tables.variants[i]);
    if (missing.empty()) {
      variant = i;
      return {};
    }
    if (i < reported)
      reasons += (i ? "; variant " : "variant ") + std::to_string(i) + " needs " + missing;
  }
  return Error(ErrorCode::Device,
               "no code in the bundle runs on this CPU: " + reasons +
                   "; compile the model for this machine, or for --target=cpu without extra features");
}

static Error checkElf(Blob code) {
  Elf64_Ehdr header;
  if (code.size < sizeof header)
    return Error(ErrorCode::Input, "expected an ELF shared object, got too few bytes");
  std::memcpy(&header, code.data, sizeof header);
#if defined(__x86_64__)
  constexpr uint16_t machine = EM_X86_64;
#elif defined(__aarch64__)
  constexpr uint16_t machine = EM_AARCH64;
#else
  constexpr uint16_t machine = EM_NONE;
#endif
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_type != ET_DYN || header.e_machine != machine)
    return Error(ErrorCode::Input, "expected an ELF shared object for this machine");
  return {};
}

/// A sealed anonymous file with the bytes of `code`; -1 and errno on failure.
static int makeSealedFile(Blob code) {
  unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  int file = ::memfd_create("weft-kernels", flags | MFD_EXEC);
  if (file < 0 && errno == EINVAL) // kernels before 6.3 do not know MFD_EXEC
    file = ::memfd_create("weft-kernels", flags);
  if (file < 0)
    return -1;
  const uint8_t *data = code.data;
  uint64_t left = code.size;
  while (left) {
    ssize_t written = ::write(file, data, left);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0) {
      int reason = errno;
      ::close(file);
      errno = reason;
      return -1;
    }
    data += written;
    left -= uint64_t(written);
  }
  ::fcntl(file, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return file;
}

Error CpuCode::load(const LoadedBundle &bundle, uint32_t variant, std::shared_ptr<SharedResource> &result) {
  const Tables &tables = bundle.getTables();
  Blob elf = bundle.getReader().getSection(tables.variants[variant].section);
  std::string where = "code variant " + std::to_string(variant);
  if (Error error = checkElf(elf))
    return std::move(error).within(where);
  auto code = std::make_shared<CpuCode>();
  code->descriptor = makeSealedFile(elf);
  if (code->descriptor < 0)
    return makeError(ErrorCode::Resource, "cannot make a memory file for %llu bytes of code: %s",
                     (unsigned long long)elf.size, std::strerror(errno));
  // Kernels call expf, memcpy and the like; libc is always there, libm only if somebody asks.
  static void *const libm = ::dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
  (void)libm;
  std::string path = "/proc/self/fd/" + std::to_string(code->descriptor);
  code->library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!code->library)
    return Error(ErrorCode::Device, where + ": cannot load: " + quote(::dlerror()));
  std::vector<bool> hasGpuCode(tables.kernels.size);
  for (const GpuKernelRecord &kernel : tables.gpuKernels)
    hasGpuCode[kernel.kernel] = true;
  for (uint32_t i = 0; i < tables.kernels.size; ++i) {
    std::string symbol = "k" + std::to_string(i);
    void *address = ::dlsym(code->library, symbol.c_str());
    if (!address && !hasGpuCode[i])
      return Error(ErrorCode::Input, where + ": symbol " + symbol + " of kernel " +
                                         quote(tables.getString(tables.kernels[i].name)) + " does not exist");
    code->kernels.push_back(reinterpret_cast<CpuKernel>(address));
  }
  result = std::move(code);
  return {};
}

CpuCode::~CpuCode() {
  if (library)
    ::dlclose(library);
  if (descriptor >= 0)
    ::close(descriptor);
}
