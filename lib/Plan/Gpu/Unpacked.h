// Tiles of products whose weights are packed, several to a word, and stay so up to the registers that multiply them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_GPU_UNPACKED_H
#define WEFT_LIB_PLAN_GPU_UNPACKED_H

#include "Roles.h"
#include "weft/Plan/Schedule.h"
#include "weft/Target/Device.h"
#include <optional>

namespace weft::plan {

/// Of the activations: each warp loads all of them. Of 12 products of random sizes and 33 to 64 rows 9 take longer than
/// with weights expanded in memory, by up to 20 % (H100).
inline constexpr int64_t mostUnpackedRows = 32;

/// Whether integers of type `packed` become factors of type `factor` in the registers that multiply: several share a
/// word, and a float of 16 bits holds them beside the bits that tell their place
/// (lib/Lower/TileKernelToNVVM/MapPairs.h).
bool mayUnpack(mlir::Type packed, mlir::Type factor);

/// Places of a contraction's result that an element of the operand is multiplied for.
int64_t countOtherRows(tg::ContractOp contract, unsigned operand);

/// The schedule of a product of few rows by a packed matrix, which goes from memory to the registers that multiply it.
std::optional<ScheduleChoice> chooseUnpacked(const KernelToSchedule &kernel, tg::ContractOp contract,
                                             const Roles &roles, const Device &device);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_GPU_UNPACKED_H
