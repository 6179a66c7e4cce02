// Every op of the dialect, printed and parsed.
// RUN: weft-opt %s | FileCheck %s

#id2 = affine_map<(d0, d1)[s0, s1] -> (s0 * 16 + d0, s1 * 64 + d1)>
#rows = affine_set<(d0, d1)[s0, s1] : (-d0 + s0 * -16 + 999 >= 0)>

// CHECK-LABEL: func @tiles
func.func @tiles(%x: !tk.global<tensor<1000x768xf16>>, %y: !tk.global<tensor<1000xf32>>) attributes {tk.warps = 4 : i64} {
  // CHECK: tk.for_tiles (%[[I:.*]], %[[J:.*]]) in #{{.*}} order "grouped<4>" persistent
  tk.for_tiles (%i, %j) in affine_map<() -> (63, 12)> order "grouped<4>" persistent {
    // CHECK: tk.load %{{.*}}[%[[I]], %[[J]]] map #{{.*}} guard #{{.*}} fill 0xFC00 : f16 : {{.*}}<tensor<1000x768xf16>> -> {{.*}}<16x64xf16>
    %0 = tk.load %x[%i, %j] map #id2 guard #rows fill 0xFC00 : f16 : !tk.global<tensor<1000x768xf16>> -> !tk.tile<16x64xf16>
    // CHECK: tk.map
    %1 = tk.map (%0 : !tk.tile<16x64xf16>) -> !tk.tile<16x64xf32> {
    ^bb0(%a: f16):
      %e = arith.extf %a : f16 to f32
      tk.yield %e : f32
    }
    // CHECK: tk.reduce(%{{.*}} : !tk.tile<16x64xf32>) dims [1] -> !tk.tile<16xf32>
    %2 = tk.reduce (%1 : !tk.tile<16x64xf32>) dims [1] -> !tk.tile<16xf32> {
    ^bb0(%a: f32, %b: f32):
      %m = arith.maximumf %a, %b : f32
      tk.yield %m : f32
    }
    // CHECK: tk.broadcast %{{.*}} dims [0] : {{.*}}<16xf32> -> {{.*}}<16x64xf32>
    %3 = tk.broadcast %2 dims [0] : !tk.tile<16xf32> -> !tk.tile<16x64xf32>
    // CHECK: tk.constant 0.000000e+00 : f32 : {{.*}}<16x64xf32>
    %4 = tk.constant 0.0 : f32 : !tk.tile<16x64xf32>
    // CHECK: tk.affine
    %5 = tk.affine affine_map<(d0, d1)[s0] -> (s0 * 64 + d1)> [%j] : !tk.tile<16x64xi32>
    // CHECK: tk.guard
    %6 = tk.guard affine_set<(d0, d1)[s0, s1] : (-d0 + s0 * -16 + 999 >= 0)> [%i, %j] : !tk.tile<16x64xi1>
    // CHECK: tk.load %{{.*}} map #{{.*}} indices(%{{.*}} : !tk.tile<16x64xi32>) mask %{{.*}} : !tk.tile<16x64xi1>
    %7 = tk.load %y map affine_map<(d0, d1, d2) -> (d2)> indices (%5 : !tk.tile<16x64xi32>) mask %6 : !tk.tile<16x64xi1>
        : !tk.global<tensor<1000xf32>> -> !tk.tile<16x64xf32>
    // CHECK: tk.scan %{{.*}} dim 1 reverse : <16x64xf32>
    %8 = tk.scan %7 dim 1 reverse : !tk.tile<16x64xf32> {
    ^bb0(%a: f32, %b: f32):
      %m = arith.addf %a, %b : f32
      tk.yield %m : f32
    }
    // CHECK: tk.sort(%{{.*}}, %{{.*}} : !tk.tile<16x64xf32>, !tk.tile<16x64xi32>) dim 1 -> !tk.tile<16x64xf32>, !tk.tile<16x64xi32>
    %9:2 = tk.sort (%8, %5 : !tk.tile<16x64xf32>, !tk.tile<16x64xi32>) dim 1 -> !tk.tile<16x64xf32>, !tk.tile<16x64xi32> {
    ^bb0(%a: f32, %an: i32, %b: f32, %bn: i32):
      %m = arith.cmpf ogt, %a, %b : f32
      tk.yield %m : i1
    }
    %s = arith.constant 1.0 : f32
    // CHECK: tk.splat %{{.*}} : f32 -> {{.*}}<16xf32>
    %10 = tk.splat %s : f32 -> !tk.tile<16xf32>
    // CHECK: tk.store %{{.*}}, %{{.*}}[%[[I]]] map #{{.*}} combine add : {{.*}}<16xf32>, {{.*}}<tensor<1000xf32>>
    tk.store %2, %y[%i] map affine_map<(d0)[s0] -> (s0 * 16 + d0)> combine add : !tk.tile<16xf32>, !tk.global<tensor<1000xf32>>
    // CHECK: tk.store %{{.*}}, %{{.*}}[%[[I]]] map #{{.*}} lines : {{.*}}<16xf32>, {{.*}}<tensor<1000xf32>>
    tk.store %2, %y[%i] map affine_map<(d0)[s0] -> (s0 * 16 + d0)> lines : !tk.tile<16xf32>, !tk.global<tensor<1000xf32>>
    tk.yield
  }
  return
}

