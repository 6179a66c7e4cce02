// Compiled PTX on disk.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is stored comes back; what is damaged or foreign does not.
#include "Cuda/CubinCache.h"
#include "weft/Bundle/Hash.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::cuda;
using namespace weft::bundle;
namespace fs = std::filesystem;

namespace {
class CubinCacheTest : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/weft-cubin-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root = name;
    folder = root / "a" / "cubin";
    ASSERT_TRUE(cache.open(folder));
  }
  void TearDown() override { fs::remove_all(root); }
  /// The only file of the folder.
  fs::path store() {
    cache.write(key, code.data(), code.size());
    fs::path found;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
      EXPECT_TRUE(found.empty());
      found = entry.path();
    }
    return found;
  }
  bool isFound() {
    std::vector<uint8_t> result;
    bool found = cache.read(key, result);
    EXPECT_TRUE(!found || result == code);
    return found;
  }

  fs::path root, folder;
  CubinCache cache;
  std::vector<uint8_t> code = {1, 2, 3, 0, 255, 7};
  Hash128 key = CubinCache::makeKey("ptx", "sm_90a", 12040);
};
} // namespace

TEST_F(CubinCacheTest, StoresAndFinds) {
  EXPECT_FALSE(isFound());
  fs::path file = store();
  EXPECT_TRUE(isFound());
  struct stat status;
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(folder.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  EXPECT_EQ(store(), file); // Again, in place of the old one.
  EXPECT_TRUE(isFound());
  cache.remove(key);
  EXPECT_FALSE(isFound());
}

TEST_F(CubinCacheTest, KeysTellEverythingApart) {
  Hash128 others[] = {CubinCache::makeKey("ptx ", "sm_90a", 12040), CubinCache::makeKey("ptx", "sm_90", 12040),
                      CubinCache::makeKey("ptx", "sm_90a", 12050), CubinCache::makeKey("ptxsm_90a", "", 12040)};
  for (const Hash128 &other : others)
    EXPECT_TRUE(other != key);
}

TEST_F(CubinCacheTest, IgnoresDamage) {
  std::ifstream stream(store(), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(stream), {}};
  fs::path file = store();
  auto isFoundAs = [&](const std::string &bytes) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
    return isFound();
  };
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = char(changed[i] ^ 0x10);
    EXPECT_FALSE(isFoundAs(changed)) << i;
    EXPECT_FALSE(isFoundAs(whole.substr(0, i))) << i;
  }
  EXPECT_FALSE(isFoundAs(whole + "x"));
  EXPECT_TRUE(isFoundAs(whole));
}

TEST_F(CubinCacheTest, IgnoresWhatIsNotTheUsersAlone) {
  fs::path file = store(), other = root / "other";
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  EXPECT_FALSE(isFound());
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  EXPECT_TRUE(isFound());
  if (::geteuid() == 0) { // Only root can give files away.
    ASSERT_EQ(::chown(file.c_str(), 12345, gid_t(-1)), 0);
    EXPECT_FALSE(isFound());
    ASSERT_EQ(::chown(file.c_str(), 0, gid_t(-1)), 0);
  }
  fs::rename(file, other);
  fs::create_symlink(other, file);
  EXPECT_FALSE(isFound());
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(isFound()); // And does not wait for a writer.
  fs::remove(file);
  fs::create_directory(file);
  EXPECT_FALSE(isFound());
  cache.write(key, code.data(), code.size()); // Cannot; and leaves nothing behind.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(CubinCacheTest, RefusesFoldersOfOthers) {
  auto opens = [](const fs::path &path) {
    CubinCache other;
    return other.open(path);
  };
  EXPECT_TRUE(opens(folder));
  ASSERT_EQ(::chmod(folder.c_str(), 0750), 0);
  EXPECT_FALSE(opens(folder));
  ASSERT_EQ(::chmod(folder.c_str(), 0700), 0);
  fs::create_symlink(folder, root / "link");
  EXPECT_FALSE(opens(root / "link"));
  std::ofstream(root / "file") << "x";
  EXPECT_FALSE(opens(root / "file"));
  EXPECT_FALSE(opens(root / "file" / "below"));
  EXPECT_FALSE(opens(""));
}

TEST(CubinFolder, IsTheUsers) {
  auto replace = [](const char *name, const char *value) { value ? ::setenv(name, value, 1) : ::unsetenv(name); };
  const char *oldCache = std::getenv("XDG_CACHE_HOME"), *oldHome = std::getenv("HOME");
  std::string cacheCopy = oldCache ? oldCache : "", homeCopy = oldHome ? oldHome : "";
  replace("XDG_CACHE_HOME", "/x");
  replace("HOME", "/h");
  EXPECT_EQ(getDefaultCubinFolder(), "/x/weft/cubin");
  replace("XDG_CACHE_HOME", "relative");
  EXPECT_EQ(getDefaultCubinFolder(), "/h/.cache/weft/cubin");
  replace("XDG_CACHE_HOME", nullptr);
  replace("HOME", nullptr);
  EXPECT_EQ(getDefaultCubinFolder(), "");
  replace("XDG_CACHE_HOME", oldCache ? cacheCopy.c_str() : nullptr);
  replace("HOME", oldHome ? homeCopy.c_str() : nullptr);
}
