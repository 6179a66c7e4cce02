// The schedules of the shapes of the benchmark suite. A change of the model shows here.
// RUN: weft-opt %s --weft-plan-gpu=target=sm_90a | FileCheck %s --check-prefix=SM90
// RUN: weft-opt %s --weft-plan-gpu=target=sm_80 | FileCheck %s --check-prefix=SM80

// SM90: module @gemm_4096x4096x4096 attributes {tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "grouped-snake<16>", persistent = true, split = 1, multicast = 2>
// SM80: module @gemm_4096x4096x4096 attributes {tg.schedule = #tg.schedule<tile = [256, 128], stream = [64], engine = mma, warps = 8, stages = 3, order = "grouped-snake<8>", persistent = false, split = 1>
module @gemm_4096x4096x4096 {
  func.func @kernel(%a: tensor<4096x4096xbf16>, %b: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4096x4096xbf16>, tensor<4096x4096xbf16> -> tensor<4096x4096xbf16>
    return %0 : tensor<4096x4096xbf16>
  }
}

// SM90: module @gemm_8192x8192x8192 attributes {tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "grouped-snake<16>", persistent = true, split = 1, multicast = 2>
// SM80: module @gemm_8192x8192x8192 attributes {tg.schedule = #tg.schedule<tile = [256, 128], stream = [64], engine = mma, warps = 8, stages = 3, order = "grouped-snake<8>", persistent = false, split = 1>
module @gemm_8192x8192x8192 {
  func.func @kernel(%a: tensor<8192x8192xbf16>, %b: tensor<8192x8192xbf16>) -> tensor<8192x8192xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8192x8192xbf16>, tensor<8192x8192xbf16> -> tensor<8192x8192xbf16>
    return %0 : tensor<8192x8192xbf16>
  }
}

// SM90: module @gemm_2048x28672x4096 attributes {tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "column", persistent = true, split = 1, multicast = 2>
// SM80: module @gemm_2048x28672x4096 attributes {tg.schedule = #tg.schedule<tile = [256, 128], stream = [64], engine = mma, warps = 8, stages = 3, order = "grouped-snake<16,columns>", persistent = false, split = 1>
module @gemm_2048x28672x4096 {
  func.func @kernel(%a: tensor<2048x4096xbf16>, %b: tensor<4096x28672xbf16>) -> tensor<2048x28672xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<2048x4096xbf16>, tensor<4096x28672xbf16> -> tensor<2048x28672xbf16>
    return %0 : tensor<2048x28672xbf16>
  }
}

// SM90: module @gemm_16x28672x4096 attributes {tg.schedule = #tg.schedule<tile = [16, 128], stream = [64], engine = mma, warps = 2, stages = 6, order = "row", persistent = false, split = 1>
// SM80: module @gemm_16x28672x4096 attributes {tg.schedule = #tg.schedule<tile = [16, 128], stream = [64], engine = mma, warps = 4, stages = 2, order = "row", persistent = false, split = 1>
module @gemm_16x28672x4096 {
  func.func @kernel(%a: tensor<16x4096xbf16>, %b: tensor<4096x28672xbf16>) -> tensor<16x28672xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<16x4096xbf16>, tensor<4096x28672xbf16> -> tensor<16x28672xbf16>
    return %0 : tensor<16x28672xbf16>
  }
}

// Rows of the instruction that stay empty cost nothing where the matrix is streamed, and boxes stream it faster than threads.
// SM90: module @gemm_33x2560x5120 attributes {tg.schedule = #tg.schedule<tile = [64, {{[0-9]+}}], stream = [64], engine = wgmma
// SM80: module @gemm_33x2560x5120 attributes {tg.schedule = #tg.schedule<tile = [{{16|32|64}}, {{[0-9]+}}], stream = [{{[0-9]+}}], engine = mma
module @gemm_33x2560x5120 {
  func.func @kernel(%a: tensor<33x5120xbf16>, %b: tensor<2560x5120xbf16>) -> tensor<33x2560xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<33x5120xbf16>, tensor<2560x5120xbf16> -> tensor<33x2560xbf16>
    return %0 : tensor<33x2560xbf16>
  }
}

