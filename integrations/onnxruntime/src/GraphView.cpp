// Reading a graph by onnxruntime's accessors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphView.h"

#include <numeric>

using namespace weft::ort;

namespace {
/// Keeps the first error, after which nothing is called any more.
class Reading {
public:
  explicit Reading(Api api) : api(api) {}

  void graph(const Graph *graph, GraphView &view);
  const std::string &getError() const { return error; }

private:
  bool ok(Status *status) {
    if (status) {
      if (error.empty())
        error = api.GetErrorMessage(static_cast<const Status *>(status));
      api.ReleaseStatus(status);
    }
    return error.empty();
  }
  /// A list by its two accessors.
  template <typename T, typename Count, typename Fill> std::vector<T> list(Count count, Fill fill) {
    size_t number = 0;
    if (!ok(count(&number)))
      return {};
    std::vector<T> items(number);
    if (number && !ok(fill(items.data(), number)))
      return {};
    return items;
  }

  void node(const Node *node, GraphView &graph, NodeView &view);
  void attribute(const OpAttr *attr, NodeView &view);
  void subgraphs(const Node *node, NodeView &view);
  std::string value(const ValueInfo *info, GraphView &graph);
  void type(const TensorInfo *info, ValueType &type);
  void constant(const ValueInfo *info, const std::string &name, GraphView &graph);

  Api api;
  std::string error;
};
} // namespace

void Reading::type(const TensorInfo *info, ValueType &type) {
  size_t rank = 0;
  if (!info || !ok(api.GetTensorElementType(info, &type.element)) || !ok(api.GetDimensionsCount(info, &rank)))
    return;
  type.dims.resize(rank);
  std::vector<const char *> names(rank);
  if (!rank || !ok(api.GetDimensions(info, type.dims.data(), rank)) ||
      !ok(api.GetSymbolicDimensions(info, names.data(), rank)))
    return;
  for (const char *name : names)
    type.names.push_back(name ? name : "");
}

/// The name of a value; its type goes to the graph.
std::string Reading::value(const ValueInfo *info, GraphView &graph) {
  const char *name = nullptr;
  if (!info || !ok(api.GetValueInfoName(info, &name)) || !name)
    return "";
  auto [known, isNew] = graph.types.try_emplace(name);
  const TypeInfo *typeInfo = nullptr;
  const TensorInfo *tensor = nullptr;
  if (isNew && ok(api.GetValueInfoTypeInfo(info, &typeInfo)) && typeInfo &&
      ok(api.CastTypeInfoToTensorInfo(typeInfo, &tensor)))
    type(tensor, known->second);
  return name;
}

void Reading::constant(const ValueInfo *info, const std::string &name, GraphView &graph) {
  bool isConstant = false;
  const Value *initializer = nullptr;
  constexpr int stringElement = 8;
  if (!ok(api.ValueInfo_IsConstantInitializer(info, &isConstant)) || !isConstant || graph.constants.count(name) ||
      !ok(api.ValueInfo_GetInitializerValue(info, &initializer)) || !initializer)
    return;
  Constant constant;
  TensorInfo *shape = nullptr;
  if (!ok(api.GetTensorTypeAndShape(initializer, &shape)))
    return;
  type(shape, constant.type);
  api.ReleaseTensorTypeAndShapeInfo(shape);
  void *data = nullptr;
  if (constant.type.element == stringElement || !ok(api.GetTensorSizeInBytes(initializer, &constant.bytes)) ||
      (constant.bytes && !ok(api.GetTensorMutableData(const_cast<Value *>(initializer), &data))))
    return;
  constant.data = data;
  graph.constants[name] = std::move(constant);
}

