/* C ABI of the Weft runtime.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Opens a bundle made by weft-compile and runs it.
 *
 *   weft_bundle *bundle; weft_session *session;
 *   weft_error *error = weft_bundle_open("m.weft", NULL, &bundle);
 *   if (!error) error = weft_session_create(bundle, "cpu", NULL, &session);
 *   int64_t dims[] = {2, 3};
 *   weft_tensor input = {WEFT_F32, 2, dims, data, sizeof data}, output = {0};
 *   if (!error) error = weft_session_run(session, &input, 1, &output, 1);   // output.data: the session's memory
 *   if (error) { fputs(weft_error_message(error), stderr); weft_error_free(error); }
 *
 * Rules
 *  - Every function that can fail returns NULL, or an error that the caller frees. On failure out-parameters are set to
 * NULL or left alone. Error codes equal the exit codes of the tools.
 *  - Handles are opaque. A bundle is read-only after it is opened: any number of threads and sessions may share it, and
 * it lives until it and all its sessions are released. Different sessions run concurrently; runs of one session are
 * serialised.
 *  - Strings that are returned belong to the handle they came from and live as long as it. They are UTF-8 from a file:
 * escape them before you print them.
 *  - Options start with their own size (`sizeof`), so that they can grow; unset fields are zero, and zero means the
 * default. A library that is older than its caller refuses fields that it does not know, unless they are zero.
 *  - A bundle holds native code: opening and querying one is safe for any bytes, *running* one is as safe as its
 * author.
 */
#ifndef WEFT_RUNTIME_H
#define WEFT_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_EXPORT __attribute__((visibility("default")))
/** Grows when a function or struct changes incompatibly. */
#define WEFT_ABI_VERSION 2

typedef struct weft_error weft_error;
typedef struct weft_bundle weft_bundle;
typedef struct weft_session weft_session;

/*===- Versions -------------------------------------------------------------------------------------------------===*/

/** "weft X.Y.Z". */
WEFT_EXPORT const char *weft_version(void);
WEFT_EXPORT uint32_t weft_abi_version(void);
/** The newest bundle format that this library reads: `major` exactly, every minor up to `minor`. */
WEFT_EXPORT void weft_format_version(uint32_t *major, uint32_t *minor);

/*===- Errors ---------------------------------------------------------------------------------------------------===*/

enum {
  WEFT_ERROR_USAGE = 2,       /* wrong name, count, or argument */
  WEFT_ERROR_UNSUPPORTED = 3, /* understood, but not implemented */
  WEFT_ERROR_DEVICE = 4,      /* device, or code for it, not available */
  WEFT_ERROR_INPUT = 5,       /* broken file, or tensor that does not fit the model */
  WEFT_ERROR_RESOURCE = 6,    /* out of memory or over a limit */
  WEFT_ERROR_INTERNAL = 70
};
WEFT_EXPORT int weft_error_code(const weft_error *error);
/** Lower-case, no final period; names from files in it are escaped. */
WEFT_EXPORT const char *weft_error_message(const weft_error *error);
WEFT_EXPORT void weft_error_free(weft_error *error);

/*===- Element types --------------------------------------------------------------------------------------------===*/

/** Values equal weft::bundle::DType. i4, i2 and unsigned twins are packed, low bits first; i1 is one byte, 0 or 1. */
typedef enum weft_dtype {
  WEFT_F64 = 1,
  WEFT_F32 = 2,
  WEFT_F16 = 3,
  WEFT_BF16 = 4,
  WEFT_F8E4M3FN = 5,
  WEFT_F8E4M3FNUZ = 6,
  WEFT_F8E5M2 = 7,
  WEFT_F8E5M2FNUZ = 8,
  WEFT_F8E8M0FNU = 9,
  WEFT_F4E2M1FN = 10,
  WEFT_I64 = 16,
  WEFT_I32 = 17,
  WEFT_I16 = 18,
  WEFT_I8 = 19,
  WEFT_I4 = 20,
  WEFT_I2 = 21,
  WEFT_UI64 = 32,
  WEFT_UI32 = 33,
  WEFT_UI16 = 34,
  WEFT_UI8 = 35,
  WEFT_UI4 = 36,
  WEFT_UI2 = 37,
  WEFT_I1 = 48
} weft_dtype;
/** "f32", "ui8", ...; NULL for an unknown code. */
WEFT_EXPORT const char *weft_dtype_name(int32_t dtype);
/** Bits of one element in memory; 0 for an unknown code. */
WEFT_EXPORT uint32_t weft_dtype_bits(int32_t dtype);

