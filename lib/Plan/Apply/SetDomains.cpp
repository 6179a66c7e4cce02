// weft-set-domains: kernels say over which domain they iterate, and where in it each value is wanted.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/BuiltinOps.h"
#include "weft/Dialect/TileGraph/IR/KernelAccess.h"
#include "weft/Dialect/TileGraph/IR/SymbolRanges.h"
#include "weft/Plan/Passes.h"

namespace weft::plan {
#define GEN_PASS_DEF_SETDOMAINS
#include "weft/Plan/Passes.h.inc"
} // namespace weft::plan

using namespace mlir;
using namespace weft;

namespace {
struct SetDomainsPass : weft::plan::impl::SetDomainsBase<SetDomainsPass> {
  using Base::Base;

  void runOnOperation() override {
    tg::LikelyExtents likely(getOperation());
    getOperation().walk([](tg::KernelOp kernel) {
      tg::KernelDomain own = tg::describeDomain(kernel);
      kernel.setDomainAttr(own.domain);
      kernel.setAccessAttr(own.access);
    });
  }
};
} // namespace
