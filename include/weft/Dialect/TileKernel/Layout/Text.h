// The text form of layouts, as docs/layouts.md describes it. Printing gives the bases:
//   linear(register=[[0,1],[8,0]], lane=[[0,2],...] -> dim0=16, dim1=8)
// with one list for each basis, a value for each output dimension. Parsing takes this and the builders: blocked(...),
// mma(...), wgmma(...), ldmatrix(...), smem(...). Parsing what was printed gives the same layout.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECT_TILEKERNEL_LAYOUT_TEXT_H
#define WEFT_DIALECT_TILEKERNEL_LAYOUT_TEXT_H

#include "weft/Dialect/TileKernel/Layout/LinearLayout.h"

namespace weft::layout {

/// The layout, or nothing and a message in `error` that names the column (from 1) or the parameter. Bounded in time and
/// memory by the length of the text.
std::optional<LinearLayout> parseLayout(std::string_view text, std::string &error);
std::string printLayout(const LinearLayout &layout);

/// The tile as a grid, one row a line: for each element of a tile of one or two dimensions the inputs that hold it, as
/// LANE:REGISTER with WARP/ and BLOCK/ before it where there are several, or the offset; + marks an element held more
/// than once, . one held nowhere. Nothing if the tile has more than two dimensions or 2^14 elements, or the layout 2^20
/// inputs.
std::optional<std::string> printGrid(const LinearLayout &layout);

} // namespace weft::layout

#endif // WEFT_DIALECT_TILEKERNEL_LAYOUT_TEXT_H