/*===- Bundles --------------------------------------------------------------------------------------------------===*/

/** An external file of weights that the caller has in memory. `data` must stay as it is until the bundle is gone. In a
 * card's memory it is for sessions on that card: weights that kernels see as they are stored are used where they are,
 * at addresses that are multiples of 64. */
typedef struct weft_weights {
  const char *location; /* the file's path, as the bundle has it */
  const void *data;     /* the whole file */
  uint64_t bytes;
  int32_t memory; /* WEFT_MEMORY_* */
  int32_t card;
} weft_weights;

typedef struct weft_bundle_options {
  size_t struct_size;
  int32_t verify_weights; /* 1: check the hash of every weight (reads all of them); default 0. Code and programs always
                             are. */
  const char
      *weights_folder; /* where external weights lie; default: the bundle's folder (memory: the working folder) */
  const weft_weights *weights; /* looked up before files are */
  size_t weights_count;
} weft_bundle_options;

WEFT_EXPORT weft_error *weft_bundle_open(const char *path, const weft_bundle_options *options, weft_bundle **bundle);
/** `data` must stay as it is until the bundle is gone; it is used in place if it is 64-byte aligned, else copied. */
WEFT_EXPORT weft_error *weft_bundle_open_memory(const void *data, size_t size, const weft_bundle_options *options,
                                                weft_bundle **bundle);
WEFT_EXPORT void weft_bundle_release(weft_bundle *bundle);
/** The program that wrote the bundle, e.g. "weft 0.1.0". */
WEFT_EXPORT const char *weft_bundle_product_version(const weft_bundle *bundle);
/** Value of a metadata key, or NULL. */
WEFT_EXPORT const char *weft_bundle_metadata(const weft_bundle *bundle, const char *key);
/** What the compiler says of the model's kernels (`weft explain` reads it): JSON of `size` bytes without a final NUL,
 * or NULL: the bundle was compiled without. */
WEFT_EXPORT const char *weft_bundle_explanation(const weft_bundle *bundle, size_t *size);
WEFT_EXPORT size_t weft_bundle_entry_count(const weft_bundle *bundle);
WEFT_EXPORT const char *weft_bundle_entry_name(const weft_bundle *bundle, size_t index);

/*===- Ranks ----------------------------------------------------------------------------------------------------===*/

/** The ranks of a program that runs in several processes (docs/multi-gpu.md), as one of them sees it. Who starts the
 * processes (torchrun, mpirun, a manager) tells each its number. */
typedef struct weft_communicator weft_communicator;

typedef struct weft_communicator_options {
  size_t struct_size;
  int32_t rank, ranks;
  const char *address;   /* "HOST:PORT" where rank 0 listens until all have joined, and which all ranks reach */
  const char *transport; /* "nccl": each rank's session is on a card; "host": memory of any device goes through the
                            host and sockets. Default: by the session's device */
  const char *nccl;      /* library of NCCL; default: libnccl.so.2 */
  int64_t timeout_ms;    /* the longest wait for a rank that does nothing, then all end with an error; default: 60000 */
} weft_communicator_options;

/** Returns when all ranks have joined. All ranks then create the same sessions and run them with the same shapes, in
 * the same order. An error of one rank's run, and the end of its process, are errors of all: the communicator is of no
 * use from then on. It may be released before its sessions. */
WEFT_EXPORT weft_error *weft_communicator_create(const weft_communicator_options *options,
                                                 weft_communicator **communicator);
