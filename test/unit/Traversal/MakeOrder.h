// An order from its text, as all tests of traversals make them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_TRAVERSAL_MAKEORDER_H
#define WEFT_TEST_UNIT_TRAVERSAL_MAKEORDER_H

#include "weft/Traversal/Traversal.h"
#include <gtest/gtest.h>

inline weft::plan::TileOrder makeOrder(const std::string &text, const std::vector<weft::plan::TileGrid> &grids) {
  weft::plan::Traversal traversal;
  weft::plan::TileOrder order;
  std::string error;
  EXPECT_TRUE(weft::plan::parseTraversal(text, traversal, error)) << error;
  EXPECT_TRUE(weft::plan::TileOrder::create(traversal, grids, order, error)) << error;
  return order;
}

#endif // WEFT_TEST_UNIT_TRAVERSAL_MAKEORDER_H
