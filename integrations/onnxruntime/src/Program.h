// A compiled group as a node of onnxruntime: a session of the runtime, and the way of tensors in and out.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_ORT_PROGRAM_H
#define WEFT_ORT_PROGRAM_H

#include "Partition.h"
#include "weft/runtime.h"

namespace weft::ort {

class Program {
public:
  Program(Api api) : api(api) {}
  ~Program();
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  /// The fused node has `inputs` and `outputs`, in its order. The error's text; empty: none.
  std::string open(Part part, const std::string &device, int threads, const std::vector<std::string> &inputs,
                   const std::vector<std::string> &outputs);
  /// From any thread; runs go one after the other.
  Status *run(KernelContext *context);

private:
  struct Output {
    size_t place = 0; ///< Among the fused node's.
    std::vector<int64_t> dims;
    bool isComputed = false; ///< Its extents are known when it is.
  };

  Status *fail(int code, const char *text) const { return api.CreateStatus(code, text); }
  Status *fail(weft_error *error) const;
  Status *readInput(KernelContext *context, size_t index, weft_tensor &tensor, std::vector<int64_t> &dims) const;
  Status *makeOutput(KernelContext *context, const Output &output, const int64_t *dims, size_t rank, void *&data) const;

  Api api;
  std::vector<char> bytes;
  weft_bundle *bundle = nullptr;
  weft_session *session = nullptr;
  std::vector<size_t> inputs; ///< By the session's: their positions among the fused node's.
  std::vector<Output> outputs;
  /// By symbol: the input and dimension that binds it; inputs.size(): none does.
  std::vector<std::pair<size_t, size_t>> symbols;
};

} // namespace weft::ort

#endif // WEFT_ORT_PROGRAM_H