// 24 tiles of a long reduction are too few: clusters share their steps, and all of a CTA's are under way at once. Without clusters nobody shares.
// SM90: module @gemm_128x768x3072 attributes {tg.schedule = #tg.schedule<tile = [32, 32], stream = [256], engine = mma, warps = 4, stages = 6, order = "row", persistent = false, split = 1>
// SM80: module @gemm_128x768x3072 attributes {tg.schedule = #tg.schedule<tile = [32, 32], stream = [256], engine = mma, warps = 4, stages = 5, order = "row", persistent = false, split = 1>
module @gemm_128x768x3072 {
  func.func @kernel(%a: tensor<128x3072xbf16>, %b: tensor<768x3072xbf16>) -> tensor<128x768xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<128x3072xbf16>, tensor<768x3072xbf16> -> tensor<128x768xbf16>
    return %0 : tensor<128x768xbf16>
  }
}

// Tiles that all start at once may read together, however small.
// SM90: module @gemm_128x3072x768 attributes {tg.schedule = #tg.schedule<tile = [64, 64], stream = [64], engine = wgmma, warps = 4, stages = 6, order = "row", persistent = false, split = 1, multicast = 2>
// SM80: module @gemm_128x3072x768
module @gemm_128x3072x768 {
  func.func @kernel(%a: tensor<128x768xbf16>, %b: tensor<3072x768xbf16>) -> tensor<128x3072xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<128x768xbf16>, tensor<3072x768xbf16> -> tensor<128x3072xbf16>
    return %0 : tensor<128x3072xbf16>
  }
}

// SM90: module @gemm_512x4096x14336 attributes {tg.schedule = #tg.schedule<tile = [128, 128], stream = [64], engine = wgmma, warps = 4, stages = 6, order = "column", persistent = false, split = 1>
// SM80: module @gemm_512x4096x14336 attributes {tg.schedule = #tg.schedule<tile = [128, 64], stream = [64], engine = mma, warps = 2, stages = 3, order = "column", persistent = false, split = 1>
module @gemm_512x4096x14336 {
  func.func @kernel(%a: tensor<512x14336xbf16>, %b: tensor<14336x4096xbf16>) -> tensor<512x4096xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<512x14336xbf16>, tensor<14336x4096xbf16> -> tensor<512x4096xbf16>
    return %0 : tensor<512x4096xbf16>
  }
}

// SM90: module @gemm_4096x3072x768 attributes {tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "row", persistent = true, split = 1>
// SM80: module @gemm_4096x3072x768 attributes {tg.schedule = #tg.schedule<tile = [128, 128], stream = [32], engine = mma, warps = 4, stages = 4, order = "row", persistent = false, split = 1>
module @gemm_4096x3072x768 {
  func.func @kernel(%a: tensor<4096x768xbf16>, %b: tensor<768x3072xbf16>) -> tensor<4096x3072xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4096x768xbf16>, tensor<768x3072xbf16> -> tensor<4096x3072xbf16>
    return %0 : tensor<4096x3072xbf16>
  }
}

// SM90: module @gemm_2048x14336x4096 attributes {tg.schedule = #tg.schedule<tile = [128, 256], stream = [64], engine = wgmma, warps = 8, stages = 4, order = "column", persistent = true, split = 1, multicast = 2>
// SM80: module @gemm_2048x14336x4096 attributes {tg.schedule = #tg.schedule<tile = [128, 128], stream = [32], engine = mma, warps = 4, stages = 4, order = "grouped-snake<16,columns>", persistent = false, split = 1>
module @gemm_2048x14336x4096 {
  func.func @kernel(%a: tensor<2048x4096xbf16>, %b: tensor<4096x14336xbf16>) -> tensor<2048x14336xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<2048x4096xbf16>, tensor<4096x14336xbf16> -> tensor<2048x14336xbf16>
    return %0 : tensor<2048x14336xbf16>
  }
}

