// The factory and the provider: what onnxruntime calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Context.h"
#include "Program.h"

#include <cstdlib>
#include <cstring>

using namespace weft::ort;

#define WEFT_ORT_EXPORT extern "C" __attribute__((visibility("default")))

static constexpr const char *kName = "WeftExecutionProvider";

namespace {
struct Factory : EpFactory {
  Factory(Api api, PartitionOptions options);
  Status *fail(const std::string &text) const { return api.CreateStatus(kFail, ("weft: " + text).c_str()); }
  Api api;
  PartitionOptions options;
};

struct FusedNode : NodeComputeInfo {
  explicit FusedNode(Api api);
  Program program;
};

/// Of one session.
struct Provider : Ep {
  Provider(Api api, Options options);

  Status *claim(const Graph *graph, EpGraphSupportInfo *info);
  Status *claimPart(const GraphView &view, Part part, EpGraphSupportInfo *info);
  Status *build(const Graph *graph, const Node *fused, NodeComputeInfo *&result, Node **context);
  Status *fail(const std::string &text) const { return api.CreateStatus(kFail, ("weft: " + text).c_str()); }

  Api api;
  Options options;
  std::string compatibility, modelPath;
  std::map<std::string, Part> parts; ///< By their nodes (nameNodes).
};
} // namespace

FusedNode::FusedNode(Api api) : program(api) {
  createState = [](NodeComputeInfo *self, void *, void **state) -> Status * {
    *state = self;
    return nullptr;
  };
  compute = [](NodeComputeInfo *self, void *, KernelContext *context) {
    return static_cast<FusedNode *>(self)->program.run(context);
  };
  releaseState = [](NodeComputeInfo *, void *) {};
}

Provider::Provider(Api api, Options options)
    : api(api), options(std::move(options)), compatibility(describeCompatibility(this->options)) {
  getName = [](const Ep *) { return kName; };
  getCapability = [](Ep *self, const Graph *graph, EpGraphSupportInfo *info) {
    return static_cast<Provider *>(self)->claim(graph, info);
  };
  compile = [](Ep *self, const Graph **graphs, const Node **fused, size_t count, NodeComputeInfo **results,
               Node **contexts) -> Status * {
    for (size_t i = 0; i < count; ++i)
      if (Status *status =
              static_cast<Provider *>(self)->build(graphs[i], fused[i], results[i], contexts ? contexts + i : nullptr))
        return status;
    return nullptr;
  };
  getCompatibility = [](Ep *self, const Graph *) -> const char * {
    return static_cast<Provider *>(self)->compatibility.c_str();
  };
  releaseNodeComputeInfos = [](Ep *, NodeComputeInfo **infos, size_t count) {
    for (size_t i = 0; i < count; ++i)
      delete static_cast<FusedNode *>(infos[i]);
  };
}

/// Groups are compiled here: one that is claimed must not fail later. A nested graph is left to its node, which is
/// claimed as a whole or not. A node that holds a bundle is a group by itself.
Status *Provider::claim(const Graph *graph, EpGraphSupportInfo *info) {
  const Node *parent = nullptr;
  const char *path = nullptr;
  if (Status *status = api.Graph_GetParentNode(graph, &parent))
    return status;
  if (Status *status = api.Graph_GetModelPath(graph, &path))
    return status;
  GraphView view;
  if (parent || !GraphView::read(api, graph, view).empty() || view.readsOuterValues())
    return nullptr;
  bool hasContexts = false;
  for (size_t i = 0; i < view.nodes.size(); ++i) {
    if (!isContext(view.nodes[i]))
      continue;
    hasContexts = true;
    modelPath = path ? path : ""; // Its bundle is read when it is built: an error here would not be told.
    if (Status *status = claimPart(view, {{i}, view.nodes[i].inputs, view.nodes[i].outputs, {}}, info))
      return status;
  }
  if (hasContexts) // What was compiled; the rest was left, then too.
    return nullptr;
  for (Part &part : partition(view, options.partition))
    if (Status *status = claimPart(view, std::move(part), info))
      return status;
  return nullptr;
}

Status *Provider::claimPart(const GraphView &view, Part part, EpGraphSupportInfo *info) {
  std::vector<const Node *> nodes;
  for (size_t i : part.nodes)
    nodes.push_back(view.nodes[i].node);
  FusionOptions fusion;
  fusion.dropConstantInitializers = true;
  if (Status *status = api.GetEpApi()->addNodesToFuse(info, nodes.data(), nodes.size(), &fusion))
    return status;
  std::string name = nameNodes(view, part.nodes);
  parts[name] = std::move(part);
  return nullptr;
}

