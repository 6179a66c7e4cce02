// The registry as a page and as JSON.
// RUN: weft-opt %s --weft-print-rules -o /dev/null | FileCheck %s
// RUN: weft-opt %s --weft-print-rules=json -o /dev/null | FileCheck %s --check-prefix=JSON

// CHECK: # Rewrite rules
// CHECK: ## dnnfusion
// CHECK: | common-factor | `(add (mul ?a ?b) (mul ?a ?c))` | `(mul ?a (add ?b ?c))` | distributive | reassociating | licence | 3mn -> 2mn
// CHECK: ## contractions
// CHECK: | associate-lhs-rhs | `(contract (contract ?a ?b) ?c)` | A (B C) | associative | reassociating | licence, same-ring(a) |

// CHECK: ## identities
// CHECK: | zero-added | `(add ?a ?z)` | `?a` | identity | exact | no-addend(z) | mn -> 0 |
// CHECK: ## views
// CHECK: | slice-of-slice | `(slice (slice ?a))` | `(slice ?a)` | movement | exact | place-limit | 0 -> 0 |
// CHECK: ## movements
// CHECK: | transpose-before-merge | `(transpose (reshape (transpose ?a)))` |
// CHECK: ## slices
// CHECK: | slice-before-contraction | `(slice (contract ?a ?b))` |

// JSON: "name": "product-of-roots"
// JSON: "contract": "reassociating"
// JSON: "guards": [
// JSON-NEXT: "licence"
// JSON-NEXT: "non-negative(b)"
