// Tiles that several CTAs have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `tail<w,p,ORDER>`: the tiles of a grid come in ORDER, the first w of them to a CTA each, of the others each to p
// CTAs, neighbours in the launch, that share its work. Plain C++17.
#ifndef WEFT_TRAVERSAL_GRIDTAIL_H
#define WEFT_TRAVERSAL_GRIDTAIL_H

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::plan {

struct GridTail {
  int64_t whole = 0; ///< Tiles of one CTA each.
  int64_t parts = 1; ///< CTAs of each further tile; 1: there is no tail.

  /// CTAs of so many tiles.
  int64_t countCtas(int64_t tiles) const { return parts == 1 ? tiles : whole + (tiles - whole) * parts; }
  /// The text around that of the tiles' order.
  std::string print(const std::string &order) const;
};

/// The tail of an order's text, which becomes the tiles' order; without a tail it stays as it is. On failure returns
/// false and says why in `error`.
bool takeGridTail(std::string_view &text, GridTail &tail, std::string &error);

} // namespace weft::plan

#endif // WEFT_TRAVERSAL_GRIDTAIL_H
