/* Tokens from a decoder that was compiled with its caches in place, through the C ABI: greedy or top-p.
 *
 *   weft compile decoder.onnx -o decoder.weft --alias=caches
 *   cc -O2 generate.c -o generate -lweft_runtime -lm
 *   ./generate decoder.weft 512 50 0.9 12 7 99      (capacity, tokens to make, top-p or 0, the prompt's tokens)
 *
 * On the CPU, for one sequence, with f32 logits. A cache is one buffer, an input and an output of every run.
 *
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <weft/runtime.h>

enum { MAX_PORTS = 1024, ALIGNMENT = 64 };

typedef struct {
  weft_session *session;
  size_t inputs, outputs, logits; /* `logits`: the output that is no cache */
  weft_tensor in[MAX_PORTS], out[MAX_PORTS];
  int64_t dims[MAX_PORTS][8];
  char is_cache[MAX_PORTS]; /* by input */
  int64_t capacity, length; /* places of the caches, and how many are in use */
} decoder;

static void fail(const char *what) {
  fprintf(stderr, "generate: %s\n", what);
  exit(1);
}

static void check(weft_error *error) {
  if (error)
    fail(weft_error_message(error));
}

static void *allocate(size_t bytes) {
  size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  void *memory = aligned_alloc(ALIGNMENT, whole ? whole : ALIGNMENT);
  if (!memory)
    fail("out of memory");
  return memset(memory, 0, whole);
}

static void set_tensor(weft_tensor *tensor, int32_t dtype, int32_t rank, const int64_t *dims, void *data) {
  uint64_t elements = 1;
  for (int32_t d = 0; d < rank; ++d)
    elements *= (uint64_t)dims[d];
  *tensor = (weft_tensor){
      .dtype = dtype, .rank = rank, .dims = dims, .data = data, .bytes = elements * weft_dtype_bits(dtype) / 8};
}

/* A cache for input `index`: batch 1, and the capacity wherever an extent is open. */
static void make_cache(decoder *d, size_t index, const weft_port *port) {
  uint64_t bytes = weft_dtype_bits(port->dtype) / 8;
  for (int32_t i = 0; i < port->rank; ++i) {
    d->dims[index][i] = port->dims[i] >= 0 ? port->dims[i] : i == 0 ? 1 : d->capacity;
    bytes *= (uint64_t)d->dims[index][i];
  }
  if (port->rank > 2 && d->dims[index][2] < d->capacity)
    d->capacity = d->dims[index][2];
  set_tensor(&d->in[index], port->dtype, port->rank, d->dims[index], allocate(bytes));
}

static void open_decoder(decoder *d, const char *path, int64_t capacity) {
  weft_bundle *bundle = NULL;
  check(weft_bundle_open(path, NULL, &bundle));
  check(weft_session_create(bundle, "cpu", NULL, &d->session));
  weft_bundle_release(bundle);
  d->inputs = weft_session_input_count(d->session);
  d->outputs = weft_session_output_count(d->session);
  d->capacity = capacity;
  d->logits = d->outputs;
  if (d->inputs > MAX_PORTS || d->outputs > MAX_PORTS)
    fail("too many inputs or outputs");
  for (size_t o = 0; o < d->outputs; ++o) {
    weft_port port;
    int cache = weft_session_alias(d->session, o);
    if (cache < 0) {
      d->logits = d->logits == d->outputs ? o : d->logits;
      continue;
    }
    weft_session_input(d->session, (size_t)cache, &port);
    if (port.rank > 8)
      fail("a cache of more than 8 dimensions");
    make_cache(d, (size_t)cache, &port);
    d->is_cache[cache] = 1;
    d->out[o] = d->in[cache]; /* The same memory. */
  }
  if (d->logits == d->outputs)
    fail("expected an output beside the caches");
}

