// Structural checks of a parsed model: what every later step takes for granted. Subgraphs nest at most as deep as the
// pre-scan allows, so walking them may recurse; function calls may not, they are walked with an explicit stack.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphChecks.h"
#include "Devices.h"
#include "Tensors.h"
#include "weft/Import/Onnx/Handler.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"
#include <onnx/onnx_pb.h>

using namespace weft::onnx;
using ::onnx::AttributeProto;

namespace {

using NameSet = llvm::DenseSet<llvm::StringRef>;

/// Names that a graph sees: its own, and those of the graphs around it (as many as subgraphs may nest).
struct VisibleNames {
  const NameSet *own;
  const VisibleNames *outer;

  bool contains(llvm::StringRef name) const {
    for (const VisibleNames *scope = this; scope; scope = scope->outer)
      if (scope->own->contains(name))
        return true;
    return false;
  }
};

class Checker {
public:
  Checker(const Model &model, const Limits &limits, Diagnostics &diagnostics)
      : model(model), proto(*model.proto), limits(limits), diagnostics(diagnostics) {}

  void run() {
    checkVersions();
    (void)readDevices(proto, diagnostics);
    if (!proto.has_graph())
      return invalid("the model has no graph");
    if (proto.graph().output_size() == 0)
      invalid("the graph has no outputs");
    checkGraph(proto.graph(), "graph", nullptr);
    for (const auto &function : proto.functions())
      checkFunction(function);
    checkRecursion();
  }

private:
  void invalid(const llvm::Twine &cause, const llvm::Twine &remedy = {}) {
    (void)diagnostics.report(ErrorClass::Invalid, cause, remedy);
  }
  void invalidNode(const ::onnx::NodeProto &node, const llvm::Twine &cause) {
    Diagnostic diagnostic;
    diagnostic.node = displayName(node).str();
    diagnostic.op = displayOp(node, 0);
    diagnostic.cause = cause.str();
    (void)diagnostics.report(std::move(diagnostic));
  }

  void checkVersions();
  void checkGraph(const ::onnx::GraphProto &graph, llvm::StringRef what, const VisibleNames *outer);
  void checkFunction(const ::onnx::FunctionProto &function);
  void checkNodes(const NodeList &nodes, NameSet &defined, const VisibleNames *outer, llvm::StringRef what);
  void checkOrder(const NodeList &nodes);
  void checkAttribute(const ::onnx::NodeProto &node, const AttributeProto &attribute);
  void checkInitializers(const ::onnx::GraphProto &graph, NameSet &defined);
  void checkRecursion();

  const Model &model;
  const ::onnx::ModelProto &proto;
  const Limits &limits;
  Diagnostics &diagnostics;
  bool inFunction = false; ///< The nodes being checked are a function's.
};

} // namespace

static llvm::StringRef displayDomain(llvm::StringRef domain) { return domain.empty() ? "ai.onnx" : domain; }

void Checker::checkVersions() {
  if (proto.ir_version() < 3)
    invalid("expected IR version 3 to " + llvm::Twine(newestIrVersion) + ", got " + llvm::Twine(proto.ir_version()));
  if (proto.ir_version() > newestIrVersion)
    (void)diagnostics.report(ErrorClass::Unsupported,
                             "IR version " + llvm::Twine(proto.ir_version()) + " is newer than " +
                                 llvm::Twine(newestIrVersion),
                             "export with an older IR version");
  // skl2onnx imports ai.onnx twice, at the same version.
  llvm::StringMap<int64_t> domains;
  for (const auto &import : proto.opset_import()) {
    llvm::StringRef domain = canonicalDomain(import.domain());
    auto [known, isNew] = domains.try_emplace(domain, import.version());
    if (!isNew && known->second != import.version())
      invalid("opset of domain `" + displayDomain(domain) + "` is imported twice, at versions " +
              llvm::Twine(known->second) + " and " + llvm::Twine(import.version()));
    if (import.version() < 1)
      invalid("opset version " + llvm::Twine(import.version()) + " of domain `" + displayDomain(domain) +
              "` is not positive");
    if (domain.empty() && import.version() > newestOpset)
      (void)diagnostics.report(ErrorClass::Unsupported,
                               "opset " + llvm::Twine(import.version()) + " is newer than " + llvm::Twine(newestOpset),
                               "export with an older opset; semantics that are not known are not guessed");
  }
  if (domains.empty())
    invalid("the model imports no opset");
}

void Checker::checkInitializers(const ::onnx::GraphProto &graph, NameSet &defined) {
  NameSet names;
  auto define = [&](llvm::StringRef name) {
    if (name.empty())
      return invalid("an initialiser has no name");
    if (!names.insert(name).second)
      invalid("initialiser `" + name + "` is defined twice");
    defined.insert(name);
  };
  for (const auto &tensor : graph.initializer()) {
    define(tensor.name());
    llvm::Expected<TensorLayout> layout = checkTensor(model, tensor, limits);
    if (!layout)
      invalid("initialiser `" + llvm::Twine(tensor.name()) + "`: " + llvm::toString(layout.takeError()));
  }
  for (const auto &sparse : graph.sparse_initializer())
    define(sparse.values().name());
}

