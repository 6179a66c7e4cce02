// wgmma as a queued operation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One wgmma.mma_async of four warps. It reads its registers and shared memory and writes its accumulators in perform(),
// so a program that touches either too early computes something else.
#ifndef WEFT_EMULATOR_ASYNC_WGMMAOP_H
#define WEFT_EMULATOR_ASYNC_WGMMAOP_H

#include "Emulator/Exec/Machine.h"
#include "Emulator/Numerics/MatrixMultiply.h"

namespace weft::emu {

/// What a bound wgmma.mma_async is: m64 n`columns`, 32 bytes of K.
struct WgmmaForm {
  MatrixShape shape; ///< Not for single bits.
  MatrixOptions options;
  bool isBits = false; ///< b1, .and.popc
  bool hasRegisterA = false;
  bool isMajorM = false, isMajorN = false; ///< imm-trans-a, imm-trans-b
  bool isScaleNegated = false;
  uint8_t accumulators = 0; ///< Registers of D: Step::slots[0 ..]
  uint8_t a = 0;            ///< First slot: 4 registers or a descriptor.
  uint8_t b = 0;            ///< Slot of the descriptor.
  uint8_t scale = 0;        ///< Slot of the predicate scale-d.
};

class WgmmaOp : public AsyncOp {
public:
  WgmmaOp() : AsyncOp(AsyncKind::Wgmma) {}
  bool perform(Machine &machine) override;

  /// One warp's share of it.
  struct Part {
    Warp *warp = nullptr;
    const Step *step = nullptr;
    Activation *activation = nullptr;
    uint64_t a = 0, b = 0; ///< Descriptors.
    bool addsToD = true;   ///< scale-d
  };
  Part parts[4];
  unsigned partCount = 0;
  bool isIssued() const { return partCount == 4; }
  const WgmmaForm &form() const { return *static_cast<const WgmmaForm *>(step->payload); }

private:
  bool hasFrames(Machine &machine) const;
  bool gather(Machine &machine, uint64_t descriptor, bool isMnMajor, uint32_t extent, uint8_t *dense);
  void gatherRegisters(uint8_t *dense) const;
};

/// Whether the step is a wgmma.mma_async.
bool isWgmma(const Step &step);

} // namespace weft::emu

#endif // WEFT_EMULATOR_ASYNC_WGMMAOP_H
