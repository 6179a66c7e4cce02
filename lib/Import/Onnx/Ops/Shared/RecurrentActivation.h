// Activation functions of RNN, GRU and LSTM, by the names and parameters of ONNX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RECURRENTACTIVATION_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RECURRENTACTIVATION_H

#include "Common.h"
#include "Expr.h"

namespace weft::onnx {

enum class ActivationKind {
  Relu,
  Tanh,
  Sigmoid,
  Softsign,
  Softplus,
  Affine,
  LeakyRelu,
  ThresholdedRelu,
  ScaledTanh,
  HardSigmoid,
  Elu
};

struct RecurrentActivation {
  ActivationKind kind = ActivationKind::Tanh;
  double alpha = 0, beta = 0; ///< Where the kind has them.
};

/// `defaults` repeated for each direction, or the attributes activations, activation_alpha and activation_beta: each
/// activation that has a parameter takes the next value of the list; where the list ends, the activation's default
/// stands.
mlir::FailureOr<llvm::SmallVector<RecurrentActivation>>
readRecurrentActivations(NodeContext &c, llvm::ArrayRef<llvm::StringRef> defaults, int64_t directions);

Expr applyActivation(const RecurrentActivation &activation, Expr x);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RECURRENTACTIVATION_H
