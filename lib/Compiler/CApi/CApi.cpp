// The C ABI over Compilation: requests to options, problems to messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Compilation.h"
#include "weft/compiler.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace weft;

struct weftc_error {
  int code;
  std::string message;
};

struct weftc_bundle {
  std::vector<uint8_t> bytes;
  bool isInMemory = false, wasCached = false;
};

struct weftc_capability {
  struct Node {
    std::string name, op, reason;
    bool isSupported = true;
    double operations = 0, bytes = 0;
  };
  std::vector<Node> nodes;
  bool hasEstimate = false;
  ModelEstimate estimate;
};

static weftc_error *makeError(int code, const llvm::Twine &message) { return new weftc_error{code, message.str()}; }

/// The fields that the caller knows, zero for the others; an error for a size that no version had.
template <typename T> static weftc_error *readStruct(const T *given, size_t least, T &result, const char *what) {
  result = {};
  if (!given || given->struct_size < least)
    return makeError(WEFTC_ERROR_USAGE, llvm::Twine(what) + ": expected struct_size of at least " + llvm::Twine(least) +
                                            ", got " + llvm::Twine(given ? given->struct_size : 0));
  std::memcpy(&result, given, std::min(given->struct_size, sizeof(T)));
  return nullptr;
}

/// `given` must have the fields that `result` has not.
static bool hasUnknownFields(const weftc_request &given) {
  const char *bytes = reinterpret_cast<const char *>(&given);
  for (size_t i = sizeof(weftc_request); i < given.struct_size; ++i)
    if (bytes[i])
      return true;
  return false;
}

namespace {
/// A request as the compiler takes it.
class Call {
public:
  weftc_error *read(const weftc_request *given);
  weftc_error *finish(const Compilation &compilation);
  weftc_error *openCache();

  weftc_request raw;
  CompileOptions options;
  CompileRequest request;

private:
  void tell(int32_t kind, llvm::StringRef text);
  std::optional<BundleCache> cache;
};
} // namespace

weftc_error *Call::read(const weftc_request *given) {
  if (weftc_error *error = readStruct(given, offsetof(weftc_request, buffers), raw, "request"))
    return error;
  if (hasUnknownFields(*given))
    return makeError(WEFTC_ERROR_USAGE, "request: has fields that this version of the library does not know");
  if (!raw.model && !raw.model_data)
    return makeError(WEFTC_ERROR_USAGE, "request: expected a model, as a path or in memory");
  std::vector<llvm::StringRef> texts;
  for (size_t i = 0; i < raw.option_count; ++i) {
    texts.push_back(raw.options[i]);
    if (!texts.back().starts_with("--"))
      return makeError(WEFTC_ERROR_USAGE, "options: expected --name or --name=value, got `" + texts.back() + "`");
  }
  std::string problem;
  if (!options.parse(texts, problem))
    return makeError(WEFTC_ERROR_USAGE, problem);
  request.model = raw.model ? raw.model : "model";
  if (raw.model_data)
    request.bytes = llvm::ArrayRef<char>(static_cast<const char *>(raw.model_data), raw.model_size);
  for (size_t i = 0; i < raw.buffer_count; ++i)
    request.externalData.push_back(
        {raw.buffers[i].location,
         llvm::ArrayRef<char>(static_cast<const char *>(raw.buffers[i].data), raw.buffers[i].size)});
  if (raw.output)
    request.output = raw.output;
  if (raw.progress)
    request.began = [this](llvm::StringRef activity) { raw.progress(raw.user, activity.str().c_str()); };
  if (raw.cancelled)
    request.isCancelled = [this] { return raw.cancelled(raw.user) != 0; };
  return nullptr;
}

weftc_error *Call::openCache() {
  if (!raw.cache || !*raw.cache)
    return nullptr;
  llvm::Expected<BundleCache> opened = BundleCache::open(raw.cache, raw.cache_limit);
  if (!opened)
    return makeError(WEFTC_ERROR_USAGE, llvm::toString(opened.takeError()));
  cache = std::move(*opened);
  request.cache = &*cache;
  return nullptr;
}

void Call::tell(int32_t kind, llvm::StringRef text) {
  std::string escaped = kind == WEFTC_SUMMARY ? text.str() : weft::onnx::escape(text, 2000);
  weftc_message message{sizeof(weftc_message), kind, 0, escaped.c_str(), "", "", escaped.c_str(), ""};
  if (raw.message)
    raw.message(raw.user, &message);
}

