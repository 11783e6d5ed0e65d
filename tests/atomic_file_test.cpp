#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scree/error.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

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
    const AtomicFile unfinished(folder / "file", AtomicFile::Temporary::unnamed);
    std::ofstream(unfinished.temporary()) << "half";
    EXPECT_EQ(folder.count(), 1);  // it has no name that a killed process could leave behind
  }
  {
    const AtomicFile unfinished(folder / "file", AtomicFile::Temporary::named);
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

TEST(AtomicFile, CreatesTheFileThatALinkWaitsFor) {
  const TempFolder folder;
  fs::create_directory(folder / "there");
  fs::create_symlink("there/file", folder / "link");
  fs::create_symlink("none/file", folder / "lost");
  fs::create_symlink("round", folder / "round");
  write_atomically(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_bytes(folder / "there/file"), "new");
  EXPECT_THROW(check_writable(folder / "lost"), InputError);
  EXPECT_THROW(check_writable(folder / "round"), InputError);
}

TEST(AtomicFile, KeepsPermissionsAndOwner) {
  const TempFolder folder;
  for (const auto temporary : {AtomicFile::Temporary::unnamed, AtomicFile::Temporary::named}) {
    const fs::path file = folder.write("file", "old");
    struct stat before {};
    ASSERT_EQ(chmod(file.c_str(), 0640), 0);
    if (geteuid() == 0) {
      ASSERT_EQ(chown(file.c_str(), 1234, 5678), 0);
    }
    ASSERT_EQ(stat(file.c_str(), &before), 0);
    AtomicFile output(file, temporary);
    std::ofstream(output.temporary()) << "new";
    output.commit();
    struct stat after {};
    ASSERT_EQ(stat(file.c_str(), &after), 0);
    EXPECT_NE(after.st_ino, before.st_ino);
    EXPECT_EQ(after.st_mode & 07777, 0640u);
    EXPECT_EQ(after.st_uid, before.st_uid);
    EXPECT_EQ(after.st_gid, before.st_gid);
    EXPECT_EQ(read_bytes(file), "new");
  }
  EXPECT_EQ(folder.count(), 1);
}

// A process of this machine that was killed while its file had a name; one that lives; one of another machine.
TEST(AtomicFile, RemovesWhatTheDeadLeft) {
  const TempFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const AtomicFile unfinished(folder / "file", AtomicFile::Temporary::named);
    kill(getpid(), SIGKILL);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  ASSERT_EQ(folder.count(), 1);
  const AtomicFile ours(folder / "other", AtomicFile::Temporary::named);
  EXPECT_EQ(folder.count(), 1);
  folder.write(".scree-elsewhere-" + std::to_string(child) + "-0.tmp", "");
  const AtomicFile another(folder / "third", AtomicFile::Temporary::named);
  EXPECT_EQ(folder.count(), 3);
  EXPECT_TRUE(fs::exists(ours.temporary()));
}

TEST(AtomicFile, LeavesNothingWhenKilled) {
  const TempFolder folder;
  folder.write("file", "old");
  const pid_t child = fork();
  if (child == 0) {
    const AtomicFile unfinished(folder / "file", AtomicFile::Temporary::unnamed);
    std::ofstream(unfinished.temporary()) << "half" << std::flush;
    kill(getpid(), SIGKILL);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(folder.count(), 1);
  EXPECT_EQ(read_bytes(folder / "file"), "old");
}

}  // namespace
}  // namespace scree
