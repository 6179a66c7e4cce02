// erf on f32: one rational, no branches. Epilogues compute it for 128 elements a thread, so its instructions count.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GpuEmitter.h"

using namespace mlir;

namespace weft::lower {

/// x P(x^2) / Q(x^2), fitted to erf on [0, 3.85] for the least relative error (1.5e-8). From there on, where erf is
/// within 6e-8 of 1, P / Q keeps its last value: what grows with x beyond 1 is cut off. 17 instructions.
Value erfSingle(const GpuEmitter &e, Value x) {
  Value square = e.atMost(e.mul(x, x), 3.85 * 3.85);
  Value p = e.polynomial(square, {1.1283791065216064, 0.1878993809223175, 0.05247991904616356, 0.003673998871818185,
                                  0.00028567572007887065, 2.108259650412947e-06});
  Value q = e.polynomial(square, {1.0, 0.49985435605049133, 0.1131296455860138, 0.014785030856728554,
                                  0.0011455162893980742, 3.873175592161715e-05});
  return e.clamp(e.quotient(e.mul(x, p), q), -1.0, 1.0);
}

} // namespace weft::lower
