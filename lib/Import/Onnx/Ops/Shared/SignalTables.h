// Constant tables of signal processing in double precision: Fourier matrices, windows, mel filter banks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_SIGNALTABLES_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_SIGNALTABLES_H

#include <cstdint>
#include <optional>
#include <vector>

namespace weft::onnx {

/// A discrete Fourier transform as a matrix over (sample, part of the sample) x (frequency, part of the result); part 0
/// is real, 1 imaginary.
struct FourierMatrix {
  int64_t inputs = 1;     ///< Samples that take part.
  int64_t inputParts = 1; ///< 1: real samples.
  int64_t outputs = 1;
  int64_t outputParts = 2; ///< 1: real results.
  std::vector<double> values;
};

/// Forward: y[k] = sum x[j] e^(-2 pi i j k / length), the first length / 2 + 1 of them if `onesided`.
FourierMatrix forwardFourier(int64_t length, int64_t inputs, int64_t inputParts, bool onesided);
/// Inverse: y[j] = 1 / length * sum x[k] e^(2 pi i j k / length). With `onesided`, `inputs` frequencies from 0 on stand
/// for the whole conjugate-symmetric spectrum and the result is real.
FourierMatrix inverseFourier(int64_t length, int64_t inputs, int64_t inputParts, bool onesided);

enum class WindowKind { Hann, Hamming, Blackman };
/// Window of `size` (at least 1) elements; `periodic` ones have their last zero one element later.
std::vector<double> makeWindow(WindowKind kind, int64_t size, bool periodic);

struct MelSpec {
  int64_t bins = 0, fourierLength = 0, sampleRate = 0;
  double lowHertz = 0, highHertz = 0;
};
/// Triangular filters, (fourierLength / 2 + 1) x bins; none if a filter's edge lies outside the spectrum.
std::optional<std::vector<double>> makeMelWeights(const MelSpec &spec);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_SIGNALTABLES_H
