// What warps and CTAs keep of asynchronous operations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of a CTA's mbarriers and its warp groups.
#include "Emulator/Async/AsyncStates.h"

namespace weft::emu {

MbarrierObject *CtaAsync::find(uint32_t offset) {
  if (lastFound < mbarriers.size() && mbarriers[lastFound]->offset == offset)
    return mbarriers[lastFound].get();
  for (size_t i = 0; i < mbarriers.size(); ++i)
    if (mbarriers[i]->offset == offset) {
      lastFound = i;
      return mbarriers[i].get();
    }
  return nullptr;
}

MbarrierObject &CtaAsync::add(uint32_t offset, const Mbarrier &state) {
  mbarriers.push_back(std::make_unique<MbarrierObject>());
  mbarriers.back()->offset = offset;
  mbarriers.back()->state = state;
  return *mbarriers.back();
}

void CtaAsync::remove(uint32_t offset) {
  for (size_t i = 0; i < mbarriers.size(); ++i)
    if (mbarriers[i]->offset == offset) {
      mbarriers.erase(mbarriers.begin() + std::ptrdiff_t(i));
      return;
    }
}

WarpGroup &CtaAsync::groupOf(const Warp &warp) {
  if (warpGroups.empty())
    warpGroups.resize((warp.cta->warps.size() + 3) / 4);
  return warpGroups[warp.index / 4];
}

} // namespace weft::emu
