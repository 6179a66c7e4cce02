// RUN: weft-opt %s --weft-outline --verify-diagnostics

// expected-error @below {{expected a function @main}}
module {
}
