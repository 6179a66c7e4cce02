// The bundle's hash.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// XXH3-128 with seed 0, whole or in pieces. It finds accidents, not forgeries: a bundle that must be trusted needs a
// signature.
#ifndef WEFT_BUNDLE_HASH_H
#define WEFT_BUNDLE_HASH_H

#include "weft/bundle_format.h"

#include <cstddef>

namespace weft::bundle {

Hash128 hashBytes(const void *data, size_t size);

inline bool operator==(const Hash128 &a, const Hash128 &b) { return a.low == b.low && a.high == b.high; }
inline bool operator!=(const Hash128 &a, const Hash128 &b) { return !(a == b); }

/// Hash of data that comes in pieces.
class Hasher {
public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher &) = delete;
  Hasher &operator=(const Hasher &) = delete;
  void update(const void *data, size_t size);
  Hash128 digest() const;

private:
  void *state;
};

} // namespace weft::bundle

#endif // WEFT_BUNDLE_HASH_H
