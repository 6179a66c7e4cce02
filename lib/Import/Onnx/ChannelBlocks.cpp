// How many channels a block of com.microsoft.nchwc has. onnxruntime's optimiser writes weights in blocks for the
// machine that it runs on (16 channels with AVX-512 and on Arm, else 8) and the file does not say which: it shows in
// counts of channels, or else in the weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphImporter.h"
#include "llvm/ADT/StringSet.h"

using namespace weft;
using namespace weft::onnx;

static constexpr llvm::StringLiteral blockedDomain("com.microsoft.nchwc");
/// Elements of all weights that are looked at where counts do not tell, a sample that no model can make expensive.
static constexpr int64_t maxSampled = int64_t(1) << 20;

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

/// How much the output channels' energies differ if blocks have `block` channels. Reading weights by the wrong size
/// mixes channels, which makes these more alike.
static double unevenness(llvm::ArrayRef<float> weights, int64_t rows, int64_t block) {
  int64_t perBlock = static_cast<int64_t>(weights.size()) / rows * block;
  double result = 0, total = 0;
  for (int64_t first = 0; first < static_cast<int64_t>(weights.size()); first += perBlock)
    for (int64_t row = 0; row < block; ++row) {
      double energy = 0;
      for (int64_t i = first + row; i < first + perBlock; i += block)
        energy += static_cast<double>(weights[i]) * weights[i];
      result += energy * energy;
      total += energy;
    }
  return total > 0 && std::isfinite(result) ? result * static_cast<double>(rows) / (total * total) : 1;
}

int64_t GraphImporter::blockFromWeights(Scope &scope) {
  double evidence = 0; // Of blocks of 16.
  int64_t left = maxSampled;
  for (const auto &node : model.proto->graph().node()) {
    if (node.domain() != blockedDomain || node.op_type() != "Conv" || node.input_size() < 2)
      continue;
    NamedValue w = lookup(node.input(1), scope);
    auto type = w.value ? llvm::dyn_cast<mlir::RankedTensorType>(w.value.getType()) : mlir::RankedTensorType();
    if (!type || !type.hasStaticShape() || type.getRank() != 4 || !type.getElementType().isF32() ||
        type.getNumElements() == 0 || type.getDimSize(0) % 16 != 0 || type.getNumElements() > left)
      continue;
    left -= type.getNumElements();
    auto elements = llvm::dyn_cast_or_null<mlir::DenseFPElementsAttr>(fold(w.value));
    if (!elements)
      continue;
    auto values = llvm::to_vector(elements.getValues<float>());
    int64_t rows = type.getDimSize(0);
    evidence += std::log(unevenness(values, rows, 16)) - std::log(unevenness(values, rows, 8));
  }
  return evidence < 0 ? 8 : 16;
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
