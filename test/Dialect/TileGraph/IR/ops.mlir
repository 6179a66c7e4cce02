// Every op that is not elementwise parses, prints and infers its types.
// RUN: weft-opt %s | weft-opt | FileCheck %s

module attributes {tg.symbols = ["batch", "seq"]} {

// CHECK-LABEL: @contract
func.func @contract(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %x: tensor<1x3x9x9xf32>, %w: tensor<8x3x3x3xf32>) {
  // CHECK: tg.contract %{{.*}}, %{{.*}} [#{{.*}}, #{{.*}}, #{{.*}}] : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  // A convolution with stride 2.
  // CHECK: tg.contract %{{.*}} : tensor<1x3x9x9xf32>, tensor<8x3x3x3xf32> -> tensor<1x8x4x4xf32>
  %1 = tg.contract %x, %w [affine_map<(n, o, i, j, c, k, l) -> (n, c, i * 2 + k, j * 2 + l)>,
                           affine_map<(n, o, i, j, c, k, l) -> (o, c, k, l)>, affine_map<(n, o, i, j, c, k, l) -> (n, o, i, j)>]
      : tensor<1x3x9x9xf32>, tensor<8x3x3x3xf32> -> tensor<1x8x4x4xf32>
  return
}

// CHECK-LABEL: @reductions
func.func @reductions(%x: tensor<4x8xf32>) -> (tensor<4x1xf32>, tensor<4xi64>, tensor<4x3xf32>, tensor<4x3xi64>) {
  // CHECK: tg.reduce add %{{.*}} axes = [1] keep_dims : tensor<4x8xf32>
  %0 = tg.reduce add %x axes = [1] keep_dims : tensor<4x8xf32>
  // CHECK: tg.arg_reduce max %{{.*}} axis = 1 {select_last} : tensor<4x8xf32>
  %1 = tg.arg_reduce max %x axis = 1 {select_last} : tensor<4x8xf32>
  // CHECK: tg.scan mul %{{.*}} axis = 0 {exclusive, reverse} : tensor<4x8xf32>
  %2 = tg.scan mul %x axis = 0 {exclusive, reverse} : tensor<4x8xf32>
  // CHECK: tg.top_k %{{.*}} axis = 1 k = 3 {largest} : tensor<4x8xf32>
  %3, %4 = tg.top_k %x axis = 1 k = 3 {largest} : tensor<4x8xf32>
  return %0, %1, %3, %4 : tensor<4x1xf32>, tensor<4xi64>, tensor<4x3xf32>, tensor<4x3xi64>
}

// CHECK-LABEL: @views
func.func @views(%x: tensor<4x8xf32>, %v: tensor<f32>, %img: tensor<1x8x11x11xf32>)
    -> (tensor<8x4xf32>, tensor<8x11xf32>, tensor<8x8xf32>, tensor<1x8x5x5x3x3xf32>) {
  // CHECK: tg.transpose %{{.*}} [1, 0] : tensor<4x8xf32>
  %0 = tg.transpose %x [1, 0] : tensor<4x8xf32>
  // CHECK: tg.reshape %{{.*}} : tensor<4x8xf32> to tensor<2x16xf32>
  %1 = tg.reshape %x : tensor<4x8xf32> to tensor<2x16xf32>
  // CHECK: tg.bitcast %{{.*}} : tensor<4x8xf32> to tensor<4x8xi32>
  %2 = tg.bitcast %x : tensor<4x8xf32> to tensor<4x8xi32>
  // CHECK: tg.broadcast %{{.*}} : tensor<f32> to tensor<2x3xf32>
  %3 = tg.broadcast %v : tensor<f32> to tensor<2x3xf32>
  // CHECK: tg.slice %{{.*}} offsets = [0, 7] strides = [2, -1] : tensor<4x8xf32> to tensor<2x8xf32>
  %4 = tg.slice %x offsets = [0, 7] strides = [2, -1] : tensor<4x8xf32> to tensor<2x8xf32>
  // CHECK: tg.pad %{{.*}}, %{{.*}} low = [1, 0] high = [0, 3] interior = [1, 0] : tensor<4x8xf32>, tensor<f32>
  %5 = tg.pad %x, %v low = [1, 0] high = [0, 3] interior = [1, 0] : tensor<4x8xf32>, tensor<f32>
  // CHECK: tg.concat %{{.*}}, %{{.*}} axis = 0 : tensor<4x8xf32>, tensor<4x8xf32>
  %6 = tg.concat %x, %x axis = 0 : tensor<4x8xf32>, tensor<4x8xf32>
  // CHECK: tg.window %{{.*}} dims = [2, 3] sizes = [3, 3] strides = [2, 2] dilations = [1, 1] : tensor<1x8x11x11xf32>
  %7 = tg.window %img dims = [2, 3] sizes = [3, 3] strides = [2, 2] dilations = [1, 1] : tensor<1x8x11x11xf32>
  return %0, %5, %6, %7 : tensor<8x4xf32>, tensor<8x11xf32>, tensor<8x8xf32>, tensor<1x8x5x5x3x3xf32>
}

// CHECK-LABEL: @indexed
func.func @indexed(%data: tensor<100x8xf32>, %i: tensor<4xi64>, %u: tensor<4x8xf32>) -> tensor<100x8xf32> {
  // CHECK: tg.gather %{{.*}}, %{{.*}} data_map = {{.*}} index_maps = [{{.*}}] : tensor<100x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
  %0 = tg.gather %data, %i data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i)>]
      : tensor<100x8xf32>, tensor<4xi64> -> tensor<4x8xf32>
  // CHECK: tg.scatter %{{.*}} {kind = #tg<monoid add>} : tensor<100x8xf32>, tensor<4xi64>, tensor<4x8xf32>
  %1 = tg.scatter %data, %i, %u data_map = affine_map<(i, j)[s] -> (s, j)> index_maps = [affine_map<(i, j) -> (i)>]
      {kind = #tg<monoid add>} : tensor<100x8xf32>, tensor<4xi64>, tensor<4x8xf32>
  return %1 : tensor<100x8xf32>
}

