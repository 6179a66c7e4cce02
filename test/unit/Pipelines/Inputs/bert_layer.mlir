#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d2, d0, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d3, d0, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>
module attributes {tg.symbols = ["T"]} {
  func.func @main(%arg0: tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>> {tg.name = "x"}, %arg1: tensor<768x768xf16> {tg.name = "q"}, %arg2: tensor<768xf16> {tg.name = "q_bias"}, %arg3: tensor<768x768xf16> {tg.name = "k"}, %arg4: tensor<768xf16> {tg.name = "k_bias"}, %arg5: tensor<768x768xf16> {tg.name = "v"}, %arg6: tensor<768xf16> {tg.name = "v_bias"}, %arg7: tensor<768x768xf16> {tg.name = "out"}, %arg8: tensor<768xf16> {tg.name = "out_bias"}, %arg9: tensor<768xf16> {tg.name = "norm1_scale"}, %arg10: tensor<768xf16> {tg.name = "norm1_bias"}, %arg11: tensor<768x3072xf16> {tg.name = "fc1"}, %arg12: tensor<3072xf16> {tg.name = "fc1_bias"}, %arg13: tensor<3072x768xf16> {tg.name = "fc2"}, %arg14: tensor<768xf16> {tg.name = "fc2_bias"}, %arg15: tensor<768xf16> {tg.name = "norm2_scale"}, %arg16: tensor<768xf16> {tg.name = "norm2_bias"}) -> (tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>> {tg.name = "layernormalization30"}) {
    %0 = tg.constant dense<1.000000e+00> : tensor<f32>
    %1 = tg.constant dense<5.000000e-01> : tensor<f32>
    %2 = tg.constant dense<0.707106769> : tensor<f32>
    %3 = tg.constant dense<9.99999974E-6> : tensor<f32>
    %4 = tg.constant dense<7.680000e+02> : tensor<f32>
    %5 = tg.constant dense<1.250000e-01> : tensor<f16>
    %6 = tg.contract %arg0, %arg1 [#map, #map1, #map2] : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768x768xf16> -> tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    %7 = tg.add %6, %arg2 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768xf16>
    %8 = tg.reshape %7 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>> to tensor<?x12x64xf16, #tg.dims<()[s0] -> (s0, 12, 64)>>
    %9 = tg.contract %arg0, %arg3 [#map, #map1, #map2] : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768x768xf16> -> tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    %10 = tg.add %9, %arg4 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768xf16>
    %11 = tg.reshape %10 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>> to tensor<?x12x64xf16, #tg.dims<()[s0] -> (s0, 12, 64)>>
    %12 = tg.contract %arg0, %arg5 [#map, #map1, #map2] : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768x768xf16> -> tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    %13 = tg.add %12, %arg6 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768xf16>
    %14 = tg.reshape %13 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>> to tensor<?x12x64xf16, #tg.dims<()[s0] -> (s0, 12, 64)>>
    %15 = tg.contract %8, %11 [#map3, #map4, #map5] : tensor<?x12x64xf16, #tg.dims<()[s0] -> (s0, 12, 64)>>, tensor<?x12x64xf16, #tg.dims<()[s0] -> (s0, 12, 64)>> -> tensor<12x?x?xf16, #tg.dims<()[s0] -> (12, s0, s0)>>
    %16 = tg.mul %15, %5 : tensor<12x?x?xf16, #tg.dims<()[s0] -> (12, s0, s0)>>, tensor<f16>
    %17 = tg.cast %16 : tensor<12x?x?xf16, #tg.dims<()[s0] -> (12, s0, s0)>> to tensor<12x?x?xf32, #tg.dims<()[s0] -> (12, s0, s0)>>
    %18 = tg.reduce  max %17 axes = [2] keep_dims : tensor<12x?x?xf32, #tg.dims<()[s0] -> (12, s0, s0)>>
    %19 = tg.sub %17, %18 : tensor<12x?x?xf32, #tg.dims<()[s0] -> (12, s0, s0)>>, tensor<12x?x1xf32, #tg.dims<()[s0] -> (12, s0, 1)>>
    %20 = tg.exp %19 : tensor<12x?x?xf32, #tg.dims<()[s0] -> (12, s0, s0)>>
    %21 = tg.reduce  add %20 axes = [2] keep_dims : tensor<12x?x?xf32, #tg.dims<()[s0] -> (12, s0, s0)>>
    %22 = tg.div %20, %21 : tensor<12x?x?xf32, #tg.dims<()[s0] -> (12, s0, s0)>>, tensor<12x?x1xf32, #tg.dims<()[s0] -> (12, s0, 1)>>
    %23 = tg.cast %22 : tensor<12x?x?xf32, #tg.dims<()[s0] -> (12, s0, s0)>> to tensor<12x?x?xf16, #tg.dims<()[s0] -> (12, s0, s0)>>
    %24 = tg.contract %23, %14 [#map6, #map7, #map8] : tensor<12x?x?xf16, #tg.dims<()[s0] -> (12, s0, s0)>>, tensor<?x12x64xf16, #tg.dims<()[s0] -> (s0, 12, 64)>> -> tensor<?x12x64xf16, #tg.dims<()[s0] -> (s0, 12, 64)>>
    %25 = tg.reshape %24 : tensor<?x12x64xf16, #tg.dims<()[s0] -> (s0, 12, 64)>> to tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    %26 = tg.contract %25, %arg7 [#map, #map1, #map2] : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768x768xf16> -> tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    %27 = tg.add %26, %arg8 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768xf16>
    %28 = tg.add %arg0, %27 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>, tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    %29 = tg.cast %28 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>> to tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>
    %30 = tg.reduce  add %29 axes = [1] keep_dims : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>
    %31 = tg.div %30, %4 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %32 = tg.sub %29, %31 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>, tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %33 = tg.mul %32, %32 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>, tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>
    %34 = tg.reduce  add %33 axes = [1] keep_dims : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>
    %35 = tg.div %34, %4 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %36 = tg.add %35, %3 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %37 = tg.rsqrt %36 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %38 = tg.mul %32, %37 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>, tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %39 = tg.cast %38 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>> to tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    %40 = tg.cast %39 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>> to tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>
    %41 = tg.cast %arg9 : tensor<768xf16> to tensor<768xf32>
    %42 = tg.mul %40, %41 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768xf32>
    %43 = tg.cast %arg10 : tensor<768xf16> to tensor<768xf32>
    %44 = tg.add %42, %43 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768xf32>
    %45 = tg.cast %44 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>> to tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    %46 = tg.contract %45, %arg11 [#map, #map1, #map2] : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768x3072xf16> -> tensor<?x3072xf16, #tg.dims<()[s0] -> (s0, 3072)>>
    %47 = tg.add %46, %arg12 : tensor<?x3072xf16, #tg.dims<()[s0] -> (s0, 3072)>>, tensor<3072xf16>
    %48 = tg.cast %47 : tensor<?x3072xf16, #tg.dims<()[s0] -> (s0, 3072)>> to tensor<?x3072xf32, #tg.dims<()[s0] -> (s0, 3072)>>
    %49 = tg.mul %48, %2 : tensor<?x3072xf32, #tg.dims<()[s0] -> (s0, 3072)>>, tensor<f32>
    %50 = tg.erf %49 : tensor<?x3072xf32, #tg.dims<()[s0] -> (s0, 3072)>>
    %51 = tg.mul %48, %1 : tensor<?x3072xf32, #tg.dims<()[s0] -> (s0, 3072)>>, tensor<f32>
    %52 = tg.add %50, %0 : tensor<?x3072xf32, #tg.dims<()[s0] -> (s0, 3072)>>, tensor<f32>
    %53 = tg.mul %51, %52 : tensor<?x3072xf32, #tg.dims<()[s0] -> (s0, 3072)>>, tensor<?x3072xf32, #tg.dims<()[s0] -> (s0, 3072)>>
    %54 = tg.cast %53 : tensor<?x3072xf32, #tg.dims<()[s0] -> (s0, 3072)>> to tensor<?x3072xf16, #tg.dims<()[s0] -> (s0, 3072)>>
    %55 = tg.contract %54, %arg13 [#map, #map1, #map2] : tensor<?x3072xf16, #tg.dims<()[s0] -> (s0, 3072)>>, tensor<3072x768xf16> -> tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    %56 = tg.add %55, %arg14 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768xf16>
    %57 = tg.add %45, %56 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>, tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    %58 = tg.cast %57 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>> to tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>
    %59 = tg.reduce  add %58 axes = [1] keep_dims : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>
    %60 = tg.div %59, %4 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %61 = tg.sub %58, %60 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>, tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %62 = tg.mul %61, %61 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>, tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>
    %63 = tg.reduce  add %62 axes = [1] keep_dims : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>
    %64 = tg.div %63, %4 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %65 = tg.add %64, %3 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %66 = tg.rsqrt %65 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %67 = tg.mul %61, %66 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>, tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %68 = tg.cast %67 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>> to tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    %69 = tg.cast %68 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>> to tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>
    %70 = tg.cast %arg15 : tensor<768xf16> to tensor<768xf32>
    %71 = tg.mul %69, %70 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768xf32>
    %72 = tg.cast %arg16 : tensor<768xf16> to tensor<768xf32>
    %73 = tg.add %71, %72 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>>, tensor<768xf32>
    %74 = tg.cast %73 : tensor<?x768xf32, #tg.dims<()[s0] -> (s0, 768)>> to tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
    return %74 : tensor<?x768xf16, #tg.dims<()[s0] -> (s0, 768)>>
  }
}
