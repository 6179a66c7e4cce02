// Schedules of kernels with a contraction: which dimensions are m, n and k, and the tile that the model likes best.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parallel dimension of the contraction is m if only the left operand has it, n if only the right one, batch if both
// do. One dimension of each kind gets a tile; the others, and batch, have extent 1 in a tile.
#include "weft/Plan/GemmModel.h"
#include "weft/Plan/Schedule.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace weft::plan {
namespace {

enum class Role { Batch, M, N, K };

/// The contraction's domain by roles; dimensions of the iteration space of the kernel.
struct Roles {
  SmallVector<unsigned> batch, m, n; ///< Dimensions of the kernel's result.
  SmallVector<unsigned> k;           ///< In the order of the domain.

  Roles(const KernelToSchedule &kernel, tg::ContractOp contract) {
    SmallVector<KernelRequest> requests;
    for (const KernelRequest *request : kernel.access.of(contract.getResult()))
      requests.push_back(*request);
    AffineMap result = contract.getMap(2);
    for (unsigned d = 0; d < result.getNumDims(); ++d) {
      bool lhs = contract.getMap(0).isFunctionOfDim(d), rhs = contract.getMap(1).isFunctionOfDim(d);
      std::optional<unsigned> place = result.getResultPosition(getAffineDimExpr(d, contract.getContext()));
      if (!place) {
        for (auto [i, dim] : llvm::enumerate(kernel.access.dims))
          if (dim.reducer == contract && dim.domainDim == d)
            k.push_back(i);
        continue;
      }
      // The place of the dimension in the kernel's result; none under a view that takes it apart.
      auto dim =
          dyn_cast_or_null<AffineDimExpr>(requests.empty() ? AffineExpr() : requests.front().coordinates[*place]);
      if (dim && dim.getPosition() < kernel.access.resultRank)
        (lhs && rhs ? batch : lhs ? m : n).push_back(dim.getPosition());
    }
  }

  /// The largest of `dims`; of equal ones the last.
  static std::optional<unsigned> largest(ArrayRef<unsigned> dims, ArrayRef<int64_t> extents) {
    std::optional<unsigned> best;
    for (unsigned d : dims)
      if (extents[d] > 1 && (!best || extents[d] >= extents[*best]))
        best = d;
    return best;
  }
};

} // namespace

static GemmType typeOf(Type lhs, Type rhs) {
  if (lhs != rhs)
    return GemmType::Other;
  if (lhs.isF16() || lhs.isBF16())
    return GemmType::F16;
  if (lhs.isF32())
    return GemmType::F32;
  if (lhs.isF64())
    return GemmType::F64;
  return lhs.isInteger(8) ? GemmType::S8 : GemmType::Other;
}

static int64_t bytesOf(Value value) {
  return std::max<int64_t>(tg::getElementBits(cast<RankedTensorType>(value.getType()).getElementType()) / 8, 1);
}

/// Whether rows of the tensor start at multiples of 16 bytes: what tensor maps demand.
static bool hasAlignedRows(Value value) {
  tg::Dims dims = tg::getDims(value.getType());
  std::optional<int64_t> row = dims.empty() ? std::nullopt : tg::getConstant(dims.back());
  return row && *row * bytesOf(value) % 16 == 0;
}

static GemmProblem describe(const KernelToSchedule &kernel, tg::ContractOp contract, const Roles &roles) {
  GemmProblem problem;
  auto productOf = [&](ArrayRef<unsigned> dims, std::optional<unsigned> without) {
    int64_t product = 1;
    for (unsigned d : dims)
      if (d != without && llvm::MulOverflow(product, kernel.extents[d], product))
        product = int64_t(1) << 40;
    return product;
  };
  std::optional<unsigned> m = Roles::largest(roles.m, kernel.extents), n = Roles::largest(roles.n, kernel.extents),
                          k = Roles::largest(roles.k, kernel.extents);
  problem.m = m ? kernel.extents[*m] : 1;
  problem.n = n ? kernel.extents[*n] : 1;
  problem.k = k ? kernel.extents[*k] : 1;
  problem.taps = productOf(roles.k, k);
  problem.batch = productOf(roles.batch, std::nullopt) * productOf(roles.m, m) * productOf(roles.n, n);
  Value lhs = contract.getLhs(), rhs = contract.getRhs();
  problem.type = typeOf(cast<RankedTensorType>(lhs.getType()).getElementType(),
                        cast<RankedTensorType>(rhs.getType()).getElementType());
  problem.lhsBytes = bytesOf(lhs);
  problem.rhsBytes = bytesOf(rhs);
  func::FuncOp func = kernel.func;
  Value result = cast<func::ReturnOp>(func.getBody().front().getTerminator()).getOperand(0);
  problem.resultBytes = bytesOf(result);
  problem.allowWgmma = isa<BlockArgument>(lhs) && isa<BlockArgument>(rhs) && hasAlignedRows(lhs) &&
                       hasAlignedRows(rhs) && contract.getMap(0).isProjectedPermutation() &&
                       contract.getMap(1).isProjectedPermutation();
  for (const KernelRequest &request : kernel.access.requests) {
    auto reads = [&](std::optional<unsigned> d) {
      return d && llvm::any_of(request.coordinates, [&](AffineExpr at) { return at && at.isFunctionOfDim(*d); });
    };
    if (isa<BlockArgument>(request.value) && reads(m) && reads(n))
      problem.epilogueRegisters += double(bytesOf(request.value)) / 4;
  }
  return problem;
}

