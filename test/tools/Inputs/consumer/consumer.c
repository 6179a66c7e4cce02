/* Opens a bundle and names its entries, through the installed header and library, in C.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 */
#include <stdio.h>
#include <weft/runtime.h>

int main(int argc, char **argv) {
  weft_bundle *bundle = NULL;
  weft_error *error = argc < 2 ? NULL : weft_bundle_open(argv[1], NULL, &bundle);
  if (!bundle) {
    fprintf(stderr, "%s\n", error ? weft_error_message(error) : "usage: consumer BUNDLE");
    weft_error_free(error);
    return 1;
  }
  for (size_t i = 0; i < weft_bundle_entry_count(bundle); ++i)
    printf("entry %s\n", weft_bundle_entry_name(bundle, i));
  weft_bundle_release(bundle);
  return 0;
}
