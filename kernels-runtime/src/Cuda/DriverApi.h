// The CUDA driver API, as far as it is used.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Own declarations of the driver's entry points, so that neither building nor linking needs CUDA: names and numbers are
// those of the driver's ABI on 64-bit Linux. Handles are opaque pointers, device addresses 64-bit integers,
// enumerations ints; the newest entry point is cuTensorMapEncodeTiled of CUDA 12.0.
#ifndef WEFT_CUDA_DRIVERAPI_H
#define WEFT_CUDA_DRIVERAPI_H

#include <cstddef>
#include <cstdint>

namespace weft::cuda {

using Result = int;
using DeviceNumber = int;
using Handle = void *;    ///< CUcontext, CUstream, CUevent, CUmodule, CUfunction, CUlinkState, CUgraph, CUgraphExec.
using Address = uint64_t; ///< CUdeviceptr.

namespace result {
inline constexpr Result Success = 0, InvalidValue = 1, OutOfMemory = 2, StubLibrary = 34, DeviceUnavailable = 46,
                        NoDevice = 100, InvalidDevice = 101, InvalidImage = 200, NoBinaryForGpu = 209, InvalidPtx = 218,
                        JitCompilerNotFound = 221, UnsupportedPtxVersion = 222, JitCompilationDisabled = 223,
                        NotFound = 500, NotReady = 600, IllegalAddress = 700, LaunchOutOfResources = 701, Assert = 710,
                        HardwareStackError = 714, IllegalInstruction = 715, MisalignedAddress = 716,
                        InvalidAddressSpace = 717, InvalidPc = 718, LaunchFailed = 719, SystemDriverMismatch = 803;
} // namespace result

/// CU_DEVICE_ATTRIBUTE_*.
enum DeviceAttribute : int {
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MultiprocessorCount = 16,
  L2CacheBytes = 38,
  MemoryPoolsSupported = 115,
  ThreadsPerMultiprocessor = 39,
  SharedBytesPerMultiprocessor = 81,
  RegistersPerMultiprocessor = 82,
  ReservedSharedBytesPerBlock = 111,
};
/// CU_FUNC_ATTRIBUTE_*.
enum FunctionAttribute : int {
  RegistersPerThread = 4,
  MaxDynamicSharedBytes = 8,
  PreferredSharedPercent = 9,
  NonPortableClusterAllowed = 14
};
/// CU_JIT_*.
enum JitOption : int { ErrorLogBuffer = 5, ErrorLogBytes = 6 };

inline constexpr int kJitInputPtx = 1;                       ///< CU_JIT_INPUT_PTX.
inline constexpr unsigned kStreamNonBlocking = 1;            ///< CU_STREAM_NON_BLOCKING.
inline constexpr unsigned kEventDisableTiming = 2;           ///< CU_EVENT_DISABLE_TIMING.
inline constexpr int kCaptureThreadLocal = 1;                ///< CU_STREAM_CAPTURE_MODE_THREAD_LOCAL.
inline constexpr unsigned kLaunchClusterDimension = 4;       ///< CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION.
inline constexpr unsigned kLaunchProgrammaticOrder = 6;      ///< CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION.
inline constexpr unsigned kMaxPortableCluster = 8;           ///< Larger ones need NonPortableClusterAllowed.
inline constexpr unsigned kMaxDefaultSharedBytes = 48 << 10; ///< More needs MaxDynamicSharedBytes.
inline constexpr size_t kTensorMapBytes = 128, kTensorMapAlignment = 64;

/// CUlaunchAttribute.
struct LaunchAttribute {
  unsigned id;
  unsigned padding;
  union {
    unsigned clusterDim[3];
    int flag;
    uint64_t reserved[8];
  } value;
};
static_assert(sizeof(LaunchAttribute) == 72, "as the driver has it");

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  Handle stream;
  const LaunchAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56, "as the driver has it");

/// CUgraphExecUpdateResultInfo.
struct GraphUpdateInfo {
  int result;
  Handle errorNode, errorFromNode;
};
static_assert(sizeof(GraphUpdateInfo) == 24, "as the driver has it");

