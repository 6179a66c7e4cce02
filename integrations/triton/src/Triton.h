// The ABI of Triton's backends, as far as this one needs it, in declarations of our own: the server comes without
// headers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and layouts are those of version 1 of the backend API, which only grows. The functions are the server's, which
// loads the backend.
#ifndef WEFT_TRITON_TRITON_H
#define WEFT_TRITON_TRITON_H

#include <cstddef>
#include <cstdint>

extern "C" {

struct TRITONSERVER_Error;
struct TRITONSERVER_Message;
struct TRITONBACKEND_Backend;
struct TRITONBACKEND_Input;
struct TRITONBACKEND_Model;
struct TRITONBACKEND_ModelInstance;
struct TRITONBACKEND_Output;
struct TRITONBACKEND_Request;
struct TRITONBACKEND_Response;

enum TritonErrorCode { kTritonInternal = 1, kTritonNotFound, kTritonInvalid, kTritonUnavailable, kTritonUnsupported };
enum TritonMemory { kTritonCpu, kTritonPinned, kTritonGpu };
enum TritonInstance { kTritonAnyInstance, kTritonCpuInstance, kTritonGpuInstance, kTritonModelInstance };
enum TritonFlags { kTritonReleaseAll = 1, kTritonFinal = 1 };

TRITONSERVER_Error *TRITONSERVER_ErrorNew(int code, const char *message);
void TRITONSERVER_ErrorDelete(TRITONSERVER_Error *);
TRITONSERVER_Error *TRITONSERVER_MessageNewFromSerializedJson(TRITONSERVER_Message **, const char *text, size_t size);
TRITONSERVER_Error *TRITONSERVER_MessageSerializeToJson(TRITONSERVER_Message *, const char **text, size_t *size);
TRITONSERVER_Error *TRITONSERVER_MessageDelete(TRITONSERVER_Message *);

TRITONSERVER_Error *TRITONBACKEND_ApiVersion(uint32_t *major, uint32_t *minor);
TRITONSERVER_Error *TRITONBACKEND_BackendConfig(TRITONBACKEND_Backend *, TRITONSERVER_Message **);

TRITONSERVER_Error *TRITONBACKEND_ModelName(TRITONBACKEND_Model *, const char **);
TRITONSERVER_Error *TRITONBACKEND_ModelVersion(TRITONBACKEND_Model *, uint64_t *);
TRITONSERVER_Error *TRITONBACKEND_ModelRepository(TRITONBACKEND_Model *, int *artifact, const char **location);
TRITONSERVER_Error *TRITONBACKEND_ModelConfig(TRITONBACKEND_Model *, uint32_t version, TRITONSERVER_Message **);
TRITONSERVER_Error *TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model *, bool *);
TRITONSERVER_Error *TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model *, uint32_t version, TRITONSERVER_Message *);
TRITONSERVER_Error *TRITONBACKEND_ModelBackend(TRITONBACKEND_Model *, TRITONBACKEND_Backend **);
TRITONSERVER_Error *TRITONBACKEND_ModelState(TRITONBACKEND_Model *, void **);
TRITONSERVER_Error *TRITONBACKEND_ModelSetState(TRITONBACKEND_Model *, void *);

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance *, int *);
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance *, int32_t *);
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance *, TRITONBACKEND_Model **);
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance *, void **);
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance *, void *);
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportStatistics(TRITONBACKEND_ModelInstance *, TRITONBACKEND_Request *,
                                                                bool success, uint64_t begin, uint64_t computeBegin,
                                                                uint64_t computeEnd, uint64_t end);
TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportBatchStatistics(TRITONBACKEND_ModelInstance *, uint64_t size,
                                                                     uint64_t begin, uint64_t computeBegin,
                                                                     uint64_t computeEnd, uint64_t end);

TRITONSERVER_Error *TRITONBACKEND_RequestInput(TRITONBACKEND_Request *, const char *name, TRITONBACKEND_Input **);
TRITONSERVER_Error *TRITONBACKEND_RequestOutputCount(TRITONBACKEND_Request *, uint32_t *);
TRITONSERVER_Error *TRITONBACKEND_RequestOutputName(TRITONBACKEND_Request *, uint32_t index, const char **);
TRITONSERVER_Error *TRITONBACKEND_RequestRelease(TRITONBACKEND_Request *, uint32_t flags);
TRITONSERVER_Error *TRITONBACKEND_InputProperties(TRITONBACKEND_Input *, const char **name, int *type,
                                                  const int64_t **dims, uint32_t *rank, uint64_t *bytes,
                                                  uint32_t *buffers);
TRITONSERVER_Error *TRITONBACKEND_InputBuffer(TRITONBACKEND_Input *, uint32_t index, const void **data, uint64_t *bytes,
                                              int *memory, int64_t *device);
TRITONSERVER_Error *TRITONBACKEND_ResponseNew(TRITONBACKEND_Response **, TRITONBACKEND_Request *);
TRITONSERVER_Error *TRITONBACKEND_ResponseOutput(TRITONBACKEND_Response *, TRITONBACKEND_Output **, const char *name,
                                                 int type, const int64_t *dims, uint32_t rank);
TRITONSERVER_Error *TRITONBACKEND_OutputBuffer(TRITONBACKEND_Output *, void **data, uint64_t bytes, int *memory,
                                               int64_t *device);
TRITONSERVER_Error *TRITONBACKEND_ResponseSend(TRITONBACKEND_Response *, uint32_t flags, TRITONSERVER_Error *);
}

#endif // WEFT_TRITON_TRITON_H
