// Which dimensions of a product's kernel are rows, columns and the sum.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_PLAN_MODELS_ROLES_H
#define WEFT_LIB_PLAN_MODELS_ROLES_H

#include "weft/Dialect/TileGraph/IR/Contractions.h"
#include "weft/Plan/Schedule.h"

namespace weft::plan {

/// The contraction's domain by roles; dimensions of the iteration space of the kernel. As in Kernelize, the operand
/// whose dimension comes first in the result is the left one of the dot: `isSwapped` if that is the contraction's rhs.
struct Roles {
  bool isSwapped = false;
  llvm::SmallVector<unsigned> batch, m, n; ///< Dimensions of the kernel's result.
  llvm::SmallVector<unsigned> k;           ///< In the order of the domain.

  Roles(const KernelToSchedule &kernel, tg::ContractOp contract) {
    for (unsigned d = 0; d < kernel.access.resultRank; ++d) {
      bool lhs = isReadBy(kernel, contract.getLhs(), d), rhs = isReadBy(kernel, contract.getRhs(), d);
      if (lhs || rhs)
        (lhs && rhs ? batch : lhs ? m : n).push_back(d);
    }
    std::optional<unsigned> left = innermost(m, kernel.extents), right = innermost(n, kernel.extents);
    if (left && right && *right < *left) {
      std::swap(m, n);
      isSwapped = true;
    }
    for (auto [i, dim] : llvm::enumerate(kernel.access.dims))
      if (dim.reducer == contract)
        k.push_back(i);
    llvm::sort(
        k, [&](unsigned a, unsigned b) { return kernel.access.dims[a].domainDim < kernel.access.dims[b].domainDim; });
  }

  /// The last dimension that is not 1.
  static std::optional<unsigned> innermost(llvm::ArrayRef<unsigned> dims, llvm::ArrayRef<int64_t> extents) {
    for (unsigned d : llvm::reverse(dims))
      if (extents[d] > 1)
        return d;
    return std::nullopt;
  }

  static bool isReadBy(const KernelToSchedule &kernel, mlir::Value value, unsigned dim) {
    return llvm::any_of(kernel.access.of(value), [&](const KernelRequest *request) {
      return llvm::any_of(request->coordinates, [&](mlir::AffineExpr at) { return at && at.isFunctionOfDim(dim); });
    });
  }

  /// The largest of `dims`; of equal ones the last.
  static std::optional<unsigned> largest(llvm::ArrayRef<unsigned> dims, llvm::ArrayRef<int64_t> extents) {
    std::optional<unsigned> best;
    for (unsigned d : dims)
      if (extents[d] > 1 && (!best || extents[d] >= extents[*best]))
        best = d;
    return best;
  }
};

} // namespace weft::plan

#endif // WEFT_LIB_PLAN_MODELS_ROLES_H