WEFT_EXPORT void weft_communicator_release(weft_communicator *communicator);

/*===- Sessions -------------------------------------------------------------------------------------------------===*/

typedef struct weft_session_options {
  size_t struct_size;
  int32_t threads;         /* CPU workers, the calling thread included; default: the CPUs this process may use */
  int32_t profile;         /* 1: time every dispatch (weft_session_dispatch, weft_session_event), one after the other;
                              default 0 */
  const char *entry;       /* entry function; default: the first. Of a model for several targets (entries "main",
                              "main@sm_90a") the one that fits the device */
  uint64_t memory_limit;   /* bytes of activations, copies of inputs, and outputs; weights do not count. default: the
                              memory of the device */
  const char *cuda_driver; /* library of the CUDA driver; default: libcuda.so.1 */
  const char *cubin_cache; /* folder for GPU code that the driver compiled, "": none; default: weft/cubin in
                              $XDG_CACHE_HOME or ~/.cache. Used only if it is the user's alone (mode 0700) */
  int32_t launch_kernels;  /* 1: always start kernels one by one; default 0: a run on a CUDA card that comes again with
                              the same shapes and addresses is recorded as a CUDA graph, and replayed from then on */
  uint64_t turn_limit;     /* turns of all loops of one run together, after which it ends with WEFT_ERROR_RESOURCE;
                              default: 2^24 */
  const char *nvtx;        /* library of NVIDIA's tools extension ("libnvToolsExt.so.1"): runs and the kernels that they
                              start are ranges in a profiler; default: none */
  weft_communicator *communicator; /* for programs of several ranks */
} weft_session_options;

/** `device`: "cpu"; "cuda" or "cuda:N": a card of the CUDA driver, the first or number N; or
 * "emu:CARD[,option=value...]": the PTX emulator as that card ("sm_80", "sm_86", "sm_89", "sm_90a", "H100",
 * ...) with seed=N, timing=early|random|late, order=random|depth-first|reverse, ctas=numbers|reverse|random (who begins
 * first), sanitizer=on|off (default on: a finding is an error of the run), counters=on|off (default off), limit=N (warp
 * instructions of one launch). */
WEFT_EXPORT weft_error *weft_session_create(weft_bundle *bundle, const char *device,
                                            const weft_session_options *options, weft_session **session);
WEFT_EXPORT void weft_session_release(weft_session *session);

/** An input or output of the session's entry. */
typedef struct weft_port {
  const char *name;
  int32_t dtype; /* weft_dtype */
  int32_t rank;
  const int64_t *dims;          /* -1: depends on symbols or data */
  const char *const *dim_texts; /* for each dimension NULL if static, else its expression, e.g. "batch" or "2*seq" */
} weft_port;
WEFT_EXPORT size_t weft_session_input_count(const weft_session *session);
WEFT_EXPORT size_t weft_session_output_count(const weft_session *session);
/** 0, or -1 if `index` is too large. */
WEFT_EXPORT int weft_session_input(const weft_session *session, size_t index, weft_port *port);
WEFT_EXPORT int weft_session_output(const weft_session *session, size_t index, weft_port *port);

/** The input in whose memory the output may lie: a run that gets the same data for both writes only what is new, one
 * that gets two buffers copies the input first. The number of the input, or -1: none, or `output` is too large. */
WEFT_EXPORT int weft_session_alias(const weft_session *session, size_t output);

typedef struct weft_symbol {
  const char *name;
  int64_t min, max; /* inclusive */
} weft_symbol;
WEFT_EXPORT size_t weft_session_symbol_count(const weft_session *session);
WEFT_EXPORT int weft_session_symbol(const weft_session *session, size_t index, weft_symbol *symbol);

/** The extents of an input (output) when the symbols have these values: `dims` holds `rank` numbers. Extents that
 * depend on the data of a tensor are -1. An error if a symbol is out of its bounds or an assertion of the model fails.
 */
