// --traversal: the order of the tiles of products; the emulator computes every tile once, whatever the order, also one that the explorer copies as a
// table of an own path.
// RUN: weft-compile %s --target=sm_80 --quiet -o %t.row.weft --traversal=row
// RUN: weft-run %t.row.weft --device=emu:A100 --output=@%t.row.npy
// RUN: weft-compile %s --target=sm_80 --quiet -o %t.hilbert.weft --traversal=hilbert --remarks=plan 2>&1 | FileCheck %s
// RUN: weft-run %t.hilbert.weft --device=emu:A100 --output=@%t.hilbert.npy
// RUN: cmp %t.row.npy %t.hilbert.npy
// RUN: weft-compile %s --target=sm_80 --quiet -o %t.table.weft --traversal='table<31,3,9,4,0,12,27,1,2,5,30,6,7,8,10,11,29,13,14,28,15,16,17,18,26,19,20,21,22,25,23,24>'
// RUN: weft-run %t.table.weft --device=emu:A100 --output=@%t.table.npy
// RUN: cmp %t.row.npy %t.table.npy
// RUN: weft-compile %s --target=sm_80 --emit=ptx -o - --traversal='table<31,3,9,4,0,12,27,1,2,5,30,6,7,8,10,11,29,13,14,28,15,16,17,18,26,19,20,21,22,25,23,24>' | FileCheck %s --check-prefix=PTX

// RUN: not weft-compile %s --target=sm_80 -o %t.weft --traversal=table 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not weft-compile %s --target=sm_80 -o %t.weft '--traversal=table<0,1>' 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not weft-compile %s --target=sm_80 -o %t.weft '--traversal=chain<4>' 2>&1 | FileCheck %s --check-prefix=CHAIN

// CHECK: order hilbert of 8 x 4 tiles as asked for
// The tiles' numbers take 5 bits: 12 in a word, three words, chosen by selects.
// PTX: .visible .entry
// PTX-COUNT-2: selp.b64
// PTX-NOT: ld.const
// TEXT: --traversal: traversal 'table': expected '<', got the end
// SIZE: table: expected 32 tiles, got 2
// CHAIN: traversal chain<4>: no launch holds a chain of two kernels that go by rows
module {
  func.func @main(%x: tensor<128x64xf16> {tg.name = "x"}, %w: tensor<64x128xf16> {tg.name = "w"}) -> (tensor<128x128xf16> {tg.name = "y"}) {
    %0 = tg.contract %x, %w [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<128x64xf16>, tensor<64x128xf16> -> tensor<128x128xf16>
    return %0 : tensor<128x128xf16>
  }
}
