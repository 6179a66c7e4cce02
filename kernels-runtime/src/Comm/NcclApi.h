// The entry points of NCCL that the runtime uses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declared here, so that nothing of NCCL's is needed to build: names, types and codes as its manual states them, the
// same since version 2.7 (point-to-point calls).
#ifndef WEFT_COMM_NCCLAPI_H
#define WEFT_COMM_NCCLAPI_H

#include <cstddef>

namespace weft::nccl {

using Result = int; ///< ncclResult_t.
inline constexpr Result kSuccess = 0, kInProgress = 7;
using Comm = struct ncclComm *;
using Stream = void *; ///< cudaStream_t is a CUstream.

/// ncclUniqueId; passed by value.
struct UniqueId {
  char bytes[128];
};

/// ncclDataType_t and ncclRedOp_t.
enum DataType : int {
  Int8 = 0,
  Uint8 = 1,
  Int32 = 2,
  Uint32 = 3,
  Int64 = 4,
  Uint64 = 5,
  Float16 = 6,
  Float32 = 7,
  Float64 = 8,
  Bfloat16 = 9
};
enum RedOp : int { Sum = 0, Prod = 1, Max = 2, Min = 3 };

/// ENTRY(member, symbol, result, parameters...).
#define WEFT_NCCL_ENTRIES(ENTRY)                                                                                       \
  ENTRY(getErrorString, ncclGetErrorString, const char *, nccl::Result)                                                \
  ENTRY(getUniqueId, ncclGetUniqueId, nccl::Result, nccl::UniqueId *)                                                  \
  ENTRY(commInitRank, ncclCommInitRank, nccl::Result, nccl::Comm *, int, nccl::UniqueId, int)                          \
  ENTRY(commAbort, ncclCommAbort, nccl::Result, nccl::Comm)                                                            \
  ENTRY(commDestroy, ncclCommDestroy, nccl::Result, nccl::Comm)                                                        \
  ENTRY(commGetAsyncError, ncclCommGetAsyncError, nccl::Result, nccl::Comm, nccl::Result *)                            \
  ENTRY(allReduce, ncclAllReduce, nccl::Result, const void *, void *, size_t, int, int, nccl::Comm, nccl::Stream)      \
  ENTRY(allGather, ncclAllGather, nccl::Result, const void *, void *, size_t, int, nccl::Comm, nccl::Stream)           \
  ENTRY(reduceScatter, ncclReduceScatter, nccl::Result, const void *, void *, size_t, int, int, nccl::Comm,            \
        nccl::Stream)                                                                                                  \
  ENTRY(send, ncclSend, nccl::Result, const void *, size_t, int, int, nccl::Comm, nccl::Stream)                        \
  ENTRY(recv, ncclRecv, nccl::Result, void *, size_t, int, int, nccl::Comm, nccl::Stream)                              \
  ENTRY(groupStart, ncclGroupStart, nccl::Result)                                                                      \
  ENTRY(groupEnd, ncclGroupEnd, nccl::Result)

} // namespace weft::nccl

#endif // WEFT_COMM_NCCLAPI_H
