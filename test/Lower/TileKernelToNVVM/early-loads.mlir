// What is read behind a loop, or behind the wait for the kernels before, is asked for ahead of it, where it takes few registers and nobody writes it.
// RUN: weft-opt %s --split-input-file --weft-lower-tk=dependent-launch=true | FileCheck %s

#layout = #tk.layout<"linear(register=[[1],[2],[4]], lane=[[8],[16],[32],[64],[128]] -> dim0=256)">
#m = affine_map<(d0)[s0] -> (s0 * 256 + d0)>
#at = affine_map<(d0)[s0, s1] -> (s0 * 2560 + s1 * 256 + d0)>

// sm_80: ahead of the loop; not through the non-coherent cache, of which LLVM moves loads down to where they are needed.
// CHECK-LABEL: llvm.func @kernel
// CHECK: llvm.getelementptr %arg1
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1>
// CHECK: scf.for
// CHECK: llvm.load %{{.*}} invariant
// CHECK: scf.yield
// CHECK-NOT: llvm.load
// CHECK: st.global
module attributes {tk.target = "sm_80", tg.steady_operands = array<i64: 1>} {
func.func @kernel(%x: !tk.global<tensor<25600xf16>>, %b: !tk.global<tensor<2560xf16>>, %y: !tk.global<tensor<2560xf16>>) attributes {tk.warps = 1 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (10)> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 10 : index
    %zero = tk.constant 0.0 : f16 : !tk.tile<256xf16, #layout>
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tk.tile<256xf16, #layout>) {
      %0 = tk.load %x[%k, %i] map #at : !tk.global<tensor<25600xf16>> -> !tk.tile<256xf16, #layout>
      %1 = tk.map (%acc, %0 : !tk.tile<256xf16, #layout>, !tk.tile<256xf16, #layout>) -> !tk.tile<256xf16, #layout> {
      ^bb0(%a: f16, %b1: f16):
        %s = arith.addf %a, %b1 : f16
        tk.yield %s : f16
      }
      scf.yield %1 : !tk.tile<256xf16, #layout>
    }
    %2 = tk.load %b[%i] map #m : !tk.global<tensor<2560xf16>> -> !tk.tile<256xf16, #layout>
    %3 = tk.map (%sum, %2 : !tk.tile<256xf16, #layout>, !tk.tile<256xf16, #layout>) -> !tk.tile<256xf16, #layout> {
    ^bb0(%a: f16, %b1: f16):
      %s = arith.addf %a, %b1 : f16
      tk.yield %s : f16
    }
    tk.store %3, %y[%i] map #m : !tk.tile<256xf16, #layout>, !tk.global<tensor<2560xf16>>
    tk.yield
  }
  return
}
}

// -----

