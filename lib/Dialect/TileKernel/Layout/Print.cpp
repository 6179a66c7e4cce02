// Layouts as text and as grids.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Dialect/TileKernel/Layout/Text.h"

#include <algorithm>

namespace weft::layout {

std::string printLayout(const LinearLayout &layout) {
  std::string text = "linear(";
  for (const Dim &dim : layout.ins()) {
    text += (text.back() == '(' ? "" : ", ") + dim.name + "=[";
    for (uint64_t base : layout.basesOf(dim.name)) {
      text += text.back() == '[' ? "[" : ",[";
      Index values = layout.unflattenOut(base);
      for (size_t i = 0; i < values.size(); ++i)
        text += (i ? "," : "") + std::to_string(values[i]);
      text += "]";
    }
    text += "]";
  }
  const char *separator = layout.ins().empty() ? "-> " : " -> ";
  for (const Dim &dim : layout.outs()) {
    text += separator + dim.name + "=" + std::to_string(uint64_t(1) << dim.bits);
    separator = ", ";
  }
  return text + ")";
}

/// "block/warp/lane:register" without what has one value only; other dimensions by their values.
static std::string printInput(const LinearLayout &layout, uint64_t flat) {
  Index index = layout.unflattenIn(flat);
  std::string text, lane, registers;
  auto find = [&](const char *name) -> std::optional<uint64_t> {
    for (size_t i = 0; i < index.size(); ++i)
      if (layout.ins()[i].name == name)
        return index[i];
    return std::nullopt;
  };
  for (const char *name : {"block", "warp"})
    if (layout.inBits(name) != 0)
      text += std::to_string(*find(name)) + "/";
  if (std::optional<uint64_t> value = find("lane"))
    return text + std::to_string(*value) + ":" + std::to_string(find("register").value_or(0));
  for (size_t i = 0; i < index.size(); ++i)
    text += (i ? "," : "") + std::to_string(index[i]);
  return text;
}

std::optional<std::string> printGrid(const LinearLayout &layout) {
  if (layout.outs().empty() || layout.outs().size() > 2 || layout.outBits() > 14 || layout.inBits() > 20)
    return std::nullopt;
  std::vector<std::string> cells(size_t(1) << layout.outBits());
  for (uint64_t in = 0; in < uint64_t(1) << layout.inBits(); ++in) {
    std::string &cell = cells[layout.applyFlat(in)];
    if (cell.empty())
      cell = printInput(layout, in);
    else if (cell.back() != '+')
      cell += '+';
  }
  size_t width = 1;
  for (std::string &cell : cells) {
    if (cell.empty())
      cell = ".";
    width = std::max(width, cell.size());
  }
  bool isMatrix = layout.outs().size() == 2;
  uint64_t rows = isMatrix ? uint64_t(1) << layout.outs()[0].bits : 1, columns = cells.size() / rows;
  std::string text;
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t column = 0; column < columns; ++column) {
      const std::string &cell = cells[isMatrix ? layout.flattenOut({row, column}) : column];
      text += std::string(width - cell.size() + (column ? 1 : 0), ' ') + cell;
    }
    text += '\n';
  }
  return text;
}

} // namespace weft::layout
