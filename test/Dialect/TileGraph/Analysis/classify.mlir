// Mapping types and properties of every kind of op: derived from maps, so one case per op and one per kind of map.
// RUN: weft-opt %s --weft-classify | FileCheck %s

module attributes {tg.symbols = ["n"]} {

// CHECK-LABEL: @pointwise
func.func @pointwise(%f32: tensor<4x8xf32>, %f32row: tensor<8xf32>, %i32: tensor<4x8xi32>, %i32row: tensor<8xi32>, %i1: tensor<4x8xi1>,
                     %scalar: tensor<f32>) {
  // CHECK: tg.neg {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["distributive over tg.add", "distributive over tg.sub", "homomorphism add to add", "homomorphism max to min", "homomorphism min to max", "decreasing"]}
  %0 = tg.neg %f32 : tensor<4x8xf32>
  // CHECK: tg.abs {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["homomorphism mul to mul"]}
  %1 = tg.abs %f32 : tensor<4x8xf32>
  // CHECK: tg.sign {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %2 = tg.sign %f32 : tensor<4x8xf32>
  // CHECK: tg.reciprocal {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["homomorphism mul to mul"]}
  %3 = tg.reciprocal %f32 : tensor<4x8xf32>
  // CHECK: tg.ceil {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %4 = tg.ceil %f32 : tensor<4x8xf32>
  // CHECK: tg.floor {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %5 = tg.floor %f32 : tensor<4x8xf32>
  // CHECK: tg.round {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %6 = tg.round %f32 : tensor<4x8xf32>
  // CHECK: tg.trunc {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %7 = tg.trunc %f32 : tensor<4x8xf32>
  // CHECK: tg.exp {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["homomorphism add to mul", "increasing"]}
  %8 = tg.exp %f32 : tensor<4x8xf32>
  // CHECK: tg.expm1 {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %9 = tg.expm1 %f32 : tensor<4x8xf32>
  // CHECK: tg.log {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["homomorphism mul to add", "increasing"]}
  %10 = tg.log %f32 : tensor<4x8xf32>
  // CHECK: tg.log1p {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %11 = tg.log1p %f32 : tensor<4x8xf32>
  // CHECK: tg.sqrt {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["homomorphism mul to mul", "increasing"]}
  %12 = tg.sqrt %f32 : tensor<4x8xf32>
  // CHECK: tg.rsqrt {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["homomorphism mul to mul", "decreasing"]}
  %13 = tg.rsqrt %f32 : tensor<4x8xf32>
  // CHECK: tg.erf {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %14 = tg.erf %f32 : tensor<4x8xf32>
  // CHECK: tg.sigmoid {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %15 = tg.sigmoid %f32 : tensor<4x8xf32>
  // CHECK: tg.sin {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %16 = tg.sin %f32 : tensor<4x8xf32>
  // CHECK: tg.cos {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %17 = tg.cos %f32 : tensor<4x8xf32>
  // CHECK: tg.tan {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %18 = tg.tan %f32 : tensor<4x8xf32>
  // CHECK: tg.asin {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %19 = tg.asin %f32 : tensor<4x8xf32>
  // CHECK: tg.acos {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %20 = tg.acos %f32 : tensor<4x8xf32>
  // CHECK: tg.atan {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %21 = tg.atan %f32 : tensor<4x8xf32>
  // CHECK: tg.sinh {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %22 = tg.sinh %f32 : tensor<4x8xf32>
  // CHECK: tg.cosh {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %23 = tg.cosh %f32 : tensor<4x8xf32>
  // CHECK: tg.tanh {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %24 = tg.tanh %f32 : tensor<4x8xf32>
  // CHECK: tg.asinh {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["increasing"]}
  %25 = tg.asinh %f32 : tensor<4x8xf32>
  // CHECK: tg.acosh {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %26 = tg.acosh %f32 : tensor<4x8xf32>
  // CHECK: tg.atanh {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %27 = tg.atanh %f32 : tensor<4x8xf32>
  // CHECK: tg.is_nan {{.*}}tg.class = {edges = ["none"], irs = 32 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %28 = tg.is_nan %f32 : tensor<4x8xf32>
  // CHECK: tg.not {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["homomorphism and to or", "homomorphism or to and"]}
  %29 = tg.not %i32 : tensor<4x8xi32>
  // CHECK: tg.add {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"], properties = ["associative", "commutative", "distributive over tg.max", "distributive over tg.min"]}
  %30 = tg.add %f32, %f32row : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.sub {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"]}
  %31 = tg.sub %f32, %f32row : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.mul {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"], properties = ["associative", "commutative", "distributive over tg.add", "distributive over tg.sub"]}
  %32 = tg.mul %f32, %f32row : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.div {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"], properties = ["distributive over tg.add", "distributive over tg.sub"]}
  %33 = tg.div %f32, %f32row : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.mod {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"]}
  %34 = tg.mod %f32, %f32row : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.fmod {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"]}
  %35 = tg.fmod %f32, %f32row : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.max {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"], properties = ["associative", "commutative", "distributive over tg.max", "distributive over tg.min"]}
  %36 = tg.max %f32, %f32row : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.min {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"], properties = ["associative", "commutative", "distributive over tg.max", "distributive over tg.min"]}
  %37 = tg.min %f32, %f32row : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.pow {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"]}
  %38 = tg.pow %f32, %f32row : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.and {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"], properties = ["associative", "commutative", "distributive over tg.or", "distributive over tg.xor"]}
  %39 = tg.and %i32, %i32row : tensor<4x8xi32>, tensor<8xi32>
  // CHECK: tg.or {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"], properties = ["associative", "commutative", "distributive over tg.and"]}
  %40 = tg.or %i32, %i32row : tensor<4x8xi32>, tensor<8xi32>
  // CHECK: tg.xor {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"], properties = ["associative", "commutative"]}
  %41 = tg.xor %i32, %i32row : tensor<4x8xi32>, tensor<8xi32>
  // CHECK: tg.shl {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"], properties = ["distributive over tg.add", "distributive over tg.sub"]}
  %42 = tg.shl %i32, %i32row : tensor<4x8xi32>, tensor<8xi32>
  // CHECK: tg.shr {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"]}
  %43 = tg.shr %i32, %i32row : tensor<4x8xi32>, tensor<8xi32>
  // CHECK: tg.is_inf {{.*}}tg.class = {edges = ["none"], irs = 32 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %44 = tg.is_inf %f32 : tensor<4x8xf32>
  // CHECK: tg.cmp {{.*}}tg.class = {edges = ["none", "none"], irs = 32 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"]}
  %45 = tg.cmp lt %f32, %f32row : tensor<4x8xf32>, tensor<8xf32>
  // CHECK: tg.select {{.*}}tg.class = {edges = ["none", "none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_one", "one_to_many"]}
  %46 = tg.select %i1, %f32, %scalar : tensor<4x8xi1>, tensor<4x8xf32>, tensor<f32>
  // CHECK: tg.cast {{.*}}tg.class = {edges = ["none"], irs = 64 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %47 = tg.cast %f32 : tensor<4x8xf32> to tensor<4x8xf16>
  return
}

// CHECK-LABEL: @movement
func.func @movement(%x: tensor<4x8xf32>, %u: tensor<1x8xf32>, %v: tensor<f32>, %img: tensor<1x8x11x11xf32>, %unit: tensor<4x1x8xf32>,
                    %s: tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>) {
  // CHECK: tg.transpose {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "shuffle", operands = ["shuffle"]}
  %0 = tg.transpose %x [1, 0] : tensor<4x8xf32>
  // CHECK: tg.transpose {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "reorganize", operands = ["reorganize"]}
  %1 = tg.transpose %unit [0, 2, 1] : tensor<4x1x8xf32>
  // CHECK: tg.reshape {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "reorganize", operands = ["reorganize"]}
  %2 = tg.reshape %x : tensor<4x8xf32> to tensor<2x16xf32>
  // CHECK: tg.reshape {{.*}}tg.class = {edges = ["none"], mapping = "reorganize", operands = ["reorganize"]}
  %3 = tg.reshape %s : tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>> to tensor<?x2x4xf32, #tg.dims<()[s0] -> (s0, 2, 4)>>
  // CHECK: tg.bitcast {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %4 = tg.bitcast %x : tensor<4x8xf32> to tensor<4x8xi32>
  // CHECK: tg.broadcast {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_many"]}
  %5 = tg.broadcast %u : tensor<1x8xf32> to tensor<4x8xf32>
  // CHECK: tg.broadcast {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "reorganize", operands = ["reorganize"]}
  %6 = tg.broadcast %x : tensor<4x8xf32> to tensor<1x4x8xf32>
  // CHECK: tg.slice {{.*}}tg.class = {edges = ["none"], irs = 16 : i64, mapping = "one_to_one", operands = ["one_to_one"]}
  %7 = tg.slice %x offsets = [0, 1] strides = [2, 3] : tensor<4x8xf32> to tensor<2x2xf32>
  // CHECK: tg.slice {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "shuffle", operands = ["shuffle"]}
  %8 = tg.slice %x offsets = [0, 7] strides = [1, -1] : tensor<4x8xf32> to tensor<4x8xf32>
  // CHECK: tg.pad {{.*}}tg.class = {edges = ["none", "none"], irs = 220 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"]}
  %9 = tg.pad %x, %v low = [1, 0] high = [0, 3] interior = [0, 0] : tensor<4x8xf32>, tensor<f32>
  // CHECK: tg.pad {{.*}}tg.class = {edges = ["none", "none"], irs = 352 : i64, mapping = "one_to_many", operands = ["one_to_one", "one_to_many"]}
  %10 = tg.pad %x, %v low = [1, 0] high = [0, 3] interior = [1, 0] : tensor<4x8xf32>, tensor<f32>
  // CHECK: tg.concat {{.*}}tg.class = {edges = ["none", "none"], irs = 256 : i64, mapping = "one_to_one", operands = ["one_to_one", "one_to_one"]}
  %11 = tg.concat %x, %x axis = 0 : tensor<4x8xf32>, tensor<4x8xf32>
  // CHECK: tg.concat {{.*}}tg.class = {edges = ["none", "none"], mapping = "one_to_one", operands = ["one_to_one", "one_to_one"]}
  %12 = tg.concat %s, %x axis = 0 : tensor<?x8xf32, #tg.dims<()[s0] -> (s0, 8)>>, tensor<4x8xf32>
  // CHECK: tg.window {{.*}}tg.class = {edges = ["none"], irs = 7200 : i64, mapping = "one_to_many", operands = ["one_to_many"]}
  %13 = tg.window %img dims = [2, 3] sizes = [3, 3] strides = [2, 2] dilations = [1, 1] : tensor<1x8x11x11xf32>
  return
}

// CHECK-LABEL: @many
func.func @many(%x: tensor<4x8xf32>, %b: tensor<8x16xf32>, %w: tensor<2x9xf32>) {
  // CHECK: tg.contract {{.*}}tg.class = {edges = ["none", "none"], irs = 256 : i64, mapping = "contraction", operands = ["contraction", "contraction"]}
  %0 = tg.contract %x, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  // CHECK: tg.contract {{.*}}tg.class = {edges = ["none", "none"], irs = 64 : i64, mapping = "window", operands = ["window", "contraction"]}
  %1 = tg.contract %w, %x [affine_map<(m, n, i, k) -> (m, i + k)>, affine_map<(m, n, i, k) -> (n, k)>, affine_map<(m, n, i, k) -> (m, n, i)>]
      : tensor<2x9xf32>, tensor<4x8xf32> -> tensor<2x4x2xf32>
  // CHECK: tg.reduce {{.*}}tg.class = {edges = ["none"], irs = 16 : i64, mapping = "reduction", operands = ["reduction"]}
  %2 = tg.reduce add %x axes = [1] keep_dims : tensor<4x8xf32>
  // CHECK: tg.arg_reduce {{.*}}tg.class = {edges = ["none"], irs = 32 : i64, mapping = "reduction", operands = ["reduction"]}
  %3 = tg.arg_reduce max %x axis = 1 : tensor<4x8xf32>
  // CHECK: tg.scan {{.*}}tg.class = {edges = ["none"], irs = 128 : i64, mapping = "reduction", operands = ["reduction"]}
  %4 = tg.scan add %x axis = 1 : tensor<4x8xf32>
  // CHECK: tg.top_k {{.*}}tg.class = {edges = ["none"], irs = 48 : i64, mapping = "opaque", operands = ["opaque"]}
  %5, %6 = tg.top_k %x axis = 1 k = 3 {largest} : tensor<4x8xf32>
  return
}

// CHECK-LABEL: @indexed
func.func @indexed(%data: tensor<100x8xf32>, %i: tensor<4xi64>, %u: tensor<4x8xf32>) {
  // CHECK: tg.gather {{.*}}tg.class = {edges = ["none", "none"], irs = 128 : i64, mapping = "one_to_many", operands = ["one_to_many", "one_to_many"]}
  %0 = tg.gather %data, %i data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i)>]
      : tensor<100x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
  // CHECK: tg.gather {{.*}}tg.class = {edges = ["none", "none"], irs = 16 : i64, mapping = "one_to_many", operands = ["one_to_many", "one_to_one"]}
  %1 = tg.gather %data, %i data_map = affine_map<(i)[s] -> (s, 0)> index_maps = [affine_map<(i) -> (i)>]
      : tensor<100x8xf32>, tensor<4xi64> -> tensor<4xf32>
  // CHECK: tg.scatter {{.*}}tg.class = {edges = ["none", "none", "none"], irs = 3200 : i64, mapping = "opaque", operands = ["opaque", "opaque", "opaque"]}
  %2 = tg.scatter %data, %i, %u data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i)>]
      {kind = #tg<monoid add>} : tensor<100x8xf32>, tensor<4xi64>, tensor<4x8xf32>
  return
}

// Composites have no maps until they are decomposed; a fold is as complex as what is in it.
// CHECK-LABEL: @structure
func.func @structure(%x: tensor<4x64xf32>) {
  // CHECK: tg.softmax {{.*}}tg.class = {edges = ["none"], irs = 1024 : i64, mapping = "opaque"}
  %0 = tg.softmax %x axis = 1 : tensor<4x64xf32>
  // CHECK: tg.constant {{.*}}tg.class = {irs = 16 : i64, mapping = "one_to_many"}
  %1 = tg.constant dense<[1, 2]> : tensor<2xi64>
  // CHECK: tg.weight {{.*}}tg.class = {irs = 128 : i64, mapping = "one_to_many"}
  %2 = tg.weight <"model.weights.bin", 4096, 128> : tensor<4x8xf32>
  // CHECK: tg.extents {{.*}}tg.class = {irs = 16 : i64, mapping = "one_to_many"}
  %3 = tg.extents affine_map<()[s0] -> (s0, 12)>
  // CHECK: tg.iota {{.*}}tg.class = {irs = 256 : i64, mapping = "one_to_many"}
  %4 = tg.iota 1 : tensor<4x8xi64>
  // CHECK: tg.fold {{.*}}tg.class = {irs = 16 : i64, mapping = "reduction"}
  %5 = tg.fold over affine_map<() -> (64)> init [0.0 : f32] update {
  ^bb0(%l: tensor<4x1xf32>):
    // CHECK: tg.reduce {{.*}}tg.class = {edges = ["none"], irs = 16 : i64, mapping = "reduction", operands = ["reduction"], removable}
    %6 = tg.reduce add %x axes = [1] keep_dims {tg.streamed} : tensor<4x64xf32>
    // CHECK: tg.add {{.*}}tg.class = {edges = ["none", "fuse: many_to_many"], irs = 16 : i64, mapping = "one_to_one", operands = ["one_to_one", "one_to_one"], properties = ["associative", "commutative", "distributive over tg.max", "distributive over tg.min"]}
    %7 = tg.add %l, %6 : tensor<4x1xf32>, tensor<4x1xf32>
    tg.fold_yield %7 : tensor<4x1xf32>
  } merge {
  } finish {
  ^bb0(%l: tensor<4x1xf32>):
    tg.fold_yield %l : tensor<4x1xf32>
  } : tensor<4x1xf32>
  // CHECK: tg.kernel {{.*}}tg.class = {irs = 1024 : i64, mapping = "one_to_one"}
  %8 = tg.kernel -> tensor<4x64xf32> {
    // CHECK: tg.exp {{.*}}tg.class = {edges = ["none"], irs = 1024 : i64, mapping = "one_to_one", operands = ["one_to_one"], properties = ["homomorphism add to mul", "increasing"]}
    %9 = tg.exp %x : tensor<4x64xf32>
    tg.yield %9 : tensor<4x64xf32>
  }
  return
}

}
