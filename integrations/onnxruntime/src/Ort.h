// The ABI of onnxruntime plug-in execution providers, as far as this one needs it, in declarations of our own:
// onnxruntime's wheels have no headers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A struct that the provider fills begins with the version whose layout it has; onnxruntime does not look beyond it.
// OrtEntries.def has the functions that the provider calls.
#ifndef WEFT_ORT_ORT_H
#define WEFT_ORT_ORT_H

#include <cstddef>
#include <cstdint>

namespace weft::ort {

inline constexpr uint32_t kVersion = 23; ///< Layouts of onnxruntime 1.23.

struct Ep;
struct EpDevice;
struct EpFactory;
struct EpGraphSupportInfo;
struct Graph;
struct HardwareDevice;
struct KernelContext;
struct KeyValuePairs;
struct Logger;
struct Node;
struct OpAttr;
struct SessionOptions;
struct Status;
struct TensorInfo;
struct TypeInfo;
struct Value;
struct ValueInfo;

enum ErrorCode {
  kFail = 1
}; // At a provider's own code (11) onnxruntime in Python runs the model once more without it.
enum DeviceType { kCpu = 0 };
enum AttributeType { kInt = 1, kInts, kFloat, kFloats, kString, kStrings, kGraph, kTensor };

struct FusionOptions {
  uint32_t version = kVersion;
  bool dropConstantInitializers = false;
};

struct EpApi {
  Status *(*createEpDevice)(EpFactory *, const HardwareDevice *, const KeyValuePairs *metadata,
                            const KeyValuePairs *options, EpDevice **);
  void (*releaseEpDevice)(EpDevice *);
  Status *(*addNodesToFuse)(EpGraphSupportInfo *, const Node *const *, size_t count, const FusionOptions *);
};

/// Of models that are made; the functions before are not needed here.
struct ModelEditorApi {
  void *others[6];
  Status *(*createNode)(const char *op, const char *domain, const char *name, const char *const *inputs,
                        size_t inputCount, const char *const *outputs, size_t outputCount, OpAttr **attributes,
                        size_t attributeCount, Node **); ///< The attributes become the node's.
};

/// What a compiled model is worth here.
enum Compatibility { kNotApplicable = 0, kOptimal, kRecompile, kUnsupported };

struct NodeComputeInfo {
  uint32_t version = kVersion;
  Status *(*createState)(NodeComputeInfo *, void *context, void **state) = nullptr;
  Status *(*compute)(NodeComputeInfo *, void *state, KernelContext *) = nullptr;
  void (*releaseState)(NodeComputeInfo *, void *state) = nullptr;
};

struct Ep {
  uint32_t version = kVersion;
  const char *(*getName)(const Ep *) = nullptr;
  Status *(*getCapability)(Ep *, const Graph *, EpGraphSupportInfo *) = nullptr;
  Status *(*compile)(Ep *, const Graph **, const Node **fused, size_t count, NodeComputeInfo **,
                     Node **contexts) = nullptr;
  void (*releaseNodeComputeInfos)(Ep *, NodeComputeInfo **, size_t count) = nullptr;
  /// Layout (2), dynamic options, run's start and end, allocator, stream: none.
  void *others[7] = {};
  const char *(*getCompatibility)(Ep *, const Graph *) = nullptr;
};

struct EpFactory {
  uint32_t version = kVersion;
  const char *(*getName)(const EpFactory *) = nullptr;
  const char *(*getVendor)(const EpFactory *) = nullptr;
  Status *(*getSupportedDevices)(EpFactory *, const HardwareDevice *const *, size_t count, EpDevice **, size_t most,
                                 size_t *made) = nullptr;
  Status *(*createEp)(EpFactory *, const HardwareDevice *const *, const KeyValuePairs *const *, size_t count,
                      const SessionOptions *, const Logger *, Ep **) = nullptr;
  void (*releaseEp)(EpFactory *, Ep *) = nullptr;
  uint32_t (*getVendorId)(const EpFactory *) = nullptr;
  const char *(*getVersion)(const EpFactory *) = nullptr;
  Status *(*validateCompatibility)(EpFactory *, const HardwareDevice *const *, size_t count, const char *info,
                                   int *compatibility) = nullptr;
  Status *(*createAllocator)(EpFactory *, const void *memory, const KeyValuePairs *, void **allocator) = nullptr;
  void (*releaseAllocator)(EpFactory *, void *allocator) = nullptr;
  Status *(*createDataTransfer)(EpFactory *, void **transfer) = nullptr;
  bool (*isStreamAware)(const EpFactory *) = nullptr;
  void *createStream = nullptr;
};

struct ApiBase {
  const void *(*getApi)(uint32_t version);
  const char *(*getVersionString)();
};

/// onnxruntime's table of functions.
class Api {
public:
  explicit Api(const void *table = nullptr) : entries(static_cast<void *const *>(table)) {}
  explicit operator bool() const { return entries; }

#ifdef WEFT_ORT_NOTES // Of the tests: which functions were called.
  static inline bool called[400] = {};
#define ORT_NOTE(PLACE) called[PLACE] = true
#else
#define ORT_NOTE(PLACE)
#endif
#define ORT_ENTRY(NAME, PLACE, RESULT, ...)                                                                            \
  template <typename... Arguments> RESULT NAME(Arguments... arguments) const {                                         \
    ORT_NOTE(PLACE);                                                                                                   \
    return reinterpret_cast<RESULT (*)(__VA_ARGS__)>(entries[PLACE])(arguments...);                                    \
  }
#include "OrtEntries.def"
#undef ORT_ENTRY
#undef ORT_NOTE

private:
  void *const *entries;
};

} // namespace weft::ort

#endif // WEFT_ORT_ORT_H