void Checker::checkGraph(const ::onnx::GraphProto &graph, llvm::StringRef what, const VisibleNames *outer) {
  NameSet defined, inputs;
  for (const auto &input : graph.input()) {
    if (input.name().empty())
      invalid("an input of " + what + " has no name");
    if (!inputs.insert(input.name()).second)
      invalid("input `" + llvm::Twine(input.name()) + "` of " + what + " is declared twice");
    defined.insert(input.name());
  }
  checkInitializers(graph, defined);
  checkNodes(graph.node(), defined, outer, what);
  for (const auto &output : graph.output())
    if (!VisibleNames{&defined, outer}.contains(output.name()))
      invalid("output `" + llvm::Twine(output.name()) + "` of " + what + " is not produced by any node");
}

void Checker::checkFunction(const ::onnx::FunctionProto &function) {
  NameSet defined;
  for (const std::string &input : function.input())
    if (!defined.insert(input).second)
      invalid("input `" + llvm::Twine(input) + "` of function `" + function.name() + "` is declared twice");
  inFunction = true;
  checkNodes(function.node(), defined, nullptr, "function");
  inFunction = false;
  for (const std::string &output : function.output())
    if (!defined.contains(output))
      invalid("output `" + llvm::Twine(output) + "` of function `" + function.name() + "` is not produced by any node");
}

/// Adds the nodes' outputs to `defined`; then every input must be there, and every subgraph sees all of it.
void Checker::checkNodes(const NodeList &nodes, NameSet &defined, const VisibleNames *outer, llvm::StringRef what) {
  for (const auto &node : nodes) {
    if (node.op_type().empty())
      invalidNode(node, "the node has no operator type");
    for (const std::string &output : node.output())
      if (!output.empty() && !defined.insert(output).second)
        invalidNode(node, "output `" + llvm::Twine(output) +
                              "` is already defined by an input, an initialiser or another node");
  }
  checkOrder(nodes);
  const VisibleNames visible{&defined, outer};
  for (const auto &node : nodes) {
    for (const std::string &input : node.input())
      if (!input.empty() && !visible.contains(input))
        invalidNode(node, "input `" + llvm::Twine(input) +
                              "` is not defined by an input, an initialiser or a node of " + what);
    llvm::StringSet<> names;
    for (const AttributeProto &attribute : node.attribute()) {
      if (!names.insert(attribute.name()).second)
        invalidNode(node, "attribute `" + llvm::Twine(attribute.name()) + "` is given twice");
      checkAttribute(node, attribute);
      if (attribute.has_g())
        checkGraph(attribute.g(), "subgraph", &visible);
      for (const auto &graph : attribute.graphs())
        checkGraph(graph, "subgraph", &visible);
    }
  }
}

void Checker::checkOrder(const NodeList &nodes) {
  std::vector<int> order = orderNodes(nodes);
  if (order.size() == static_cast<size_t>(nodes.size()))
    return;
  llvm::DenseSet<int> ordered(order.begin(), order.end());
  for (int i = 0; i < nodes.size(); ++i)
    if (!ordered.contains(i))
      return invalidNode(nodes[i], "the graph has a cycle: the node depends on its own result");
}

void Checker::checkAttribute(const ::onnx::NodeProto &node, const AttributeProto &attribute) {
  auto name = [&] { return "attribute `" + attribute.name() + "`"; };
  if (attribute.name().empty())
    return invalidNode(node, "an attribute has no name");
  if (!attribute.ref_attr_name().empty()) {
    if (!inFunction)
      invalidNode(node, name() + " refers to an attribute of a function, but the node is not in one");
    return;
  }
  // Which payloads are set, by attribute type.
  const std::pair<AttributeProto::AttributeType, bool> payloads[] = {
      {AttributeProto::FLOAT, attribute.has_f()},
      {AttributeProto::INT, attribute.has_i()},
      {AttributeProto::STRING, attribute.has_s()},
      {AttributeProto::TENSOR, attribute.has_t()},
      {AttributeProto::GRAPH, attribute.has_g()},
      {AttributeProto::SPARSE_TENSOR, attribute.has_sparse_tensor()},
      {AttributeProto::TYPE_PROTO, attribute.has_tp()},
      {AttributeProto::FLOATS, attribute.floats_size() > 0},
      {AttributeProto::INTS, attribute.ints_size() > 0},
      {AttributeProto::STRINGS, attribute.strings_size() > 0},
      {AttributeProto::TENSORS, attribute.tensors_size() > 0},
      {AttributeProto::GRAPHS, attribute.graphs_size() > 0},
      {AttributeProto::SPARSE_TENSORS, attribute.sparse_tensors_size() > 0},
      {AttributeProto::TYPE_PROTOS, attribute.type_protos_size() > 0}};
  bool known = false;
  for (const auto &[type, set] : payloads) {
    known |= attribute.type() == type;
    if (set && attribute.type() != type)
      return invalidNode(node, llvm::Twine(name()) + " holds a value of another type than it declares");
  }
  if (!known)
    invalidNode(node, llvm::Twine(name()) + " has an unknown type");
}