WEFT_EXPORT weft_error *weft_session_input_dims(const weft_session *session, size_t index, const int64_t *symbol_values,
                                                int64_t *dims);
WEFT_EXPORT weft_error *weft_session_output_dims(const weft_session *session, size_t index,
                                                 const int64_t *symbol_values, int64_t *dims);

/** Where the data of a tensor lies. */
enum {
  WEFT_MEMORY_HOST = 0,
  WEFT_MEMORY_CUDA = 1 /* `data` is a device address of card number `card` */
};

/** A dense row-major tensor. */
typedef struct weft_tensor {
  int32_t dtype; /* weft_dtype */
  int32_t rank;
  const int64_t *dims;
  void *data;
  uint64_t bytes; /* input: size of the data; output: capacity in, size out */
  int32_t memory; /* WEFT_MEMORY_* */
  int32_t card;
} weft_tensor;

/**
 * Runs the entry once, and returns when it is done. `inputs` in the order of weft_session_input; all of them. For each
 * output, `data` is either memory of the caller of `bytes` bytes, or NULL: then the session provides it, of the kind
 * that `memory` says, valid until its next run. On success dtype, rank, dims (the session's, valid until its next run)
 * and bytes of every output are set. Memory on the session's own card (`memory`, `card`) is used as it is; on another
 * one, or on a card when the session runs on the host, it is refused. Data that is not 64-byte aligned, or not in
 * memory of the device, is copied (counted in the statistics). An output must not overlap an input, unless
 * both are exactly the same memory and weft_session_alias names the one for the other.
 */
WEFT_EXPORT weft_error *weft_session_run(weft_session *session, const weft_tensor *inputs, size_t input_count,
                                         weft_tensor *outputs, size_t output_count);
/**
 * The same on a stream of the caller (a CUstream of the card's primary context; NULL is the legacy default stream). The
 * work goes to that stream, after all earlier work of this session, and the call returns before it is done: inputs and
 * outputs in the card's memory must stay as they are until then, and an error of a kernel shows up at a later call.
 * Tensors in host memory make it wait for their copies. Runs of one session may come on different streams. A
 * stream that is being captured is refused. Devices other than CUDA cards have no streams: an error.
 */
WEFT_EXPORT weft_error *weft_session_run_on(weft_session *session, void *stream, const weft_tensor *inputs,
                                            size_t input_count, weft_tensor *outputs, size_t output_count);
/** Makes `stream` wait for every run of this session that was started; the host does not wait. */
WEFT_EXPORT weft_error *weft_session_wait(weft_session *session, void *stream);
/** The CUstream that weft_session_run works on; NULL: the device has none. */
WEFT_EXPORT void *weft_session_stream(const weft_session *session);
/** Copies from memory of the session's device to the host, after all runs that were started. */
WEFT_EXPORT weft_error *weft_session_copy_to_host(weft_session *session, void *destination, const void *source,
                                                  uint64_t bytes);

/*===- DLPack ---------------------------------------------------------------------------------------------------===*/

/* `managed` is a DLManagedTensor of dlpack.h, or where `versioned` is 1 a DLManagedTensorVersioned of DLPack 1.x. */

/** A view of a foreign tensor: valid as long as that tensor. It must be dense row-major, of the host, a CUDA card, or
 * memory that both see. Nothing waits: who made the tensor orders its work before the run (in Python: `__dlpack__`). */
WEFT_EXPORT weft_error *weft_tensor_from_dlpack(const void *managed, int32_t versioned, weft_tensor *tensor);
/** Gives the memory of output `index` of the last run, which the session provided, to the caller: it stays as it is
 * until the deleter of the managed tensor is called, and later runs use other memory. It may outlive the session. A
 * deleter may be called from any thread; the memory is used again by a later run, in the order of that run's stream. */
WEFT_EXPORT weft_error *weft_session_take_output(weft_session *session, size_t index, int32_t versioned,
                                                 void **managed);
