// The C ABI.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns handles and option structs of weft/runtime.h into the classes behind them; no logic of its own.
#include "DlPack.h"
#include "Session.h"
#include "weft/Bundle/DType.h"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstring>
#include <utility>

using namespace weft;
using namespace weft::bundle;

struct weft_error {
  int code;
  std::string message;
};
struct weft_bundle {
  std::shared_ptr<LoadedBundle> loaded;
};
struct weft_communicator {
  std::shared_ptr<Communicator> communicator;
};

struct weft_session {
  std::unique_ptr<Session> session;
};

static weft_error *convert(const Error &error) {
  return error ? new weft_error{int(error.getCode()), error.getMessage()} : nullptr;
}

/// Reads caller options of any size: fields beyond the caller's struct keep their defaults, those beyond ours must not
/// ask for anything.
template <class Options> static Error readOptions(const Options *given, Options &options) {
  options = {};
  if (!given)
    return {};
  if (given->struct_size < sizeof(size_t))
    return Error(ErrorCode::Usage, "expected options.struct_size to be the size of the struct");
  const char *bytes = reinterpret_cast<const char *>(given);
  for (size_t i = sizeof options; i < given->struct_size; ++i)
    if (bytes[i])
      return Error(ErrorCode::Usage, "options: have fields that this version of the runtime does not know");
  std::memcpy(static_cast<void *>(&options), given, std::min(given->struct_size, sizeof options));
  return {};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Versions, errors, types
//===--------------------------------------------------------------------------------------------------------------===//

const char *weft_version(void) { return "weft " WEFT_VERSION; }
uint32_t weft_abi_version(void) { return WEFT_ABI_VERSION; }
void weft_format_version(uint32_t *major, uint32_t *minor) {
  *major = kFormatMajor;
  *minor = kFormatMinor;
}

int weft_error_code(const weft_error *error) { return error ? error->code : 0; }
const char *weft_error_message(const weft_error *error) { return error ? error->message.c_str() : ""; }
void weft_error_free(weft_error *error) { delete error; }

static DType toDType(int32_t code) { return code >= 0 && code < 256 ? DType(code) : DType(0); }

const char *weft_dtype_name(int32_t code) { return getBits(toDType(code)) ? getName(toDType(code)) : nullptr; }
uint32_t weft_dtype_bits(int32_t code) { return getBits(toDType(code)); }

//===--------------------------------------------------------------------------------------------------------------===//
// Bundles
//===--------------------------------------------------------------------------------------------------------------===//

static Error readWeights(const weft_bundle_options &options, std::map<std::string, GivenWeights, std::less<>> &result) {
  if (options.weights_count && !options.weights)
    return Error(ErrorCode::Usage, "the list of weights is null");
  for (size_t i = 0; i < options.weights_count; ++i) {
    const weft_weights &weights = options.weights[i];
    if (!weights.location || (!weights.data && weights.bytes))
      return Error(ErrorCode::Usage, "weights in memory: the location or the data is null");
    bool isOnCard = weights.memory == WEFT_MEMORY_CUDA;
    if ((!isOnCard && weights.memory != WEFT_MEMORY_HOST) || (isOnCard && weights.card < 0))
      return Error(ErrorCode::Usage, "weights in memory: expected memory of the host or of a GPU");
    GivenWeights given{static_cast<const uint8_t *>(weights.data), weights.bytes, isOnCard ? weights.card : -1};
    if (!result.emplace(weights.location, given).second)
      return makeError(ErrorCode::Usage, "weights in memory: expected each location once, got %s twice",
                       quote(weights.location).c_str());
  }
  return {};
}

/// Opens by `open(LoadedBundle::Options, result)`.
template <class Open> static weft_error *openBundle(const weft_bundle_options *given, weft_bundle **bundle, Open open) {
  if (!bundle)
    return convert(Error(ErrorCode::Usage, "the result pointer is null"));
  *bundle = nullptr;
  weft_bundle_options options;
  if (Error error = readOptions(given, options))
    return convert(error);
  LoadedBundle::Options loadOptions;
  loadOptions.verifyWeights = options.verify_weights != 0;
  loadOptions.weightsFolder = options.weights_folder ? options.weights_folder : "";
  if (Error error = readWeights(options, loadOptions.weights))
    return convert(error);
  std::shared_ptr<LoadedBundle> loaded;
  if (Error error = open(loadOptions, loaded))
    return convert(error);
  *bundle = new weft_bundle{std::move(loaded)};
  return nullptr;
}

weft_error *weft_bundle_open(const char *path, const weft_bundle_options *options, weft_bundle **bundle) {
  return openBundle(
      options, bundle, [&](const LoadedBundle::Options &loadOptions, std::shared_ptr<LoadedBundle> &loaded) {
        return path ? LoadedBundle::open(path, loadOptions, loaded) : Error(ErrorCode::Usage, "the path is null");
      });
}

weft_error *weft_bundle_open_memory(const void *data, size_t size, const weft_bundle_options *options,
                                    weft_bundle **bundle) {
  return openBundle(options, bundle,
                    [&](const LoadedBundle::Options &loadOptions, std::shared_ptr<LoadedBundle> &loaded) {
                      return data || !size ? LoadedBundle::openMemory(data, size, loadOptions, loaded)
                                           : Error(ErrorCode::Usage, "the data is null");
                    });
}

void weft_bundle_release(weft_bundle *bundle) { delete bundle; }

const char *weft_bundle_product_version(const weft_bundle *bundle) {
  return bundle->loaded->getReader().getHeader().productVersion;
}
const char *weft_bundle_metadata(const weft_bundle *bundle, const char *key) {
  return bundle->loaded->getReader().getMetadata(key).data();
}
const char *weft_bundle_explanation(const weft_bundle *bundle, size_t *size) {
  Blob explanation = bundle->loaded->getTables().explain;
  *size = explanation.size;
  return explanation.size ? reinterpret_cast<const char *>(explanation.data) : nullptr;
}
size_t weft_bundle_entry_count(const weft_bundle *bundle) { return bundle->loaded->getTables().entries.size; }
const char *weft_bundle_entry_name(const weft_bundle *bundle, size_t index) {
  const Tables &tables = bundle->loaded->getTables();
  return index < tables.entries.size ? tables.getText(tables.entries[uint32_t(index)].name) : nullptr;
}

//===--------------------------------------------------------------------------------------------------------------===//
// Sessions
//===--------------------------------------------------------------------------------------------------------------===//

weft_error *weft_session_create(weft_bundle *bundle, const char *device, const weft_session_options *given,
                                weft_session **session) {
  if (!session || !bundle)
    return convert(Error(ErrorCode::Usage, "the bundle or the result pointer is null"));
  *session = nullptr;
  weft_session_options options;
  if (Error error = readOptions(given, options))
    return convert(error);
  constexpr int32_t maxThreads = 1024;
  if (options.threads < 0 || options.threads > maxThreads)
    return convert(makeError(ErrorCode::Usage, "expected 0 to %d threads, got %d", maxThreads, options.threads));
  SessionOptions sessionOptions;
  sessionOptions.threads = unsigned(options.threads);
  sessionOptions.profile = options.profile != 0;
  sessionOptions.entry = options.entry ? options.entry : "";
  sessionOptions.memoryLimit = options.memory_limit;
  if (options.turn_limit > uint64_t(INT64_MAX))
    return convert(makeError(ErrorCode::Usage, "expected a turn_limit of at most %" PRId64 ", got %" PRIu64, INT64_MAX,
                             options.turn_limit));
  if (options.turn_limit)
    sessionOptions.turnLimit = int64_t(options.turn_limit);
  sessionOptions.launchesKernels = options.launch_kernels != 0;
  if (options.cuda_driver)
    sessionOptions.device.cudaDriver = options.cuda_driver;
  sessionOptions.nvtx = options.nvtx ? options.nvtx : "";
  if (options.cubin_cache)
    sessionOptions.device.cubinFolder = options.cubin_cache;
  if (options.communicator)
    sessionOptions.communicator = options.communicator->communicator;
  std::unique_ptr<Session> created;
  if (Error error = Session::create(bundle->loaded, device ? device : "cpu", sessionOptions, created))
    return convert(error);
  *session = new weft_session{std::move(created)};
  return nullptr;
}

void weft_session_release(weft_session *session) { delete session; }

weft_error *weft_communicator_create(const weft_communicator_options *given, weft_communicator **communicator) {
  if (!communicator)
    return convert(Error(ErrorCode::Usage, "the result pointer is null"));
  *communicator = nullptr;
  weft_communicator_options options;
  if (Error error = readOptions(given, options))
    return convert(error);
  if (options.rank < 0 || options.ranks < 0 || options.timeout_ms < 0)
    return convert(Error(ErrorCode::Usage, "expected a rank, a number of ranks and a time-out that are not negative"));
  CommunicatorOptions all;
  all.rank = uint32_t(options.rank);
  all.ranks = uint32_t(options.ranks);
  all.address = options.address ? options.address : "";
  all.transport = options.transport ? options.transport : "";
  all.ncclLibrary = options.nccl ? options.nccl : "";
  if (options.timeout_ms)
    all.timeoutMs = options.timeout_ms;
  std::shared_ptr<Communicator> created;
  if (Error error = Communicator::create(all, created))
    return convert(error);
  *communicator = new weft_communicator{std::move(created)};
  return nullptr;
}

void weft_communicator_release(weft_communicator *communicator) { delete communicator; }

static int getPort(const std::vector<PortDescription> &ports, size_t index, weft_port *port) {
  if (index >= ports.size())
    return -1;
  const PortDescription &description = ports[index];
  *port = {description.name.c_str(), int32_t(description.dtype), int32_t(description.dims.size()),
           description.dims.data(), description.textViews.data()};
  return 0;
}

size_t weft_session_input_count(const weft_session *session) { return session->session->getInputs().size(); }
size_t weft_session_output_count(const weft_session *session) { return session->session->getOutputs().size(); }
int weft_session_input(const weft_session *session, size_t index, weft_port *port) {
  return getPort(session->session->getInputs(), index, port);
}
int weft_session_output(const weft_session *session, size_t index, weft_port *port) {
  return getPort(session->session->getOutputs(), index, port);
}

int weft_session_alias(const weft_session *session, size_t output) {
  const Session &inner = *session->session;
  uint32_t input = output < inner.getOutputs().size() ? inner.getAlias(output) : kNone;
  return input == kNone ? -1 : int(input);
}

size_t weft_session_symbol_count(const weft_session *session) { return session->session->getEntry().symbols.size; }
int weft_session_symbol(const weft_session *session, size_t index, weft_symbol *symbol) {
  const EntryView &entry = session->session->getEntry();
  if (index >= entry.symbols.size)
    return -1;
  const SymbolRecord &record = entry.symbols[uint32_t(index)];
  *symbol = {session->session->getTables().getText(record.name), record.min, record.max};
  return 0;
}

static weft_error *inferDims(const weft_session *session, bool isOutput, size_t index, const int64_t *symbols,
                             int64_t *dims) {
  const Session &inner = *session->session;
  size_t count = isOutput ? inner.getOutputs().size() : inner.getInputs().size();
  if (index >= count)
    return convert(makeError(ErrorCode::Usage, "expected an index below %zu, got %zu", count, index));
  return convert(inner.inferDims(isOutput, index, symbols, dims));
}
weft_error *weft_session_input_dims(const weft_session *session, size_t index, const int64_t *symbols, int64_t *dims) {
  return inferDims(session, /*isOutput=*/false, index, symbols, dims);
}
weft_error *weft_session_output_dims(const weft_session *session, size_t index, const int64_t *symbols, int64_t *dims) {
  return inferDims(session, /*isOutput=*/true, index, symbols, dims);
}

weft_error *weft_session_run(weft_session *session, const weft_tensor *inputs, size_t inputCount, weft_tensor *outputs,
                             size_t outputCount) {
  return convert(session->session->run(inputs, inputCount, outputs, outputCount));
}

weft_error *weft_session_run_on(weft_session *session, void *stream, const weft_tensor *inputs, size_t inputCount,
                                weft_tensor *outputs, size_t outputCount) {
  return convert(session->session->run(inputs, inputCount, outputs, outputCount, stream));
}

weft_error *weft_session_wait(weft_session *session, void *stream) {
  return convert(session->session->makeWait(stream));
}

void *weft_session_stream(const weft_session *session) { return session->session->getStream(); }

weft_error *weft_session_copy_to_host(weft_session *session, void *destination, const void *source, uint64_t bytes) {
  return convert(session->session->copyToHost(destination, source, bytes));
}

//===--------------------------------------------------------------------------------------------------------------===//
// DLPack
//===--------------------------------------------------------------------------------------------------------------===//

weft_error *weft_tensor_from_dlpack(const void *managed, int32_t versioned, weft_tensor *tensor) {
  return convert(dlpack::import(managed, versioned != 0, *tensor));
}

weft_error *weft_session_take_output(weft_session *session, size_t index, int32_t versioned, void **managed) {
  *managed = nullptr;
  std::shared_ptr<TakenOutput> taken;
  weft_tensor tensor = {};
  if (Error error = session->session->takeOutput(index, taken, tensor))
    return convert(error);
  return convert(dlpack::exportOutput(std::move(taken), tensor, versioned != 0, *managed));
}

weft_error *weft_dlpack_share(const void *managed, int32_t versioned, int32_t resultVersioned, void **result) {
  *result = nullptr;
  return convert(dlpack::share(managed, versioned != 0, resultVersioned != 0, *result));
}

static std::atomic<int (*)(void *, const char *)> capsuleIsValid;
static std::atomic<void *(*)(void *, const char *)> capsuleGetPointer;

/// A capsule that was taken has another name.
static void destroyCapsule(void *capsule) {
  for (auto [name, isVersioned] : {std::pair("dltensor", false), std::pair("dltensor_versioned", true)})
    if (capsuleIsValid.load()(capsule, name))
      dlpack::release(capsuleGetPointer.load()(capsule, name), isVersioned);
}

void *weft_dlpack_capsule_destructor(void *isValid, void *getPointer) {
  capsuleIsValid = reinterpret_cast<int (*)(void *, const char *)>(isValid);
  capsuleGetPointer = reinterpret_cast<void *(*)(void *, const char *)>(getPointer);
  return reinterpret_cast<void *>(&destroyCapsule);
}

void weft_dlpack_release(void *managed, int32_t versioned) { dlpack::release(managed, versioned != 0); }

//===--------------------------------------------------------------------------------------------------------------===//
// What happened
//===--------------------------------------------------------------------------------------------------------------===//

void weft_session_statistics(const weft_session *session, weft_statistics *statistics) {
  size_t size = statistics->struct_size;
  weft_statistics all = session->session->getStatistics();
  all.struct_size = size;
  std::memcpy(static_cast<void *>(statistics), &all, std::min(size, sizeof all));
}

size_t weft_session_dispatch_count(const weft_session *session) { return session->session->getDispatchCount(); }
int weft_session_dispatch(const weft_session *session, size_t index, weft_dispatch *dispatch) {
  if (index >= session->session->getDispatchCount())
    return -1;
  *dispatch = session->session->getDispatch(index);
  return 0;
}
size_t weft_session_event_count(const weft_session *session) { return session->session->getEvents().size(); }
int weft_session_event(const weft_session *session, size_t index, weft_event *event) {
  const std::vector<weft_event> &events = session->session->getEvents();
  if (index >= events.size())
    return -1;
  *event = events[index];
  return 0;
}
const char *weft_session_code(const weft_session *session) { return session->session->getCode().c_str(); }
const char *weft_session_counters(weft_session *session, int32_t as_json) {
  return session->session->getCounters(as_json != 0);
}