// CHECK-LABEL: @composites
func.func @composites(%x: tensor<4x8xf16>, %w: tensor<8xf16>, %img: tensor<1x4x8x8xf16>, %c: tensor<4xf16>, %q: tensor<1x8x4x16xf16>,
                      %k: tensor<1x2x6x16xf16>, %mask: tensor<4x6xi1>) -> (tensor<4x1xf32>, tensor<1x8x4x6xf16>) {
  // CHECK: tg.gelu %{{.*}} {tanh} : tensor<4x8xf16>
  %0 = tg.gelu %x {tanh} : tensor<4x8xf16>
  // CHECK: tg.softmax %{{.*}} axis = 1 {log} : tensor<4x8xf16>
  %1 = tg.softmax %x axis = 1 {log} : tensor<4x8xf16>
  // CHECK: tg.layer_norm %{{.*}}, %{{.*}}, %{{.*}} axis = 1 epsilon = 1.000000e-05 stash = f32
  %2, %mean, %inv = tg.layer_norm %x, %w, %w axis = 1 epsilon = 1.0e-5 stash = f32 : tensor<4x8xf16>, tensor<8xf16>, tensor<8xf16>
  // CHECK: tg.rms_norm %{{.*}}, %{{.*}} axis = 1 epsilon = 1.000000e-05 stash = f32
  %3 = tg.rms_norm %x, %w axis = 1 epsilon = 1.0e-5 stash = f32 : tensor<4x8xf16>, tensor<8xf16>
  // CHECK: tg.group_norm %{{.*}}, %{{.*}}, %{{.*}} groups = 2 epsilon = 1.000000e-05 stash = f32
  %4 = tg.group_norm %img, %c, %c groups = 2 epsilon = 1.0e-5 stash = f32 : tensor<1x4x8x8xf16>, tensor<4xf16>, tensor<4xf16>
  // CHECK: tg.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} scale = 2.500000e-01 softmax = f32 {causal_offset = 2 : i64}
  %5, %scores = tg.attention %q, %k, %k mask %mask scale = 0.25 softmax = f32 {causal_offset = 2 : i64}
      : tensor<1x8x4x16xf16>, tensor<1x2x6x16xf16>, tensor<1x2x6x16xf16>, tensor<4x6xi1>
  return %mean, %scores : tensor<4x1xf32>, tensor<1x8x4x6xf16>
}

// CHECK-LABEL: @structure
func.func @structure(%x: tensor<?x8xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 8)>>) -> tensor<?x8xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 8)>> {
  // CHECK: tg.constant dense<[1, 2]> : tensor<2xi64>
  %0 = tg.constant dense<[1, 2]> : tensor<2xi64>
  // CHECK: tg.weight <"model.weights.bin", 4096, 128> : tensor<4x8xf32>
  %1 = tg.weight <"model.weights.bin", 4096, 128> : tensor<4x8xf32>
  // CHECK: tg.extents #{{.*}}
  %2 = tg.extents affine_map<()[s0, s1] -> (s0, 12, s1 * 2)>
  // CHECK: tg.iota 1 : tensor<4x8xi64>
  %3 = tg.iota 1 : tensor<4x8xi64>
  // CHECK: tg.assume_equal #{{.*}}, "input `b` dimension 1"
  tg.assume_equal affine_map<()[s0, s1] -> (s0, s1)>, "input `b` dimension 1"
  // CHECK: tg.kernel "act" -> tensor<?x8xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 8)>> {
  %4 = tg.kernel "act" -> tensor<?x8xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 8)>> {
    %6 = tg.exp %x : tensor<?x8xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 8)>>
    // CHECK: tg.yield %{{.*}} : tensor<?x8xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 8)>>
    tg.yield %6 : tensor<?x8xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 8)>>
  }
  // CHECK: tg.dispatch @exp_0::@kernel(%{{.*}}) symbols = #{{.*}} : (tensor<?x8xf32
  %5 = tg.dispatch @exp_0::@kernel(%4) symbols = affine_map<()[s0, s1] -> (s0 * s1)>
      : (tensor<?x8xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 8)>>) -> tensor<?x8xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 8)>>
  return %5 : tensor<?x8xf32, #tg.dims<()[s0, s1] -> (s0 * s1, 8)>>
}

}