// sm_90a: %b, which is steady, ahead of the wait; %r, which is not, behind it, since the loop waits anyway. What the kernel writes itself (%y) stays.
// CHECK-LABEL: llvm.func @kernel
// CHECK: llvm.getelementptr %arg1
// CHECK: llvm.load
// CHECK: "griddepcontrol.wait;"
// CHECK: llvm.getelementptr %arg2
// CHECK: llvm.load
// CHECK: scf.for
// CHECK: llvm.load
// CHECK: scf.yield
// CHECK: llvm.getelementptr %arg3
// CHECK: llvm.load
// CHECK-NOT: llvm.load
#layout = #tk.layout<"linear(register=[[1],[2],[4]], lane=[[8],[16],[32],[64],[128]] -> dim0=256)">
#m = affine_map<(d0)[s0] -> (s0 * 256 + d0)>
#at = affine_map<(d0)[s0, s1] -> (s0 * 2560 + s1 * 256 + d0)>
module attributes {tk.target = "sm_90a", tg.steady_operands = array<i64: 1>} {
func.func @kernel(%x: !tk.global<tensor<25600xf16>>, %b: !tk.global<tensor<2560xf16>>, %r: !tk.global<tensor<2560xf16>>, %y: !tk.global<tensor<2560xf16>>) attributes {tk.warps = 1 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (10)> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 10 : index
    %zero = tk.constant 0.0 : f16 : !tk.tile<256xf16, #layout>
    %sum = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!tk.tile<256xf16, #layout>) {
      %0 = tk.load %x[%k, %i] map #at : !tk.global<tensor<25600xf16>> -> !tk.tile<256xf16, #layout>
      %1 = tk.map (%acc, %0 : !tk.tile<256xf16, #layout>, !tk.tile<256xf16, #layout>) -> !tk.tile<256xf16, #layout> {
      ^bb0(%a: f16, %b1: f16):
        %s = arith.addf %a, %b1 : f16
        tk.yield %s : f16
      }
      scf.yield %1 : !tk.tile<256xf16, #layout>
    }
    %2 = tk.load %b[%i] map #m : !tk.global<tensor<2560xf16>> -> !tk.tile<256xf16, #layout>
    %3 = tk.load %r[%i] map #m : !tk.global<tensor<2560xf16>> -> !tk.tile<256xf16, #layout>
    %4 = tk.load %y[%i] map #m : !tk.global<tensor<2560xf16>> -> !tk.tile<256xf16, #layout>
    %5 = tk.map (%sum, %2, %3, %4 : !tk.tile<256xf16, #layout>, !tk.tile<256xf16, #layout>, !tk.tile<256xf16, #layout>, !tk.tile<256xf16, #layout>) -> !tk.tile<256xf16, #layout> {
    ^bb0(%a: f16, %b1: f16, %c: f16, %d: f16):
      %s = arith.addf %a, %b1 : f16
      %t = arith.addf %s, %c : f16
      %u = arith.addf %t, %d : f16
      tk.yield %u : f16
    }
    tk.store %5, %y[%i] map #m : !tk.tile<256xf16, #layout>, !tk.global<tensor<2560xf16>>
    tk.yield
  }
  return
}
}

// -----

// More than 16 registers of a thread (here 32) are not held while the kernels before run: %w comes to the L2 cache only.
// CHECK-LABEL: llvm.func @kernel
// CHECK: llvm.getelementptr %arg1
// CHECK: "cp.async.bulk.prefetch.L2.global [$0], $1;"
// CHECK-NOT: llvm.load
// CHECK: "griddepcontrol.wait;"
// CHECK: llvm.load
#layout = #tk.layout<"linear(register=[[1],[2],[4],[256],[512],[1024]], lane=[[8],[16],[32],[64],[128]] -> dim0=2048)">
#m = affine_map<(d0)[s0] -> (s0 * 2048 + d0)>
module attributes {tk.target = "sm_90a", tg.steady_operands = array<i64: 1>} {
func.func @kernel(%x: !tk.global<tensor<20480xf16>>, %w: !tk.global<tensor<2048xf16>>, %y: !tk.global<tensor<20480xf16>>) attributes {tk.warps = 1 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (10)> {
    %0 = tk.load %x[%i] map #m : !tk.global<tensor<20480xf16>> -> !tk.tile<2048xf16, #layout>
    %1 = tk.load %w[] map affine_map<(d0) -> (d0)> : !tk.global<tensor<2048xf16>> -> !tk.tile<2048xf16, #layout>
    %2 = tk.map (%0, %1 : !tk.tile<2048xf16, #layout>, !tk.tile<2048xf16, #layout>) -> !tk.tile<2048xf16, #layout> {
    ^bb0(%a: f16, %b: f16):
      %s = arith.addf %a, %b : f16
      tk.yield %s : f16
    }
    tk.store %2, %y[%i] map #m : !tk.tile<2048xf16, #layout>, !tk.global<tensor<20480xf16>>
    tk.yield
  }
  return
}
}

// -----

