// What --input means.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The grammar of --input and --expected-output, and the tensors it stands for:
//
//   SPEC  = [NAME "="] [SHAPE ["="]] [VALUE]
//   SHAPE = 2x3xf32 | f32 (a scalar) | 2x3 (element type of the model)
//   VALUE = @FILE (.npy, ONNX .pb, or raw bytes if SHAPE is given)
//         | NUMBER ... (one number fills the tensor)
//         | rand:normal[:SEED] | rand:uniform[:SEED[:LOW:HIGH]]      (default when VALUE is missing)
#ifndef WEFT_RUN_INPUTSPEC_H
#define WEFT_RUN_INPUTSPEC_H

#include "Tensor.h"
#include "weft/runtime.h"

#include <optional>

namespace weft::run {

struct Spec {
  std::optional<std::string> name;
  std::optional<std::vector<int64_t>> dims;
  std::optional<DType> dtype;
  std::string value; ///< Empty: random.
};

/// Splits `text`; `names` are the model's, so that a name may hold any character.
Error parseSpec(std::string_view text, const std::vector<std::string> &names, Spec &spec);

/// Parses "2x3xf32"; false if `text` is no shape.
bool parseShape(std::string_view text, std::vector<int64_t> &dims, std::optional<DType> &dtype);

/// The tensor of `spec` for a port of element type `dtype`. `modelDims` are the port's extents, for specs without
/// SHAPE; `seed` is used by random values without one.
Error makeTensor(const Spec &spec, DType dtype, const std::vector<int64_t> &modelDims, uint64_t seed, Tensor &tensor);

/// Reads @FILE as makeTensor does.
Error readTensorFile(const std::string &path, const Spec &spec, DType dtype, Tensor &tensor);

/// Fills `tensor` by the generator `kind` ("normal", "uniform"). Floats: N(0, 1), or U[low, high) (0, 1 by default);
/// integers: uniform in [low, high] (default 0 and 1, which is safe for masks and indices). The numbers depend on the
/// arguments alone.
void fillRandom(Tensor &tensor, std::string_view kind, uint64_t seed, std::optional<std::pair<double, double>> range);

} // namespace weft::run

#endif // WEFT_RUN_INPUTSPEC_H
