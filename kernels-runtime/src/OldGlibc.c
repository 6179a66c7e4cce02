// Symbols of glibc newer than 2.27, said with older ones: libraries in wheels run on machines that are older than the
// one that links them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linker takes the newest version of a symbol that its glibc has. Definitions here are hidden, so that our objects
// and the archives of libstdc++, libgcc and LLVM find them first, and refer to a version that every x86-64 glibc
// from 2.27 has. What libdl and libpthread held before 2.34 is found there by its old version, whichever library a
// newer glibc has it in; so these two are named as needed (weft_old_glibc in CMake). What is not used here goes with
// --gc-sections. make-wheels.py refuses a wheel whose symbols are newer than its floor.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#define WEFT_HIDDEN __attribute__((visibility("hidden")))

// Refers to NAME as VERSION has it, by the name of weft_old_NAME.
#define WEFT_OLD(version, result, name, parameters)                                                                    \
  extern result weft_old_##name parameters;                                                                            \
  __asm__(".symver weft_old_" #name "," #name "@GLIBC_" version)

#define WEFT_SAME(version, result, name, parameters, arguments)                                                        \
  WEFT_OLD(version, result, name, parameters);                                                                         \
  WEFT_HIDDEN result name parameters { return weft_old_##name arguments; }

// 2.29: without the wrappers that set errno the old way.
WEFT_SAME("2.2.5", double, exp, (double x), (x))
WEFT_SAME("2.2.5", double, exp2, (double x), (x))
WEFT_SAME("2.2.5", double, log, (double x), (x))
WEFT_SAME("2.2.5", double, log2, (double x), (x))
WEFT_SAME("2.2.5", double, pow, (double x, double y), (x, y))

// 2.34: libdl and libpthread became part of libc.
WEFT_SAME("2.2.5", void *, dlopen, (const char *file, int mode), (file, mode))
WEFT_SAME("2.2.5", int, dlclose, (void *handle), (handle))
WEFT_SAME("2.2.5", char *, dlerror, (void), ())
// The caller's address tells which libraries are behind RTLD_NEXT: nobody here asks for that.
WEFT_SAME("2.2.5", void *, dlsym, (void *restrict handle, const char *restrict name), (handle, name))
WEFT_SAME("2.2.5", int, dladdr, (const void *address, Dl_info *info), (address, info))
WEFT_SAME("2.2.5", int, pthread_create,
          (pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*start)(void *),
           void *restrict argument),
          (thread, attributes, start, argument))
WEFT_SAME("2.2.5", int, pthread_join, (pthread_t thread, void **result), (thread, result))
WEFT_SAME("2.2.5", int, pthread_detach, (pthread_t thread), (thread))
WEFT_SAME("2.2.5", int, pthread_attr_setstacksize, (pthread_attr_t * attributes, size_t bytes), (attributes, bytes))
WEFT_SAME("2.2.5", int, pthread_once, (pthread_once_t * once, void (*function)(void)), (once, function))
WEFT_SAME("2.2.5", int, pthread_key_create, (pthread_key_t * key, void (*destroy)(void *)), (key, destroy))
WEFT_SAME("2.2.5", int, __pthread_key_create, (pthread_key_t * key, void (*destroy)(void *)), (key, destroy))
WEFT_SAME("2.2.5", int, pthread_key_delete, (pthread_key_t key), (key))
WEFT_SAME("2.2.5", void *, pthread_getspecific, (pthread_key_t key), (key))
WEFT_SAME("2.2.5", int, pthread_setspecific, (pthread_key_t key, const void *value), (key, value))
WEFT_SAME("2.2.5", int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
WEFT_SAME("2.2.5", int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
WEFT_SAME("2.2.5", int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
WEFT_SAME("2.2.5", int, pthread_rwlock_tryrdlock, (pthread_rwlock_t * lock), (lock))
WEFT_SAME("2.2.5", int, pthread_rwlock_trywrlock, (pthread_rwlock_t * lock), (lock))
WEFT_SAME("2.2.5", int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))
WEFT_SAME("2.2.5", int, pthread_sigmask, (int how, const sigset_t *restrict set, sigset_t *restrict old),
          (how, set, old))
WEFT_SAME("2.12", int, pthread_setname_np, (pthread_t thread, const char *name), (thread, name))
WEFT_SAME("2.12", int, pthread_getname_np, (pthread_t thread, char *name, size_t bytes), (thread, name, bytes))
WEFT_SAME("2.3.4", int, pthread_getaffinity_np, (pthread_t thread, size_t bytes, cpu_set_t *set), (thread, bytes, set))

// 2.33: sums of 64 bits; older ones had 32.
WEFT_HIDDEN struct mallinfo2 mallinfo2(void) {
  struct mallinfo old = mallinfo();
  return (struct mallinfo2){.arena = (unsigned)old.arena,
                            .ordblks = (unsigned)old.ordblks,
                            .hblks = (unsigned)old.hblks,
                            .hblkhd = (unsigned)old.hblkhd,
                            .uordblks = (unsigned)old.uordblks,
                            .fordblks = (unsigned)old.fordblks};
}

// 2.33: functions instead of macros over those with the version of the struct in front (1 on x86-64).
WEFT_OLD("2.2.5", int, __xstat, (int version, const char *path, struct stat *status));
WEFT_OLD("2.2.5", int, __lxstat, (int version, const char *path, struct stat *status));
WEFT_OLD("2.2.5", int, __fxstat, (int version, int file, struct stat *status));
WEFT_OLD("2.4", int, __fxstatat, (int version, int folder, const char *path, struct stat *status, int flags));
WEFT_HIDDEN int stat(const char *restrict path, struct stat *restrict status) {
  return weft_old___xstat(1, path, status);
}
WEFT_HIDDEN int lstat(const char *restrict path, struct stat *restrict status) {
  return weft_old___lxstat(1, path, status);
}
WEFT_HIDDEN int fstat(int file, struct stat *status) { return weft_old___fxstat(1, file, status); }
// As libstdc++ has it. The two structs are one here.
WEFT_HIDDEN int fstat64(int file, struct stat64 *status) { return weft_old___fxstat(1, file, (struct stat *)status); }
WEFT_HIDDEN int fstatat(int folder, const char *restrict path, struct stat *restrict status, int flags) {
  return weft_old___fxstatat(1, folder, path, status, flags);
}

// 2.32: true lets libstdc++ count references without atomic instructions. Nobody knows that here.
WEFT_HIDDEN char __libc_single_threaded = 0;

// 2.30: std::condition_variable's waits by the steady clock. The other clock may be set meanwhile; callers look at
// theirs again after a wait.
WEFT_HIDDEN int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                                       clockid_t clock, const struct timespec *restrict until) {
  struct timespec here, real;
  clock_gettime(clock, &here);
  clock_gettime(CLOCK_REALTIME, &real);
  real.tv_sec += until->tv_sec - here.tv_sec;
  real.tv_nsec += until->tv_nsec - here.tv_nsec;
  if (real.tv_nsec < 0 || real.tv_nsec >= 1000000000) {
    int sign = real.tv_nsec < 0 ? -1 : 1;
    real.tv_sec += sign;
    real.tv_nsec -= sign * 1000000000L;
  }
  return pthread_cond_timedwait(condition, mutex, &real);
}

// 2.36: std::random_device.
WEFT_HIDDEN uint32_t arc4random(void) {
  uint32_t value;
  while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value)
    ;
  return value;
}

// 2.35: the unwinder's way to a function's tables. The same by the loader's list, which is as old as the unwinder.
struct weft_search {
  uintptr_t address;
  struct dl_find_object *found;
};

static int weft_visit(struct dl_phdr_info *info, size_t bytes, void *data) {
  struct weft_search *search = data;
  const ElfW(Phdr) *tables = 0;
  int isHere = 0;
  (void)bytes;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_GNU_EH_FRAME)
      tables = header;
    if (header->p_type != PT_LOAD || search->address < begin || search->address >= begin + header->p_memsz)
      continue;
    isHere = 1;
    search->found->dlfo_map_start = (void *)begin;
    search->found->dlfo_map_end = (void *)(begin + header->p_memsz);
  }
  if (!isHere)
    return 0;
  search->found->dlfo_eh_frame = tables ? (void *)(info->dlpi_addr + tables->p_vaddr) : 0;
  return tables ? 1 : -1;
}

WEFT_HIDDEN int _dl_find_object(void *address, struct dl_find_object *found) {
  struct weft_search search = {(uintptr_t)address, found};
  found->dlfo_flags = 0;
  found->dlfo_link_map = 0;
  return dl_iterate_phdr(weft_visit, &search) == 1 ? 0 : -1;
}