// For the sum of a row warps meet: the weights of a norm are asked for ahead of it, and read behind it.
// CHECK-LABEL: llvm.func @kernel
// CHECK: llvm.getelementptr %arg1
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1>
// CHECK: nvvm.barrier0
// CHECK-NOT: llvm.load {{.*}} !llvm.ptr<1>
// CHECK: st.global
#layout = #tk.layout<"linear(register=[[0,1],[0,2],[0,4]], lane=[[0,8],[0,16],[0,32],[0,64],[0,128]], warp=[[0,256]] -> dim0=1,dim1=512)">
#scalar = #tk.layout<"linear(lane=[[0],[0],[0],[0],[0]], warp=[[0]] -> dim0=1)">
module attributes {tk.target = "sm_90a", tg.steady_operands = array<i64: 0, 1>} {
func.func @kernel(%x: !tk.global<tensor<10x512xf16>>, %w: !tk.global<tensor<512xf16>>, %y: !tk.global<tensor<10x512xf16>>) attributes {tk.warps = 2 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (10)> {
    %0 = tk.load %x[%i] map affine_map<(d0, d1)[s0] -> (s0 + d0, d1)> : !tk.global<tensor<10x512xf16>> -> !tk.tile<1x512xf16, #layout>
    %1 = tk.reduce (%0 : !tk.tile<1x512xf16, #layout>) dims [1] -> !tk.tile<1xf16, #scalar> {
    ^bb0(%a: f16, %b: f16):
      %s = arith.addf %a, %b : f16
      tk.yield %s : f16
    }
    %2 = tk.broadcast %1 dims [0] : !tk.tile<1xf16, #scalar> -> !tk.tile<1x512xf16, #layout>
    %3 = tk.load %w[] map affine_map<(d0, d1) -> (d1)> : !tk.global<tensor<512xf16>> -> !tk.tile<1x512xf16, #layout>
    %4 = tk.map (%0, %2, %3 : !tk.tile<1x512xf16, #layout>, !tk.tile<1x512xf16, #layout>, !tk.tile<1x512xf16, #layout>) -> !tk.tile<1x512xf16, #layout> {
    ^bb0(%a: f16, %b: f16, %c: f16):
      %s = arith.divf %a, %b : f16
      %t = arith.mulf %s, %c : f16
      tk.yield %t : f16
    }
    tk.store %4, %y[%i] map affine_map<(d0, d1)[s0] -> (s0 + d0, d1)> : !tk.tile<1x512xf16, #layout>, !tk.global<tensor<10x512xf16>>
    tk.yield
  }
  return
}
}

// -----

// Tiles that a loop carries have registers there in any case: a thread asks for 128 bytes ahead of the wait.
#layout = #tk.layout<"linear(register=[[1],[2],[4],[256],[512],[1024]], lane=[[8],[16],[32],[64],[128]] -> dim0=2048)">
#at = affine_map<(d0)[s0] -> (s0 * 2048 + d0)>
// CHECK-LABEL: llvm.func @kernel
// CHECK: llvm.getelementptr %arg0
// CHECK-COUNT-8: llvm.load
// CHECK: "griddepcontrol.wait;"
// CHECK: scf.for
module attributes {tk.target = "sm_90a", tg.steady_operands = array<i64: 0>} {
func.func @kernel(%x: !tk.global<tensor<20480xf16>>, %r: !tk.global<tensor<20480xf16>>, %y: !tk.global<tensor<2048xf16>>) attributes {tk.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 10 : index
  tk.for_tiles (%i) in affine_map<() -> (1)> {
    %zero = tk.constant 0.0 : f16 : !tk.tile<2048xf16, #layout>
    %first = tk.load %x[%c0] map #at : !tk.global<tensor<20480xf16>> -> !tk.tile<2048xf16, #layout>
    %sum:2 = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero, %now = %first) -> (!tk.tile<2048xf16, #layout>, !tk.tile<2048xf16, #layout>) {
      %next = tk.load %x[%k] map #at : !tk.global<tensor<20480xf16>> -> !tk.tile<2048xf16, #layout>
      %0 = tk.load %r[%k] map #at : !tk.global<tensor<20480xf16>> -> !tk.tile<2048xf16, #layout>
      %1 = tk.map (%acc, %0, %now : !tk.tile<2048xf16, #layout>, !tk.tile<2048xf16, #layout>, !tk.tile<2048xf16, #layout>) -> !tk.tile<2048xf16, #layout> {
      ^bb0(%a: f16, %b1: f16, %c: f16):
        %s = arith.addf %a, %b1 : f16
        %t = arith.addf %s, %c : f16
        tk.yield %t : f16
      }
      scf.yield %1, %next : !tk.tile<2048xf16, #layout>, !tk.tile<2048xf16, #layout>
    }
    tk.store %sum#0, %y[%c0] map #at : !tk.tile<2048xf16, #layout>, !tk.global<tensor<2048xf16>>
    tk.yield
  }
  return
}
}