void Reading::attribute(const OpAttr *attr, NodeView &view) {
  Attribute result;
  const char *name = nullptr;
  if (!attr || !ok(api.OpAttr_GetName(attr, &name)) || !ok(api.OpAttr_GetType(attr, &result.type)))
    return;
  result.name = name;
  if (result.type == kGraph) // Comes with the subgraphs.
    return;
  size_t needed = 0;
  if (result.type == kTensor) {
    Value *value = nullptr;
    TensorInfo *shape = nullptr;
    void *data = nullptr;
    if (!ok(api.OpAttr_GetTensorAttributeAsOrtValue(attr, &value)) || !value)
      return;
    if (ok(api.GetTensorTypeAndShape(static_cast<const Value *>(value), &shape))) {
      type(shape, result.tensorType);
      api.ReleaseTensorTypeAndShapeInfo(shape);
      if (ok(api.GetTensorSizeInBytes(static_cast<const Value *>(value), &needed)) && needed &&
          ok(api.GetTensorMutableData(value, &data)))
        result.tensor.assign(static_cast<const char *>(data), needed);
    }
    api.ReleaseValue(value);
    view.attributes.push_back(std::move(result));
    return;
  }
  // Without room the call fails and says how much it needs.
  if (Status *status = api.ReadOpAttr(attr, result.type, static_cast<void *>(nullptr), size_t(0), &needed))
    api.ReleaseStatus(status);
  std::string bytes(needed, '\0');
  if (needed && !ok(api.ReadOpAttr(attr, result.type, static_cast<void *>(bytes.data()), bytes.size(), &needed)))
    return;
  if (result.type == kInt || result.type == kInts)
    result.ints.assign(reinterpret_cast<const int64_t *>(bytes.data()),
                       reinterpret_cast<const int64_t *>(bytes.data() + bytes.size()));
  else if (result.type == kFloat || result.type == kFloats)
    result.floats.assign(reinterpret_cast<const float *>(bytes.data()),
                         reinterpret_cast<const float *>(bytes.data() + bytes.size()));
  else if (result.type == kString) // May hold any bytes.
    result.strings = {bytes};
  else // Strings end with a NUL each.
    for (size_t begin = 0; begin < bytes.size(); begin += result.strings.back().size() + 1)
      result.strings.push_back(bytes.c_str() + begin);
  view.attributes.push_back(std::move(result));
}

void Reading::subgraphs(const Node *node, NodeView &view) {
  size_t count = 0;
  if (!ok(api.Node_GetNumSubgraphs(node, &count)) || !count)
    return;
  std::vector<const Graph *> graphs(count);
  std::vector<const char *> names(count);
  if (!ok(api.Node_GetSubgraphs(node, graphs.data(), count, names.data())))
    return;
  for (size_t i = 0; i < count && error.empty(); ++i) {
    view.graphs.emplace_back(names[i], std::make_shared<GraphView>());
    graph(graphs[i], *view.graphs.back().second);
  }
}

void Reading::node(const Node *node, GraphView &graph, NodeView &view) {
  const char *op = nullptr, *domain = nullptr;
  if (!ok(api.Node_GetOperatorType(node, &op)) || !ok(api.Node_GetDomain(node, &domain)))
    return;
  view.node = node;
  view.op = op;
  view.domain = domain ? domain : "";
  using Values = const ValueInfo *;
  for (Values info : list<Values>([&](size_t *n) { return api.Node_GetNumInputs(node, n); },
                                  [&](Values *v, size_t n) { return api.Node_GetInputs(node, v, n); })) {
    view.inputs.push_back(value(info, graph));
    if (info && !view.inputs.back().empty())
      constant(info, view.inputs.back(), graph);
  }
  for (Values info : list<Values>([&](size_t *n) { return api.Node_GetNumOutputs(node, n); },
                                  [&](Values *v, size_t n) { return api.Node_GetOutputs(node, v, n); }))
    view.outputs.push_back(value(info, graph));
  for (Values info : list<Values>([&](size_t *n) { return api.Node_GetNumImplicitInputs(node, n); },
                                  [&](Values *v, size_t n) { return api.Node_GetImplicitInputs(node, v, n); })) {
    view.captured.push_back(value(info, graph));
    if (info)
      constant(info, view.captured.back(), graph);
  }
  for (const OpAttr *attr :
       list<const OpAttr *>([&](size_t *n) { return api.Node_GetNumAttributes(node, n); },
                            [&](const OpAttr **v, size_t n) { return api.Node_GetAttributes(node, v, n); }))
    attribute(attr, view);
  subgraphs(node, view);
}

