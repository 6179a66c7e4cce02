// What stands in for newer symbols of glibc does what these do. The unwinder is linked in, as in the libraries of
// wheels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <dlfcn.h>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace std::chrono_literals;

namespace {
[[gnu::noinline]] int depth(int n) {
  if (n == 0)
    throw std::out_of_range("bottom");
  return depth(n - 1) + 1;
}

TEST(OldGlibc, unwindsThroughFrames) {
  EXPECT_THROW(depth(7), std::out_of_range);
  bool caughtInThread = false;
  std::thread([&] {
    try {
      depth(3);
    } catch (const std::out_of_range &) {
      caughtInThread = true;
    }
  }).join();
  EXPECT_TRUE(caughtInThread);
}

TEST(OldGlibc, waitsAsLongAsItWasTold) {
  std::mutex mutex;
  std::condition_variable never;
  for (auto wait : {1ms, 30ms}) {
    std::unique_lock<std::mutex> lock(mutex);
    auto start = std::chrono::steady_clock::now();
    // A predicate: a wait by the clock of the day may end early, and is begun again.
    EXPECT_FALSE(never.wait_for(lock, wait, [] { return false; }));
    EXPECT_GE(std::chrono::steady_clock::now() - start, wait);
  }
}

TEST(OldGlibc, looksAtFiles) {
  std::string path = testing::TempDir() + "old-glibc-" + std::to_string(getpid());
  std::ofstream(path) << "seven b";
  std::string link = path + ".link";
  ASSERT_EQ(symlink(path.c_str(), link.c_str()), 0);
  struct stat file = {}, same = {}, itself = {};
  EXPECT_EQ(stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_size, 7);
  EXPECT_EQ(stat(link.c_str(), &same), 0);
  EXPECT_EQ(same.st_ino, file.st_ino);
  EXPECT_EQ(lstat(link.c_str(), &itself), 0);
  EXPECT_TRUE(S_ISLNK(itself.st_mode));
  unlink(link.c_str());
  unlink(path.c_str());
  EXPECT_EQ(stat(path.c_str(), &file), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST(OldGlibc, loadsAndComputes) {
  void *math = dlopen("libm.so.6", RTLD_NOW);
  ASSERT_NE(math, nullptr);
  auto *newest = reinterpret_cast<double (*)(double, double)>(dlsym(math, "pow"));
  ASSERT_NE(newest, nullptr);
  for (double x : {0.0, 0.3, 1.0, 7.5, 1e200})
    for (double y : {-2.5, 0.0, 0.5, 3.0})
      EXPECT_EQ(std::pow(x, y), newest(x, y)) << x << " " << y;
  for (auto [name, mine] : {std::pair<const char *, double (*)(double)>{"exp", std::exp},
                            {"exp2", std::exp2},
                            {"log", std::log},
                            {"log2", std::log2}})
    for (double x : {1e-300, 0.3, 1.0, 700.0, 1e4})
      EXPECT_EQ(mine(x), reinterpret_cast<double (*)(double)>(dlsym(math, name))(x)) << name << " " << x;
  dlclose(math);
}

TEST(OldGlibc, drawsNumbersThatDiffer) {
  std::random_device device("arc4random");
  std::set<unsigned> drawn;
  for (int i = 0; i < 64; ++i)
    drawn.insert(device());
  EXPECT_GT(drawn.size(), 60u);
}
} // namespace
