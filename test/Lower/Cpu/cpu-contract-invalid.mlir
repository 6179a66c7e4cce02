// RUN: not weft-opt %s --weft-cpu-contract="vector-bits=100" 2>&1 | FileCheck %s
// CHECK: error: expected vector-bits 128, 256 or 512 and register-rows from 1 to 14, got 100 and 8
module {
}
