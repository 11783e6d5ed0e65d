#include "formats/atomic_file.h"

#include <gtest/gtest.h>

#include "scree/error.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

TEST(AtomicFile, ReplacesTheFileBehindALink) {
  const TempFolder folder;
  folder.write("file", "old");
  std::filesystem::create_symlink("file", folder / "link");
  write_atomically(folder / "link", "new");
  EXPECT_EQ(read_bytes(folder / "file"), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(folder.count(), 2);
}

TEST(AtomicFile, LeavesTheOldFileAndNothingElseUnlessCommitted) {
  const TempFolder folder;
  folder.write("file", "old");
  {
    const AtomicFile unfinished(folder / "file");
    std::ofstream(unfinished.temporary()) << "half";
    EXPECT_EQ(folder.count(), 2);
  }
  check_writable(folder / "file");
  check_writable(folder / "other");
  EXPECT_EQ(read_bytes(folder / "file"), "old");
  EXPECT_EQ(folder.count(), 1);
}

TEST(AtomicFile, RefusesWhatIsNoFile) {
  const TempFolder folder;
  for (const std::string name : {"", "none/file", "none/", "."})
    EXPECT_THROW(check_writable(name.empty() ? "" : folder / name), InputError) << name;
  EXPECT_THROW(check_writable("/dev/null"), InputError);
}

}  // namespace
}  // namespace scree
