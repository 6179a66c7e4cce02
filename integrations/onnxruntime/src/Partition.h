// Which nodes of a graph Weft takes, in which groups, and the groups' bundles.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_ORT_PARTITION_H
#define WEFT_ORT_PARTITION_H

#include "GraphView.h"

namespace weft::ort {

/// What a group saves must outweigh that onnxruntime calls it.
struct PartitionOptions {
  /// Whether onnxruntime hands over what subgraphs read of their surroundings.
  bool takesSubgraphs = true;
  double callSeconds = 4e-6;      ///< Of a fused node, beside its work: shapes are checked, tensors handed over.
  double nodeSeconds = 2e-6;      ///< Of a node of onnxruntime, beside its work.
  double bytesPerSecond = 1e10;   ///< Of memory, by one thread.
  std::vector<std::string> flags; ///< Of the compiler.
};

/// A group that is compiled.
struct Part {
  std::vector<size_t> nodes;
  std::vector<std::string> inputs, outputs;
  std::vector<char> bundle;
};

/// Groups of nodes that are worth it, each as a bundle. Never fails: what cannot be compiled is in no group.
std::vector<Part> partition(const GraphView &graph, const PartitionOptions &options);

/// The same set of nodes wherever it comes up: by what they make.
std::string nameNodes(const GraphView &graph, const std::vector<size_t> &nodes);

} // namespace weft::ort

#endif // WEFT_ORT_PARTITION_H