/// `context`: where the node of an EPContext model goes.
Status *Provider::build(const Graph *graph, const Node *fused, NodeComputeInfo *&result, Node **context) {
  GraphView view;
  if (std::string error = GraphView::read(api, graph, view); !error.empty())
    return fail(error);
  std::vector<size_t> all(view.nodes.size());
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = i;
  auto found = parts.find(nameNodes(view, all));
  if (found == parts.end())
    return fail("onnxruntime asks for nodes that were not claimed together");
  if (view.nodes.size() == 1 && isContext(view.nodes[0]))
    if (std::string error = readContext(view.nodes[0], modelPath, found->second.bundle); !error.empty())
      return fail(error);
  std::vector<std::string> names[2];
  size_t counts[2] = {};
  if (Status *status = api.Node_GetNumInputs(fused, &counts[0]))
    return status;
  if (Status *status = api.Node_GetNumOutputs(fused, &counts[1]))
    return status;
  for (int side = 0; side < 2; ++side) {
    std::vector<const ValueInfo *> infos(counts[side]);
    Status *status = side ? api.Node_GetOutputs(fused, infos.data(), infos.size())
                          : api.Node_GetInputs(fused, infos.data(), infos.size());
    for (size_t i = 0; i < infos.size() && !status; ++i) {
      const char *name = "";
      if (infos[i])
        status = api.GetValueInfoName(infos[i], &name);
      names[side].push_back(name);
    }
    if (status)
      return status;
  }
  if (options.makesContexts && context) {
    const char *name = "", *path = nullptr;
    if (Status *status = api.Node_GetName(fused, &name))
      return status;
    if (Status *status = api.Graph_GetModelPath(graph, &path))
      return status;
    if (std::string error =
            makeContext(api, options, path ? path : "", name, names[0], names[1], found->second.bundle, *context);
        !error.empty())
      return fail(error);
  }
  auto node = std::make_unique<FusedNode>(api);
  if (std::string error =
          node->program.open(std::move(found->second), options.device, options.threads, names[0], names[1]);
      !error.empty())
    return fail(error);
  parts.erase(found);
  result = node.release();
  return nullptr;
}

Factory::Factory(Api api, PartitionOptions options) : api(api), options(options) {
  getName = [](const EpFactory *) { return kName; };
  getVendor = [](const EpFactory *) { return "Weft"; };
  getVendorId = [](const EpFactory *) { return uint32_t(0); };
  getVersion = [](const EpFactory *) { return WEFT_VERSION; };
  getSupportedDevices = [](EpFactory *self, const HardwareDevice *const *devices, size_t count, EpDevice **made,
                           size_t most, size_t *number) -> Status * {
    Api api = static_cast<Factory *>(self)->api;
    *number = 0;
    for (size_t i = 0; i < count && *number < most; ++i)
      if (api.HardwareDevice_Type(devices[i]) == kCpu)
        if (Status *status = api.GetEpApi()->createEpDevice(self, devices[i], nullptr, nullptr, &made[(*number)++]))
          return status;
    return nullptr;
  };
  createEp = [](EpFactory *self, const HardwareDevice *const *, const KeyValuePairs *const *, size_t,
                const SessionOptions *session, const Logger *, Ep **ep) -> Status * {
    auto *factory = static_cast<Factory *>(self);
    Options options;
    options.partition = factory->options;
    if (std::string error = Options::read(factory->api, session, options); !error.empty())
      return factory->fail(error);
    *ep = new Provider(factory->api, std::move(options));
    return nullptr;
  };
  validateCompatibility = [](EpFactory *, const HardwareDevice *const *, size_t, const char *info,
                             int *compatibility) -> Status * {
    *compatibility = checkCompatibility(info);
    return nullptr;
  };
  releaseEp = [](EpFactory *, Ep *ep) { delete static_cast<Provider *>(ep); };
  createAllocator = [](EpFactory *, const void *, const KeyValuePairs *, void **allocator) -> Status * {
    *allocator = nullptr; // onnxruntime's own.
    return nullptr;
  };
  releaseAllocator = [](EpFactory *, void *) {};
  createDataTransfer = [](EpFactory *, void **transfer) -> Status * {
    *transfer = nullptr; // Host memory.
    return nullptr;
  };
  isStreamAware = [](const EpFactory *) { return false; };
}

WEFT_ORT_EXPORT Status *CreateEpFactories(const char *, const ApiBase *base, const Logger *, EpFactory **factories,
                                          size_t most, size_t *count) {
  *count = 0;
  // An older onnxruntime has no table of this version: nothing can be said but that there is no provider.
  Api api(base->getApi(kVersion));
  if (!api || !most)
    return nullptr;
  PartitionOptions options;
  constexpr long firstWithCaptures = 27; // 1.27: earlier ones leave out of a group's inputs what only subgraphs read.
  const char *minor = std::strchr(base->getVersionString(), '.');
  options.takesSubgraphs = minor && std::strtol(minor + 1, nullptr, 10) >= firstWithCaptures;
  factories[(*count)++] = new Factory(api, options);
  return nullptr;
}

WEFT_ORT_EXPORT Status *ReleaseEpFactory(EpFactory *factory) {
  delete static_cast<Factory *>(factory);
  return nullptr;
}

#ifdef WEFT_ORT_NOTES
/// The functions of OrtEntries.def that nobody has called, a line each.
WEFT_ORT_EXPORT const char *weft_ort_uncalled() {
  static std::string names;
  names.clear();
#define ORT_ENTRY(NAME, PLACE, ...)                                                                                    \
  if (!Api::called[PLACE])                                                                                             \
    names += #NAME "\n";
#include "OrtEntries.def"
#undef ORT_ENTRY
  return names.c_str();
}
#endif
