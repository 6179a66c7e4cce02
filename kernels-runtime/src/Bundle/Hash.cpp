// The bundle's hash.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// XXH3 from the xxHash header, compiled into this file alone so that the runtime depends on no library for it.
#include "weft/Bundle/Hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <new>

using namespace weft::bundle;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bundles are read in place and are little-endian");

static Hash128 convert(XXH128_hash_t hash) { return {hash.low64, hash.high64}; }

Hash128 weft::bundle::hashBytes(const void *data, size_t size) { return convert(XXH3_128bits(data, size)); }

Hasher::Hasher() {
  auto *made = new XXH3_state_t;
  XXH3_128bits_reset(made);
  state = made;
}

Hasher::~Hasher() { delete static_cast<XXH3_state_t *>(state); }

void Hasher::update(const void *data, size_t size) {
  XXH3_128bits_update(static_cast<XXH3_state_t *>(state), data, size);
}

Hash128 Hasher::digest() const { return convert(XXH3_128bits_digest(static_cast<const XXH3_state_t *>(state))); }