// SM90: module @gemm_128x768x768 attributes {tg.schedule = #tg.schedule<tile = [32, 32], stream = [256], engine = mma, warps = 4, stages = 6, order = "row", persistent = false, split = 1>
// SM80: module @gemm_128x768x768 attributes {tg.schedule = #tg.schedule<tile = [16, 64], stream = [256], engine = mma, warps = 4, stages = 4, order = "row", persistent = false, split = 1>
module @gemm_128x768x768 {
  func.func @kernel(%a: tensor<128x768xbf16>, %b: tensor<768x768xbf16>) -> tensor<128x768xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<128x768xbf16>, tensor<768x768xbf16> -> tensor<128x768xbf16>
    return %0 : tensor<128x768xbf16>
  }
}

// SM90: module @gemm_f32_128x768x768 attributes {tg.schedule = #tg.schedule<tile = [16, 16], stream = [32], engine = simt, warps = 1, stages = 4, order = "row", persistent = false, split = 1>
// SM80: module @gemm_f32_128x768x768 attributes {tg.schedule = #tg.schedule<tile = [32, 32], stream = [32], engine = simt, warps = 4, stages = 4, order = "row", persistent = false, split = 1>
module @gemm_f32_128x768x768 {
  func.func @kernel(%a: tensor<128x768xf32>, %b: tensor<768x768xf32>) -> tensor<128x768xf32> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<128x768xf32>, tensor<768x768xf32> -> tensor<128x768xf32>
    return %0 : tensor<128x768xf32>
  }
}

// SM90: module @gemm_f32_1024 attributes {tg.schedule = #tg.schedule<tile = [128, 64], stream = [32], engine = simt, warps = 4, stages = 4, order = "row", persistent = false, split = 1>
// SM80: module @gemm_f32_1024 attributes {tg.schedule = #tg.schedule<tile = [64, 32], stream = [32], engine = simt, warps = 1, stages = 2, order = "row", persistent = false, split = 1>
module @gemm_f32_1024 {
  func.func @kernel(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
    return %0 : tensor<1024x1024xf32>
  }
}

// SM90: module @gemv attributes {tg.schedule = #tg.schedule<tile = [64], stream = [64], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @gemv attributes {tg.schedule = #tg.schedule<tile = [128], stream = [32], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
module @gemv {
  func.func @kernel(%a: tensor<4096xbf16>, %b: tensor<4096x28672xbf16>) -> tensor<28672xbf16> {
    %0 = tg.contract %a, %b [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (k, n)>, affine_map<(n, k) -> (n)>] : tensor<4096xbf16>, tensor<4096x28672xbf16> -> tensor<28672xbf16>
    return %0 : tensor<28672xbf16>
  }
}

// SM90: module @softmax_16384x4096 attributes {tg.schedule = #tg.schedule<tile = [1, 4096], engine = simt, warps = 8, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @softmax_16384x4096 attributes {tg.schedule = #tg.schedule<tile = [1, 4096], engine = simt, warps = 8, stages = 1, order = "row", persistent = false, split = 1>
module @softmax_16384x4096 {
  func.func @kernel(%a: tensor<16384x4096xbf16>) -> tensor<16384x4096xbf16> {
    %0 = tg.cast %a : tensor<16384x4096xbf16> to tensor<16384x4096xf32>
    %1 = tg.reduce max %0 axes = [1] keep_dims : tensor<16384x4096xf32>
    %2 = tg.sub %0, %1 : tensor<16384x4096xf32>, tensor<16384x1xf32>
    %3 = tg.exp %2 : tensor<16384x4096xf32>
    %4 = tg.reduce add %3 axes = [1] keep_dims : tensor<16384x4096xf32>
    %5 = tg.div %3, %4 : tensor<16384x4096xf32>, tensor<16384x1xf32>
    %6 = tg.cast %5 : tensor<16384x4096xf32> to tensor<16384x4096xbf16>
    return %6 : tensor<16384x4096xbf16>
  }
}

