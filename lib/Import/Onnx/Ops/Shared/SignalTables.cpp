// Computes the tables of Signal.cpp. Angles are reduced modulo the period in integers first, so that long transforms
// stay exact.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SignalTables.h"
#include <cmath>

namespace weft::onnx {
namespace {

constexpr double pi = 3.14159265358979323846;

/// 2 pi * (j * k mod length) / length.
double angle(int64_t j, int64_t k, int64_t length) {
  return 2 * pi * static_cast<double>((j * k) % length) / static_cast<double>(length);
}

/// Fills the matrix with weight(j) * e^(sign * i * angle).
template <typename Weight> void fill(FourierMatrix &matrix, int64_t length, double sign, Weight weight) {
  for (int64_t j = 0; j < matrix.inputs; ++j)
    for (int64_t p = 0; p < matrix.inputParts; ++p)
      for (int64_t k = 0; k < matrix.outputs; ++k)
        for (int64_t q = 0; q < matrix.outputParts; ++q) {
          double theta = sign * angle(j, k, length);
          // (re + i im) (cos + i sin): re -> (cos, sin), im -> (-sin, cos).
          double value = p == q ? std::cos(theta) : p == 0 ? std::sin(theta) : -std::sin(theta);
          matrix.values.push_back(weight(j) * value);
        }
}

} // namespace

FourierMatrix forwardFourier(int64_t length, int64_t inputs, int64_t inputParts, bool onesided) {
  FourierMatrix matrix{inputs, inputParts, onesided ? length / 2 + 1 : length, 2, {}};
  fill(matrix, length, -1, [](int64_t) { return 1.0; });
  return matrix;
}

FourierMatrix inverseFourier(int64_t length, int64_t inputs, int64_t inputParts, bool onesided) {
  FourierMatrix matrix{inputs, inputParts, length, onesided ? 1 : 2, {}};
  fill(matrix, length, 1, [&](int64_t j) {
    // A frequency and its conjugate add up to twice the real part; the first and the middle one have no partner.
    bool paired = onesided && j != 0 && 2 * j != length;
    return (paired ? 2.0 : 1.0) / static_cast<double>(length);
  });
  return matrix;
}

std::vector<double> makeWindow(WindowKind kind, int64_t size, bool periodic) {
  std::vector<double> window;
  auto period = static_cast<double>(periodic ? size : size - 1);
  for (int64_t n = 0; n < size; ++n) {
    double phase = period > 0 ? 2 * pi * static_cast<double>(n) / period : pi;
    switch (kind) {
    case WindowKind::Hann:
      window.push_back(0.5 - 0.5 * std::cos(phase));
      break;
    case WindowKind::Hamming:
      window.push_back(25.0 / 46.0 - 21.0 / 46.0 * std::cos(phase));
      break;
    case WindowKind::Blackman:
      window.push_back(0.42 - 0.5 * std::cos(phase) + 0.08 * std::cos(2 * phase));
      break;
    }
  }
  return window;
}

std::optional<std::vector<double>> makeMelWeights(const MelSpec &spec) {
  int64_t spectrum = spec.fourierLength / 2 + 1;
  auto toMel = [](double hertz) { return 2595 * std::log1p(hertz / 700) / std::log(10.0); };
  double low = toMel(spec.lowHertz), step = (toMel(spec.highHertz) - low) / static_cast<double>(spec.bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < spec.bins + 2; ++i) {
    double hertz = 700 * std::expm1((static_cast<double>(i) * step + low) / 2595 * std::log(10.0));
    double place =
        std::floor(static_cast<double>(spec.fourierLength + 1) * hertz / static_cast<double>(spec.sampleRate));
    if (!(place >= 0) || place >= static_cast<double>(spectrum) || (i > 0 && place < static_cast<double>(edges.back())))
      return std::nullopt;
    edges.push_back(static_cast<int64_t>(place));
  }
  std::vector<double> weights(spectrum * spec.bins, 0);
  for (int64_t i = 0; i < spec.bins; ++i) {
    int64_t left = edges[i], center = edges[i + 1], right = edges[i + 2];
    auto at = [&](int64_t j) -> double & { return weights[j * spec.bins + i]; };
    if (left == center)
      at(center) = 1;
    for (int64_t j = left; left < center && j <= center; ++j)
      at(j) = static_cast<double>(j - left) / static_cast<double>(center - left);
    for (int64_t j = center; j < right; ++j)
      at(j) = static_cast<double>(right - j) / static_cast<double>(right - center);
  }
  return weights;
}

} // namespace weft::onnx
