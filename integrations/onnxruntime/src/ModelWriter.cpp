// A graph as an ONNX model, in protobuf's wire format: length-delimited messages, varints.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphView.h"

#include <cstring>

using namespace weft::ort;

namespace {
/// One message. Field numbers are those of onnx.proto.
class Message {
public:
  void number(unsigned field, uint64_t value) {
    varint(field << 3);
    varint(value);
  }
  void text(unsigned field, const std::string &value) {
    varint(field << 3 | 2);
    varint(value.size());
    bytes += value;
  }
  void message(unsigned field, const Message &value) { text(field, value.bytes); }
  void real(unsigned field, float value) {
    varint(field << 3 | 5);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes.append(raw, sizeof raw);
  }

  std::string bytes;

private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes += char(value | 0x80);
    bytes += char(value);
  }
};
} // namespace

/// ValueInfoProto.
static Message writeValue(const std::string &name, const ValueType &type) {
  Message shape, tensor, typed, value;
  for (size_t i = 0; i < type.dims.size(); ++i) {
    Message dim;
    if (type.dims[i] >= 0)
      dim.number(1, uint64_t(type.dims[i]));
    else if (!type.names[i].empty())
      dim.text(2, type.names[i]);
    shape.message(1, dim);
  }
  tensor.number(1, uint64_t(type.element));
  tensor.message(2, shape);
  typed.message(1, tensor);
  value.text(1, name);
  value.message(2, typed);
  return value;
}

/// TensorProto without its data.
static Message writeTensor(const ValueType &type) {
  Message tensor;
  for (int64_t dim : type.dims)
    tensor.number(1, uint64_t(dim));
  tensor.number(2, uint64_t(type.element));
  return tensor;
}

static Message writeConstant(const std::string &name, const Constant &constant) {
  constexpr size_t mostInside = 1024; // Shapes and the like are looked at by whoever only looks.
  Message tensor = writeTensor(constant.type);
  tensor.text(8, name);
  if (constant.bytes <= mostInside) {
    tensor.text(9, std::string(static_cast<const char *>(constant.data), constant.bytes));
    return tensor;
  }
  for (const auto &[key, value] :
       {std::pair<std::string, std::string>("location", name), {"length", std::to_string(constant.bytes)}}) {
    Message entry;
    entry.text(1, key);
    entry.text(2, value);
    tensor.message(13, entry);
  }
  tensor.number(14, 1);
  return tensor;
}

static Message writeGraph(const GraphView &graph, const std::vector<size_t> &nodes,
                          const std::vector<std::string> &inputs, const std::vector<std::string> &outputs, bool isMain);

static Message writeAttribute(const Attribute &attribute) {
  // Their numbers in AttributeProto.type differ from onnxruntime's.
  constexpr unsigned types[] = {0, 2, 7, 1, 6, 3, 8, 5, 4};
  Message message;
  message.text(1, attribute.name);
  message.number(20, types[attribute.type]);
  for (int64_t value : attribute.ints)
    message.number(attribute.type == kInt ? 3 : 8, uint64_t(value));
  for (float value : attribute.floats)
    message.real(attribute.type == kFloat ? 2 : 7, value);
  for (const std::string &value : attribute.strings)
    message.text(attribute.type == kString ? 4 : 9, value);
  if (attribute.type == kTensor) {
    Message tensor = writeTensor(attribute.tensorType);
    tensor.text(9, attribute.tensor);
    message.message(5, tensor);
  }
  return message;
}

static Message writeNode(const NodeView &node, const std::string &name) {
  Message message;
  for (const std::string &input : node.inputs)
    message.text(1, input);
  for (const std::string &output : node.outputs)
    message.text(2, output);
  message.text(3, name);
  message.text(4, node.op);
  for (const Attribute &attribute : node.attributes)
    message.message(5, writeAttribute(attribute));
  for (const auto &[attribute, graph] : node.graphs) {
    std::vector<size_t> all(graph->nodes.size());
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = i;
    Message wrapper;
    wrapper.text(1, attribute);
    wrapper.message(6, writeGraph(*graph, all, graph->inputs, graph->outputs, /*isMain=*/false));
    wrapper.number(20, 5);
    message.message(5, wrapper);
  }
  message.text(7, node.domain);
  return message;
}

static Message writeGraph(const GraphView &graph, const std::vector<size_t> &nodes,
                          const std::vector<std::string> &inputs, const std::vector<std::string> &outputs,
                          bool isMain) {
  Message message;
  std::set<std::string> used(outputs.begin(), outputs.end());
  for (size_t i : nodes) {
    message.message(1, writeNode(graph.nodes[i], std::to_string(i)));
    for (const std::vector<std::string> *names : {&graph.nodes[i].inputs, &graph.nodes[i].captured})
      used.insert(names->begin(), names->end());
  }
  message.text(2, "part");
  for (const auto &[name, constant] : graph.constants)
    if (used.count(name))
      message.message(5, writeConstant(name, constant));
  for (const std::string &name : inputs)
    if (!isMain || !graph.constants.count(name))
      message.message(11, writeValue(name, graph.types.at(name)));
  for (const std::string &name : outputs)
    message.message(12, writeValue(name, graph.types.at(name)));
  return message;
}

std::string weft::ort::writeModel(const GraphView &graph, const std::vector<size_t> &nodes,
                                  const std::vector<std::string> &inputs, const std::vector<std::string> &outputs) {
  constexpr uint64_t irVersion = 10;
  Message model;
  model.number(1, irVersion);
  model.message(7, writeGraph(graph, nodes, inputs, outputs, /*isMain=*/true));
  for (const auto &[domain, version] : graph.opsets) {
    Message opset;
    opset.text(1, domain);
    opset.number(2, uint64_t(version));
    model.message(8, opset);
  }
  return model.bytes;
}
