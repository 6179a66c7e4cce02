// Requests that run together: their inputs one behind the other along the first dimension, their outputs cut apart.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TRITON_BATCH_H
#define WEFT_TRITON_BATCH_H

#include "Model.h"

namespace weft::triton {

/// A request with its tensors as they came.
struct Request {
  struct Piece {
    const void *data;
    uint64_t bytes;
    int memory;
    int64_t device;
  };
  struct Input {
    std::vector<int64_t> dims;
    std::vector<Piece> pieces;
    uint64_t bytes = 0;
  };

  TRITONBACKEND_Request *request = nullptr;
  TRITONBACKEND_Response *response = nullptr;
  std::vector<Input> inputs; ///< By the model's.
  int64_t rows = 0;
  Failure failure;

  Failure read(const Model &model);
  bool isAlike(const Request &other) const; ///< But for the rows.
};

class Batch {
public:
  Batch(const Model &model, weft_session *session) : model(model), session(session) {}
  /// Runs requests that are alike, and writes their responses. Failures are those of all or of one.
  Failure run(const std::vector<Request *> &requests);

private:
  Failure gather(const std::vector<Request *> &requests, size_t input, weft_tensor &tensor);
  Failure scatter(const std::vector<Request *> &requests, size_t output, const weft_tensor &tensor);

  const Model &model;
  weft_session *session;
  std::vector<std::vector<uint8_t>> buffers;
  std::vector<std::vector<int64_t>> dims;
};

} // namespace weft::triton

#endif // WEFT_TRITON_BATCH_H
