// How many channels a block of com.microsoft.nchwc has. onnxruntime's optimiser writes weights in blocks for the
// machine that it runs on (16 channels with AVX-512 and on Arm, else 8) and the file does not say which: it shows in
// counts of channels, or else in the weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphImporter.h"
#include "llvm/ADT/StringSet.h"
#include <array>
#include <cmath>

using namespace weft;
using namespace weft::onnx;

static constexpr llvm::StringLiteral blockedDomain("com.microsoft.nchwc");
/// Elements of all weights that are looked at where counts do not tell, a sample that no model can make expensive.
static constexpr int64_t maxSampled = int64_t(1) << 20;
/// Where channels are independent, elements 8 apart differ as much as those beside each other: 1. In the weights of 22
/// networks it was 0.88 to 1.3 in blocks of 16, and 0.2 to 0.92 (one above 0.85) in blocks of 8.
static constexpr double mostAlike = 0.87;

/// Whether weights of 8 input channels are blocked: those of an operand that no node of the domain blocks are not.
static bool isBlocked(const ::onnx::NodeProto &conv, const llvm::StringSet<> &blocked) {
  return conv.input_size() > 0 && blocked.contains(conv.input(0));
}

/// What the counts of channels say; 0 if they are possible with both.
static int64_t blockFromCounts(const ::onnx::GraphProto &graph) {
  llvm::StringMap<const ::onnx::TensorProto *> weights;
  for (const auto &tensor : graph.initializer())
    weights[tensor.name()] = &tensor;
  llvm::StringSet<> blocked;
  llvm::StringMap<int64_t> channels; // Of the results of convolutions.
  for (const auto &node : graph.node()) {
    if (node.domain() != blockedDomain || node.output_size() == 0)
      continue;
    if (node.op_type() == "ReorderOutput") {
      for (const auto &attribute : node.attribute())
        if (attribute.name() == "channels" && node.input_size() > 0)
          if (auto padded = channels.find(node.input(0));
              padded != channels.end() && attribute.i() <= padded->second - 8)
            return 16;
      continue;
    }
    blocked.insert(node.output(0));
    const ::onnx::TensorProto *w =
        node.op_type() == "Conv" && node.input_size() > 1 ? weights.lookup(node.input(1)) : nullptr;
    if (!w || w->dims_size() != 4)
      continue;
    int64_t in = w->dims(1);
    if (w->dims(0) % 16 != 0 || (in > 16 && in % 16 != 0) || (in == 8 && isBlocked(node, blocked)))
      return 8;
    if (in >= 8 && in < 16)
      return 16;
    channels[node.output(0)] = w->dims(0);
  }
  return 0;
}

/// Adds, for each block of 8 rows, how far (in squares of the logarithm of the energy, up to 4 times) every eighth
/// element's neighbours 8 further on are from it, measured by how far apart those beside each other are. With blocks of
/// 16 channels the former are other channels too; with blocks of 8, they are other inputs of the same ones.
static void compareNeighbours(llvm::ArrayRef<float> weights, int64_t rows, double &sum, int64_t &count) {
  constexpr int64_t lanes = 16, half = 8;
  size_t chunk = weights.size() / rows * half;
  for (; chunk >= lanes && weights.size() >= chunk; weights = weights.drop_front(chunk)) {
    std::array<double, lanes> energy{};
    for (size_t i = 0; i < chunk / lanes * lanes; ++i)
      energy[i % lanes] += static_cast<double>(weights[i]) * weights[i];
    double far = 0, near = 0, mean[2] = {0, 0};
    for (int64_t i = 0; i < lanes; ++i) {
      energy[i] = std::log(energy[i] + 1e-30);
      mean[i / half] += energy[i] / half;
    }
    for (int64_t i = 0; i < lanes; ++i)
      near += (energy[i] - mean[i / half]) * (energy[i] - mean[i / half]);
    for (int64_t i = 0; i < half; ++i)
      far += (energy[i] - energy[half + i]) * (energy[i] - energy[half + i]);
    if (!std::isfinite(far) || near == 0)
      continue;
    sum += std::min(far / near, 4.0);
    ++count;
  }
}

int64_t GraphImporter::blockFromWeights(Scope &scope) {
  double sum = 0;
  int64_t count = 0, left = maxSampled;
  for (const auto &node : model.proto->graph().node()) {
    if (node.domain() != blockedDomain || node.op_type() != "Conv" || node.input_size() < 2)
      continue;
    NamedValue w = lookup(node.input(1), scope);
    auto type = w.value ? llvm::dyn_cast<mlir::RankedTensorType>(w.value.getType()) : mlir::RankedTensorType();
    if (!type || !type.hasStaticShape() || type.getRank() != 4 || !type.getElementType().isF32() ||
        type.getNumElements() == 0 || type.getDimSize(0) % 16 != 0 || type.getDimSize(1) % 16 != 0 ||
        type.getNumElements() > left)
      continue;
    left -= type.getNumElements();
    if (auto elements = llvm::dyn_cast_or_null<mlir::DenseFPElementsAttr>(fold(w.value)))
      compareNeighbours(llvm::to_vector(elements.getValues<float>()), type.getDimSize(0), sum, count);
  }
  return count > 0 && sum < mostAlike * static_cast<double>(count) ? 8 : 16;
}

int64_t GraphImporter::channelBlock(Scope &scope) {
  if (blockOfChannels == 0)
    blockOfChannels = blockFromCounts(model.proto->graph());
  if (blockOfChannels == 0) {
    blockOfChannels = blockFromWeights(scope);
    diagnostics.warn("the model was optimised for one machine and does not say how its weights are blocked; they look "
                     "like blocks of " +
                     llvm::Twine(blockOfChannels) +
                     " channels (to be sure, save it with an optimisation level of at most extended)");
  }
  return blockOfChannels;
}