static std::string functionKey(llvm::StringRef domain, llvm::StringRef name, llvm::StringRef overload) {
  return (canonicalDomain(domain) + "\n" + name + "\n" + overload).str();
}

/// Functions that `nodes` call, in subgraphs too.
static void collectCalls(const NodeList &nodes, const llvm::StringMap<int> &index, llvm::DenseSet<int> &calls) {
  for (const auto &node : nodes) {
    auto it = index.find(functionKey(node.domain(), node.op_type(), overloadOf(node)));
    if (it != index.end())
      calls.insert(it->second);
    for (const AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        collectCalls(attribute.g().node(), index, calls);
      for (const auto &graph : attribute.graphs())
        collectCalls(graph.node(), index, calls);
    }
  }
}

/// Nodes of `nodes` and their subgraphs after inlining, saturating; `sizes` are those of the functions.
static uint64_t expandedSize(const NodeList &nodes, const llvm::StringMap<int> &index, llvm::ArrayRef<uint64_t> sizes) {
  uint64_t total = 0;
  for (const auto &node : nodes) {
    auto it = index.find(functionKey(node.domain(), node.op_type(), overloadOf(node)));
    total = llvm::SaturatingAdd<uint64_t>(total, 1, it == index.end() ? 0 : sizes[it->second]);
    for (const AttributeProto &attribute : node.attribute()) {
      if (attribute.has_g())
        total = llvm::SaturatingAdd(total, expandedSize(attribute.g().node(), index, sizes));
      for (const auto &graph : attribute.graphs())
        total = llvm::SaturatingAdd(total, expandedSize(graph.node(), index, sizes));
    }
  }
  return total;
}

/// Depth-first over the call graph with an explicit stack: a function on the stack that is met again is recursive.
void Checker::checkRecursion() {
  llvm::StringMap<int> index;
  for (int i = 0; i < proto.functions_size(); ++i) {
    const auto &function = proto.functions(i);
    if (!index.try_emplace(functionKey(function.domain(), function.name(), overloadOf(function)), i).second)
      invalid("function `" + llvm::Twine(function.name()) + "` of domain `" + function.domain() + "` is defined twice");
  }
  std::vector<llvm::SmallVector<int>> calls(proto.functions_size());
  for (int i = 0; i < proto.functions_size(); ++i) {
    llvm::DenseSet<int> found;
    collectCalls(proto.functions(i).node(), index, found);
    calls[i].assign(found.begin(), found.end());
    llvm::sort(calls[i]);
  }
  enum { Unseen, Open, Done };
  std::vector<int> state(calls.size(), Unseen);
  std::vector<uint64_t> sizes(calls.size());
  for (size_t root = 0; root < calls.size(); ++root) {
    if (state[root] != Unseen)
      continue;
    std::vector<std::pair<int, size_t>> stack{{static_cast<int>(root), 0}};
    state[root] = Open;
    while (!stack.empty()) {
      auto [function, next] = stack.back();
      if (next == calls[function].size()) {
        state[function] = Done;
        sizes[function] = expandedSize(proto.functions(function).node(), index, sizes);
        stack.pop_back();
        continue;
      }
      ++stack.back().second;
      int callee = calls[function][next];
      if (state[callee] == Open)
        return invalid("function `" + llvm::Twine(proto.functions(callee).name()) + "` calls itself");
      if (state[callee] == Done)
        continue;
      state[callee] = Open;
      stack.push_back({callee, 0});
      if (stack.size() > limits.maxFunctionDepth) {
        (void)diagnostics.report(
            ErrorClass::Limit, "functions call each other more than " + llvm::Twine(limits.maxFunctionDepth) + " deep",
            "raise it with --max-function-depth");
        return;
      }
    }
  }
  if (!calls.empty() && expandedSize(proto.graph().node(), index, sizes) > limits.maxExpandedNodes)
    (void)diagnostics.report(ErrorClass::Limit,
                             "the model expands to more than " + llvm::Twine(limits.maxExpandedNodes) +
                                 " nodes by functions",
                             "raise the limit with --max-expanded-nodes");
}

llvm::LogicalResult weft::onnx::checkModel(const Model &model, const Limits &limits, Diagnostics &diagnostics) {
  size_t before = diagnostics.count();
  Checker(model, limits, diagnostics).run();
  return llvm::success(diagnostics.count() == before);
}
