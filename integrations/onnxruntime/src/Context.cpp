// Attributes are those that onnxruntime's schema of EPContext has. A file's name is relative to the model's folder and
// stays in it: models are not trusted to name others.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Context.h"

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

using namespace weft::ort;

static constexpr const char *kSource = "WeftExecutionProvider";

static const Attribute *findAttribute(const NodeView &node, const char *name) {
  for (const Attribute &attribute : node.attributes)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}

static std::string getText(const NodeView &node, const char *name) {
  const Attribute *attribute = findAttribute(node, name);
  return attribute && !attribute->strings.empty() ? attribute->strings.front() : "";
}

bool weft::ort::isContext(const NodeView &node) {
  return node.op == "EPContext" && node.domain == "com.microsoft" && getText(node, "source") == kSource;
}

/// With its final slash; empty: the working folder.
static std::string getFolder(const std::string &path) { return path.substr(0, path.rfind('/') + 1); }

static bool staysBelow(const std::string &path) {
  if (path.empty() || path[0] == '/')
    return false;
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find('/', begin), path.size());
    if (path.compare(begin, end - begin, "..") == 0)
      return false;
    begin = end + 1;
  }
  return true;
}

std::string weft::ort::readContext(const NodeView &node, const std::string &modelPath, std::vector<char> &bundle) {
  std::string content = getText(node, "ep_cache_context");
  const Attribute *embed = findAttribute(node, "embed_mode");
  if (!embed || embed->ints.empty() || embed->ints.front() != 0) {
    bundle.assign(content.begin(), content.end());
    return "";
  }
  if (!staysBelow(content))
    return "EPContext: expected the name of a file below the model's folder, got '" + content + "'";
  std::string path = getFolder(modelPath) + content;
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return "EPContext: cannot open '" + path + "': " + std::strerror(errno);
  char buffer[1 << 16];
  for (size_t size; (size = std::fread(buffer, 1, sizeof buffer, file));)
    bundle.insert(bundle.end(), buffer, buffer + size);
  std::fclose(file);
  return "";
}

/// Beside the model that will be written: its name, and the node's.
static std::string writeFile(const std::string &contextPath, const std::string &name, const std::vector<char> &bundle,
                             std::string &written) {
  std::string stem = contextPath.substr(getFolder(contextPath).size());
  stem = stem.substr(0, stem.rfind('.')) + "_" + name + ".weft";
  for (char &c : stem)
    if (c == '/')
      c = '_';
  std::string path = getFolder(contextPath) + stem;
  std::FILE *file = std::fopen(path.c_str(), "wb");
  bool isDone = file && std::fwrite(bundle.data(), 1, bundle.size(), file) == bundle.size();
  if (file)
    isDone &= std::fclose(file) == 0;
  written = stem;
  return isDone ? "" : "EPContext: cannot write '" + path + "': " + std::strerror(errno);
}

std::string weft::ort::makeContext(Api api, const Options &options, const std::string &modelPath,
                                   const std::string &fusedName, const std::vector<std::string> inputs,
                                   const std::vector<std::string> outputs, const std::vector<char> &bundle,
                                   Node *&node) {
  // onnxruntime finds the node of a fused one by its name; what else has one has the prefix, too.
  std::string name = options.contextPrefix + fusedName, content(bundle.begin(), bundle.end());
  std::string target = options.contextPath.empty() && !modelPath.empty()
                           ? modelPath.substr(0, modelPath.rfind('.')) + "_ctx.onnx"
                           : options.contextPath;
  bool embeds = options.embedsContexts || target.empty();
  if (!embeds)
    if (std::string error = writeFile(target, name, bundle, content); !error.empty())
      return error;
  if (content.size() > size_t(INT_MAX))
    return "EPContext: a bundle of 2 GiB or more cannot be in a model: set ep.context_embed_mode to 0";
  std::vector<OpAttr *> attributes;
  auto add = [&](const char *key, int type, const void *data, size_t size) {
    OpAttr *attribute = nullptr;
    Status *status = api.CreateOpAttr(key, data, int(size), type, &attribute);
    if (!status)
      attributes.push_back(attribute);
    return status;
  };
  int64_t isMain = 1, mode = embeds;
  std::string compatibility = describeCompatibility(options);
  Status *status = add("main_context", kInt, &isMain, 1);
  status = status ? status : add("embed_mode", kInt, &mode, 1);
  for (auto [key, text] : {std::pair<const char *, std::string>("ep_cache_context", content),
                           {"source", kSource},
                           {"ep_sdk_version", WEFT_VERSION},
                           {"partition_name", name},
                           {"hardware_architecture", compatibility}})
    status = status ? status : add(key, kString, text.data(), text.size());
  std::vector<const char *> names[2];
  for (int side = 0; side < 2; ++side)
    for (const std::string &each : side ? outputs : inputs)
      names[side].push_back(each.c_str());
  if (!status)
    status = api.GetModelEditorApi()->createNode("EPContext", "com.microsoft", fusedName.c_str(), names[0].data(),
                                                 names[0].size(), names[1].data(), names[1].size(), attributes.data(),
                                                 attributes.size(), &node);
  if (!status)
    return "";
  std::string error = api.GetErrorMessage(status);
  api.ReleaseStatus(status);
  return "EPContext: " + error;
}