!c = !tk.tile<16x8xf32, #tk.layout<"mma(m16n8k16, f16, c)">>
!a = !tk.tile<16x16xf16, #tk.layout<"mma(m16n8k16, f16, a)">>

// CHECK-LABEL: func @schedule
func.func @schedule(%x: !tk.global<tensor<16x768xf16>>, %acc: !c, %frag: !a) {
  %c0 = arith.constant 0 : index
  // CHECK: tk.alloc at 1024 : {{.*}}<4 x 16x64xf16>
  %b = tk.alloc at 1024 : !tk.shared<4 x 16x64xf16>
  // CHECK: tk.make_channel engine tma consumers 2 bytes 2048 at 0 : {{.*}}<4>
  %ch = tk.make_channel engine tma consumers 2 bytes 2048 at 0 : !tk.channel<4>
  // CHECK: tk.roles warps [4, 8] registers [40, 232] {
  tk.roles warps [4, 8] registers [40, 232] {
    // CHECK: tk.acquire %{{.*}}[%{{.*}}] : {{.*}}<4>
    tk.acquire %ch[%c0] : !tk.channel<4>
    %s = tk.slot %b[%c0] : !tk.shared<4 x 16x64xf16> -> !tk.shared<1 x 16x64xf16>
    // CHECK: tk.copy %{{.*}}[%{{.*}}] map #{{.*}}, %{{.*}} channel %{{.*}}[%{{.*}}] : {{.*}}<4> engine tma : {{.*}}<tensor<16x768xf16>>, {{.*}}<1 x 16x64xf16>
    tk.copy %x[%c0] map affine_map<(d0, d1)[s0] -> (d0, s0 * 64 + d1)>, %s channel %ch[%c0] : !tk.channel<4> engine tma
        : !tk.global<tensor<16x768xf16>>, !tk.shared<1 x 16x64xf16>
    tk.commit %ch[%c0] : !tk.channel<4>
    tk.yield
  }, {
    // CHECK: tk.wait %{{.*}}[%{{.*}}] pending 2 : {{.*}}<4>
    tk.wait %ch[%c0] pending 2 : !tk.channel<4>
    %s = tk.slot %b[%c0] : !tk.shared<4 x 16x64xf16> -> !tk.shared<1 x 16x64xf16>
    // CHECK: tk.slot %{{.*}}[%{{.*}}] each 2 from 1 : {{.*}}<4 x 16x64xf16> -> {{.*}}<1 x 16x64xf16>
    %m = tk.slot %b[%c0] each 2 from 1 : !tk.shared<4 x 16x64xf16> -> !tk.shared<1 x 16x64xf16>
    // CHECK: tk.slot %{{.*}}[%{{.*}}] each 4 : {{.*}}<4 x 16x64xf16> -> {{.*}}<1 x 16x128xf16>
    %mm = tk.slot %b[%c0] each 4 : !tk.shared<4 x 16x64xf16> -> !tk.shared<1 x 16x128xf16>
    // CHECK: tk.local_load %{{.*}} offsets [0, 16] : {{.*}}<1 x 16x64xf16> -> {{.*}}<16x16xf16>
    %t = tk.local_load %s offsets [0, 16] : !tk.shared<1 x 16x64xf16> -> !tk.tile<16x16xf16>
    %u = tk.local_load %s : !tk.shared<1 x 16x64xf16> -> !tk.tile<16x64xf16>
    // CHECK: tk.local_read %{{.*}} map {{.*}} : {{.*}}<4 x 16x64xf16> -> {{.*}}<8x64xf16>
    %v = tk.local_read %b map affine_map<(d0, d1) -> (d0 + 2, d1)> : !tk.shared<4 x 16x64xf16> -> !tk.tile<8x64xf16>
    // CHECK: tk.local_store
    tk.local_store %u, %s : !tk.tile<16x64xf16>, !tk.shared<1 x 16x64xf16>
    // CHECK: tk.fence_async
    tk.fence_async
    // CHECK: tk.barrier
    tk.barrier
    tk.release %ch[%c0] : !tk.channel<4>
    // CHECK: %[[N:.*]] = tk.cursor %{{.*}} : <4>
    %n = tk.cursor %ch : !tk.channel<4>
    // CHECK: tk.advance %{{.*}} by %[[N]] : <4>
    tk.advance %ch by %n : !tk.channel<4>
    tk.yield
  }
  %k = tk.constant 0.0 : f16 : !tk.tile<16x8xf16>
  // CHECK: tk.dot %{{.*}}, %{{.*}}, %{{.*}} : {{.*}}<16x16xf16, #{{.*}}>, {{.*}}<16x8xf16>, {{.*}}<16x8xf32, #{{.*}}>
  %d = tk.dot %frag, %k, %acc : !a, !tk.tile<16x8xf16>, !c
  %true = arith.constant true
  // CHECK: tk.dot %{{.*}}, %{{.*}}, %{{.*}} accumulate %true : {{.*}}<16x16xf16, #{{.*}}>
  tk.dot %frag, %k, %acc accumulate %true : !a, !tk.tile<16x8xf16>, !c
  // CHECK: tk.dot %{{.*}}, %{{.*}}, %{{.*}} by wgmma accumulate %true :
  tk.dot %frag, %k, %acc by wgmma accumulate %true : !a, !tk.tile<16x8xf16>, !c
  // CHECK: tk.dot %{{.*}}, %{{.*}}, %{{.*}} by simt :
  tk.dot %frag, %k, %acc by simt : !a, !tk.tile<16x8xf16>, !c
  // CHECK: tk.dot %{{.*}}, %{{.*}}, %{{[^ ]*}} :
  tk.dot %frag, %k, %acc by mma : !a, !tk.tile<16x8xf16>, !c
  // CHECK: tk.dot_wait
  %w = tk.dot_wait %d pending 0 : (!c) -> !c
  // CHECK: tk.convert
  %v = tk.convert %frag : !a -> !tk.tile<16x16xf16, #tk.layout<"blocked(shape=[16,16], size=[1,8], threads=[16,2], warps=[1,1], order=[1,0])">>
  return
}

