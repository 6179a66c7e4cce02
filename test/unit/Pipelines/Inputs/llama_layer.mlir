#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map3 = affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map7 = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
#map8 = affine_map<(d0, d1, d2, d3) -> (d1, d0, d2)>
module attributes {tg.symbols = ["T"]} {
  func.func @main(%arg0: tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>> {tg.name = "x"}, %arg1: tensor<4096xf16> {tg.name = "norm1"}, %arg2: tensor<4096x4096xf16> {tg.name = "q"}, %arg3: tensor<4096x1024xf16> {tg.name = "k"}, %arg4: tensor<4096x1024xf16> {tg.name = "v"}, %arg5: tensor<4096x4096xf16> {tg.name = "out"}, %arg6: tensor<4096xf16> {tg.name = "norm2"}, %arg7: tensor<4096x14336xf16> {tg.name = "gate"}, %arg8: tensor<4096x14336xf16> {tg.name = "up"}, %arg9: tensor<14336x4096xf16> {tg.name = "down"}) -> (tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>> {tg.name = "add33"}) {
    %0 = tg.constant dense<2.44140625E-4> : tensor<f32>
    %1 = tg.constant dense<9.99999974E-6> : tensor<f32>
    %2 = tg.constant dense<8.837890e-02> : tensor<f16>
    %3 = tg.cast %arg0 : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>> to tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>
    %4 = tg.mul %3, %3 : tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>
    %5 = tg.reduce  add %4 axes = [1] keep_dims : tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>
    %6 = tg.mul %5, %0 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %7 = tg.add %6, %1 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %8 = tg.rsqrt %7 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %9 = tg.mul %3, %8 : tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %10 = tg.cast %9 : tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>> to tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
    %11 = tg.cast %10 : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>> to tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>
    %12 = tg.cast %arg1 : tensor<4096xf16> to tensor<4096xf32>
    %13 = tg.mul %11, %12 : tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<4096xf32>
    %14 = tg.cast %13 : tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>> to tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
    %15 = tg.contract %14, %arg2 [#map, #map1, #map2] : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<4096x4096xf16> -> tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
    %16 = tg.reshape %15 : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>> to tensor<?x32x128xf16, #tg.dims<()[s0] -> (s0, 32, 128)>>
    %17 = tg.contract %14, %arg3 [#map, #map1, #map2] : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<4096x1024xf16> -> tensor<?x1024xf16, #tg.dims<()[s0] -> (s0, 1024)>>
    %18 = tg.reshape %17 : tensor<?x1024xf16, #tg.dims<()[s0] -> (s0, 1024)>> to tensor<?x8x128xf16, #tg.dims<()[s0] -> (s0, 8, 128)>>
    %19 = tg.transpose %18 [1, 0, 2] : tensor<?x8x128xf16, #tg.dims<()[s0] -> (s0, 8, 128)>>
    %20 = tg.contract %14, %arg4 [#map, #map1, #map2] : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<4096x1024xf16> -> tensor<?x1024xf16, #tg.dims<()[s0] -> (s0, 1024)>>
    %21 = tg.reshape %20 : tensor<?x1024xf16, #tg.dims<()[s0] -> (s0, 1024)>> to tensor<?x8x128xf16, #tg.dims<()[s0] -> (s0, 8, 128)>>
    %22 = tg.transpose %21 [1, 0, 2] : tensor<?x8x128xf16, #tg.dims<()[s0] -> (s0, 8, 128)>>
    %23 = tg.reshape %19 : tensor<8x?x128xf16, #tg.dims<()[s0] -> (8, s0, 128)>> to tensor<8x1x?x128xf16, #tg.dims<()[s0] -> (8, 1, s0, 128)>>
    %24 = tg.broadcast %23 : tensor<8x1x?x128xf16, #tg.dims<()[s0] -> (8, 1, s0, 128)>> to tensor<8x4x?x128xf16, #tg.dims<()[s0] -> (8, 4, s0, 128)>>
    %25 = tg.reshape %24 : tensor<8x4x?x128xf16, #tg.dims<()[s0] -> (8, 4, s0, 128)>> to tensor<32x?x128xf16, #tg.dims<()[s0] -> (32, s0, 128)>>
    %26 = tg.reshape %22 : tensor<8x?x128xf16, #tg.dims<()[s0] -> (8, s0, 128)>> to tensor<8x1x?x128xf16, #tg.dims<()[s0] -> (8, 1, s0, 128)>>
    %27 = tg.broadcast %26 : tensor<8x1x?x128xf16, #tg.dims<()[s0] -> (8, 1, s0, 128)>> to tensor<8x4x?x128xf16, #tg.dims<()[s0] -> (8, 4, s0, 128)>>
    %28 = tg.reshape %27 : tensor<8x4x?x128xf16, #tg.dims<()[s0] -> (8, 4, s0, 128)>> to tensor<32x?x128xf16, #tg.dims<()[s0] -> (32, s0, 128)>>
    %29 = tg.contract %16, %25 [#map3, #map4, #map5] : tensor<?x32x128xf16, #tg.dims<()[s0] -> (s0, 32, 128)>>, tensor<32x?x128xf16, #tg.dims<()[s0] -> (32, s0, 128)>> -> tensor<32x?x?xf16, #tg.dims<()[s0] -> (32, s0, s0)>>
    %30 = tg.mul %29, %2 : tensor<32x?x?xf16, #tg.dims<()[s0] -> (32, s0, s0)>>, tensor<f16>
    %31 = tg.cast %30 : tensor<32x?x?xf16, #tg.dims<()[s0] -> (32, s0, s0)>> to tensor<32x?x?xf32, #tg.dims<()[s0] -> (32, s0, s0)>>
    %32 = tg.reduce  max %31 axes = [2] keep_dims : tensor<32x?x?xf32, #tg.dims<()[s0] -> (32, s0, s0)>>
    %33 = tg.sub %31, %32 : tensor<32x?x?xf32, #tg.dims<()[s0] -> (32, s0, s0)>>, tensor<32x?x1xf32, #tg.dims<()[s0] -> (32, s0, 1)>>
    %34 = tg.exp %33 : tensor<32x?x?xf32, #tg.dims<()[s0] -> (32, s0, s0)>>
    %35 = tg.reduce  add %34 axes = [2] keep_dims : tensor<32x?x?xf32, #tg.dims<()[s0] -> (32, s0, s0)>>
    %36 = tg.div %34, %35 : tensor<32x?x?xf32, #tg.dims<()[s0] -> (32, s0, s0)>>, tensor<32x?x1xf32, #tg.dims<()[s0] -> (32, s0, 1)>>
    %37 = tg.cast %36 : tensor<32x?x?xf32, #tg.dims<()[s0] -> (32, s0, s0)>> to tensor<32x?x?xf16, #tg.dims<()[s0] -> (32, s0, s0)>>
    %38 = tg.contract %37, %28 [#map6, #map7, #map8] : tensor<32x?x?xf16, #tg.dims<()[s0] -> (32, s0, s0)>>, tensor<32x?x128xf16, #tg.dims<()[s0] -> (32, s0, 128)>> -> tensor<?x32x128xf16, #tg.dims<()[s0] -> (s0, 32, 128)>>
    %39 = tg.reshape %38 : tensor<?x32x128xf16, #tg.dims<()[s0] -> (s0, 32, 128)>> to tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
    %40 = tg.contract %39, %arg5 [#map, #map1, #map2] : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<4096x4096xf16> -> tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
    %41 = tg.add %arg0, %40 : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
    %42 = tg.cast %41 : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>> to tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>
    %43 = tg.mul %42, %42 : tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>
    %44 = tg.reduce  add %43 axes = [1] keep_dims : tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>
    %45 = tg.mul %44, %0 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %46 = tg.add %45, %1 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>, tensor<f32>
    %47 = tg.rsqrt %46 : tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %48 = tg.mul %42, %47 : tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %49 = tg.cast %48 : tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>> to tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
    %50 = tg.cast %49 : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>> to tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>
    %51 = tg.cast %arg6 : tensor<4096xf16> to tensor<4096xf32>
    %52 = tg.mul %50, %51 : tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<4096xf32>
    %53 = tg.cast %52 : tensor<?x4096xf32, #tg.dims<()[s0] -> (s0, 4096)>> to tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
    %54 = tg.contract %53, %arg7 [#map, #map1, #map2] : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<4096x14336xf16> -> tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>
    %55 = tg.sigmoid %54 : tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>
    %56 = tg.mul %54, %55 : tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>, tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>
    %57 = tg.contract %53, %arg8 [#map, #map1, #map2] : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<4096x14336xf16> -> tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>
    %58 = tg.mul %56, %57 : tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>, tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>
    %59 = tg.contract %58, %arg9 [#map, #map1, #map2] : tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>, tensor<14336x4096xf16> -> tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
    %60 = tg.add %41, %59 : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
    return %60 : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>
  }
}
