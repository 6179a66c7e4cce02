/* Kernels of the tests, in C by the kernel ABI (docs/architecture.md), built into a shared object of their own that the
 * tests put into bundles the way the compiler would.
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#define KERNEL(n)                                                                                                      \
  __attribute__((visibility("default"))) void k##n(void *const *buffers, const int64_t *scalars, int64_t begin,        \
                                                   int64_t end, void *scratch)

enum { tile = 64 };

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* k0: y = a + b. scalars: elements. One grid point: 64 elements. */
KERNEL(0) {
  (void)scratch;
  const float *a = buffers[0], *b = buffers[1];
  float *y = buffers[2];
  for (int64_t i = begin * tile; i < least(end * tile, scalars[0]); ++i)
    y[i] = a[i] + b[i];
}

/* k1: y[row] = exp(sum of x[row]) through the scratch memory. scalars: rows, columns. One grid point: one row. */
KERNEL(1) {
  const float *x = buffers[0];
  float *y = buffers[1], *row = scratch;
  (void)scalars[0];
  for (int64_t i = begin; i < end; ++i) {
    memcpy(row, x + i * scalars[1], (size_t)scalars[1] * sizeof(float));
    float sum = 0;
    for (int64_t j = 0; j < scalars[1]; ++j)
      sum += row[j];
    y[i] = expf(sum);
  }
}

/* k2: count = number of x > 0. scalars: elements. One grid point. */
KERNEL(2) {
  (void)begin, (void)end, (void)scratch;
  const float *x = buffers[0];
  int64_t *count = buffers[1];
  *count = 0;
  for (int64_t i = 0; i < scalars[0]; ++i)
    *count += x[i] > 0;
}

/* k3: y = the positions of x > 0. scalars: elements, positions. One grid point. */
KERNEL(3) {
  (void)begin, (void)end, (void)scratch;
  const float *x = buffers[0];
  int64_t *y = buffers[1];
  for (int64_t i = 0, n = 0; i < scalars[0] && n < scalars[1]; ++i)
    if (x[i] > 0)
      y[n++] = i;
}

/* k4: adds 1 to y[i]: shows that every grid point runs exactly once. One grid point: one element. */
KERNEL(4) {
  (void)scalars, (void)scratch;
  uint8_t *y = buffers[0];
  for (int64_t i = begin; i < end; ++i)
    ++y[i];
}
