#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
module attributes {tg.symbols = ["T"]} {
  func.func @main(%arg0: tensor<?x1000xf16, #tg.dims<()[s0] -> (s0, 1000)>> {tg.name = "x"}, %arg1: tensor<1000x30522xf16> {tg.name = "w"}, %arg2: tensor<30522xf16> {tg.name = "w_bias"}) -> (tensor<?x30522xf16, #tg.dims<()[s0] -> (s0, 30522)>> {tg.name = "softmax3"}) {
    %0 = tg.contract %arg0, %arg1 [#map, #map1, #map2] : tensor<?x1000xf16, #tg.dims<()[s0] -> (s0, 1000)>>, tensor<1000x30522xf16> -> tensor<?x30522xf16, #tg.dims<()[s0] -> (s0, 30522)>>
    %1 = tg.add %0, %arg2 : tensor<?x30522xf16, #tg.dims<()[s0] -> (s0, 30522)>>, tensor<30522xf16>
    %2 = tg.cast %1 : tensor<?x30522xf16, #tg.dims<()[s0] -> (s0, 30522)>> to tensor<?x30522xf32, #tg.dims<()[s0] -> (s0, 30522)>>
    %3 = tg.reduce  max %2 axes = [1] keep_dims : tensor<?x30522xf32, #tg.dims<()[s0] -> (s0, 30522)>>
    %4 = tg.sub %2, %3 : tensor<?x30522xf32, #tg.dims<()[s0] -> (s0, 30522)>>, tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %5 = tg.exp %4 : tensor<?x30522xf32, #tg.dims<()[s0] -> (s0, 30522)>>
    %6 = tg.reduce  add %5 axes = [1] keep_dims : tensor<?x30522xf32, #tg.dims<()[s0] -> (s0, 30522)>>
    %7 = tg.div %5, %6 : tensor<?x30522xf32, #tg.dims<()[s0] -> (s0, 30522)>>, tensor<?x1xf32, #tg.dims<()[s0] -> (s0, 1)>>
    %8 = tg.cast %7 : tensor<?x30522xf32, #tg.dims<()[s0] -> (s0, 30522)>> to tensor<?x30522xf16, #tg.dims<()[s0] -> (s0, 30522)>>
    return %8 : tensor<?x30522xf16, #tg.dims<()[s0] -> (s0, 30522)>>
  }
}