// Rows that are no power of two: more of each by fewer warps, so that other rows load while one computes.
// SM90: module @softmax_8192x5000 attributes {tg.schedule = #tg.schedule<tile = [1, 8192], engine = simt, warps = 8, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @softmax_8192x5000 attributes {tg.schedule = #tg.schedule<tile = [1, 8192], engine = simt, warps = 8, stages = 1, order = "row", persistent = false, split = 1>
module @softmax_8192x5000 {
  func.func @kernel(%a: tensor<8192x5000xbf16>) -> tensor<8192x5000xbf16> {
    %0 = tg.cast %a : tensor<8192x5000xbf16> to tensor<8192x5000xf32>
    %1 = tg.reduce max %0 axes = [1] keep_dims : tensor<8192x5000xf32>
    %2 = tg.sub %0, %1 : tensor<8192x5000xf32>, tensor<8192x1xf32>
    %3 = tg.exp %2 : tensor<8192x5000xf32>
    %4 = tg.reduce add %3 axes = [1] keep_dims : tensor<8192x5000xf32>
    %5 = tg.div %3, %4 : tensor<8192x5000xf32>, tensor<8192x1xf32>
    %6 = tg.cast %5 : tensor<8192x5000xf32> to tensor<8192x5000xbf16>
    return %6 : tensor<8192x5000xbf16>
  }
}

// Too few rows for four CTAs an SM: two of 16 warps an SM still beat one of 32, whose row nobody else's work hides.
// SM90: module @softmax_512x9736 attributes {tg.schedule = #tg.schedule<tile = [1, 16384], engine = simt, warps = 16,
// SM80: module @softmax_512x9736 attributes {tg.schedule = #tg.schedule<tile = [1, 16384], engine = simt, warps = 16,
module @softmax_512x9736 {
  func.func @kernel(%x: tensor<512x9736xbf16>) -> tensor<512x9736xbf16> {
    %0 = tg.cast %x : tensor<512x9736xbf16> to tensor<512x9736xf32>
    %1 = tg.reduce max %0 axes = [1] keep_dims : tensor<512x9736xf32>
    %2 = tg.sub %0, %1 : tensor<512x9736xf32>, tensor<512x1xf32>
    %3 = tg.exp %2 : tensor<512x9736xf32>
    %4 = tg.reduce add %3 axes = [1] keep_dims : tensor<512x9736xf32>
    %5 = tg.div %3, %4 : tensor<512x9736xf32>, tensor<512x1xf32>
    %6 = tg.cast %5 : tensor<512x9736xf32> to tensor<512x9736xbf16>
    return %6 : tensor<512x9736xbf16>
  }
}

// SM90: module @softmax_16384x1024 attributes {tg.schedule = #tg.schedule<tile = [2, 1024], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @softmax_16384x1024 attributes {tg.schedule = #tg.schedule<tile = [2, 1024], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
module @softmax_16384x1024 {
  func.func @kernel(%a: tensor<16384x1024xbf16>) -> tensor<16384x1024xbf16> {
    %0 = tg.cast %a : tensor<16384x1024xbf16> to tensor<16384x1024xf32>
    %1 = tg.reduce max %0 axes = [1] keep_dims : tensor<16384x1024xf32>
    %2 = tg.sub %0, %1 : tensor<16384x1024xf32>, tensor<16384x1xf32>
    %3 = tg.exp %2 : tensor<16384x1024xf32>
    %4 = tg.reduce add %3 axes = [1] keep_dims : tensor<16384x1024xf32>
    %5 = tg.div %3, %4 : tensor<16384x1024xf32>, tensor<16384x1xf32>
    %6 = tg.cast %5 : tensor<16384x1024xf32> to tensor<16384x1024xbf16>
    return %6 : tensor<16384x1024xbf16>
  }
}

