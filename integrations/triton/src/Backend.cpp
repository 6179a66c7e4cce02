// What the server calls: models and instances come and go, and requests are run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Batch.h"

#include <chrono>
#include <memory>

using namespace weft::triton;

#define WEFT_TRITON_EXPORT extern "C" __attribute__((visibility("default")))

static void drop(TRITONSERVER_Error *error) {
  if (error)
    TRITONSERVER_ErrorDelete(error);
}

namespace {
struct Instance {
  ~Instance() { weft_session_release(session); }
  const Model *model = nullptr;
  weft_session *session = nullptr;
};

/// When a batch was begun, its computing began and ended, and all of it ended.
struct Times {
  static uint64_t now() {
    return uint64_t(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
  }
  uint64_t begin = now(), computeBegin = 0, computeEnd = 0;
};
} // namespace

WEFT_TRITON_EXPORT TRITONSERVER_Error *TRITONBACKEND_Initialize(TRITONBACKEND_Backend *) {
  uint32_t major = 0, minor = 0;
  constexpr uint32_t ours = 1, oldest = 10; // The first whose models complete their configurations as here.
  if (TRITONSERVER_Error *error = TRITONBACKEND_ApiVersion(&major, &minor))
    return error;
  if (major == ours && minor >= oldest)
    return nullptr;
  return Failure{kTritonUnsupported, "expected version 1.10 or newer of the backend API, got " + std::to_string(major) +
                                         "." + std::to_string(minor)}
      .give();
}

WEFT_TRITON_EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelInitialize(TRITONBACKEND_Model *handle) {
  auto model = std::make_unique<Model>();
  if (Failure failure = model->open(handle))
    return failure.give();
  return TRITONBACKEND_ModelSetState(handle, model.release());
}

WEFT_TRITON_EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelFinalize(TRITONBACKEND_Model *handle) {
  void *state = nullptr;
  TRITONSERVER_Error *error = TRITONBACKEND_ModelState(handle, &state);
  delete static_cast<Model *>(state);
  return error;
}

WEFT_TRITON_EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelInstanceInitialize(TRITONBACKEND_ModelInstance *handle) {
  TRITONBACKEND_Model *model = nullptr;
  void *state = nullptr;
  int kind = 0;
  int32_t card = 0;
  for (TRITONSERVER_Error *error :
       {TRITONBACKEND_ModelInstanceModel(handle, &model), TRITONBACKEND_ModelInstanceKind(handle, &kind),
        TRITONBACKEND_ModelInstanceDeviceId(handle, &card)})
    if (error)
      return error;
  if (TRITONSERVER_Error *error = TRITONBACKEND_ModelState(model, &state))
    return error;
  auto instance = std::make_unique<Instance>();
  instance->model = static_cast<const Model *>(state);
  std::string device = kind == kTritonGpuInstance ? "cuda:" + std::to_string(card) : "cpu";
  if (Failure failure = instance->model->makeSession(device, instance->session))
    return failure.give();
  return TRITONBACKEND_ModelInstanceSetState(handle, instance.release());
}

WEFT_TRITON_EXPORT TRITONSERVER_Error *TRITONBACKEND_ModelInstanceFinalize(TRITONBACKEND_ModelInstance *handle) {
  void *state = nullptr;
  TRITONSERVER_Error *error = TRITONBACKEND_ModelInstanceState(handle, &state);
  delete static_cast<Instance *>(state);
  return error;
}

/// Responds to the request, reports how long it took, and gives it back.
static void finish(TRITONBACKEND_ModelInstance *handle, Request &request, const Times &times) {
  if (request.response)
    drop(TRITONBACKEND_ResponseSend(request.response, kTritonFinal, request.failure.give()));
  drop(TRITONBACKEND_ModelInstanceReportStatistics(handle, request.request, !request.failure, times.begin,
                                                   times.computeBegin, times.computeEnd, Times::now()));
  drop(TRITONBACKEND_RequestRelease(request.request, kTritonReleaseAll));
}

/// The error is nullptr: the requests are the backend's from here on, and each has a response.
WEFT_TRITON_EXPORT TRITONSERVER_Error *
TRITONBACKEND_ModelInstanceExecute(TRITONBACKEND_ModelInstance *handle, TRITONBACKEND_Request **given, uint32_t count) {
  void *state = nullptr;
  if (TRITONSERVER_Error *error = TRITONBACKEND_ModelInstanceState(handle, &state))
    return error;
  const Instance &instance = *static_cast<const Instance *>(state);
  std::vector<Request> requests(count);
  for (uint32_t i = 0; i < count; ++i) {
    requests[i].request = given[i];
    drop(TRITONBACKEND_ResponseNew(&requests[i].response, given[i]));
    requests[i].failure = requests[i].read(*instance.model);
  }
  std::vector<bool> isDone(count, false);
  for (uint32_t i = 0; i < count; ++i) {
    if (isDone[i])
      continue;
    std::vector<Request *> batch = {&requests[i]};
    int64_t rows = requests[i].rows;
    for (uint32_t k = i + 1; k < count && !requests[i].failure && instance.model->getMostRows(); ++k)
      if (!isDone[k] && !requests[k].failure && requests[i].isAlike(requests[k])) {
        batch.push_back(&requests[k]);
        rows += requests[k].rows;
        isDone[k] = true;
      }
    Times times;
    times.computeBegin = Times::now();
    if (!requests[i].failure)
      if (Failure failure = Batch(*instance.model, instance.session).run(batch))
        for (Request *request : batch)
          request->failure = failure;
    times.computeEnd = Times::now();
    for (Request *request : batch)
      finish(handle, *request, times);
    drop(TRITONBACKEND_ModelInstanceReportBatchStatistics(handle, uint64_t(rows), times.begin, times.computeBegin,
                                                          times.computeEnd, Times::now()));
  }
  return nullptr;
}
