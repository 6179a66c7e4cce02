// Kernels as text, for tests of the plan.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_PLAN_KERNELS_H
#define WEFT_TEST_UNIT_PLAN_KERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "weft/Dialect/TileGraph/IR/TileGraph.h"
#include "weft/Plan/Schedule.h"
#include "llvm/Support/FormatVariadic.h"
#include <gtest/gtest.h>

/// The first function of a module's text.
class ParsedKernel {
public:
  explicit ParsedKernel(const std::string &text) {
    context.loadDialect<weft::tg::TileGraphDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context));
    EXPECT_TRUE(module) << text;
  }
  weft::plan::KernelToSchedule get() {
    return weft::plan::KernelToSchedule(*module->getOps<mlir::func::FuncOp>().begin());
  }
  mlir::MLIRContext context;

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// `batch` products m x k by k x n of bf16.
inline std::string makeProductText(int64_t batch, int64_t m, int64_t n, int64_t k) {
  return llvm::formatv(R"(
  func.func @kernel(%x: tensor<{0}x{1}x{3}xbf16>, %w: tensor<{0}x{3}x{2}xbf16>) -> tensor<{0}x{1}x{2}xbf16> {{
    %0 = tg.contract %x, %w [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>,
                             affine_map<(b, m, n, k) -> (b, m, n)>]
        : tensor<{0}x{1}x{3}xbf16>, tensor<{0}x{3}x{2}xbf16> -> tensor<{0}x{1}x{2}xbf16>
    return %0 : tensor<{0}x{1}x{2}xbf16>
  })",
                       batch, m, n, k);
}

/// A convolution of `size` x `size` elements, 3 x 3, stride 1, channels last.
inline std::string makeWindowText(int64_t size, int64_t in, int64_t out) {
  return llvm::formatv(R"(
  func.func @kernel(%x: tensor<{0}x{0}x{1}xbf16>, %w: tensor<3x3x{1}x{2}xbf16>) -> tensor<{3}x{3}x{2}xbf16> {{
    %0 = tg.contract %x, %w [affine_map<(y, x, o, r, s, c) -> (y + r, x + s, c)>, affine_map<(y, x, o, r, s, c) -> (r, s, c, o)>,
                             affine_map<(y, x, o, r, s, c) -> (y, x, o)>]
        : tensor<{0}x{0}x{1}xbf16>, tensor<3x3x{1}x{2}xbf16> -> tensor<{3}x{3}x{2}xbf16>
    return %0 : tensor<{3}x{3}x{2}xbf16>
  })",
                       size + 2, in, out, size);
}

/// Attention of `heads` heads, `size` queries and keys of `head` channels: a fold over the keys; `causal` or with all.
inline std::string makeAttentionText(int64_t heads, int64_t size, int64_t head, bool isCausal) {
  std::string mask = llvm::formatv(R"(
      %keep = tg.cmp le %j, %i : tensor<1x{0}xi64>, tensor<{0}x1xi64>
      %s = tg.select %keep, %s0, %low : tensor<{0}x{0}xi1>, tensor<{1}x{0}x{0}xf32>, tensor<f32>)",
                                   size, heads);
  return llvm::formatv(R"(
  func.func @kernel(%q: tensor<{0}x{1}x{2}xbf16>, %k: tensor<{0}x{1}x{2}xbf16>, %v: tensor<{0}x{1}x{2}xbf16>) -> tensor<{0}x{1}x{2}xbf16> {{
    %low = tg.constant dense<0xFF800000> : tensor<f32>
    %i = tg.iota 0 : tensor<{1}x1xi64>
    %j = tg.iota 1 : tensor<1x{1}xi64>
    %r = tg.fold over affine_map<() -> ({1})> init [0xFF800000 : f32, 0.0 : f32, 0.0 : f32] update {{
    ^bb0(%m: tensor<{0}x{1}x1xf32>, %l: tensor<{0}x{1}x1xf32>, %a: tensor<{0}x{1}x{2}xf32>):
      %s0 = tg.contract %q, %k [affine_map<(h, i, j, d) -> (h, i, d)>, affine_map<(h, i, j, d) -> (h, j, d)>, affine_map<(h, i, j, d) -> (h, i, j)>]
          : tensor<{0}x{1}x{2}xbf16>, tensor<{0}x{1}x{2}xbf16> -> tensor<{0}x{1}x{1}xf32>{3}
      %t = tg.reduce max {4} axes = [2] keep_dims {{tg.streamed} : tensor<{0}x{1}x{1}xf32>
      %m2 = tg.max %m, %t : tensor<{0}x{1}x1xf32>, tensor<{0}x{1}x1xf32>
      %d = tg.sub {4}, %m2 : tensor<{0}x{1}x{1}xf32>, tensor<{0}x{1}x1xf32>
      %e = tg.exp %d : tensor<{0}x{1}x{1}xf32>
      %u = tg.reduce add %e axes = [2] keep_dims {{tg.streamed} : tensor<{0}x{1}x{1}xf32>
      %c = tg.sub %m, %m2 : tensor<{0}x{1}x1xf32>, tensor<{0}x{1}x1xf32>
      %f = tg.exp %c : tensor<{0}x{1}x1xf32>
      %l1 = tg.mul %l, %f : tensor<{0}x{1}x1xf32>, tensor<{0}x{1}x1xf32>
      %l2 = tg.add %l1, %u : tensor<{0}x{1}x1xf32>, tensor<{0}x{1}x1xf32>
      %p = tg.cast %e : tensor<{0}x{1}x{1}xf32> to tensor<{0}x{1}x{1}xbf16>
      %w = tg.contract %p, %v [affine_map<(h, i, d, j) -> (h, i, j)>, affine_map<(h, i, d, j) -> (h, j, d)>, affine_map<(h, i, d, j) -> (h, i, d)>] {{tg.streamed}
          : tensor<{0}x{1}x{1}xbf16>, tensor<{0}x{1}x{2}xbf16> -> tensor<{0}x{1}x{2}xf32>
      %a1 = tg.mul %a, %f : tensor<{0}x{1}x{2}xf32>, tensor<{0}x{1}x1xf32>
      %a2 = tg.add %a1, %w : tensor<{0}x{1}x{2}xf32>, tensor<{0}x{1}x{2}xf32>
      tg.fold_yield %m2, %l2, %a2 : tensor<{0}x{1}x1xf32>, tensor<{0}x{1}x1xf32>, tensor<{0}x{1}x{2}xf32>
    } merge {{
    } finish {{
    ^bb0(%m: tensor<{0}x{1}x1xf32>, %l: tensor<{0}x{1}x1xf32>, %a: tensor<{0}x{1}x{2}xf32>):
      %o = tg.div %a, %l : tensor<{0}x{1}x{2}xf32>, tensor<{0}x{1}x1xf32>
      %y = tg.cast %o : tensor<{0}x{1}x{2}xf32> to tensor<{0}x{1}x{2}xbf16>
      tg.fold_yield %y : tensor<{0}x{1}x{2}xbf16>
    } : tensor<{0}x{1}x{2}xbf16>
    return %r : tensor<{0}x{1}x{2}xbf16>
  })",
                       heads, size, head, isCausal ? mask : "", isCausal ? "%s" : "%s0");
}

#endif // WEFT_TEST_UNIT_PLAN_KERNELS_H
