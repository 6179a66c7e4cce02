// Native code of a bundle.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses a code variant for this CPU and loads it from memory.
#ifndef WEFT_CPU_CPUCODE_H
#define WEFT_CPU_CPUCODE_H

#include "../Memory/LoadedBundle.h"
#include "ThreadPool.h"

namespace weft {

/// Native code that lies in the process; unloads it at the end.
class CpuCode : public SharedResource {
public:
  ~CpuCode() override;

  /// Loads code variant `variant` of `bundle`: an ELF shared object that exports k0, k1, ... (those without
  /// GPU code at least) and may use libc and libm.
  static bundle::Error load(const LoadedBundle &bundle, uint32_t variant, std::shared_ptr<SharedResource> &code);

  /// Null for kernels of GPU programs.
  CpuKernel getKernel(uint32_t kernel) const { return kernels[kernel]; }

private:
  int descriptor = -1; ///< Stays open: its number is in the name by which the dynamic linker knows the library.
  void *library = nullptr;
  std::vector<CpuKernel> kernels;
};

/// The first variant of `bundle` that this machine can run; an error that says what is missing if there is none.
bundle::Error chooseVariant(const LoadedBundle &bundle, uint32_t &variant);

/// "x86_64-unknown-linux-gnu avx2 fma".
std::string describeVariant(const LoadedBundle &bundle, uint32_t variant);

} // namespace weft

#endif // WEFT_CPU_CPUCODE_H
