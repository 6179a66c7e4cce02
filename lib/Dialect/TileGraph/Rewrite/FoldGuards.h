// The conditions without which a derived fold would be wrong, by name: tests switch each off (test/rules/run_folds.py)
// and must notice.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_FOLDGUARDS_H
#define WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_FOLDGUARDS_H

#include "mlir/Support/LLVM.h"
#include <bitset>
#include <optional>
#include <string>

namespace weft::tg {

/// In the order of the files that ask: FoldFactors, FoldTerms, Cascade, FoldBuild, FoldOrder.
#define WEFT_FOLD_GUARDS(guard)                                                                                        \
  guard(SameAxis, "same-axis")                     /* an earlier reduction is of the streamed dimension alone */       \
      guard(SameExtent, "same-extent")             /* and of as many places */                                         \
      guard(FloatReduction, "float-reduction")     /* and of floats */                                                 \
      guard(FreeFactor, "free-factor")             /* a shift times what depends on no reduction */                    \
      guard(UniformFactor, "uniform-factor")       /* and does not change along the stream */                          \
      guard(MonotoneOp, "monotone-op")             /* an extreme goes through monotonic functions alone */             \
      guard(IntegerExtreme, "integer-extreme")     /* and not through casts of integers */                             \
      guard(OneChanging, "one-changing")           /* of values of which one changes along the stream */               \
      guard(ChangingDividend, "changing-dividend") /* and is no divisor */                                             \
      guard(KnownSign, "known-sign")               /* products with factors of one sign */                             \
      guard(SameDifference, "same-difference")     /* the binomial formula is of one difference */                     \
      guard(SecondDegree, "second-degree")         /* of its square at most */                                         \
      guard(ExponentSign, "exponent-sign")         /* an exponent's factor is not negative */                          \
      guard(IsMaximum, "is-maximum")               /* what is subtracted from it is no minimum */                      \
      guard(OwnMaximum, "own-maximum")             /* but the maximum of the same values */                            \
      guard(HighGuard, "high-guard")               /* or a constant where those are below it */                        \
      guard(ShiftedExponent, "shifted-exponent")   /* a change of the maximum adds the same to all exponents */        \
      guard(FreeNumerator, "free-numerator")       /* what is divided and rounded depends on no reduction */           \
      guard(GrowingDivisor, "growing-divisor") /* its divisor only grows: errors so far shrink with their repair */    \
      guard(UnclippedQuotient, "unclipped-quotient") /* nothing so far was clipped that is not clipped in the end */   \
      guard(Approximating, "approximating")          /* the licence */                                                 \
      guard(NanOfItself, "nan-of-itself")            /* a guard of masked rows asks for the NaNs of what it guards */  \
      guard(ZeroForNan, "zero-for-nan")              /* and puts 0 there */                                            \
      guard(NanInRows, "nan-in-rows")                /* in the whole row, as in a softmax */                           \
      guard(UniformCondition, "uniform-condition")   /* a condition that reads a reduction is that of a row */         \
      guard(ZeroThen, "zero-then")                   /* and the row is 0 there */                                      \
      guard(FreeExponent, "free-exponent")           /* x of exp(x - max x) depends on no reduction */                 \
      guard(FreeDivisor, "free-divisor")           /* divisors that change along the stream depend on no reduction */  \
      guard(FloatCast, "float-cast")               /* casts of floats are linear, those of integers are not */         \
      guard(Square, "square")                      /* powers are squares */                                            \
      guard(SeparableOp, "separable-op")           /* ops without a rule of their own are not looked through */        \
      guard(OneDimension, "one-dimension")         /* a contraction reduces the stream alone */                        \
      guard(OneAxis, "one-axis")                   /* and so does a reduction */                                       \
      guard(FloatStream, "float-stream")           /* of floats */                                                     \
      guard(MeanCount, "mean-count")               /* a mean divides by the number of places */                        \
      guard(MeanIsSum, "mean-is-sum")              /* a sum */                                                         \
      guard(MeanOfSame, "mean-of-same")            /* of the values that it is subtracted from */                      \
      guard(SumOrExtreme, "sum-or-extreme")        /* reductions are sums or extremes */                               \
      guard(OrderLicence, "order-licence")         /* the licence to change the order of a sum */                      \
      guard(FitsF16, "fits-f16")                   /* what a delayed scale leaves large is not rounded to f16 */       \
      guard(EmptyExtreme, "empty-extreme")         /* extremes of nothing so far count as 0 in differences */          \
      guard(FiniteDifference, "finite-difference") /* and so do other values that are not finite so far */             \
      guard(GrowingMaximum, "growing-maximum")     /* a guarded maximum's repair does not grow */                      \
      guard(ZeroDivisor, "zero-divisor")           /* quotients of zeros so far are 0 */                               \
      guard(SomePlaces, "some-places")             /* the mean of nothing is no 0 / 0 */                               \
      guard(MaskedSum, "masked-sum")               /* masked rows end as the graph says */                             \
      guard(ReadersBehind, "readers-behind")       /* what moves behind the fold feeds nothing in it */                \
      guard(FloatOrder, "float-order")             /* an order of floats */                                            \
      guard(SameShape, "same-shape")               /* is taken from as many values */

enum class FoldGuard {
#define WEFT_FOLD_GUARD(id, name) id,
  WEFT_FOLD_GUARDS(WEFT_FOLD_GUARD)
#undef WEFT_FOLD_GUARD
      Count
};

/// Which guards are on: all, unless a test says otherwise.
class FoldGuards {
public:
  /// Without those named; none, with the message in `error`, if one of them is unknown.
  static std::optional<FoldGuards> without(llvm::ArrayRef<std::string> names, std::string &error);

  /// `condition`, or true where the guard is switched off.
  bool holds(FoldGuard guard, bool condition) const { return condition || disabled.test(size_t(guard)); }

private:
  std::bitset<size_t(FoldGuard::Count)> disabled;
};

} // namespace weft::tg

#endif // WEFT_LIB_DIALECT_TILEGRAPH_REWRITE_FOLDGUARDS_H
