// The affine group of a convolution, whose bounds are known.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_TRAVERSAL_CONVOLUTION_H
#define WEFT_TEST_UNIT_TRAVERSAL_CONVOLUTION_H

#include "weft/Plan/Cost/Bounds.h"

namespace weft::plan {

/// O[b,y,x,co] += I[b, y stride + r, x stride + s, ci] W[r,s,ci,co]; `height` x `width` outputs.
struct ConvolutionGroupShape {
  int64_t batch = 1, height = 1, width = 1, outChannels = 1, inChannels = 1, kernelHeight = 3, kernelWidth = 3,
          stride = 1;
  int64_t elementBytes = 2;
};

inline AffineGroup makeConvolutionGroup(const ConvolutionGroupShape &s) {
  AffineGroup group;
  group.dims = {{"batch", s.batch},   {"y", s.height},       {"x", s.width},      {"out", s.outChannels},
                {"in", s.inChannels}, {"r", s.kernelHeight}, {"s", s.kernelWidth}};
  auto makeArray = [&](const char *name, GroupArray::Kind kind, const std::vector<int32_t> &dims) {
    GroupArray array{name, kind, s.elementBytes, {}};
    for (int32_t dim : dims)
      array.axes.push_back({{dim}, {1}});
    return array;
  };
  GroupArray input = makeArray("I", GroupArray::Kind::Input, {0, 4});
  input.axes.push_back({{1, 5}, {s.stride, 1}});
  input.axes.push_back({{2, 6}, {s.stride, 1}});
  group.arrays = {input, makeArray("W", GroupArray::Kind::Input, {3, 4, 5, 6}),
                  makeArray("O", GroupArray::Kind::Output, {0, 1, 2, 3})};
  group.statements = {{{0, 1, 2, 3, 4, 5, 6}, {0, 1}, 2}};
  return group;
}

} // namespace weft::plan

#endif // WEFT_TEST_UNIT_TRAVERSAL_CONVOLUTION_H