/* What the other inputs are for `count` tokens behind those so far; by their names. */
static void feed(decoder *d, const int64_t *tokens, int64_t count) {
  for (size_t i = 0; i < d->inputs; ++i) {
    weft_port port;
    weft_session_input(d->session, i, &port);
    if (d->is_cache[i])
      continue;
    int is_mask = strcmp(port.name, "attention_mask") == 0, is_line = strcmp(port.name, "cache_position") == 0;
    int is_places = is_line || strcmp(port.name, "position_ids") == 0;
    if ((!is_mask && !is_places && strcmp(port.name, "input_ids") != 0) || port.dtype != WEFT_I64)
      fail("expected i64 inputs input_ids, attention_mask, position_ids and cache_position beside the caches");
    int64_t extent = is_mask ? d->length + count : count, *values;
    free(d->in[i].data);
    values = allocate((size_t)extent * sizeof *values);
    for (int64_t j = 0; j < extent; ++j)
      values[j] = is_mask ? 1 : is_places ? d->length + j : tokens[j];
    d->dims[i][0] = is_line ? extent : 1;
    d->dims[i][1] = extent;
    set_tensor(&d->in[i], WEFT_I64, is_line ? 1 : 2, d->dims[i], values);
  }
}

/* Logits of the last token; valid until the next step. */
static const float *step(decoder *d, const int64_t *tokens, int64_t count, int64_t *vocabulary) {
  weft_tensor *logits = &d->out[d->logits];
  if (d->length + count > d->capacity)
    fail("the caches are full; give a larger capacity");
  feed(d, tokens, count);
  *logits = (weft_tensor){.memory = WEFT_MEMORY_HOST};
  check(weft_session_run(d->session, d->in, d->inputs, d->out, d->outputs));
  if (logits->dtype != WEFT_F32 || logits->rank != 3)
    fail("expected f32 logits of rank 3");
  d->length += count;
  *vocabulary = logits->dims[2];
  return (const float *)logits->data + (logits->dims[1] - 1) * *vocabulary;
}

static const float *scores; /* For `compare`. */

static int compare(const void *a, const void *b) {
  float x = scores[*(const int64_t *)a], y = scores[*(const int64_t *)b];
  return x < y ? 1 : x > y ? -1 : 0;
}

static int64_t sample(const float *logits, int64_t count, double top_p) {
  int64_t best = 0, *order = allocate((size_t)count * sizeof *order);
  for (int64_t i = 0; i < count; ++i)
    order[i] = i;
  scores = logits;
  qsort(order, (size_t)count, sizeof *order, compare);
  best = order[0];
  if (top_p > 0) {
    double sum = 0, kept = 0, threshold;
    int64_t chosen = 0;
    for (int64_t i = 0; i < count; ++i)
      sum += exp(logits[order[i]] - logits[best]);
    while (chosen < count && kept < top_p * sum)
      kept += exp(logits[order[chosen++]] - logits[best]);
    threshold = kept * ((double)rand() / ((double)RAND_MAX + 1));
    for (int64_t i = 0; i < chosen; ++i) {
      best = order[i];
      threshold -= exp(logits[order[i]] - logits[order[0]]);
      if (threshold < 0)
        break;
    }
  }
  free(order);
  return best;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  static decoder d;
  int64_t prompt[4096], count = argc - 5, wanted, vocabulary, token;
  double top_p, begin, first = 0;
  if (count < 1 || count > 4096)
    fail("expected: generate BUNDLE CAPACITY TOKENS TOP_P PROMPT...");
  wanted = strtoll(argv[3], NULL, 10);
  top_p = strtod(argv[4], NULL);
  for (int64_t i = 0; i < count; ++i)
    prompt[i] = strtoll(argv[5 + i], NULL, 10);
  open_decoder(&d, argv[1], strtoll(argv[2], NULL, 10));
  begin = seconds();
  for (int64_t made = 0; made < wanted; ++made) {
    const float *logits = step(&d, made ? &token : prompt, made ? 1 : count, &vocabulary);
    token = sample(logits, vocabulary, top_p);
    if (made == 0)
      first = seconds();
    printf("%lld ", (long long)token);
    fflush(stdout);
  }
  printf("\nprefill: %lld tokens in %.2f ms", (long long)count, (first - begin) * 1e3);
  if (wanted > 1)
    printf("; decode: %.1f tokens/s", (double)(wanted - 1) / (seconds() - first));
  printf("\n");
  for (size_t i = 0; i < d.inputs; ++i)
    free(d.in[i].data);
  weft_session_release(d.session);
  return 0;
}
