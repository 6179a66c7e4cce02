"""The length scanner behind check-sizes.py."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import unittest

from cpp_functions import functions

SAMPLE = '''\
namespace weft {
struct Point {
  int x = 0;
  Point() : x(1), y{2} {
  }
  int norm() const noexcept override { return x; }
};
/* void ghost() { */
static const char *text = R"(void no() {)";
template <typename T>
auto apply(T &&f,
           int n) -> decltype(f(n)) {
  if (n) {
    auto g = [&](int k) {
      return '}';
    };
    return f(g(n));
  }
  return "{";
}
bool operator<(Point a, Point b) { return a.x < b.x; }
int table[] = {1, 2};
#define BODY(x) {x}
} // namespace weft
'''


class Functions(unittest.TestCase):
    def test_names_and_lines(self):
        found = {f.name: (f.first, f.last) for f in functions(SAMPLE)}
        self.assertEqual(found, {"Point": (4, 5), "norm": (6, 6), "apply": (10, 20), "operator<": (21, 21)})

    def test_lambdas_count_for_the_function_around_them(self):
        self.assertEqual(max(f.lines for f in functions(SAMPLE)), 11)


if __name__ == "__main__":
    unittest.main()
