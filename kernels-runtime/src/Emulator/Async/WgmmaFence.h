// Registers that need a wgmma.fence.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// wgmma.fence orders what other instructions write to registers before the wgmmas that use them: one has to stand
// before the first wgmma of a warp, and after every write to a register that a wgmma has as A or adds to. (Registers of
// unfinished operations are the sanitizer's matter.)
#ifndef WEFT_EMULATOR_ASYNC_WGMMAFENCE_H
#define WEFT_EMULATOR_ASYNC_WGMMAFENCE_H

#include "Emulator/Async/WgmmaOp.h"

#include <vector>

namespace weft::emu {

/// Of one warp: which registers of the activation that uses wgmma were written since its last fence.
class WgmmaRegisters {
public:
  /// Before a wgmma: makes findings of a missing fence.
  void use(const WgmmaOp::Part &part);
  /// Registers written so far may be used.
  void fenced(const Warp &warp);
  /// `step`, which is no wgmma, executes.
  void step(const Warp &warp, const Step &step);
  bool isTracked() const { return activation != nullptr; }

private:
  bool isDirty(Slot slot) const { return slot / 4 < writtenAfter.size() && writtenAfter[slot / 4] == fences; }

  const Activation *activation = nullptr;
  std::vector<uint32_t> writtenAfter; ///< By slot / 4: number of the fence after which the register was last written.
  uint32_t fences = 0;
};

/// The observer of a sanitized launch that feeds WgmmaRegisters::step.
class WgmmaFenceObserver final : public Observer {
public:
  void stepBegins(Warp &warp, const Step &step, LaneMask mask, bool isRepeated) override;
};

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_WGMMAFENCE_H
