// sm_90: a thread waits ahead of the first transient that it touches, and lets the next kernel start behind that, or at once where that pays. Steady operands
// are asked for, or read, ahead of it.
// RUN: weft-opt %s --split-input-file --weft-lower-tk=dependent-launch=true | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-lower-tk | FileCheck %s --check-prefix=OFF
// OFF-NOT: griddepcontrol
// OFF-NOT: prefetch

#layout = #tk.layout<"linear(register=[[1],[2],[4],[256],[512],[1024]], lane=[[8],[16],[32],[64],[128]] -> dim0=2048)">
#m = affine_map<(d0)[s0] -> (s0 * 2048 + d0)>

// 100 CTAs, so few that the next kernel may start at once: of %w, too much to be held in registers, each asks for the least share. What the kernel before may have written does not come through the
// non-coherent cache.
// CHECK-LABEL: llvm.func @kernel
// CHECK-SAME: (%[[X:.*]]: !llvm.ptr<1>, %[[W:.*]]: !llvm.ptr<1>, %[[Y:.*]]: !llvm.ptr<1>)
// CHECK-NOT: griddepcontrol.wait
// CHECK: %[[SHARE:.*]] = arith.constant 512 : i64
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[W]]
// CHECK: "cp.async.bulk.prefetch.L2.global [$0], $1;", "l,r" %[[AT]]
// CHECK-NOT: llvm.load
// CHECK: "griddepcontrol.wait;", "~{memory}"
// CHECK-NOT: launch_dependents
// CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<1>
// CHECK: llvm.load %{{.*}} invariant {alignment = 16 : i64} : !llvm.ptr<1>
// OFF-COUNT-2: llvm.load %{{.*}} invariant
module attributes {tk.target = "sm_90a", tg.steady_operands = array<i64: 1>} {
func.func @kernel(%x: !tk.global<tensor<204800xf16>>, %w: !tk.global<tensor<16000xf16>>, %y: !tk.global<tensor<204800xf16>>) attributes {tk.warps = 1 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (100)> {
    %0 = tk.load %x[%i] map #m : !tk.global<tensor<204800xf16>> -> !tk.tile<2048xf16, #layout>
    %1 = tk.load %w[] map affine_map<(d0) -> (d0)> : !tk.global<tensor<16000xf16>> -> !tk.tile<2048xf16, #layout>
    %2 = tk.map (%0, %1 : !tk.tile<2048xf16, #layout>, !tk.tile<2048xf16, #layout>) -> !tk.tile<2048xf16, #layout> {
    ^bb0(%a: f16, %b: f16):
      %s = arith.addf %a, %b : f16
      tk.yield %s : f16
    }
    tk.store %2, %y[%i] map #m : !tk.tile<2048xf16, #layout>, !tk.global<tensor<204800xf16>>
    tk.yield
  }
  return
}
}

// -----

// What is read ahead of the wait is not asked for. The tile's number is computed ahead of it, too. A kernel that reads no transient lets the next one start
// at once.
// CHECK-LABEL: llvm.func @kernel
// CHECK-NOT: prefetch
// CHECK: "griddepcontrol.launch_dependents;"
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: llvm.load %{{.*}} invariant
// CHECK: "griddepcontrol.wait;", "~{memory}"
// CHECK-NOT: launch_dependents
// CHECK: llvm.getelementptr %arg1
#layout = #tk.layout<"linear(register=[[1],[2],[4]], lane=[[8],[16],[32],[64],[128]] -> dim0=256)">
#m = affine_map<(d0)[s0] -> (s0 * 256 + d0)>
module attributes {tk.target = "sm_90a", tg.steady_operands = array<i64: 0>} {
func.func @kernel(%x: !tk.global<tensor<51200xf16>>, %y: !tk.global<tensor<51200xf16>>) attributes {tk.warps = 1 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (200)> {
    %0 = tk.load %x[%i] map #m : !tk.global<tensor<51200xf16>> -> !tk.tile<256xf16, #layout>
    tk.store %0, %y[%i] map #m : !tk.tile<256xf16, #layout>, !tk.global<tensor<51200xf16>>
    tk.yield
  }
  return
}
}

// -----

// Not where it takes its operands from DRAM for longer than a launch: what the next kernel asks for would delay them.
// CHECK-LABEL: llvm.func @kernel
// CHECK-NOT: launch_dependents
// CHECK: "griddepcontrol.wait;", "~{memory}"
// CHECK-NEXT: "griddepcontrol.launch_dependents;"
#layout = #tk.layout<"linear(register=[[1],[2],[4]], lane=[[8],[16],[32],[64],[128]] -> dim0=256)">
#m = affine_map<(d0)[s0] -> (s0 * 256 + d0)>
module attributes {tk.target = "sm_90a", tg.steady_operands = array<i64: 0>} {
func.func @kernel(%x: !tk.global<tensor<16777216xf16>>, %y: !tk.global<tensor<16777216xf16>>) attributes {tk.warps = 1 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (65536)> {
    %0 = tk.load %x[%i] map #m : !tk.global<tensor<16777216xf16>> -> !tk.tile<256xf16, #layout>
    tk.store %0, %y[%i] map #m : !tk.tile<256xf16, #layout>, !tk.global<tensor<16777216xf16>>
    tk.yield
  }
  return
}
}

// -----

// Older targets cannot.
// CHECK-LABEL: llvm.func @kernel
// CHECK-NOT: griddepcontrol
#layout = #tk.layout<"linear(register=[[1],[2],[4]], lane=[[8],[16],[32],[64],[128]] -> dim0=256)">
#m = affine_map<(d0)[s0] -> (s0 * 256 + d0)>
module attributes {tk.target = "sm_89", tg.steady_operands = array<i64: 0>} {
func.func @kernel(%x: !tk.global<tensor<25600xf16>>, %y: !tk.global<tensor<25600xf16>>) attributes {tk.warps = 1 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (100)> {
    %0 = tk.load %x[%i] map #m : !tk.global<tensor<25600xf16>> -> !tk.tile<256xf16, #layout>
    tk.store %0, %y[%i] map #m : !tk.tile<256xf16, #layout>, !tk.global<tensor<25600xf16>>
    tk.yield
  }
  return
}
}

// -----

// Not asked for: a tensor of which data choose the rows.
// CHECK-LABEL: llvm.func @kernel
// CHECK-NOT: prefetch
// CHECK: "griddepcontrol.wait;", "~{memory}"
// CHECK: return
#layout = #tk.layout<"linear(register=[[1],[2],[4],[256],[512],[1024]], lane=[[8],[16],[32],[64],[128]] -> dim0=2048)">
#m = affine_map<(d0)[s0] -> (s0 * 2048 + d0)>
module attributes {tk.target = "sm_90a", tg.steady_operands = array<i64: 1>} {
func.func @kernel(%x: !tk.global<tensor<204800xi32>>, %w: !tk.global<tensor<16000xf16>>, %y: !tk.global<tensor<204800xf16>>) attributes {tk.warps = 1 : i64} {
  tk.for_tiles (%i) in affine_map<() -> (100)> {
    %0 = tk.load %x[%i] map #m : !tk.global<tensor<204800xi32>> -> !tk.tile<2048xi32, #layout>
    %1 = tk.load %w[] map affine_map<(d0, d1) -> (d1)> indices(%0 : !tk.tile<2048xi32, #layout>) : !tk.global<tensor<16000xf16>> -> !tk.tile<2048xf16, #layout>
    tk.store %1, %y[%i] map #m : !tk.tile<2048xf16, #layout>, !tk.global<tensor<204800xf16>>
    tk.yield
  }
  return
}
}
