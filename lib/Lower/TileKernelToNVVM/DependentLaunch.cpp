// griddepcontrol, and what a kernel does before it waits.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "DependentLaunch.h"
#include "Memory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "weft/Dialect/TileGraph/IR/Shapes.h"
#include "weft/Target/Device.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::gpu;

/// What all CTAs ask for at most, so that it does not drive out what the kernels before still need; and each of them.
static constexpr int64_t prefetchBytes = 8 << 20, prefetchBytesOfCta = 64 << 10;
/// Of all tensors of a kernel that starts early: some 5 us of DRAM.
static constexpr int64_t mostBytes = 16 << 20;
/// The least share of a CTA: a few lines.
static constexpr int64_t leastShare = 512;
/// Of addresses and sizes of bulk copies.
static constexpr int64_t bulkAlignment = 16;

bool weft::gpu::gainsFromEarlyStart(func::FuncOp kernel, StringRef target, int64_t grid) {
  const Device *device = findDevice(target);
  if (!device || device->computeVersion < 90 || grid <= 0 || grid > int64_t(device->sms))
    return false;
  int64_t total = 0;
  for (Type type : kernel.getArgumentTypes())
    if (auto tensor = dyn_cast<tk::GlobalType>(type)) {
      std::optional<int64_t> bytes = tg::getByteSize(tensor.getTensor());
      if (!bytes || *bytes > mostBytes)
        return false;
      total += *bytes;
    }
  return total <= mostBytes;
}

void weft::gpu::emitGridWait(OpBuilder &builder, Location loc) {
  // The intrinsic touches no memory in LLVM's eyes; the clobber keeps loads behind it.
  emitAsm(builder, loc, {}, {}, "griddepcontrol.wait;", "~{memory}", /*hasSideEffects=*/true);
}

SmallVector<std::pair<int64_t, int64_t>> weft::gpu::getSteadyBytes(func::FuncOp kernel, const KernelInfo &info) {
  SmallVector<std::pair<int64_t, int64_t>> tensors;
  for (int64_t number : info.steadyArguments) {
    auto type = number < int64_t(kernel.getNumArguments()) ? dyn_cast<tk::GlobalType>(kernel.getArgumentTypes()[number])
                                                           : tk::GlobalType();
    std::optional<int64_t> bytes = type ? tg::getByteSize(type.getTensor()) : std::nullopt;
    if (bytes && *bytes >= bulkAlignment)
      tensors.push_back({number, *bytes / bulkAlignment * bulkAlignment});
  }
  return tensors;
}

/// One thread of each CTA asks for the begin of the CTA's share of `bytes` bytes at `tensor`. Rows of a tensor go to
/// CTAs in order in most kernels, so the share is often what the CTA reads first.
static void emitPrefetch(OpBuilder &builder, Location loc, Value tensor, int64_t bytes, int64_t grid, Value cta) {
  int64_t share = std::max(int64_t(llvm::alignTo(llvm::divideCeil(bytes, grid), 128)), leastShare);
  int64_t part = std::min({share, prefetchBytesOfCta, std::max(prefetchBytes / grid / 128 * 128, leastShare)});
  int64_t whole = bytes / share; // CTAs whose share lies inside the tensor; the next one has the rest.
  auto make = [&](int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 64); };
  Value offset = arith::MulIOp::create(builder, loc, cta, make(share));
  Value rest = arith::SubIOp::create(builder, loc, make(bytes), offset);
  Value size = arith::MinSIOp::create(builder, loc, rest, make(part));
  Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle, cta, make(whole));
  Value isSome = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, rest, make(0));
  auto branch = scf::IfOp::create(builder, loc, arith::AndIOp::create(builder, loc, isInside, isSome),
                                  /*withElseRegion=*/false);
  OpBuilder then = branch.getThenBodyBuilder();
  Value address =
      LLVM::GEPOp::create(then, loc, tensor.getType(), then.getI8Type(), tensor, ArrayRef<LLVM::GEPArg>{offset});
  Value count = arith::TruncIOp::create(then, loc, then.getI32Type(), size);
  emitAsm(then, loc, {}, {address, count}, "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r",
          /*hasSideEffects=*/true);
}

void weft::gpu::emitPrologue(LLVM::LLVMFuncOp kernel, ArrayRef<std::pair<int64_t, int64_t>> steadyBytes, int64_t grid) {
  Location loc = kernel.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  emitAsm(builder, loc, {}, {}, "griddepcontrol.launch_dependents;", "", /*hasSideEffects=*/true);
  if (grid <= 0 || steadyBytes.empty())
    return;
  Value thread = NVVM::ThreadIdXOp::create(builder, loc, builder.getI32Type());
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread,
                                        arith::ConstantIntOp::create(builder, loc, 0, 32));
  auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  OpBuilder then = branch.getThenBodyBuilder();
  Value cta = NVVM::BlockIdXOp::create(then, loc, then.getI32Type());
  cta = arith::ExtUIOp::create(then, loc, then.getI64Type(), cta);
  for (auto [number, bytes] : steadyBytes)
    emitPrefetch(then, loc, kernel.getArgument(number), bytes, grid, cta);
}
