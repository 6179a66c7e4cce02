// Taps and weights of a resampling along one axis, computed at import in double precision.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX Resize is separable: along each axis, output o is a weighted sum of a few input elements whose indices and
// weights depend only on o and the extents. A table lists them, so that Resize becomes gathers and contractions with
// constants.
#ifndef WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RESAMPLETABLE_H
#define WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RESAMPLETABLE_H

#include <cstdint>
#include <optional>
#include <vector>

namespace weft::onnx {

enum class ResampleMode { Nearest, Linear, Cubic };
enum class CoordinateMode {
  HalfPixel,
  HalfPixelSymmetric,
  PytorchHalfPixel,
  AlignCorners,
  Asymmetric,
  TfCropAndResize
};
enum class NearestMode { RoundPreferFloor, RoundPreferCeil, Floor, Ceil };

/// What is common to all axes of a Resize.
struct ResampleSpec {
  ResampleMode mode = ResampleMode::Nearest;
  CoordinateMode coordinates = CoordinateMode::HalfPixel;
  NearestMode nearest = NearestMode::RoundPreferFloor;
  double cubicCoefficient = -0.75;
  bool antialias = false;      ///< Widens the filter by 1 / scale where an axis shrinks.
  bool excludeOutside = false; ///< Drops taps outside the axis and scales the others to sum 1.
};

/// One axis. `scale` is output extent over input extent as the model states it; it need not equal `output / input`.
struct ResampleAxis {
  int64_t input = 0;
  int64_t output = 0;
  double scale = 1;
  double roiStart = 0; ///< Normalised crop box; only CoordinateMode::TfCropAndResize reads it.
  double roiEnd = 1;
};

/// Row o (of `taps` entries) of `index` and `weight` gives output o. Indices lie inside the input axis.
struct ResampleTable {
  int64_t taps = 1;
  std::vector<int64_t> index;
  std::vector<double> weight;
  std::vector<bool> outside; ///< Outputs whose source lies outside the axis (TfCropAndResize only; else empty).

  /// Whether each output is exactly one input element.
  bool isSelection() const;
};

/// The table of one axis, or none if it would have more than `maxEntries` entries. `axis.input` and `axis.output` are
/// positive, `axis.scale` is positive and finite.
std::optional<ResampleTable> makeResampleTable(const ResampleSpec &spec, const ResampleAxis &axis, int64_t maxEntries);

} // namespace weft::onnx

#endif // WEFT_LIB_IMPORT_ONNX_OPS_SHARED_RESAMPLETABLE_H
