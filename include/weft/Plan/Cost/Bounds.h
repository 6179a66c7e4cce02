// The fewest bytes that any schedule moves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lower bounds on the traffic between a fast memory of S bytes and the level behind it, for fused groups of statements
// with affine accesses (red-blue pebbles; X-partitions, in the form of SOAP). If a part of the computation that touches
// at most X bytes performs at most V(X) operations, any schedule of N operations moves (X - S) (N / V(X) - 1) bytes,
// for every X > S: it falls into pieces that move X - S bytes each, all but the last. Parts are boxes here, which for
// products of matrices is proved (Loomis and Whitney; 2 m n k / sqrt S - 2 S elements) and for windows is the model.
// Never below the compulsory bytes: each input read and each output written once. Plain C++17.
#ifndef WEFT_PLAN_COST_BOUNDS_H
#define WEFT_PLAN_COST_BOUNDS_H

#include <cstdint>
#include <string>
#include <vector>

namespace weft::plan {

/// A loop of the group.
struct GroupDim {
  std::string name;
  int64_t extent = 1;
};

/// stride[0] * dim[0] + stride[1] * dim[1]: one loop, or a window (position and offset in it).
struct GroupAxis {
  std::vector<int32_t> dims; ///< One or two.
  std::vector<int64_t> strides;
};

struct GroupArray {
  enum class Kind : uint8_t { Input, Output, Intermediate };
  std::string name;
  Kind kind = Kind::Input;
  int64_t elementBytes = 2;
  std::vector<GroupAxis> axes;
};

/// One operation for each point of `dims`, reading `reads`, accumulating into `result`.
struct GroupStatement {
  std::vector<int32_t> dims;
  std::vector<int32_t> reads;
  int32_t result = 0;
};

/// Statements over shared loops. Nothing is computed twice; an intermediate is written by one statement.
struct AffineGroup {
  std::vector<GroupDim> dims;
  std::vector<GroupArray> arrays;
  std::vector<GroupStatement> statements;
};

/// False, with `error`, for a malformed group: no statement, more than 10 dims or 6 intermediates, extents below 1 or
/// above 2^31, numbers out of range, an array without a user.
bool checkGroup(const AffineGroup &group, std::string &error);

struct TrafficBound {
  double bytes = 0;         ///< The larger of the two below.
  double partition = 0;     ///< By the argument above.
  double compulsory = 0;    ///< Inputs and outputs once.
  double partBytes = 0;     ///< X.
  std::vector<double> tile; ///< Of the loops, of the part that attains V(X).
};

/// The bound for a fast memory of `fastBytes`. Fails (false, `error`) for a malformed group.
bool computeTrafficBound(const AffineGroup &group, double fastBytes, TrafficBound &bound, std::string &error);

/// C[m,n] += A[m,k] B[k,n], `batch` times.
AffineGroup makeGemmGroup(int64_t m, int64_t n, int64_t k, int64_t elementBytes = 2, int64_t batch = 1);
/// C[m,l] += A[m,k] B[k,l]; E[m,n] += C[m,l] D[l,n]; C stays inside. `batch` times: attention with k = n = head size.
AffineGroup makeChainGroup(int64_t m, int64_t k, int64_t l, int64_t n, int64_t elementBytes = 2, int64_t batch = 1);
/// Attention as a chain for each head, or for each whole group of `group` heads that share keys and values: their rows
/// are those of one product. A causal half has half of the keys at most: a bound must not be too high.
AffineGroup makeAttentionGroup(int64_t heads, int64_t group, int64_t queries, int64_t keys, int64_t headDim,
                               bool isCausal, int64_t elementBytes = 2);

/// The chain's closed forms, in bytes, for `fastElements` elements S: each product at its own bound, the intermediate
/// written and read; fused tile by tile, 2 m l (k + n) / sqrt S; fused with the row block resident, m k + m n +
/// m l (k + n)^2 / S; and the better of the two, at least the compulsory bytes. Resident rows win where
/// k + n < 2 sqrt S.
struct ChainTraffic {
  double unfused = 0, tileWise = 0, rowResident = 0, fused = 0;
};
ChainTraffic computeChainTraffic(int64_t m, int64_t k, int64_t l, int64_t n, double fastElements, int64_t elementBytes);

} // namespace weft::plan

#endif // WEFT_PLAN_COST_BOUNDS_H
