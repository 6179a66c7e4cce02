#map = affine_map<(d0, d1, d2) -> (d0, d2)>
#map1 = affine_map<(d0, d1, d2) -> (d2, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
module attributes {tg.symbols = ["T"]} {
  func.func @main(%arg0: tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>> {tg.name = "x"}, %arg1: tensor<4096x14336xf16> {tg.name = "gate"}, %arg2: tensor<4096x14336xf16> {tg.name = "up"}) -> (tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>> {tg.name = "mul5"}) {
    %0 = tg.contract %arg0, %arg1 [#map, #map1, #map2] : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<4096x14336xf16> -> tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>
    %1 = tg.sigmoid %0 : tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>
    %2 = tg.mul %0, %1 : tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>, tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>
    %3 = tg.contract %arg0, %arg2 [#map, #map1, #map2] : tensor<?x4096xf16, #tg.dims<()[s0] -> (s0, 4096)>>, tensor<4096x14336xf16> -> tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>
    %4 = tg.mul %2, %3 : tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>, tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>
    return %4 : tensor<?x14336xf16, #tg.dims<()[s0] -> (s0, 14336)>>
  }
}
