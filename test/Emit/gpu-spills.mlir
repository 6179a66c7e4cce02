// Registers as an assembler tells that spills unless the text has what is asked for.
// RUN: printf '#!/bin/sh\nbytes=40\ngrep -Eq "$WANTED" $3 && bytes=0\necho "Compiling entry function '"'k0'"'"\necho "0 bytes stack frame, $bytes bytes spill stores, 0 bytes spill loads"\necho "Used $REGISTERS registers"\n' > %t.ptxas
// RUN: chmod +x %t.ptxas

// All registers are a thread's (one CTA on an SM); where 104 of 128 threads let four CTAs run, five ask for 96.
// RUN: env REGISTERS=104 WANTED=minnctapersm weft-compile %s --compile-from=outline --target=sm_80 --emit=ptx --ptxas=%t.ptxas --remarks=plan 2>&1 | FileCheck %s --check-prefix=FULL
// FULL: .reqntid 128
// FULL-NEXT: .minnctapersm 5
// FULL-NOT: refit

// Not at the price of spills, nor for more than an eighth of the registers (96: six would leave 80).
// RUN: env REGISTERS=104 WANTED='minnctapersm 1$' weft-compile %s --compile-from=outline --target=sm_80 --emit=ptx --ptxas=%t.ptxas --remarks=plan 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: env REGISTERS=96 WANTED=minnctapersm weft-compile %s --compile-from=outline --target=sm_80 --emit=ptx --ptxas=%t.ptxas --remarks=plan 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: .reqntid 128
// ONE-NEXT: .minnctapersm 1{{$}}
// ONE-NOT: refit

// A thread has all registers that there are: another schedule, by the model or by more warps.
// RUN: env REGISTERS=255 WANTED='reqntid 256' weft-compile %s --compile-from=outline --target=sm_80 --emit=ptx --ptxas=%t.ptxas --remarks=plan 2>&1 | FileCheck %s --check-prefix=WARPS
// WARPS: .reqntid 256
// WARPS-NEXT: .minnctapersm 1{{$}}
// WARPS: {{\[}}Missed] refit | Category:plan | Function=negate | Remark="registers spill: planned again with fewer", {{.*}}warps = 8

// The printed plan has that schedule, and leads to the same code.
// RUN: env REGISTERS=255 WANTED='reqntid 256' weft-compile %s --compile-from=outline --target=sm_80 --emit=ptx --ptxas=%t.ptxas -o %t.ptx
// RUN: env REGISTERS=255 WANTED='reqntid 256' weft-compile %s --compile-from=outline --compile-to=plan --target=sm_80 --ptxas=%t.ptxas -o %t.plan.mlir
// RUN: FileCheck %s --check-prefix=PLAN < %t.plan.mlir
// RUN: env REGISTERS=255 WANTED='reqntid 256' weft-compile %t.plan.mlir --compile-from=plan --target=sm_80 --emit=ptx --ptxas=%t.ptxas -o %t.again.ptx
// RUN: cmp %t.ptx %t.again.ptx
// PLAN: module @negate attributes {{.*}}warps = 8

// Loops that ptxas unrolls are kept as they are, before anything else is changed.
// RUN: env REGISTERS=255 WANTED='(reqntid 128|nounroll)' weft-compile %s --compile-from=outline --target=sm_80 --emit=ptx --ptxas=%t.ptxas --remarks=plan 2>&1 | FileCheck %s --check-prefix=LOOPS
// LOOPS-NOT: nounroll
// LOOPS: .entry k1
// LOOPS: $L__BB{{[0-9_]+}}:
// LOOPS-NEXT: .pragma "nounroll";
// LOOPS-NOT: refit

// Warpgroups that receive registers ask for fewer.
// RUN: env REGISTERS=168 WANTED='(reqntid 128|setmaxnreg.inc.sync.aligned.u32 216;)' weft-compile %s --compile-from=outline --target=sm_90a --emit=ptx --ptxas=%t.ptxas --remarks=plan 2>&1 | FileCheck %s --check-prefix=TAKEN
// TAKEN: setmaxnreg.dec.sync.aligned.u32 {{.*}}40;
// TAKEN: setmaxnreg.inc.sync.aligned.u32 216;
// TAKEN-NOT: refit

// Nothing helps, or nobody says that it spills: the code is what the planner chose.
// RUN: env REGISTERS=255 WANTED=never weft-compile %s --compile-from=outline --target=sm_80 --emit=ptx --ptxas=%t.ptxas 2>&1 | FileCheck %s --check-prefix=STAYS
// RUN: weft-compile %s --compile-from=outline --target=sm_80 --emit=ptx --ptxas=off 2>&1 | FileCheck %s --check-prefix=STAYS
// STAYS: .entry k0
// STAYS: .reqntid 128{{$}}
// STAYS-NEXT: .minnctapersm 1{{$}}

// A schedule that was given stays.
// RUN: sed 's/@negate {/@negate attributes {tg.schedule = #tg.schedule<tile = [1, 1024], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>} {/' %s > %t.given.mlir
// RUN: env REGISTERS=255 WANTED='reqntid 256' weft-compile %t.given.mlir --compile-from=outline --target=sm_80 --emit=ptx --ptxas=%t.ptxas --remarks=plan 2>&1 | FileCheck %s --check-prefix=GIVEN
// GIVEN: .entry k0
// GIVEN: .reqntid 128{{$}}
// GIVEN-NOT: refit

module {
  module @negate {
    func.func @kernel(%a: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
      %0 = tg.neg %a : tensor<4096x4096xf16>
      return %0 : tensor<4096x4096xf16>
    }
  }
  module @product {
    func.func @kernel(%a: tensor<4096x4096xf16>, %b: tensor<4096x4096xf16>) -> tensor<4096x4096xf16> {
      %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4096x4096xf16>, tensor<4096x4096xf16> -> tensor<4096x4096xf16>
      return %0 : tensor<4096x4096xf16>
    }
  }
  func.func @main(%x: tensor<4096x4096xf16> {tg.name = "x"}) -> (tensor<4096x4096xf16> {tg.name = "y"}) {
    %0 = tg.dispatch @negate::@kernel(%x) symbols = affine_map<() -> ()> : (tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    %1 = tg.dispatch @product::@kernel(%x, %0) symbols = affine_map<() -> ()> : (tensor<4096x4096xf16>, tensor<4096x4096xf16>) -> tensor<4096x4096xf16>
    return %1 : tensor<4096x4096xf16>
  }
}
