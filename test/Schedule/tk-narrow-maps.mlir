// RUN: weft-opt %s --weft-tk-narrow-maps | FileCheck %s

// A weight: an integer less its zero point, times a scale of the type it is rounded to.
// CHECK-LABEL: @weights
// CHECK: ^bb0(%{{.*}}: i8, %{{.*}}: i8, %[[S:.*]]: f16):
// CHECK: %[[N:.*]] = arith.uitofp %{{.*}} : i4 to f16
// CHECK: %[[O:.*]] = arith.uitofp %{{.*}} : i4 to f16
// CHECK: %[[D:.*]] = arith.subf %[[N]], %[[O]] : f16
// CHECK: %[[R:.*]] = arith.mulf %[[D]], %[[S]] : f16
// CHECK-NEXT: tk.yield %[[R]]
func.func @weights(%q: !tk.tile<64xi8>, %z: !tk.tile<64xi8>, %s: !tk.tile<64xf16>) -> !tk.tile<64xf16> {
  %0 = tk.map (%q, %z, %s : !tk.tile<64xi8>, !tk.tile<64xi8>, !tk.tile<64xf16>) -> !tk.tile<64xf16> {
  ^bb0(%x: i8, %y: i8, %c: f16):
    %a = arith.trunci %x : i8 to i4
    %b = arith.trunci %y : i8 to i4
    %0 = arith.uitofp %a : i4 to f32
    %1 = arith.uitofp %b : i4 to f32
    %2 = arith.subf %0, %1 : f32
    %3 = arith.extf %c : f16 to f32
    %4 = arith.mulf %2, %3 : f32
    %5 = arith.truncf %4 : f32 to f16
    tk.yield %5 : f16
  }
  return %0 : !tk.tile<64xf16>
}

// Signs, a constant, bf16, the factor on the left; an integer that was widened.
// CHECK-LABEL: @signed
// CHECK: arith.sitofp %{{.*}} : i4 to bf16
// CHECK: arith.addf %{{.*}}, %{{.*}} : bf16
// CHECK: arith.mulf %{{.*}}, %{{.*}} : bf16
// CHECK-NEXT: tk.yield
func.func @signed(%q: !tk.tile<64xi8>, %s: !tk.tile<64xbf16>) -> !tk.tile<64xbf16> {
  %0 = tk.map (%q, %s : !tk.tile<64xi8>, !tk.tile<64xbf16>) -> !tk.tile<64xbf16> {
  ^bb0(%x: i8, %c: bf16):
    %a = arith.trunci %x : i8 to i4
    %seven = arith.constant 7.0 : f32
    %w = arith.extsi %a : i4 to i32
    %0 = arith.sitofp %w : i32 to f32
    %2 = arith.addf %0, %seven : f32
    %3 = arith.extf %c : bf16 to f32
    %4 = arith.mulf %3, %2 : f32
    %5 = arith.truncf %4 : f32 to bf16
    tk.yield %5 : bf16
  }
  return %0 : !tk.tile<64xbf16>
}

// One of two, each of which can be narrowed: behind the end of a row, say.
// CHECK-LABEL: @chosen
// CHECK: arith.mulf %{{.*}}, %{{.*}} : f16
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f16
// CHECK-NEXT: tk.yield
func.func @chosen(%q: !tk.tile<64xi8>, %s: !tk.tile<64xf16>, %g: !tk.tile<64xi1>) -> !tk.tile<64xf16> {
  %0 = tk.map (%q, %s, %g : !tk.tile<64xi8>, !tk.tile<64xf16>, !tk.tile<64xi1>) -> !tk.tile<64xf16> {
  ^bb0(%a: i8, %c: f16, %in: i1):
    %zero = arith.constant 0.0 : f32
    %0 = arith.uitofp %a : i8 to f32
    %1 = arith.extf %c : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.select %in, %2, %zero : f32
    %4 = arith.truncf %3 : f32 to f16
    tk.yield %4 : f16
  }
  return %0 : !tk.tile<64xf16>
}

// What would round twice, or in another place: an integer that the type does not hold, a sum that it does not, a scale of 32 bits,
// a constant that is no integer, a sum behind the product.
// CHECK-LABEL: @kept
// CHECK-COUNT-5: arith.truncf %{{.*}} : f32 to bf16
func.func @kept(%q: !tk.tile<64xi8>, %n: !tk.tile<64xi32>, %s: !tk.tile<64xbf16>, %t: !tk.tile<64xf32>) -> !tk.tile<64xbf16> {
  %0:5 = tk.map (%q, %n, %s, %t : !tk.tile<64xi8>, !tk.tile<64xi32>, !tk.tile<64xbf16>, !tk.tile<64xf32>) -> !tk.tile<64xbf16>, !tk.tile<64xbf16>, !tk.tile<64xbf16>, !tk.tile<64xbf16>, !tk.tile<64xbf16> {
  ^bb0(%a: i8, %i: i32, %c: bf16, %d: f32):
    %half = arith.constant 0.5 : f32
    %0 = arith.uitofp %a : i8 to f32
    %1 = arith.addf %0, %0 : f32
    %2 = arith.sitofp %i : i32 to f32
    %w = arith.extf %c : bf16 to f32
    %3 = arith.mulf %1, %w : f32
    %4 = arith.mulf %2, %w : f32
    %5 = arith.mulf %0, %d : f32
    %6 = arith.mulf %half, %w : f32
    %7 = arith.mulf %0, %w : f32
    %8 = arith.addf %7, %w : f32
    %r0 = arith.truncf %3 : f32 to bf16
    %r1 = arith.truncf %4 : f32 to bf16
    %r2 = arith.truncf %5 : f32 to bf16
    %r3 = arith.truncf %6 : f32 to bf16
    %r4 = arith.truncf %8 : f32 to bf16
    tk.yield %r0, %r1, %r2, %r3, %r4 : bf16, bf16, bf16, bf16, bf16
  }
  return %0#0 : !tk.tile<64xbf16>
}

// Bytes in memory are converted one by one.
// CHECK-LABEL: @bytes
// CHECK: arith.mulf %{{.*}}, %{{.*}} : f32
// CHECK: arith.mulf %{{.*}}, %{{.*}} : f16
#id = affine_map<(d0) -> (d0)>
func.func @bytes(%m: !tk.global<tensor<64xi8>>, %n: !tk.global<tensor<64xi32>>, %s: !tk.tile<64xf16>) -> (!tk.tile<64xf16>, !tk.tile<64xf16>) {
  %q = tk.load %m map #id : <tensor<64xi8>> -> <64xi8>
  %w = tk.load %n map #id : <tensor<64xi32>> -> <64xi32>
  %0 = tk.map (%q, %s : !tk.tile<64xi8>, !tk.tile<64xf16>) -> !tk.tile<64xf16> {
  ^bb0(%a: i8, %c: f16):
    %0 = arith.uitofp %a : i8 to f32
    %1 = arith.extf %c : f16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.truncf %2 : f32 to f16
    tk.yield %3 : f16
  }
  %r = tk.map (%w, %s : !tk.tile<64xi32>, !tk.tile<64xf16>) -> !tk.tile<64xf16> {
  ^bb0(%a: i32, %c: f16):
    %b = arith.trunci %a : i32 to i8
    %d = arith.uitofp %b : i8 to f32
    %e = arith.extf %c : f16 to f32
    %f = arith.mulf %d, %e : f32
    %g = arith.truncf %f : f32 to f16
    tk.yield %g : f16
  }
  return %0, %r : !tk.tile<64xf16>, !tk.tile<64xf16>
}
