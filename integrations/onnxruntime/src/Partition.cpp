// The compiler says what it can take; nodes with a way through others that it cannot go to different groups.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Partition.h"
#include "weft/compiler.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

using namespace weft::ort;

namespace {
/// A model of some nodes as the compiler's C ABI takes it.
class Request {
public:
  Request(const GraphView &graph, const std::vector<size_t> &nodes)
      : inputs(findInputs(graph, nodes)), outputs(findOutputs(graph, nodes)),
        model(writeModel(graph, nodes, inputs, outputs)) {
    for (const auto &[name, constant] : graph.constants)
      buffers.push_back({name.c_str(), constant.data, constant.bytes});
    raw.struct_size = sizeof raw;
    raw.model_data = model.data();
    raw.model_size = model.size();
    raw.buffers = buffers.data();
    raw.buffer_count = buffers.size();
    raw.cache = std::getenv("WEFT_CACHE");
  }
  Request(const Request &) = delete;
  Request &operator=(const Request &) = delete;

  std::vector<std::string> inputs, outputs;
  weftc_request raw = {};

private:
  std::string model;
  std::vector<weftc_buffer> buffers;
};

class Partitioner {
public:
  Partitioner(const GraphView &graph, const PartitionOptions &options)
      : graph(graph), options(options), taken(graph.nodes.size(), true) {}
  std::vector<Part> run();

private:
  void refuseUntypedCuts();
  bool refuseUnsupported();
  std::vector<size_t> listTaken() const;
  std::vector<std::vector<size_t>> makeGroups() const;
  bool isWorthIt(const std::vector<size_t> &nodes) const;
  bool compile(Part &part) const;

  const GraphView &graph;
  const PartitionOptions &options;
  std::vector<bool> taken;
};
} // namespace

std::vector<size_t> Partitioner::listTaken() const {
  std::vector<size_t> nodes;
  for (size_t i = 0; i < taken.size(); ++i)
    if (taken[i])
      nodes.push_back(i);
  return nodes;
}

/// A value without a type, or without extents (a scalar looks as one whose rank is not known): a program cannot begin
/// or end with it.
void Partitioner::refuseUntypedCuts() {
  auto isOpen = [&](const std::string &name) {
    auto found = graph.types.find(name);
    return found == graph.types.end() || found->second.element == 0 || found->second.dims.empty();
  };
  for (bool changes = true; changes;) {
    changes = false;
    std::vector<size_t> nodes = listTaken();
    std::set<std::string> open;
    for (const std::vector<std::string> &names : {findInputs(graph, nodes)})
      std::copy_if(names.begin(), names.end(), std::inserter(open, open.end()), isOpen);
    for (size_t i : nodes)
      for (const std::vector<std::string> *names : {&graph.nodes[i].inputs, &graph.nodes[i].captured})
        if (taken[i] &&
            std::any_of(names->begin(), names->end(), [&](const std::string &name) { return open.count(name); })) {
          taken[i] = false;
          changes = true;
        }
  }
}

/// Asks until nothing is refused any more: nodes behind one that is not supported are looked at when it is gone. False:
/// the compiler cannot look.
bool Partitioner::refuseUnsupported() {
  for (size_t round = 0; round <= graph.nodes.size(); ++round) {
    refuseUntypedCuts();
    std::vector<size_t> nodes = listTaken();
    if (nodes.empty())
      return true;
    Request request(graph, nodes);
    weftc_capability *capability = nullptr;
    if (weftc_error *error = weftc_inspect(&request.raw, &capability)) {
      weftc_error_free(error);
      return false;
    }
    bool changes = false;
    weftc_node node;
    for (size_t i = 0; i < weftc_capability_node_count(capability); ++i) {
      weftc_capability_node(capability, i, &node);
      char *end = nullptr;
      size_t number = std::strtoull(node.name, &end, 10);
      if (!node.reason)
        continue;
      if (*end || number >= taken.size() || !taken[number]) { // Inside of a subgraph: whose, is not said.
        for (size_t k : nodes)
          if (!graph.nodes[k].graphs.empty()) {
            changes |= taken[k];
            taken[k] = false;
          }
        continue;
      }
      taken[number] = false;
      changes = true;
    }
    weftc_capability_free(capability);
    if (!changes)
      return true;
  }
  return false;
}