// SM90: module @softmax_4608x384 attributes {tg.schedule = #tg.schedule<tile = [4, 512], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @softmax_4608x384 attributes {tg.schedule = #tg.schedule<tile = [4, 512], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
module @softmax_4608x384 {
  func.func @kernel(%a: tensor<4608x384xbf16>) -> tensor<4608x384xbf16> {
    %0 = tg.cast %a : tensor<4608x384xbf16> to tensor<4608x384xf32>
    %1 = tg.reduce max %0 axes = [1] keep_dims : tensor<4608x384xf32>
    %2 = tg.sub %0, %1 : tensor<4608x384xf32>, tensor<4608x1xf32>
    %3 = tg.exp %2 : tensor<4608x384xf32>
    %4 = tg.reduce add %3 axes = [1] keep_dims : tensor<4608x384xf32>
    %5 = tg.div %3, %4 : tensor<4608x384xf32>, tensor<4608x1xf32>
    %6 = tg.cast %5 : tensor<4608x384xf32> to tensor<4608x384xbf16>
    return %6 : tensor<4608x384xbf16>
  }
}

// SM90: module @groups_64x40960 attributes {tg.schedule = #tg.schedule<tile = [1, 16384], engine = simt, warps = 16, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @groups_64x40960 attributes {tg.schedule = #tg.schedule<tile = [1, 16384], engine = simt, warps = 16, stages = 1, order = "row", persistent = false, split = 1>
module @groups_64x40960 {
  func.func @kernel(%a: tensor<64x40960xbf16>) -> tensor<64x40960xbf16> {
    %0 = tg.cast %a : tensor<64x40960xbf16> to tensor<64x40960xf32>
    %1 = tg.reduce max %0 axes = [1] keep_dims : tensor<64x40960xf32>
    %2 = tg.sub %0, %1 : tensor<64x40960xf32>, tensor<64x1xf32>
    %3 = tg.exp %2 : tensor<64x40960xf32>
    %4 = tg.reduce add %3 axes = [1] keep_dims : tensor<64x40960xf32>
    %5 = tg.div %3, %4 : tensor<64x40960xf32>, tensor<64x1xf32>
    %6 = tg.cast %5 : tensor<64x40960xf32> to tensor<64x40960xbf16>
    return %6 : tensor<64x40960xbf16>
  }
}

// SM90: module @softmax_12x128 attributes {tg.schedule = #tg.schedule<tile = [1, 128], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @softmax_12x128 attributes {tg.schedule = #tg.schedule<tile = [1, 128], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
module @softmax_12x128 {
  func.func @kernel(%a: tensor<12x128xf32>) -> tensor<12x128xf32> {
    %0 = tg.cast %a : tensor<12x128xf32> to tensor<12x128xf32>
    %1 = tg.reduce max %0 axes = [1] keep_dims : tensor<12x128xf32>
    %2 = tg.sub %0, %1 : tensor<12x128xf32>, tensor<12x1xf32>
    %3 = tg.exp %2 : tensor<12x128xf32>
    %4 = tg.reduce add %3 axes = [1] keep_dims : tensor<12x128xf32>
    %5 = tg.div %3, %4 : tensor<12x128xf32>, tensor<12x1xf32>
    %6 = tg.cast %5 : tensor<12x128xf32> to tensor<12x128xf32>
    return %6 : tensor<12x128xf32>
  }
}

// SM90: module @geglu_4096x10240 attributes {tg.schedule = #tg.schedule<tile = [4096], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @geglu_4096x10240 attributes {tg.schedule = #tg.schedule<tile = [4096], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
module @geglu_4096x10240 {
  func.func @kernel(%a: tensor<41943040xbf16>, %b: tensor<41943040xbf16>) -> tensor<41943040xbf16> {
    %0 = tg.mul %a, %b : tensor<41943040xbf16>, tensor<41943040xbf16>
    return %0 : tensor<41943040xbf16>
  }
}