/// Without a left or a right dimension there is nothing to multiply tile by tile: the larger operand streams through,
/// wide along what is contiguous in it.
static ScheduleChoice chooseVector(const KernelToSchedule &kernel, tg::ContractOp contract, const Roles &roles,
                                   const Device &device) {
  ScheduleChoice choice;
  choice.tile.assign(kernel.access.resultRank, 1);
  choice.stream.assign(roles.k.size(), 1);
  std::optional<unsigned> m = Roles::largest(roles.m, kernel.extents), n = Roles::largest(roles.n, kernel.extents),
                          k = Roles::largest(roles.k, kernel.extents);
  Value matrix = n ? contract.getRhs() : contract.getLhs();
  int64_t vector = std::max<int64_t>(16 / bytesOf(matrix), 1);
  int64_t others = 1;
  for (unsigned d = 0; d < kernel.access.resultRank; ++d)
    if (d != m && d != n)
      others = llvm::MulOverflow(others, kernel.extents[d], others) ? INT64_MAX : others;
  std::optional<unsigned> out = n ? n : m;
  if (!out) // Depthwise: a map with a short loop.
    out = Roles::largest(roles.batch, kernel.extents);
  // The most columns with enough CTAs, at least a sector; the reduction in steps of four vectors a thread.
  choice.warps = 4;
  int64_t columns = out ? std::min<int64_t>(llvm::PowerOf2Ceil(kernel.extents[*out]), 128) : 1;
  int64_t sector = 2 * vector;
  while (out && columns > sector && int64_t(llvm::divideCeil(kernel.extents[*out], columns)) * others < 2 * device.sms)
    columns /= 2;
  if (out)
    choice.tile[*out] = columns;
  if (k)
    choice.stream[llvm::find(roles.k, *k) - roles.k.begin()] =
        fitPower(kernel.extents[*k], std::max<int64_t>(choice.warps * 32 * vector * 4 / columns, 1), 1);
  choice.stages = 4;
  choice.reason = llvm::formatv("matrix by vector: {0} columns a CTA, steps of {1}", columns,
                                choice.stream.empty() ? 1 : *llvm::max_element(choice.stream));
  return choice;
}

/// The grid's last two dimensions, if they are those of rows and columns of tiles.
static std::string orderOf(const KernelToSchedule &kernel, const GemmProblem &problem, const GemmChoice &best,
                           unsigned m, unsigned n, const Device &device) {
  unsigned rank = kernel.access.resultRank;
  if (rank < 2 || std::min(m, n) != rank - 2 || std::max(m, n) != rank - 1)
    return "row";
  double depth = double(problem.k * problem.taps);
  double rowBytes = double(best.tile.m) * depth * double(problem.lhsBytes);
  double colBytes = double(best.tile.n) * depth * double(problem.rhsBytes);
  int64_t rows = llvm::divideCeil(problem.m, best.tile.m), cols = llvm::divideCeil(problem.n, best.tile.n);
  if (m > n) { // Columns of the contraction are the rows of the grid.
    std::swap(rows, cols);
    std::swap(rowBytes, colBytes);
  }
  return chooseTraversal(rows, cols, rowBytes, colBytes, best.cost.ctasPerSm * device.sms, double(device.l2Bytes));
}

ScheduleChoice chooseContraction(const KernelToSchedule &kernel, tg::ContractOp contract, const Device &device) {
  Roles roles(kernel, contract);
  std::optional<unsigned> m = Roles::largest(roles.m, kernel.extents), n = Roles::largest(roles.n, kernel.extents),
                          k = Roles::largest(roles.k, kernel.extents);
  if (!m || !n || !k)
    return chooseVector(kernel, contract, roles, device);
  GemmProblem problem = describe(kernel, contract, roles);
  GemmChoice best = chooseGemmTile(problem, device);
  ScheduleChoice choice;
  choice.tile.assign(kernel.access.resultRank, 1);
  choice.stream.assign(roles.k.size(), 1);
  choice.tile[*m] = best.tile.m;
  choice.tile[*n] = best.tile.n;
  choice.stream[llvm::find(roles.k, *k) - roles.k.begin()] = best.tile.k;
  choice.engine = best.tile.engine;
  choice.warps = best.tile.warps;
  choice.stages = best.tile.stages;
  choice.order = orderOf(kernel, problem, best, *m, *n, device);
  choice.persistent = best.tile.engine == tg::Engine::Wgmma && best.cost.tiles > int64_t(device.sms);
  choice.reason = llvm::formatv(
      "contraction {0} x {1} x {2} x {3}: {4} tiles of {5}x{6}x{7}, {8} CTAs an SM, {9:f1} us, bound by {10}",
      problem.batch, problem.m, problem.n, problem.k * problem.taps, best.cost.tiles, best.tile.m, best.tile.n,
      best.tile.k, best.cost.ctasPerSm, best.cost.seconds * 1e6, best.cost.bound);
  return choice;
}

} // namespace weft::plan
