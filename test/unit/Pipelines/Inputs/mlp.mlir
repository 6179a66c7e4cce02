#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
module attributes {tg.symbols = ["T"]} {
  func.func @main(%arg0: tensor<?x1280xf16, #tg.dims<()[s0] -> (s0, 1280)>> {tg.name = "x"}, %arg1: tensor<1280xf16> {tg.name = "n_scale"}, %arg2: tensor<1280xf16> {tg.name = "n_bias"}, %arg3: tensor<1280x5120xf16> {tg.name = "a"}, %arg4: tensor<5120xf16> {tg.name = "a_bias"}, %arg5: tensor<5120x1280xf16> {tg.name = "b"}, %arg6: tensor<1280xf16> {tg.name = "b_bias"}) -> (tensor<?x1280xf16, #tg.dims<()[s0] -> (s0, 1280)>> {tg.name = "add7"}) {
    %0 = tg.constant dense<1.000000e+00> : tensor<f32>
    %1 = tg.constant dense<5.000000e-01> : tensor<f32>
    %2 = tg.constant dense<0.707106769> : tensor<f32>
    %3 = tg.constant dense<9.99999974E-6> : tensor<f32>
    %4 = tg.constant dense<1.280000e+03> : tensor<f32>
    %5 = tg.cast %arg0 : tensor<?x1280xf16, #tg.dims<()[s0] -> (s0, 1280)>> to tensor<?x1280xf32, #tg.dims<()[s0] -> (s0, 1280)>>
    %6 = tg.reduce  add %5 axes = [1] keep_dims : tensor<?x1280xf32, #tg.dims<()[s0] -> (s0, 1280)>>
    %7 = tg.div %6, %4 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %8 = tg.sub %5, %7 : tensor<?x1280xf32, #tg.dims<()[s0] -> (s0, 1280)>>, tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %9 = tg.mul %8, %8 : tensor<?x1280xf32, #tg.dims<()[s0] -> (s0, 1280)>>, tensor<?x1280xf32, #tg.dims<()[s0] -> (s0, 1280)>>
    %10 = tg.reduce  add %9 axes = [1] keep_dims : tensor<?x1280xf32, #tg.dims<()[s0] -> (s0, 1280)>>
    %11 = tg.div %10, %4 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %12 = tg.add %11, %3 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %13 = tg.rsqrt %12 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %14 = tg.mul %8, %13 : tensor<?x1280xf32, #tg.dims<()[s0] -> (s0, 1280)>>, tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %15 = tg.cast %14 : tensor<?x1280xf32, #tg.dims<()[s0] -> (s0, 1280)>> to tensor<?x1280xf16, #tg.dims<()[s0] -> (s0, 1280)>>
    %16 = tg.cast %15 : tensor<?x1280xf16, #tg.dims<()[s0] -> (s0, 1280)>> to tensor<?x1280xf32, #tg.dims<()[s0] -> (s0, 1280)>>
    %17 = tg.cast %arg1 : tensor<1280xf16> to tensor<1280xf32>
    %18 = tg.mul %16, %17 : tensor<?x1280xf32, #tg.dims<()[s0] -> (s0, 1280)>>, tensor<1280xf32>
    %19 = tg.cast %arg2 : tensor<1280xf16> to tensor<1280xf32>
    %20 = tg.add %18, %19 : tensor<?x1280xf32, #tg.dims<()[s0] -> (s0, 1280)>>, tensor<1280xf32>
    %21 = tg.cast %20 : tensor<?x1280xf32, #tg.dims<()[s0] -> (s0, 1280)>> to tensor<?x1280xf16, #tg.dims<()[s0] -> (s0, 1280)>>
    %22 = tg.contract %21, %arg3 [#map, #map1, #map2] : tensor<?x1280xf16, #tg.dims<()[s0] -> (s0, 1280)>>, tensor<1280x5120xf16> -> tensor<?x5120xf16, #tg.dims<()[s0] -> (s0, 5120)>>
    %23 = tg.add %22, %arg4 : tensor<?x5120xf16, #tg.dims<()[s0] -> (s0, 5120)>>, tensor<5120xf16>
    %24 = tg.cast %23 : tensor<?x5120xf16, #tg.dims<()[s0] -> (s0, 5120)>> to tensor<?x5120xf32, #tg.dims<()[s0] -> (s0, 5120)>>
    %25 = tg.mul %24, %2 : tensor<?x5120xf32, #tg.dims<()[s0] -> (s0, 5120)>>, tensor<f32>
    %26 = tg.erf %25 : tensor<?x5120xf32, #tg.dims<()[s0] -> (s0, 5120)>>
    %27 = tg.mul %24, %1 : tensor<?x5120xf32, #tg.dims<()[s0] -> (s0, 5120)>>, tensor<f32>
    %28 = tg.add %26, %0 : tensor<?x5120xf32, #tg.dims<()[s0] -> (s0, 5120)>>, tensor<f32>
    %29 = tg.mul %27, %28 : tensor<?x5120xf32, #tg.dims<()[s0] -> (s0, 5120)>>, tensor<?x5120xf32, #tg.dims<()[s0] -> (s0, 5120)>>
    %30 = tg.cast %29 : tensor<?x5120xf32, #tg.dims<()[s0] -> (s0, 5120)>> to tensor<?x5120xf16, #tg.dims<()[s0] -> (s0, 5120)>>
    %31 = tg.contract %30, %arg5 [#map, #map1, #map2] : tensor<?x5120xf16, #tg.dims<()[s0] -> (s0, 5120)>>, tensor<5120x1280xf16> -> tensor<?x1280xf16, #tg.dims<()[s0] -> (s0, 1280)>>
    %32 = tg.add %31, %arg6 : tensor<?x1280xf16, #tg.dims<()[s0] -> (s0, 1280)>>, tensor<1280xf16>
    %33 = tg.add %arg0, %32 : tensor<?x1280xf16, #tg.dims<()[s0] -> (s0, 1280)>>, tensor<?x1280xf16, #tg.dims<()[s0] -> (s0, 1280)>>
    return %33 : tensor<?x1280xf16, #tg.dims<()[s0] -> (s0, 1280)>>
  }
}
