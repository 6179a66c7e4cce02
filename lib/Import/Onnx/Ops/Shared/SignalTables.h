// Tables of signal processing in double precision, as formulas on tensors: Fourier matrices, windows, mel filter banks.
// Extents may be symbols.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_SIGNALTABLES_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_SIGNALTABLES_H

#include "Expr.h"

namespace weft::onnx {

/// A discrete Fourier transform of `length` elements as a matrix. Forward: y[k] = sum x[j] e^(-2 pi i j k / length).
/// Inverse: the conjugate, divided by the length; from one side of the spectrum if `onesided`, with real results.
struct FourierMatrix {
  mlir::AffineExpr length;
  mlir::AffineExpr samples; ///< Rows; zeros for samples that take no part.
  mlir::AffineExpr outputs;
  int64_t inputParts = 1; ///< 1: real samples.
  bool inverse = false, onesided = false;

  /// The number of samples that take part.
  mlir::AffineExpr used() const { return inverse && onesided ? tg::simplify(length.floorDiv(2) + 1) : length; }
};

/// f64 of samples x parts of them x outputs x parts of them; part 0 is real, 1 imaginary.
Expr makeFourier(NodeContext &c, const FourierMatrix &matrix);

enum class WindowKind { Hann, Hamming, Blackman };
/// f64 of `size` elements.
Expr makeWindow(NodeContext &c, WindowKind kind, mlir::AffineExpr size, bool periodic);

struct MelSpec {
  mlir::AffineExpr bins, spectrum, fourierLength, sampleRate;
  mlir::Value lowHertz, highHertz; ///< f64 of rank 0.
};
/// The frequencies, as positions in the spectrum, between which the triangles rise and fall: f64 of bins + 2 elements.
Expr melEdges(NodeContext &c, const MelSpec &spec);
/// f64 of spectrum x bins, from the edges as i64.
Expr makeMelWeights(NodeContext &c, const MelSpec &spec, Expr edges);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_SIGNALTABLES_H
