// Times of a decoder's prompt and tokens.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A prompt in one run, then token after token, on caches that are written in place (weft_session_alias).
#ifndef WEFT_BENCH_GENERATE_H
#define WEFT_BENCH_GENERATE_H

#include "Bench.h"

namespace weft::bench {

/// What --generate=prompt:N,tokens:M asks for.
struct Generation {
  int64_t prompt = 0, tokens = 0;
};

Error parseGeneration(const std::string &text, Generation &generation);

/// Runs the program and prints its times, as text or as one JSON object (schema weft.generate/1).
Error runGeneration(const run::Options &program, const Generation &generation, bool asJson);

} // namespace weft::bench

#endif // WEFT_BENCH_GENERATE_H