/// ENTRY(member, symbol, parameters...) for each entry point.
#define WEFT_CUDA_ENTRIES(ENTRY)                                                                                       \
  ENTRY(getErrorName, cuGetErrorName, Result, const char **)                                                           \
  ENTRY(getErrorString, cuGetErrorString, Result, const char **)                                                       \
  ENTRY(init, cuInit, unsigned)                                                                                        \
  ENTRY(driverGetVersion, cuDriverGetVersion, int *)                                                                   \
  ENTRY(deviceGetCount, cuDeviceGetCount, int *)                                                                       \
  ENTRY(deviceGet, cuDeviceGet, DeviceNumber *, int)                                                                   \
  ENTRY(deviceGetName, cuDeviceGetName, char *, int, DeviceNumber)                                                     \
  ENTRY(deviceTotalMem, cuDeviceTotalMem_v2, size_t *, DeviceNumber)                                                   \
  ENTRY(deviceGetAttribute, cuDeviceGetAttribute, int *, int, DeviceNumber)                                            \
  ENTRY(primaryContextRetain, cuDevicePrimaryCtxRetain, Handle *, DeviceNumber)                                        \
  ENTRY(primaryContextRelease, cuDevicePrimaryCtxRelease_v2, DeviceNumber)                                             \
  ENTRY(contextPush, cuCtxPushCurrent_v2, Handle)                                                                      \
  ENTRY(contextPop, cuCtxPopCurrent_v2, Handle *)                                                                      \
  ENTRY(streamCreate, cuStreamCreate, Handle *, unsigned)                                                              \
  ENTRY(streamDestroy, cuStreamDestroy_v2, Handle)                                                                     \
  ENTRY(streamSynchronize, cuStreamSynchronize, Handle)                                                                \
  ENTRY(streamQuery, cuStreamQuery, Handle)                                                                            \
  ENTRY(streamWaitEvent, cuStreamWaitEvent, Handle, Handle, unsigned)                                                  \
  ENTRY(streamBeginCapture, cuStreamBeginCapture_v2, Handle, int)                                                      \
  ENTRY(streamIsCapturing, cuStreamIsCapturing, Handle, int *)                                                         \
  ENTRY(streamEndCapture, cuStreamEndCapture, Handle, Handle *)                                                        \
  ENTRY(eventCreate, cuEventCreate, Handle *, unsigned)                                                                \
  ENTRY(eventDestroy, cuEventDestroy_v2, Handle)                                                                       \
  ENTRY(eventRecord, cuEventRecord, Handle, Handle)                                                                    \
  ENTRY(eventSynchronize, cuEventSynchronize, Handle)                                                                  \
  ENTRY(eventElapsedTime, cuEventElapsedTime, float *, Handle, Handle)                                                 \
  ENTRY(graphInstantiate, cuGraphInstantiateWithFlags, Handle *, Handle, unsigned long long)                           \
  ENTRY(graphLaunch, cuGraphLaunch, Handle, Handle)                                                                    \
  ENTRY(graphDestroy, cuGraphDestroy, Handle)                                                                          \
  ENTRY(graphExecUpdate, cuGraphExecUpdate_v2, Handle, Handle, GraphUpdateInfo *)                                      \
  ENTRY(graphExecDestroy, cuGraphExecDestroy, Handle)                                                                  \
  ENTRY(memAllocAsync, cuMemAllocAsync, Address *, size_t, Handle)                                                     \
  ENTRY(memFreeAsync, cuMemFreeAsync, Address, Handle)                                                                 \
  ENTRY(memAlloc, cuMemAlloc_v2, Address *, size_t)                                                                    \
  ENTRY(memFree, cuMemFree_v2, Address)                                                                                \
  ENTRY(memcpyToDevice, cuMemcpyHtoDAsync_v2, Address, const void *, size_t, Handle)                                   \
  ENTRY(memcpyToHost, cuMemcpyDtoHAsync_v2, void *, Address, size_t, Handle)                                           \
  ENTRY(memcpyOnDevice, cuMemcpyDtoDAsync_v2, Address, Address, size_t, Handle)                                        \
  ENTRY(memsetBytes, cuMemsetD8Async, Address, unsigned char, size_t, Handle)                                          \
  ENTRY(moduleLoadDataEx, cuModuleLoadDataEx, Handle *, const void *, unsigned, int *, void **)                        \
  ENTRY(moduleUnload, cuModuleUnload, Handle)                                                                          \
  ENTRY(moduleGetFunction, cuModuleGetFunction, Handle *, Handle, const char *)                                        \
  ENTRY(functionGetAttribute, cuFuncGetAttribute, int *, int, Handle)                                                  \
  ENTRY(countActiveBlocks, cuOccupancyMaxActiveBlocksPerMultiprocessor, int *, Handle, int, size_t)                    \
  ENTRY(functionSetAttribute, cuFuncSetAttribute, Handle, int, int)                                                    \
  ENTRY(launchKernelEx, cuLaunchKernelEx, const LaunchConfig *, Handle, void **, void **)                              \
  ENTRY(linkCreate, cuLinkCreate_v2, unsigned, int *, void **, Handle *)                                               \
  ENTRY(linkAddData, cuLinkAddData_v2, Handle, int, void *, size_t, const char *, unsigned, int *, void **)            \
  ENTRY(linkComplete, cuLinkComplete, Handle, void **, size_t *)                                                       \
  ENTRY(linkDestroy, cuLinkDestroy, Handle)                                                                            \
  ENTRY(tensorMapEncodeTiled, cuTensorMapEncodeTiled, void *, int, uint32_t, void *, const uint64_t *,                 \
        const uint64_t *, const uint32_t *, const uint32_t *, int, int, int, int)

} // namespace weft::cuda

#endif // WEFT_CUDA_DRIVERAPI_H
