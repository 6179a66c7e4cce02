// What the cost model can tell apart.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans whose predicted times differ by less than `resolution` of them take equally long as far as the model can tell;
// of these the one with fewer kernels is the better one: it moves fewer bytes, needs less memory, starts less.
//
// The number: what estimates of products of some 40 to 80 us were off by on an H100, products that carry a norm's sums
// against products and the norm. Predicted to gain 2.2 us of 36, measured 0.4: 5 %
// (docs/notes/norms-rows.md); predicted to lose 1.0 of 82, measured 0.9
// (docs/notes/prefill.md). Losses that are clear by the model are several times as large: 18 us of a product of
// 2048 rows.
#ifndef WEFT_PLAN_RESOLUTION_H
#define WEFT_PLAN_RESOLUTION_H

namespace weft::plan {

constexpr double resolution = 0.015;

/// Whether a plan of fewer kernels, of `seconds`, is slower than one of more, beyond what estimates resolve.
constexpr bool isSlower(double seconds, double than) { return seconds > than * (1 + resolution); }

} // namespace weft::plan

#endif // WEFT_PLAN_RESOLUTION_H
