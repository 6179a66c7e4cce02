// weft-cpu-math: math functions as arithmetic, so that loops that call them vectorise. What has no accurate expansion
// stays a call of the C library. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "weft/Lower/Cpu/Passes.h"
#include "llvm/ADT/StringSet.h"

namespace weft::cpu {
#define GEN_PASS_DEF_EXPANDMATH
#include "weft/Lower/Cpu/Passes.h.inc"
} // namespace weft::cpu

using namespace mlir;

namespace {

class ExpandMath : public weft::cpu::impl::ExpandMathBase<ExpandMath> {
  void runOnOperation() override {
    // Functions whose approximation stays within a few ulp over the whole range.
    static const llvm::StringSet<> accurate = {"math.exp",   "math.expm1", "math.log",
                                               "math.log1p", "math.tanh",  "math.erf"};
    auto approximate = [](StringRef name) { return accurate.contains(name); };
    RewritePatternSet patterns(&getContext());
    populateMathF32ExpansionPatterns(patterns, [](StringRef) { return true; });
    populateMathPolynomialApproximationPatterns(patterns, approximate);
    math::populateExpansionPatterns(patterns, {"rsqrt"});
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
