// Copies for windows over each channel alone, whose results are stored along another dimension than their input.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Such a window goes from memory to memory: with images in front and channels behind, each lane of a warp reads a
// sector of its own for each term, or stores one. The kernel then takes as many clocks of the L1 as it has lanes: on an
// H100 windows of 7 x 7 from 8 x 96 x 56 x 56 bf16 to channels innermost take 207 us. A copy with the channels
// innermost takes 5 us, and the windows behind it 10.
#include "Layouts.h"
#include "weft/Dialect/TileGraph/IR/Contractions.h"

using namespace mlir;

namespace weft::plan {

/// Whether what is contiguous in the tensor is read at a sum of a dimension of the result and a reduced one.
bool Layouts::slides(const TensorAccess &access) const {
  const KernelAccess &domain = kernels[access.kernel].access;
  AffineExpr at = access.coordinates[tensors[access.tensor].inner];
  bool found[2] = {false, false};
  for (unsigned d = 0; at && d < domain.dims.size(); ++d)
    found[d < domain.resultRank] |= at.isFunctionOfDim(d);
  return found[0] && found[1];
}

/// The dimension of the tensor along which the kernel's result is contiguous, if an access is to the input of such
/// windows and what is contiguous in the tensor is another one.
std::optional<unsigned> Layouts::findWindowInner(const TensorAccess &access) const {
  const Kernel &kernel = kernels[access.kernel];
  bool isWindow = kernel.depths.size() == 1 && tg::hasNoTiles(cast<tg::ContractOp>(kernel.depths.front().first));
  if (isWritten(access) || !access.isOperand || hasOwnSide(access) || !isWindow || !slides(access))
    return std::nullopt;
  for (unsigned number : kernel.accesses) {
    const TensorAccess &other = accesses[number];
    if (other.tensor == access.tensor && &other != &access)
      return std::nullopt; // The kernel reads it in another way, too.
    if (!isWritten(other))
      continue;
    std::optional<unsigned> along = getContiguousDim(other, tensors[other.tensor].inner);
    for (unsigned d = 0; along && d < access.coordinates.size(); ++d)
      if (d != tensors[access.tensor].inner && getContiguousDim(access, d) == along)
        return d;
  }
  return std::nullopt;
}

/// Lanes' loads of all threads, each of which has `places` neighbours along one axis and reads once what they share;
/// of images as wide and as high as they are long along what is contiguous. What is outside of them is not loaded.
static double countLoads(const Tensor &tensor, const KernelAccess &access, ArrayRef<int64_t> extents) {
  constexpr double places = 8;
  double terms = 1, own = 1;
  for (auto [dim, extent] : llvm::zip_equal(access.dims, extents))
    if (dim.reducer)
      terms *= double(extent), own = std::max(own, double(extent));
  double image = double(estimateExtent(tg::getDim(tensor.value.getType(), tensor.inner)));
  double inside = std::max(1 - (own * own - 1) / (4 * image * own), 0.5);
  double read = std::min(1 + (own - 1) / places, std::max(image / places, 1.0));
  return double(tensor.bytes) / double(tensor.elementBytes) * terms / own * inside * read;
}

LayoutCopy Layouts::makeWindowCopy(const Tensor &tensor, const Device &device) const {
  constexpr double lanes = 32, worth = 0.5; // Of images of 7 x 7 and copies of them estimates are no better.
  LayoutCopy copy;
  copy.value = tensor.value;
  for (unsigned number : tensor.accesses) {
    std::optional<unsigned> inner = findWindowInner(accesses[number]);
    if (!inner || (!copy.readers.empty() && *inner != copy.inner))
      continue;
    const Kernel &kernel = kernels[accesses[number].kernel];
    // A clock of an SM's L1 for each lane.
    double seconds = countLoads(tensor, kernel.access, kernel.extents) / (device.sms * device.clock);
    copy.inner = *inner;
    copy.readers.push_back(kernel.op);
    copy.before += seconds;
    copy.after += seconds / lanes;
  }
  copy.after += 2 * double(tensor.bytes) / device.memoryBandwidth + device.kernelSeconds();
  copy.isOfWindows = !copy.readers.empty() && copy.after < worth * copy.before;
  return copy.isOfWindows ? copy : LayoutCopy();
}

} // namespace weft::plan
