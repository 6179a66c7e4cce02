// Tiles that several CTAs have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Traversal/GridTail.h"
#include "weft/Traversal/Traversal.h"

#include <charconv>

using namespace weft::plan;

static constexpr std::string_view head = "tail<";

std::string GridTail::print(const std::string &order) const {
  if (parts == 1)
    return order;
  return std::string(head) + std::to_string(whole) + "," + std::to_string(parts) + "," + order + ">";
}

/// A number and the comma behind it.
static bool takeNumber(std::string_view &text, int64_t &number) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  size_t length = size_t(end - text.data());
  if (code != std::errc() || length == text.size() || *end != ',')
    return false;
  text.remove_prefix(length + 1);
  return true;
}

bool weft::plan::takeGridTail(std::string_view &text, GridTail &tail, std::string &error) {
  tail = GridTail();
  if (text.substr(0, head.size()) != head)
    return true;
  std::string_view order = text.substr(head.size());
  bool isRight = takeNumber(order, tail.whole) && takeNumber(order, tail.parts) && !order.empty() &&
                 order.back() == '>' && tail.whole >= 0 && tail.whole <= maxTiles && tail.parts >= 2 &&
                 tail.parts <= maxTiles;
  if (!isRight) {
    error = "traversal: expected tail<w,p,ORDER> of w whole tiles and p >= 2 parts, got '" +
            std::string(text.substr(0, 40)) + "'";
    return false;
  }
  text = order.substr(0, order.size() - 1);
  return true;
}
