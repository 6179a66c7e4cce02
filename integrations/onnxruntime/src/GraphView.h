// A graph of onnxruntime, read once: nodes with the names of what they read and write, types of values, constants.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_ORT_GRAPHVIEW_H
#define WEFT_ORT_GRAPHVIEW_H

#include "Ort.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace weft::ort {

/// Of a tensor; other kinds of values have no `element`.
struct ValueType {
  int element = 0;           ///< ONNX's number of the element type.
  std::vector<int64_t> dims; ///< -1: not known, or a name.
  std::vector<std::string> names;
};

/// A constant's bytes, where onnxruntime has them.
struct Constant {
  ValueType type;
  const void *data = nullptr;
  size_t bytes = 0;
};

struct GraphView;

struct Attribute {
  std::string name;
  int type = 0;
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
  ValueType tensorType;
  std::string tensor; ///< Bytes.
};

struct NodeView {
  const Node *node = nullptr;
  std::string op, domain;
  std::vector<std::string> inputs, outputs; ///< Empty: left out.
  std::vector<std::string> captured;        ///< Values of this graph that subgraphs read.
  std::vector<Attribute> attributes;
  std::vector<std::pair<std::string, std::shared_ptr<GraphView>>> graphs;
};

struct GraphView {
  std::vector<NodeView> nodes;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, ValueType> types;
  std::map<std::string, Constant> constants;
  std::vector<std::pair<std::string, int64_t>> opsets;

  /// Whether it is nested: 1.23 reports no parent.
  bool readsOuterValues() const;

  /// The error of a call, whose text it releases; empty: none.
  static std::string read(Api api, const Graph *graph, GraphView &view);
};

/// An ONNX model of these nodes. Values that they read and do not make are its inputs, `outputs` its outputs; constants
/// are external data whose locations are their names. Nodes are named by their numbers, "3".
std::string writeModel(const GraphView &graph, const std::vector<size_t> &nodes, const std::vector<std::string> &inputs,
                       const std::vector<std::string> &outputs);

/// Of nodes of `graph`: values that they read from elsewhere and that are no constants, in order.
std::vector<std::string> findInputs(const GraphView &graph, const std::vector<size_t> &nodes);
/// Values that they make and others need.
std::vector<std::string> findOutputs(const GraphView &graph, const std::vector<size_t> &nodes);

} // namespace weft::ort

#endif // WEFT_ORT_GRAPHVIEW_H
