// Tiles of products whose weights are packed, several to a word, and stay so up to the registers that multiply them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_MODELS_UNPACKED_H
#define WEFT_LIB_PLAN_MODELS_UNPACKED_H

#include "Roles.h"
#include "weft/Plan/Schedule.h"
#include "weft/Target/Device.h"
#include <optional>

namespace weft::plan {

/// Warps read all rows for each tile of columns, which pays while these are few.
inline constexpr int64_t mostUnpackedRows = 32;

/// A product of `rows` (1: a vector) by a matrix of `columns` and `depth`, whose numbers have `bits` bits in memory.
struct UnpackedProduct {
  int64_t rows = 1, columns = 1, depth = 1, bits = 4;
  int64_t products = 1; ///< By as many matrices, in one kernel.
};

/// Whether warpgroups that unpack the matrix as their left operand take less time than a kernel that writes a copy of
/// 16 bits and a product that reads it.
bool paysByWarpgroups(const UnpackedProduct &product, const Device &device);

/// Whether integers of type `packed` become factors of type `factor` in the registers that multiply: several share a
/// word, and a float of 16 bits holds them beside the bits that tell their position
/// (lib/Lower/TileKernelToNVVM/MapPairs.h).
bool mayUnpack(mlir::Type packed, mlir::Type factor);

/// The numbers of `value` if several share each word of it; else 0.
int64_t countPacked(mlir::Value value);

/// Elements of a contraction's result that an element of the operand is multiplied for.
int64_t countOtherRows(tg::ContractOp contract, unsigned operand);
/// Whether `op` is a gather of rows: neighbours in its result lie side by side in what it reads, so that a product
/// reads them as it would read the whole.
bool takesRows(mlir::Operation *op);

/// The tensor of numbers of at most 8 bits that the factor `operand` of a product is computed from element by element,
/// if it lies in whole words and may be unpacked for factors of the operand's type; null if there is none.
mlir::Value findPacked(mlir::Value operand);

/// The columns of a tile of `product` where its operand `matrix` is unpacked in the registers that multiply few rows;
/// none where it is not.
std::optional<int64_t> countUnpackedColumns(tg::ContractOp product, unsigned matrix, const Device &device);

/// The operand of a product that lies packed in memory, along the sum.
struct UnpackedMatrix {
  mlir::Value packed;
  std::optional<unsigned> m; ///< Its rows; none: a vector.
  unsigned n, k;             ///< The matrix's own dimension, and the sum.
  int64_t bits;
};
std::optional<UnpackedMatrix> findUnpackedMatrix(const KernelToSchedule &kernel, tg::ContractOp contract,
                                                 const Roles &roles);

/// Turns the roles so that warpgroups have the matrix on the left, where they take it from registers, if they can. The
/// bits of its numbers; 0, with nothing changed, if they cannot.
int64_t turnForWarpgroups(const KernelToSchedule &kernel, tg::ContractOp contract, Roles &roles, const Device &device);

/// The schedule of a product of few rows by a packed matrix, which goes from memory to the registers that multiply it.
std::optional<ScheduleChoice> chooseUnpacked(const KernelToSchedule &kernel, tg::ContractOp contract,
                                             const Roles &roles, const Device &device);

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_MODELS_UNPACKED_H
