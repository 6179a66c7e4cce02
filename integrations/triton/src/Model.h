// A model of the server: a bundle, its ports, and what its configuration says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TRITON_MODEL_H
#define WEFT_TRITON_MODEL_H

#include "Triton.h"
#include "weft/runtime.h"

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace weft::triton {

using Json = nlohmann::ordered_json;

/// A failure on its way to the server.
struct Failure {
  int code = 0;
  std::string text;
  explicit operator bool() const { return code; }
  TRITONSERVER_Error *give() const { return code ? TRITONSERVER_ErrorNew(code, ("weft: " + text).c_str()) : nullptr; }
};
Failure take(weft_error *error);

struct Port {
  std::string name;
  int32_t dtype = 0;
  std::vector<int64_t> dims;      ///< -1: symbolic.
  std::vector<std::string> texts; ///< "" where static.
};

class Model {
public:
  Model() = default;
  Model(const Model &) = delete;
  Model &operator=(const Model &) = delete;
  ~Model();

  /// Opens VERSION/model.weft of the model's folder, and reads or completes its configuration.
  Failure open(TRITONBACKEND_Model *model);
  /// Of an instance; `device` is what the server gives it.
  Failure makeSession(const std::string &device, weft_session *&session) const;

  const std::vector<Port> &getInputs() const { return inputs; }
  const std::vector<Port> &getOutputs() const { return outputs; }
  /// 0: requests are whole tensors; else these have a first dimension along which requests can be joined.
  int64_t getMostRows() const { return mostRows; }

private:
  Failure describe();
  Failure check(const Json &config, const char *key, const std::vector<Port> &ports) const;
  void complete(Json &config, int64_t defaultRows);
  std::string findBatchSymbol() const;
  std::string getParameter(const std::string &key) const;

  weft_bundle *bundle = nullptr;
  std::vector<Port> inputs, outputs;
  int64_t mostRows = 0, mostBatch = 0;
  std::map<std::string, std::string> parameters;
};

/// "TYPE_FP32", or empty; the server's number.
std::string getTypeName(int32_t dtype);
int getTypeNumber(int32_t dtype);

} // namespace weft::triton

#endif // WEFT_TRITON_MODEL_H
