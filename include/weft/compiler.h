/* C ABI of the Weft compiler.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiles a model to a bundle, which weft/runtime.h runs.
 *
 *   const char *options[] = {"--target=cpu,sm_90a", "--dim=batch=1..64:8"};
 *   weftc_request request = {sizeof request, "m.onnx"};
 *   request.options = options; request.option_count = 2;
 *   weftc_bundle *bundle;
 *   weftc_error *error = weftc_compile(&request, &bundle);
 *   if (error) { fputs(weftc_error_message(error), stderr); weftc_error_free(error); }
 *   else weft_bundle_open_memory(weftc_bundle_data(bundle), weftc_bundle_size(bundle), NULL, &loaded);
 *
 * Rules
 *  - A function that can fail returns NULL, or an error that the caller frees; out-parameters are NULL then. Codes
 *    equal the exit codes of the tools.
 *  - Structs start with their own size, so that they can grow; unset fields are zero, and zero means the default.
 *  - Any number of compilations may go on at the same time, in any threads. The library keeps no state between them and
 *    changes none of the process: no option of LLVM, no signal handler, no environment. It reads the environment for
 *    one thing, where CUDA's ptxas is (--ptxas).
 *  - Callbacks come from the thread that called, `cancelled` from any. They must not call this library for the same
 *    compilation.
 *  - Text from a model is escaped in messages.
 */
#ifndef WEFT_COMPILER_H
#define WEFT_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFTC_EXPORT __attribute__((visibility("default")))
/** Grows when a function or struct changes incompatibly. */
#define WEFTC_ABI_VERSION 1

typedef struct weftc_error weftc_error;
typedef struct weftc_bundle weftc_bundle;
typedef struct weftc_capability weftc_capability;

/** "weft X.Y.Z (LLVM A.B.C)". */
WEFTC_EXPORT const char *weftc_version(void);
WEFTC_EXPORT uint32_t weftc_abi_version(void);
/** The options, as `weft compile --help` prints them. */
WEFTC_EXPORT const char *weftc_options_help(void);

/*===- Errors --------------------------------------------------------------------------------------------------===*/

enum {
  WEFTC_ERROR_USAGE = 2,       /* an option, or a request, that cannot be */
  WEFTC_ERROR_UNSUPPORTED = 3, /* a model with what the compiler does not know */
  WEFTC_ERROR_INPUT = 5,       /* broken file */
  WEFTC_ERROR_RESOURCE = 6,    /* over a limit */
  WEFTC_ERROR_CANCELLED = 7,   /* `cancelled` said so */
  WEFTC_ERROR_INTERNAL = 70
};
WEFTC_EXPORT int weftc_error_code(const weftc_error *error);
/** The first problem, and how many more there are; `message` of the request gets each. */
WEFTC_EXPORT const char *weftc_error_message(const weftc_error *error);
WEFTC_EXPORT void weftc_error_free(weftc_error *error);

/*===- Requests ------------------------------------------------------------------------------------------------===*/

enum { WEFTC_PROBLEM = 0, WEFTC_WARNING = 1, WEFTC_REMARK = 2, WEFTC_SUMMARY = 3 };

/** What the compiler has to say; strings live as long as the call. */
typedef struct weftc_message {
  size_t struct_size;
  int32_t kind;       /* WEFTC_PROBLEM, ... */
  int32_t code;       /* of a problem: WEFTC_ERROR_* */
  const char *text;   /* the whole, for people */
  const char *node;   /* of a problem: the ONNX node's name, or its first output's; "": the model as a whole */
  const char *op;     /* "Softmax-13", "com.microsoft::Attention-1", or "" */
  const char *cause;  /* without node and remedy */
  const char *remedy; /* or "" */
} weftc_message;

/** External data of the model that lie in memory. */
typedef struct weftc_buffer {
  const char *location; /* as the model's tensors name it; offsets are from `data` */
  const void *data;
  uint64_t size;
} weftc_buffer;

/** Pointers must stay valid until the call returns; data of weights are read where they are. */
typedef struct weftc_request {
  size_t struct_size;
  const char *model;      /* path of a model; of one in memory a name for messages, and NULL: "model" */
  const void *model_data; /* an ONNX model in memory, or NULL */
  size_t model_size;
  const weftc_buffer *buffers; /* locations that are not listed are files beside the model */
  size_t buffer_count;
  const char *const *options; /* as of `weft compile`: "--target=H100", "--fp=fast", ... */
  size_t option_count;
  const char *output; /* path of the bundle; NULL: it stays in memory */
  const char *cache;  /* folder of bundles that were made before; NULL: none. It must be the user's alone; it is made if
                         it does not exist. Processes may share it. */
  uint64_t cache_limit; /* bytes; the bundles that were not used for longest go. Default: 4 GiB */
  void *user;           /* of the callbacks, each of which may be NULL */
  void (*message)(void *user, const weftc_message *message);
  void (*progress)(void *user, const char *activity); /* begins: "import", "lower sm_90a", ... */
  int32_t (*cancelled)(void *user); /* not 0: give up, with WEFTC_ERROR_CANCELLED; asked some times a second */
} weftc_request;

/*===- Compiling -----------------------------------------------------------------------------------------------===*/

WEFTC_EXPORT weftc_error *weftc_compile(const weftc_request *request, weftc_bundle **bundle);
/** NULL if the request names an output. */
WEFTC_EXPORT const void *weftc_bundle_data(const weftc_bundle *bundle);
WEFTC_EXPORT uint64_t weftc_bundle_size(const weftc_bundle *bundle);
/** 1: it came from the cache. */
WEFTC_EXPORT int32_t weftc_bundle_was_cached(const weftc_bundle *bundle);
WEFTC_EXPORT void weftc_bundle_free(weftc_bundle *bundle);

/*===- Capability ----------------------------------------------------------------------------------------------===*/

/** What the compiler makes of one node of the model. Nodes that it folds, or that cost nothing, are not listed. */
typedef struct weftc_node {
  const char *name;   /* the node's, or its first output's */
  const char *op;     /* of a node that is not supported */
  const char *reason; /* why it is not supported; NULL: it is */
  double operations;  /* a multiply-add is two */
  double bytes;       /* of memory, if the node is a kernel of its own */
} weftc_node;

/** What a model is worth as one program, beside its nodes one by one. Symbols count as their likely values. */
typedef struct weftc_estimate {
  size_t struct_size; /* set by the caller */
  double operations;
  double unfused_bytes; /* of memory, each node's alone */
  double fused_bytes;   /* as it is compiled */
  uint64_t unfused_kernels, fused_kernels;
} weftc_estimate;

/** Which nodes the compiler can take. `output` and `cache` are not used, and weights may be missing. Succeeds where
 * nodes are not supported; an error is what keeps it from looking. Nodes behind one that is not supported are not
 * looked at: ask again without it. */
WEFTC_EXPORT weftc_error *weftc_inspect(const weftc_request *request, weftc_capability **capability);
WEFTC_EXPORT size_t weftc_capability_node_count(const weftc_capability *capability);
/** 0, or -1 if `index` is too large. */
WEFTC_EXPORT int weftc_capability_node(const weftc_capability *capability, size_t index, weftc_node *node);
/** 0, or -1: there is none, since nodes are not supported. */
WEFTC_EXPORT int weftc_capability_estimate(const weftc_capability *capability, weftc_estimate *estimate);
WEFTC_EXPORT void weftc_capability_free(weftc_capability *capability);

#ifdef __cplusplus
}
#endif
#endif /* WEFT_COMPILER_H */
