// --cache: a bundle that was made before is copied, byte by byte; whatever decides its bytes makes another one. Damaged entries are made again,
// and the folder keeps its bound.
// RUN: rm -rf %t.cache %t.open && mkdir -p %t.open && chmod 777 %t.open
// RUN: weft-compile %s --cache=%t.cache -o %t.1.weft 2>&1 | FileCheck %s --check-prefix=MADE
// RUN: weft-compile %s --cache=%t.cache -o %t.2.weft 2>&1 | FileCheck %s --check-prefix=CACHED
// RUN: env WEFT_CACHE=%t.cache weft-compile %s --threads=1 -o %t.2.weft 2>&1 | FileCheck %s --check-prefix=CACHED
// RUN: cmp %t.1.weft %t.2.weft
// RUN: weft-compile %s --cache=%t.cache --fp=fast -o %t.3.weft 2>&1 | FileCheck %s --check-prefix=MADE
// RUN: weft-compile %s --cache=%t.cache --cpu=x86-64-v2 -o %t.3.weft 2>&1 | FileCheck %s --check-prefix=MADE
// RUN: weft-compile %s --cache=%t.cache --dim=n=1..64 -o %t.3.weft 2>&1 | FileCheck %s --check-prefix=MADE
// RUN: sed 's/tg.exp/tg.neg/' %s > %t.other.mlir
// RUN: weft-compile %t.other.mlir --cache=%t.cache -o %t.3.weft 2>&1 | FileCheck %s --check-prefix=MADE
// RUN: ls %t.cache | count 5
// RUN: env WEFT_CACHE=%t.cache weft-compile %s --cache=off -o %t.3.weft 2>&1 | FileCheck %s --check-prefix=MADE
// RUN: %python -c "import pathlib, sys; [p.write_bytes(p.read_bytes()[:-1]) for p in pathlib.Path(sys.argv[1]).iterdir()]" %t.cache
// RUN: weft-compile %s --cache=%t.cache -o %t.2.weft 2>&1 | FileCheck %s --check-prefix=MADE
// RUN: cmp %t.1.weft %t.2.weft
// RUN: weft-compile %s --cache=%t.cache --cache-limit=1 --quiet -o %t.2.weft
// RUN: not weft-compile %s --cache=%t.open -o %t.3.weft 2>&1 | FileCheck %s --check-prefix=OPEN
// RUN: not weft-compile %s --cache=%s -o %t.3.weft 2>&1 | FileCheck %s --check-prefix=FILE

// MADE: wrote
// CACHED: cached
// CACHED-NOT: wrote
// OPEN: --cache: cache '{{.*}}': expected a folder that only its user can write to, since bundles hold code
// FILE: --cache: cache '{{.*}}': {{.*}}
module attributes {tg.symbols = ["n"]} {
  func.func @main(%x: tensor<?xf32, #tg.dims<()[s0] -> (s0)>> {tg.name = "x"}) -> (tensor<?xf32, #tg.dims<()[s0] -> (s0)>> {tg.name = "y"}) {
    %0 = tg.exp %x : tensor<?xf32, #tg.dims<()[s0] -> (s0)>>
    return %0 : tensor<?xf32, #tg.dims<()[s0] -> (s0)>>
  }
}