/// A node's level counts how often a way to it leaves the taken nodes and comes back. A way between nodes of one level
/// stays among them, so that connected nodes of a level can become one.
std::vector<std::vector<size_t>> Partitioner::makeGroups() const {
  size_t count = graph.nodes.size();
  std::map<std::string, size_t> maker;
  for (size_t i = 0; i < count; ++i)
    for (const std::string &name : graph.nodes[i].outputs)
      maker[name] = i;
  std::vector<std::vector<size_t>> before(count);
  for (size_t i = 0; i < count; ++i)
    for (const std::vector<std::string> *names : {&graph.nodes[i].inputs, &graph.nodes[i].captured})
      for (const std::string &name : *names)
        if (auto found = maker.find(name); found != maker.end() && !name.empty())
          before[i].push_back(found->second);
  std::vector<size_t> level(count, 0), root(count);
  for (bool changes = true; changes;) { // Nodes come in an order of their edges: one turn and one to see that.
    changes = false;
    for (size_t i = 0; i < count; ++i)
      for (size_t from : before[i])
        if (size_t least = level[from] + (taken[i] && !taken[from]); level[i] < least) {
          level[i] = least;
          changes = true;
        }
  }
  std::iota(root.begin(), root.end(), size_t(0));
  auto find = [&](size_t i) {
    while (root[i] != i)
      i = root[i] = root[root[i]];
    return i;
  };
  for (size_t i = 0; i < count; ++i)
    for (size_t from : before[i])
      if (taken[i] && taken[from] && level[i] == level[from])
        root[find(i)] = find(from);
  std::map<size_t, std::vector<size_t>> groups;
  for (size_t i = 0; i < count; ++i)
    if (taken[i])
      groups[find(i)].push_back(i);
  std::vector<std::vector<size_t>> result;
  for (auto &group : groups)
    result.push_back(std::move(group.second));
  return result;
}

/// What stays in registers and caches, and nodes that are no calls any more, against the call. The whole graph always
/// is.
bool Partitioner::isWorthIt(const std::vector<size_t> &nodes) const {
  if (nodes.size() == graph.nodes.size())
    return true;
  Request request(graph, nodes);
  weftc_capability *capability = nullptr;
  if (weftc_error *error = weftc_inspect(&request.raw, &capability)) {
    weftc_error_free(error);
    return false;
  }
  weftc_estimate estimate = {};
  estimate.struct_size = sizeof estimate;
  bool isKnown = weftc_capability_estimate(capability, &estimate) == 0;
  weftc_capability_free(capability);
  double saved = double(nodes.size()) * options.nodeSeconds +
                 std::max(estimate.unfused_bytes - estimate.fused_bytes, 0.0) / options.bytesPerSecond;
  return isKnown && saved > options.callSeconds;
}

bool Partitioner::compile(Part &part) const {
  Request request(graph, part.nodes);
  std::vector<const char *> flags;
  for (const std::string &flag : options.flags)
    flags.push_back(flag.c_str());
  request.raw.options = flags.data();
  request.raw.option_count = flags.size();
  weftc_bundle *bundle = nullptr;
  if (weftc_error *error = weftc_compile(&request.raw, &bundle)) {
    weftc_error_free(error);
    return false;
  }
  const char *data = static_cast<const char *>(weftc_bundle_data(bundle));
  part.bundle.assign(data, data + weftc_bundle_size(bundle));
  weftc_bundle_free(bundle);
  part.inputs = request.inputs;
  part.outputs = request.outputs;
  return true;
}

std::vector<Part> Partitioner::run() {
  std::vector<Part> parts;
  for (size_t i = 0; i < taken.size(); ++i)
    taken[i] = options.takesSubgraphs || graph.nodes[i].graphs.empty();
  if (!refuseUnsupported())
    return parts;
  for (std::vector<size_t> &nodes : makeGroups()) {
    if (!isWorthIt(nodes))
      continue;
    Part part;
    part.nodes = std::move(nodes);
    if (compile(part))
      parts.push_back(std::move(part));
  }
  return parts;
}

std::vector<Part> weft::ort::partition(const GraphView &graph, const PartitionOptions &options) {
  return Partitioner(graph, options).run();
}

std::string weft::ort::nameNodes(const GraphView &graph, const std::vector<size_t> &nodes) {
  std::set<std::string> names;
  for (size_t i : nodes)
    names.insert(graph.nodes[i].outputs.begin(), graph.nodes[i].outputs.end());
  std::string text;
  for (const std::string &name : names)
    text += name + '\n';
  return text;
}
