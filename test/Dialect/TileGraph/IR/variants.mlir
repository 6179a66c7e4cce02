// Variants of a program, printed and parsed; the Reference takes the one for the symbol's value.
// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: %python -c "import numpy as np; [np.save('%t.%%d.npy' %% n, np.arange(5, 5 + n, dtype=np.float32)) for n in (1, 3, 4)]"
// RUN: weft-reference %s --input=%t.1.npy | FileCheck %s --check-prefix=FIRST
// RUN: weft-reference %s --input=%t.3.npy | FileCheck %s --check-prefix=SECOND
// RUN: weft-reference %s --input=%t.4.npy | FileCheck %s --check-prefix=LAST

// FIRST: -5
// SECOND: 6{{.*}}7{{.*}}8
// LAST: 2.5{{.*}}3.6{{.*}}4.9{{.*}}6.4
module attributes {tg.symbols = ["n"]} {
  func.func private @one(%x: tensor<1xf32>) -> tensor<1xf32> {
    %0 = tg.neg %x : tensor<1xf32>
    return %0 : tensor<1xf32>
  }
  func.func private @few(%x: tensor<?xf32, #tg.dims<()[s0] -> (s0)>>) -> tensor<?xf32, #tg.dims<()[s0] -> (s0)>> {
    %one = tg.constant dense<1.0> : tensor<f32>
    %0 = tg.add %x, %one : tensor<?xf32, #tg.dims<()[s0] -> (s0)>>, tensor<f32>
    return %0 : tensor<?xf32, #tg.dims<()[s0] -> (s0)>>
  }
  func.func private @many(%x: tensor<?xf32, #tg.dims<()[s0] -> (s0)>>) -> tensor<?xf32, #tg.dims<()[s0] -> (s0)>> {
    %0 = tg.mul %x, %x : tensor<?xf32, #tg.dims<()[s0] -> (s0)>>, tensor<?xf32, #tg.dims<()[s0] -> (s0)>>
    return %0 : tensor<?xf32, #tg.dims<()[s0] -> (s0)>>
  }
  // CHECK-LABEL: func.func @main
  // CHECK: tg.variants #{{.*}} from [1, 2] to [1, 3] [@one, @few, @many](%{{.*}}) : (tensor<?xf32, #{{.*}}>) -> tensor<?xf32, #{{.*}}>
  func.func @main(%x: tensor<?xf32, #tg.dims<()[s0] -> (s0)>>) -> tensor<?xf32, #tg.dims<()[s0] -> (s0)>> {
    %0 = tg.variants affine_map<()[s0] -> (s0)> from [1, 2] to [1, 3] [@one, @few, @many](%x) :
        (tensor<?xf32, #tg.dims<()[s0] -> (s0)>>) -> tensor<?xf32, #tg.dims<()[s0] -> (s0)>>
    return %0 : tensor<?xf32, #tg.dims<()[s0] -> (s0)>>
  }
}