// CHECK-LABEL: func @boxes
func.func @boxes(%y: !tk.global<tensor<1024x768xf16>>, %t: !tk.tile<128x256xf16>) {
  %c0 = arith.constant 0 : index
  %b = tk.alloc : !tk.shared<4 x 64x64xf16>
  // CHECK: tk.store_box %{{.*}}, %{{.*}}[%{{.*}}, %{{.*}}] map #{{.*}} through %{{.*}} : <128x256xf16>, <tensor<1024x768xf16>>, <4 x 64x64xf16>
  tk.store_box %t, %y[%c0, %c0] map affine_map<(d0, d1)[s0, s1] -> (s0 * 128 + d0, s1 * 256 + d1)> through %b
      : !tk.tile<128x256xf16>, !tk.global<tensor<1024x768xf16>>, !tk.shared<4 x 64x64xf16>
  return
}

// CHECK-LABEL: func @numbers
func.func @numbers(%x: !tk.global<tensor<8x1xi64>>, %y: !tk.global<tensor<i32>>, %i: index) -> (index, index) {
  // CHECK: tk.load_index %{{.*}}[%{{.*}}, %{{.*}}] : <tensor<8x1xi64>>
  %0 = tk.load_index %x[%i, %i] : !tk.global<tensor<8x1xi64>>
  // CHECK: tk.load_index %{{.*}}[] : <tensor<i32>>
  %1 = tk.load_index %y[] : !tk.global<tensor<i32>>
  return %0, %1 : index, index
}

// CHECK-LABEL: func @parts
func.func @parts(%m: !tk.tile<64xf32>, %a: !tk.tile<64x64xf32>) {
  // CHECK: %[[NUMBER:.*]], %[[PART:.*]], %[[PARTS:.*]] = tk.tile_part
  %number, %part, %parts = tk.tile_part
  // CHECK: tk.part_send %{{.*}}, %{{.*}} part(%[[NUMBER]], %[[PART]], %[[PARTS]]) of 96 x 4 live 48 : !tk.tile<64xf32>, !tk.tile<64x64xf32>
  %turns, %stores = tk.part_send %m, %a part (%number, %part, %parts) of 96 x 4 live 48 : !tk.tile<64xf32>, !tk.tile<64x64xf32>
  // CHECK: tk.part_receive %[[NUMBER]] of 96 : !tk.tile<64xf32>, !tk.tile<64x64xf32>
  // CHECK: tk.part_sum %{{.*}} part(%[[NUMBER]], %[[PART]], %[[PARTS]]) of 96 x 4 live 48 in pieces of 16 : <64x64xf32>
  %max, %sum = tk.part_receive %number of 96 : !tk.tile<64xf32>, !tk.tile<64x64xf32>
  %all, %has, %share = tk.part_sum %sum part (%number, %part, %parts) of 96 x 4 live 48 in pieces of 16 : !tk.tile<64x64xf32>
  return
}
