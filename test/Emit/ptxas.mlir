// REQUIRES: ptxas
// What ptxas says: a line of the summary, and a warning with the ONNX nodes for a kernel that spills.
// RUN: weft-compile %s --compile-from=lower --target=sm_80 -o %t.weft 2>&1 | FileCheck %s
// RUN: weft-compile %s --compile-from=lower --target=sm_80 -o %t.weft --ptxas=off 2>&1 | FileCheck %s --check-prefix=OFF
// RUN: not weft-compile %s --compile-from=lower --target=sm_80 -o %t.weft --ptxas=%t.none 2>&1 | FileCheck %s --check-prefix=NONE

// CHECK: ptxas     at most {{[0-9]+}} registers, 1 kernels spill
// CHECK: warning: kernel many (nodes `/a`, `/b`): spills registers ({{[0-9]+}} bytes of stores, {{[0-9]+}} of loads)
// OFF-NOT: {{^ptxas}}
// OFF-NOT: warning:
// NONE: error: cannot run {{.*}}none

module {
  module @many attributes {tk.target = "sm_80", tk.warps = 1 : i64, tg.grid = affine_map<() -> (1)>} {
    llvm.func @kernel(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.maxnreg = 24 : i32} {
      %v = llvm.load volatile %x {alignment = 64 : i64} : !llvm.ptr<1> -> vector<16xf32>
      %x1 = llvm.getelementptr %x[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<16xf32>
      %w = llvm.load volatile %x1 {alignment = 64 : i64} : !llvm.ptr<1> -> vector<16xf32>
      %x2 = llvm.getelementptr %x[2] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<16xf32>
      %u = llvm.load volatile %x2 {alignment = 64 : i64} : !llvm.ptr<1> -> vector<16xf32>
      %a = llvm.fadd %v, %w : vector<16xf32>
      %b = llvm.fmul %a, %u : vector<16xf32>
      llvm.store volatile %b, %y {alignment = 64 : i64} : vector<16xf32>, !llvm.ptr<1>
      %c = llvm.fmul %b, %v : vector<16xf32>
      %d = llvm.fadd %c, %w : vector<16xf32>
      %y1 = llvm.getelementptr %y[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, vector<16xf32>
      llvm.store volatile %d, %y1 {alignment = 64 : i64} : vector<16xf32>, !llvm.ptr<1>
      llvm.return
    }
  }
  func.func @main(%x: tensor<48xf32> {tg.name = "x"}) -> (tensor<32xf32> {tg.name = "y"}) {
    %0 = tg.dispatch @many::@kernel(%x) symbols = affine_map<() -> ()> {tg.nodes = ["/a", "/b"]} : (tensor<48xf32>) -> tensor<32xf32>
    return %0 : tensor<32xf32>
  }
}