// SM90: module @small attributes {tg.schedule = #tg.schedule<tile = [128], engine = simt, warps = 1, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @small attributes {tg.schedule = #tg.schedule<tile = [128], engine = simt, warps = 1, stages = 1, order = "row", persistent = false, split = 1>
module @small {
  func.func @kernel(%a: tensor<640xf32>) -> tensor<640xf32> {
    %0 = tg.neg %a : tensor<640xf32>
    return %0 : tensor<640xf32>
  }
}

// SM90: module @transpose attributes {tg.schedule = #tg.schedule<tile = [64, 64], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @transpose attributes {tg.schedule = #tg.schedule<tile = [64, 64], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
module @transpose {
  func.func @kernel(%a: tensor<4096x1024xf16>) -> tensor<1024x4096xf16> {
    %0 = tg.transpose %a [1, 0] : tensor<4096x1024xf16>
    return %0 : tensor<1024x4096xf16>
  }
}

// SM90: module @rowsum attributes {tg.schedule = #tg.schedule<tile = [2], stream = [1024], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @rowsum attributes {tg.schedule = #tg.schedule<tile = [2], stream = [1024], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
module @rowsum {
  func.func @kernel(%a: tensor<4096x1024xf32>) -> tensor<4096xf32> {
    %0 = tg.reduce add %a axes = [1] : tensor<4096x1024xf32>
    return %0 : tensor<4096xf32>
  }
}

// SM90: module @colsum attributes {tg.schedule = #tg.schedule<tile = [8], stream = [512], engine = simt, warps = 8, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @colsum attributes {tg.schedule = #tg.schedule<tile = [8], stream = [512], engine = simt, warps = 8, stages = 1, order = "row", persistent = false, split = 1>
module @colsum {
  func.func @kernel(%a: tensor<4096x1024xf32>) -> tensor<1024xf32> {
    %0 = tg.reduce add %a axes = [0] : tensor<4096x1024xf32>
    return %0 : tensor<1024xf32>
  }
}

// SM90: module @scalar attributes {tg.schedule = #tg.schedule<stream = [4096], engine = simt, warps = 16, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @scalar attributes {tg.schedule = #tg.schedule<stream = [4096], engine = simt, warps = 16, stages = 1, order = "row", persistent = false, split = 1>
module @scalar {
  func.func @kernel(%a: tensor<4096xf32>) -> tensor<f32> {
    %0 = tg.reduce add %a axes = [0] : tensor<4096xf32>
    return %0 : tensor<f32>
  }
}

// SM90: module @pool attributes {tg.schedule = #tg.schedule<tile = [1, 4, 64], stream = [1, 1], engine = simt, warps = 2, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @pool attributes {tg.schedule = #tg.schedule<tile = [1, 8, 64], stream = [1, 1], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
module @pool {
  func.func @kernel(%a: tensor<64x114x114xf32>) -> tensor<64x56x56xf32> {
    %0 = tg.window %a dims = [1, 2] sizes = [3, 3] strides = [2, 2] dilations = [1, 1] : tensor<64x114x114xf32>
    %1 = tg.reduce max %0 axes = [3, 4] : tensor<64x56x56x3x3xf32>
    return %1 : tensor<64x56x56xf32>
  }
}

// SM90: module @topk attributes {tg.schedule = #tg.schedule<tile = [1, 1024], stream = [1024], engine = simt, warps = 16, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @topk attributes {tg.schedule = #tg.schedule<tile = [1, 1024], stream = [1024], engine = simt, warps = 16, stages = 1, order = "row", persistent = false, split = 1>
module @topk {
  func.func @kernel(%a: tensor<64x1000xf32>) -> (tensor<64x5xf32>, tensor<64x5xi64>) {
    %0, %1 = tg.top_k %a axis = 1 k = 5 {largest} : tensor<64x1000xf32>
    return %0, %1 : tensor<64x5xf32>, tensor<64x5xi64>
  }
}