/// Tells what there is to tell; the error, if there is one.
weftc_error *Call::finish(const Compilation &compilation) {
  for (const std::string &text : compilation.getRemarks())
    tell(WEFTC_REMARK, text);
  for (const std::string &text : compilation.getWarnings())
    tell(WEFTC_WARNING, text);
  if (!compilation.getSummary().empty())
    tell(WEFTC_SUMMARY, compilation.getSummary());
  if (compilation.wasCancelled())
    return makeError(WEFTC_ERROR_CANCELLED, "cancelled");
  const weft::onnx::Diagnostics &problems = compilation.getDiagnostics();
  std::string first;
  for (const weft::onnx::Diagnostic &each : problems.all()) {
    weft::onnx::Diagnostics one;
    (void)one.report(each);
    std::string text;
    llvm::raw_string_ostream os(text);
    one.print(os, request.model);
    llvm::StringRef line = llvm::StringRef(text).rtrim();
    std::string whole = line.str(), node = weft::onnx::escape(each.node), op = weft::onnx::escape(each.op),
                cause = weft::onnx::escape(each.cause, 2000), remedy = weft::onnx::escape(each.remedy, 2000);
    if (first.empty())
      first = whole;
    weftc_message message{sizeof(weftc_message), WEFTC_PROBLEM, int32_t(each.cls), whole.c_str(),
                          node.c_str(),          op.c_str(),    cause.c_str(),     remedy.c_str()};
    if (raw.message)
      raw.message(raw.user, &message);
  }
  if (problems.empty())
    return nullptr;
  if (problems.count() > 1)
    first += " (and " + std::to_string(problems.count() - 1) + " more)";
  return makeError(problems.exitCode(), first);
}

extern "C" {

const char *weftc_version(void) { return "weft " WEFT_VERSION " (LLVM " LLVM_VERSION_STRING ")"; }
uint32_t weftc_abi_version(void) { return WEFTC_ABI_VERSION; }

const char *weftc_options_help(void) {
  static const std::string text = [] {
    std::string help;
    llvm::raw_string_ostream os(help);
    CompileOptions().printHelp(os);
    return help;
  }();
  return text.c_str();
}

int weftc_error_code(const weftc_error *error) { return error->code; }
const char *weftc_error_message(const weftc_error *error) { return error->message.c_str(); }
void weftc_error_free(weftc_error *error) { delete error; }

weftc_error *weftc_compile(const weftc_request *given, weftc_bundle **result) {
  *result = nullptr;
  Call call;
  if (weftc_error *error = call.read(given))
    return error;
  if (call.options.emit != "bundle" || !call.options.compileTo.empty())
    return makeError(WEFTC_ERROR_USAGE, "--emit: expected bundle, got `" + call.options.emit + call.options.compileTo +
                                            "`; weft-compile writes the other forms");
  if (weftc_error *error = call.openCache())
    return error;
  auto bundle = std::make_unique<weftc_bundle>();
  bundle->isInMemory = call.request.output.empty();
  if (bundle->isInMemory)
    call.request.bundle = &bundle->bytes;
  Compilation compilation(call.options, call.request);
  bool done = compilation.run();
  weftc_error *error = call.finish(compilation);
  if (!error && !done)
    error = makeError(WEFTC_ERROR_INTERNAL, "the compiler failed without saying why");
  if (error)
    return error;
  bundle->wasCached = compilation.wasCached();
  *result = bundle.release();
  return nullptr;
}

const void *weftc_bundle_data(const weftc_bundle *bundle) {
  return bundle->isInMemory ? bundle->bytes.data() : nullptr;
}
uint64_t weftc_bundle_size(const weftc_bundle *bundle) { return bundle->bytes.size(); }
int32_t weftc_bundle_was_cached(const weftc_bundle *bundle) { return bundle->wasCached; }
void weftc_bundle_free(weftc_bundle *bundle) { delete bundle; }

weftc_error *weftc_inspect(const weftc_request *given, weftc_capability **result) {
  *result = nullptr;
  Call call;
  if (weftc_error *error = call.read(given))
    return error;
  auto capability = std::make_unique<weftc_capability>();
  Compilation compilation(call.options, call.request);
  capability->hasEstimate = compilation.estimate(capability->estimate);
  weftc_error *error = call.finish(compilation);
  for (const weft::onnx::Diagnostic &each : compilation.getDiagnostics().all())
    if (each.cls == weft::onnx::ErrorClass::Unsupported && !each.node.empty())
      capability->nodes.push_back({each.node, each.op, each.cause, false, 0, 0});
  if (error && (weftc_error_code(error) != WEFTC_ERROR_UNSUPPORTED || capability->nodes.empty()))
    return error;
  weftc_error_free(error);
  for (const NodeEstimate &node : capability->estimate.nodes)
    capability->nodes.push_back({node.name, "", "", true, node.operations, node.bytes});
  *result = capability.release();
  return nullptr;
}

size_t weftc_capability_node_count(const weftc_capability *capability) { return capability->nodes.size(); }

int weftc_capability_node(const weftc_capability *capability, size_t index, weftc_node *result) {
  if (index >= capability->nodes.size())
    return -1;
  const weftc_capability::Node &node = capability->nodes[index];
  *result = {node.name.c_str(), node.op.c_str(), node.isSupported ? nullptr : node.reason.c_str(), node.operations,
             node.bytes};
  return 0;
}

int weftc_capability_estimate(const weftc_capability *capability, weftc_estimate *result) {
  if (!capability->hasEstimate)
    return -1;
  const ModelEstimate &known = capability->estimate;
  weftc_estimate full{sizeof(weftc_estimate), known.operations,     known.unfusedBytes,
                      known.fusedBytes,       known.unfusedKernels, known.fusedKernels};
  full.struct_size = std::min(result->struct_size, sizeof(weftc_estimate));
  std::memcpy(result, &full, full.struct_size);
  return 0;
}

void weftc_capability_free(weftc_capability *capability) { delete capability; }

} // extern "C"
