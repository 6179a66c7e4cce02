// The start of an executable in a wheel, as glibc 2.27 to 2.33 know it: OldGlibc.c is for functions, this for the one
// that calls main.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Since 2.34 glibc runs the constructors of an executable itself, and its crt1.o asks for the __libc_start_main that
// does. An older one calls the function that the executable hands over; a newer one does so, too, for executables that
// ask for the old version.
#include <stddef.h>

typedef void Function(int argc, char **argv, char **environment);

extern Function *const __init_array_start[] __attribute__((visibility("hidden")));
extern Function *const __init_array_end[] __attribute__((visibility("hidden")));
extern void _init(void);

extern int weft_old_start(int (*main)(int, char **, char **), int argc, char **argv, Function *init, void (*fini)(void),
                          void (*loaderFini)(void), void *stackEnd);
__asm__(".symver weft_old_start,__libc_start_main@GLIBC_2.2.5");

static void construct(int argc, char **argv, char **environment) {
  _init();
  for (Function *const *each = __init_array_start; each != __init_array_end; ++each)
    (*each)(argc, argv, environment);
}

__attribute__((visibility("hidden"))) int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
                                                            Function *init, void (*fini)(void),
                                                            void (*loaderFini)(void), void *stackEnd) {
  (void)init, (void)fini; // None since 2.34. Destructors are the loader's.
  return weft_old_start(main, argc, argv, construct, NULL, loaderFini, stackEnd);
}
