// NVTX by its library, which every CUDA toolkit has: its headers are not needed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Timeline.h"

#include <dlfcn.h>

using namespace weft;
using namespace weft::bundle;

Error Timeline::open(bool keepsEvents, const std::string &nvtx) {
  keeps = keepsEvents;
  if (nvtx.empty())
    return {};
  void *library = ::dlopen(nvtx.c_str(), RTLD_NOW | RTLD_LOCAL); // Never closed: a profiler may hold on to it.
  if (!library)
    return Error(ErrorCode::Device, "NVTX: cannot load " + quote(nvtx) + ": " + quote(::dlerror()));
  push = reinterpret_cast<int (*)(const char *)>(::dlsym(library, "nvtxRangePushA"));
  pop = reinterpret_cast<int (*)()>(::dlsym(library, "nvtxRangePop"));
  if (!push || !pop) {
    push = nullptr;
    pop = nullptr;
    return Error(ErrorCode::Device, "NVTX: expected nvtxRangePushA and nvtxRangePop in " + quote(nvtx));
  }
  return {};
}