// SM90: module @scan attributes {tg.schedule = #tg.schedule<tile = [1, 1024], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @scan attributes {tg.schedule = #tg.schedule<tile = [1, 1024], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
module @scan {
  func.func @kernel(%a: tensor<64x1000xf32>) -> tensor<64x1000xf32> {
    %0 = tg.scan add %a axis = 1 : tensor<64x1000xf32>
    return %0 : tensor<64x1000xf32>
  }
}

// Two sums of a row that a CTA can hold: one read. What elements share does not make vectors narrower.
// SM90: module @moments attributes {tg.schedule = #tg.schedule<tile = [1, 1], stream = [4096], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @moments attributes {tg.schedule = #tg.schedule<tile = [1, 1], stream = [4096], engine = simt, warps = 4, stages = 1, order = "row", persistent = false, split = 1>
module @moments {
  func.func @kernel(%a: tensor<640x4096xbf16>) -> tensor<640x1xf32> {
    %0 = tg.cast %a : tensor<640x4096xbf16> to tensor<640x4096xf32>
    %1 = tg.reduce add %0 axes = [1] keep_dims : tensor<640x4096xf32>
    %2 = tg.sub %0, %1 : tensor<640x4096xf32>, tensor<640x1xf32>
    %3 = tg.mul %2, %2 : tensor<640x4096xf32>, tensor<640x4096xf32>
    %4 = tg.reduce add %3 axes = [1] keep_dims : tensor<640x4096xf32>
    return %4 : tensor<640x1xf32>
  }
}

// A map whose elements share sums of few terms, seen through a reshape.
// SM90: module @normalize attributes {tg.schedule = #tg.schedule<tile = [1, 1, 4096], stream = [32], engine = simt, warps = 8, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @normalize attributes {tg.schedule = #tg.schedule<tile = [1, 1, 4096], stream = [32], engine = simt, warps = 8, stages = 1, order = "row", persistent = false, split = 1>
module @normalize {
  func.func @kernel(%a: tensor<2x32x40960xbf16>, %p: tensor<2x32x10xf32>) -> tensor<2x320x4096xbf16> {
    %0 = tg.reduce add %p axes = [2] keep_dims : tensor<2x32x10xf32>
    %1 = tg.cast %a : tensor<2x32x40960xbf16> to tensor<2x32x40960xf32>
    %2 = tg.sub %1, %0 : tensor<2x32x40960xf32>, tensor<2x32x1xf32>
    %3 = tg.cast %2 : tensor<2x32x40960xf32> to tensor<2x32x40960xbf16>
    %4 = tg.reshape %3 : tensor<2x32x40960xbf16> to tensor<2x320x4096xbf16>
    return %4 : tensor<2x320x4096xbf16>
  }
}

// Columns of few CTAs: more warps, and fewer steps.
// SM90: module @columns attributes {tg.schedule = #tg.schedule<tile = [16], stream = [1024], engine = simt, warps = 16, stages = 1, order = "row", persistent = false, split = 1>
// SM80: module @columns attributes {tg.schedule = #tg.schedule<tile = [16], stream = [1024], engine = simt, warps = 16, stages = 1, order = "row", persistent = false, split = 1>
module @columns {
  func.func @kernel(%a: tensor<12544x32xbf16>) -> tensor<32xbf16> {
    %0 = tg.reduce add %a axes = [0] : tensor<12544x32xbf16>
    return %0 : tensor<32xbf16>
  }
}

// One tile for each SM: 130 of 256 x 144, where 128 x 256 would make 150. Nothing is gained where no tile is saved.
// SM90: module @wave attributes {tg.schedule = #tg.schedule<tile = [256, 144], stream = [64], engine = wgmma, warps = 8, stages = 4,
module @wave {
  func.func @kernel(%a: tensor<3105x7168xbf16>, %b: tensor<1344x7168xbf16>) -> tensor<3105x1344xbf16> {
    %0 = tg.contract %a, %b [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<3105x7168xbf16>, tensor<1344x7168xbf16> -> tensor<3105x1344xbf16>
    return %0 : tensor<3105x1344xbf16>
  }
}