/** Another managed tensor over the same memory as one that weft_session_take_output or this function made. */
WEFT_EXPORT weft_error *weft_dlpack_share(const void *managed, int32_t versioned, int32_t result_versioned,
                                          void **result);
/** Calls the deleter, if there is one. */
WEFT_EXPORT void weft_dlpack_release(void *managed, int32_t versioned);
/** For Python capsules over managed tensors: a destructor (void (*)(PyObject *)) that releases a tensor which nobody
 * took. It calls no Python code, so it may run while an exception is on its way. The library is not linked to Python:
 * it is given PyCapsule_IsValid and PyCapsule_GetPointer, those of the process. */
WEFT_EXPORT void *weft_dlpack_capsule_destructor(void *is_valid, void *get_pointer);

/*===- What happened --------------------------------------------------------------------------------------------===*/

typedef struct weft_statistics {
  size_t struct_size; /* set by the caller */
  uint64_t runs;
  uint64_t dispatches; /* kernels started, all runs */
  uint64_t last_run_ns;
  uint64_t staged_copies; /* caller's tensors copied because they were not aligned, all runs */
  uint64_t staged_bytes;
  uint64_t arena_bytes;    /* memory for activations at the last shapes */
  uint64_t unshared_bytes; /* the same if no two activations shared memory */
  uint64_t weight_bytes;   /* mapped, embedded and external; the same bytes count once */
  uint64_t plans_made;     /* memory plans made, and */
  uint64_t plans_reused;   /* found in the cache */
  uint32_t threads;
  uint32_t reserved;
  uint64_t graphs_made;    /* runs recorded as CUDA graphs, */
  uint64_t graphs_run;     /* runs that replayed one, */
  uint64_t graphs_refused; /* and failures to record or replay: kernels are started one by one from then on */
} weft_statistics;
WEFT_EXPORT void weft_session_statistics(const weft_session *session, weft_statistics *statistics);

/** One dispatch of the launch program: placement, and with `profile` its time. */
typedef struct weft_dispatch {
  const char *kernel;
  const char *device;         /* where it runs, e.g. "cpu" */
  const char *const *origins; /* names of the ONNX nodes it computes */
  size_t origin_count;
  int64_t last_grid; /* grid points in the last run, -1 before the first */
  uint64_t runs;
  uint64_t total_ns; /* 0 without `profile` */
} weft_dispatch;
WEFT_EXPORT size_t weft_session_dispatch_count(const weft_session *session);
WEFT_EXPORT int weft_session_dispatch(const weft_session *session, size_t index, weft_dispatch *dispatch);
enum {
  WEFT_EVENT_RUN = 0,      /* all of it */
  WEFT_EVENT_SHAPES = 1,   /* extents and the memory plan */
  WEFT_EVENT_DISPATCH = 2, /* a kernel: on a card by its clock, from when it was started */
  WEFT_EVENT_COPY = 3
};
/** What the last run did, and when. */
typedef struct weft_event {
  int32_t kind;      /* WEFT_EVENT_* */
  int32_t dispatch;  /* its number (weft_session_dispatch), or -1 */
  int64_t size;      /* grid points of a kernel, bytes of a copy, else 0 */
  uint64_t begin_ns; /* by a clock of the host that starts anywhere */
  uint64_t duration_ns;
} weft_event;
/** Events of the last run in the order in which they ended; 0 without `profile`. At most 2^20 are kept. */
WEFT_EXPORT size_t weft_session_event_count(const weft_session *session);
WEFT_EXPORT int weft_session_event(const weft_session *session, size_t index, weft_event *event);
/** The counters of the last run as a table, or (`as_json` 1) a JSON array of {"kernel", "counters"}; empty if the
 * device counts nothing. Valid until the next call on this session. */
WEFT_EXPORT const char *weft_session_counters(weft_session *session, int32_t as_json);
/** The code variant in use: target triple and features, e.g. "x86_64-unknown-linux-gnu avx2 fma". */
WEFT_EXPORT const char *weft_session_code(const weft_session *session);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_RUNTIME_H */