void Reading::graph(const Graph *graph, GraphView &view) {
  size_t opsets = 0;
  if (!ok(api.Graph_GetNumOperatorSets(graph, &opsets)))
    return;
  std::vector<const char *> domains(opsets);
  std::vector<int64_t> versions(opsets);
  if (opsets && !ok(api.Graph_GetOperatorSets(graph, domains.data(), versions.data(), opsets)))
    return;
  for (size_t i = 0; i < opsets; ++i)
    view.opsets.emplace_back(domains[i], versions[i]);
  using Values = const ValueInfo *;
  for (Values info : list<Values>([&](size_t *n) { return api.Graph_GetNumInputs(graph, n); },
                                  [&](Values *v, size_t n) { return api.Graph_GetInputs(graph, v, n); }))
    view.inputs.push_back(value(info, view));
  for (Values info : list<Values>([&](size_t *n) { return api.Graph_GetNumOutputs(graph, n); },
                                  [&](Values *v, size_t n) { return api.Graph_GetOutputs(graph, v, n); }))
    view.outputs.push_back(value(info, view));
  for (Values info : list<Values>([&](size_t *n) { return api.Graph_GetNumInitializers(graph, n); },
                                  [&](Values *v, size_t n) { return api.Graph_GetInitializers(graph, v, n); }))
    if (std::string name = value(info, view); !name.empty())
      constant(info, name, view);
  for (const Node *each :
       list<const Node *>([&](size_t *n) { return api.Graph_GetNumNodes(graph, n); },
                          [&](const Node **v, size_t n) { return api.Graph_GetNodes(graph, v, n); })) {
    view.nodes.emplace_back();
    node(each, view, view.nodes.back());
  }
}

std::string GraphView::read(Api api, const Graph *graph, GraphView &view) {
  Reading reading(api);
  reading.graph(graph, view);
  return reading.getError();
}

bool GraphView::readsOuterValues() const {
  std::vector<size_t> all(nodes.size());
  std::iota(all.begin(), all.end(), size_t(0));
  std::set<std::string> own(inputs.begin(), inputs.end());
  for (const std::string &name : findInputs(*this, all))
    if (!own.count(name))
      return true;
  return false;
}

std::vector<std::string> weft::ort::findInputs(const GraphView &graph, const std::vector<size_t> &nodes) {
  std::set<std::string> made, seen;
  std::vector<std::string> inputs;
  for (size_t i : nodes)
    made.insert(graph.nodes[i].outputs.begin(), graph.nodes[i].outputs.end());
  for (size_t i : nodes)
    for (const std::vector<std::string> *names : {&graph.nodes[i].inputs, &graph.nodes[i].captured})
      for (const std::string &name : *names)
        if (!name.empty() && !made.count(name) && !graph.constants.count(name) && seen.insert(name).second)
          inputs.push_back(name);
  return inputs;
}

std::vector<std::string> weft::ort::findOutputs(const GraphView &graph, const std::vector<size_t> &nodes) {
  std::set<size_t> own(nodes.begin(), nodes.end());
  std::set<std::string> needed(graph.outputs.begin(), graph.outputs.end());
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (!own.count(i))
      for (const std::vector<std::string> *names : {&graph.nodes[i].inputs, &graph.nodes[i].captured})
        needed.insert(names->begin(), names->end());
  std::vector<std::string> outputs;
  for (size_t i : nodes)
    for (const std::string &name : graph.nodes[i].outputs)
      if (!name.empty() && needed.count(name))
        outputs.push_back(name);
  return outputs;
}
