// Names that nodes use and define, and a topological order of nodes that keeps the file's order where it can.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GraphChecks.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <google/protobuf/unknown_field_set.h>
#include <onnx/onnx_pb.h>
#include <queue>

using namespace weft::onnx;
using google::protobuf::UnknownFieldSet;

llvm::StringRef weft::onnx::canonicalDomain(llvm::StringRef domain) {
  return domain == "ai.onnx" ? llvm::StringRef() : domain;
}

llvm::StringRef weft::onnx::displayName(const ::onnx::NodeProto &node) {
  if (!node.name().empty())
    return node.name();
  for (const std::string &output : node.output())
    if (!output.empty())
      return output;
  return "?";
}

std::string weft::onnx::displayOp(const ::onnx::NodeProto &node, int64_t version) {
  llvm::StringRef domain = canonicalDomain(node.domain());
  std::string text = domain.empty() ? std::string() : (domain + "::").str();
  text += node.op_type();
  if (version > 0)
    text += "-" + std::to_string(version);
  return text;
}

static std::string unknownString(const UnknownFieldSet &fields, int number) {
  std::string value;
  for (int i = 0; i < fields.field_count(); ++i)
    if (fields.field(i).number() == number &&
        fields.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      value = fields.field(i).length_delimited();
  return value;
}

std::string weft::onnx::overloadOf(const ::onnx::NodeProto &node) { return unknownString(node.unknown_fields(), 8); }
std::string weft::onnx::overloadOf(const ::onnx::FunctionProto &function) {
  return unknownString(function.unknown_fields(), 13);
}

bool weft::onnx::defaultAttributes(const ::onnx::FunctionProto &function,
                                   std::vector<::onnx::AttributeProto> &attributes) {
  const UnknownFieldSet &fields = function.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const google::protobuf::UnknownField &field = fields.field(i);
    if (field.number() != 11 || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    if (!attributes.emplace_back().ParseFromString(field.length_delimited()))
      return false;
  }
  return true;
}

/// The pre-scan bounds the depth of subgraphs.
static void collectCaptures(const ::onnx::GraphProto &graph, llvm::function_ref<void(llvm::StringRef)> use) {
  llvm::DenseSet<llvm::StringRef> defined;
  for (const auto &input : graph.input())
    defined.insert(input.name());
  for (const auto &initializer : graph.initializer())
    defined.insert(initializer.name());
  for (const auto &initializer : graph.sparse_initializer())
    defined.insert(initializer.values().name());
  for (const auto &node : graph.node())
    for (const std::string &output : node.output())
      defined.insert(output);
  auto useOuter = [&](llvm::StringRef name) {
    if (!name.empty() && !defined.contains(name))
      use(name);
  };
  for (const auto &node : graph.node()) {
    for (const std::string &input : node.input())
      useOuter(input);
    for (const auto &attribute : node.attribute()) {
      if (attribute.has_g())
        collectCaptures(attribute.g(), useOuter);
      for (const auto &inner : attribute.graphs())
        collectCaptures(inner, useOuter);
    }
  }
  for (const auto &output : graph.output())
    useOuter(output.name());
}

void weft::onnx::forEachCapture(const ::onnx::NodeProto &node, llvm::function_ref<void(llvm::StringRef)> use) {
  for (const auto &attribute : node.attribute()) {
    if (attribute.has_g())
      collectCaptures(attribute.g(), use);
    for (const auto &graph : attribute.graphs())
      collectCaptures(graph, use);
  }
}

std::vector<int> weft::onnx::orderNodes(const NodeList &nodes) {
  llvm::DenseMap<llvm::StringRef, int> producers;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string &output : nodes[i].output())
      if (!output.empty())
        producers.try_emplace(output, i);

  std::vector<std::vector<int>> users(nodes.size());
  std::vector<int> pending(nodes.size());
  bool sorted = true;
  for (int i = 0; i < nodes.size(); ++i) {
    auto use = [&](llvm::StringRef name) {
      auto it = producers.find(name);
      if (it == producers.end())
        return;
      users[it->second].push_back(i);
      ++pending[i];
      sorted &= it->second < i;
    };
    for (const std::string &input : nodes[i].input())
      use(input);
    forEachCapture(nodes[i], use);
  }

  std::vector<int> order;
  order.reserve(nodes.size());
  if (sorted) {
    for (int i = 0; i < nodes.size(); ++i)
      order.push_back(i);
    return order;
  }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < nodes.size(); ++i)
    if (pending[i] == 0)
      ready.push(i);
  while (!ready.empty()) {
    int i = ready.top();
    ready.pop();
    order.push_back(i);
    for (int user : users[i])
      if (--pending[user] == 0)
        ready.push(user);
  }
  return order;
}
