func.func @main(%x: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %w = tg.weight <"w.bin", 64, 64> : tensor<4x4xf32>
  %3 = tg.kernel "mine" -> tensor<8x4xf32> {
    %0 = tg.exp %x : tensor<4x4xf32>
    %1 = tg.add %0, %w : tensor<4x4xf32>, tensor<4x4xf32>
    %2 = tg.neg %1 : tensor<4x4xf32>
    %4 = tg.abs %2 : tensor<4x4xf32>
    %5 = tg.concat %4, %4 axis = 0 : tensor<4x4xf32>, tensor<4x4xf32>
    tg.yield %5 : tensor<8x4xf32>
  }
  return %3 : tensor<8x4xf32>
}
