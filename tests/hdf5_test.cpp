// The HDF5 library as the judge of what we write, as the writer of what we read, and as the maker of hostile files.
#include "run/hdf5.h"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstdlib>
#include <random>

#include "run/seal.h"
#include "scree/error.h"
#include "scree/run.h"
#include "scree/write_error.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

hid_t create(const fs::path& file) {
  const hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_userblock(creation, kSealSize);
  const hid_t handle = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT);
  H5Pclose(creation);
  return handle;
}

std::string message_of(const fs::path& file) {
  try {
    const hdf5::Reader in(file);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

constexpr int kMany = 300;  // links of a group: more than one leaf, and of the library's trees more than one level
const std::string kLong(10000, 'x');

TEST(Hdf5, TheLibraryReadsWhatWeWrite) {
  const TempFolder folder;
  const fs::path file = folder / "ours.h5";
  {
    hdf5::Writer out(file, "ours");
    out.attribute("/", "title", "é");
    out.attribute("/", "long", kLong);
    out.attribute("/", "empty", std::string());
    out.attribute("/", "version", 7);
    out.attribute("/", "time", 0.1);
    out.numbers("/x", {1.5, -2, 1e-300, 4, 5, 6}, {2, 3}, "m");
    out.integers("/n", {-7, 8}, {2}, "1");
    out.numbers("/none", {}, {0, 3}, "m");
    out.text("/text", "one\ntwo");
    out.strings("/names", {"a", "longer", ""}, {3});
    out.create("/parts", hdf5::Type::uint64, {4}, "1");
    const std::uint64_t parts[] = {1, ~std::uint64_t{0}, 3, 4};
    out.put("/parts", 2, 2, parts + 2);
    out.put("/parts", 0, 2, parts);
    out.group("/many");
    for (int k = 0; k < kMany; ++k) {
      out.group("/many/" + std::to_string(k));
      out.attribute("/many/" + std::to_string(k), "uri", "mesh " + std::to_string(k));
    }
    out.close();
  }
  const hid_t in = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  ASSERT_GE(in, 0);
  const auto dataset = [&](const char* path, hid_t type, auto& values) {
    const hid_t set = H5Dopen2(in, path, H5P_DEFAULT);
    EXPECT_GE(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << path;
    H5Dclose(set);
  };
  const auto text = [&](const std::string& object, const char* key) {
    const hid_t item = H5Aopen_by_name(in, object.c_str(), key, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t type = H5Aget_type(item);
    char* value = nullptr;
    EXPECT_GE(H5Aread(item, type, &value), 0) << object << key;
    const std::string copy = value ? value : "";
    H5free_memory(value);
    H5Tclose(type);
    H5Aclose(item);
    return copy;
  };
  std::vector<double> x(6);
  dataset("/x", H5T_NATIVE_DOUBLE, x);
  EXPECT_EQ(x, (std::vector<double>{1.5, -2, 1e-300, 4, 5, 6}));
  std::vector<int> n(2);
  dataset("/n", H5T_NATIVE_INT, n);
  EXPECT_EQ(n, (std::vector<int>{-7, 8}));
  std::vector<std::uint64_t> parts(4);
  dataset("/parts", H5T_NATIVE_UINT64, parts);
  EXPECT_EQ(parts, (std::vector<std::uint64_t>{1, ~std::uint64_t{0}, 3, 4}));
  EXPECT_EQ(text("/", "title"), "é");
  EXPECT_EQ(text("/", "long"), kLong);
  EXPECT_EQ(text("/", "empty"), "");
  EXPECT_EQ(text("/x", "units"), "m");
  for (int k = 0; k < kMany; ++k) EXPECT_EQ(text("/many/" + std::to_string(k), "uri"), "mesh " + std::to_string(k));
  H5G_info_t info;
  H5Gget_info_by_name(in, "/many", &info, H5P_DEFAULT);
  EXPECT_EQ(info.nlinks, static_cast<hsize_t>(kMany));
  H5Fclose(in);
  // And so do we.
  seal_file(file);
  const hdf5::Reader reader(file);
  EXPECT_EQ(reader.numbers("/x", {2, 3}), x);
  EXPECT_EQ(reader.string_attribute("/", "long"), kLong);
  EXPECT_EQ(reader.string_attribute("/", "empty"), "");
  EXPECT_EQ(reader.integer_attribute("/", "version"), 7);
  EXPECT_EQ(reader.number_attribute("/", "time"), 0.1);
  EXPECT_EQ(reader.text("/text"), "one\ntwo");
  EXPECT_EQ(reader.strings("/names", {3}), (std::vector<std::string>{"a", "longer", ""}));
  EXPECT_EQ(reader.children("/many").size(), static_cast<size_t>(kMany));
}

TEST(Hdf5, WeReadWhatTheLibraryWrites) {
  const TempFolder folder;
  const fs::path file = folder / "theirs.h5";
  const hid_t out = create(file);
  const hid_t scalar = H5Screate(H5S_SCALAR), text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, H5T_VARIABLE);
  H5Tset_cset(text, H5T_CSET_UTF8);
  H5Tset_strpad(text, H5T_STR_NULLPAD);
  const hsize_t shape[] = {2, 3};
  const hid_t space = H5Screate_simple(2, shape, nullptr);
  const double x[] = {1, 2, 3, 4, 5, 6};
  const hid_t set = H5Dcreate2(out, "/x", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, x);
  H5Dclose(set);
  for (int k = 0; k < kMany; ++k) {
    const std::string name = "g" + std::to_string(k);
    const hid_t group = H5Gcreate2(out, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t item = H5Acreate2(group, "uri", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
    const char* value = name.c_str();
    H5Awrite(item, text, &value);
    H5Aclose(item);
    H5Gclose(group);
  }
  H5Sclose(space);
  H5Sclose(scalar);
  H5Tclose(text);
  H5Fclose(out);
  seal_file(file);
  const hdf5::Reader in(file);
  EXPECT_EQ(in.numbers("/x", {2, 3}), (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(in.children("/").size(), static_cast<size_t>(kMany + 1));
  for (int k = 0; k < kMany; ++k) {
    const std::string name = "g" + std::to_string(k);
    EXPECT_EQ(in.string_attribute("/" + name, "uri"), name);
  }
}

// A run file whose /scene is stored elsewhere showed that file in the page.
TEST(Hdf5, NoOtherFileIsRead) {
  const TempFolder folder;
  const Scene scene = load_scene(fs::path(source_dir()) / "tests/data/scenes/joints.toml");
  const scree::Run run = run_scene(scene);
  const std::string secret = "the secret of another file, 40 bytes long";
  const fs::path other = folder.write("secret.txt", secret), file = folder / "run.h5";
  const auto refused = [&](const std::string& expected, const std::function<void(hid_t)>& change) {
    write_run(file, scene.model, run);
    const hid_t handle = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    ASSERT_GE(handle, 0);
    H5Ldelete(handle, "/scene", H5P_DEFAULT);
    change(handle);
    H5Fclose(handle);
    seal_file(file);
    const std::string message = message_of(file);
    EXPECT_NE(message.find(expected), std::string::npos) << message;
    const fs::path page = folder / "page.html";
    const Outcome view = Process({cli_program(), "view", file.string(), "--html", page.string()}).wait();
    EXPECT_EQ(view.exit_code, 2);
    EXPECT_FALSE(fs::exists(page)) << expected;
    EXPECT_EQ((view.out + view.err).find(secret), std::string::npos);
  };
  const auto dataset = [](hid_t handle, const char* name, hid_t type, const hsize_t* extent, hid_t properties) {
    const hid_t space = extent ? H5Screate_simple(1, extent, nullptr) : H5Screate(H5S_SCALAR);
    const hid_t set = H5Dcreate2(handle, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    EXPECT_GE(set, 0);
    H5Dclose(set);
    H5Sclose(space);
    H5Pclose(properties);
  };
  const hsize_t count = 10;
  refused("/scene: is stored in another file", [&](hid_t handle) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE), type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, secret.size());
    H5Pset_external(properties, other.c_str(), 0, secret.size());
    dataset(handle, "/scene", type, nullptr, properties);
    H5Tclose(type);
  });
  refused("which scree does not", [&](hid_t handle) {
    H5Lcreate_external((folder / "other.h5").c_str(), "/x", handle, "/scene", H5P_DEFAULT, H5P_DEFAULT);
  });
  refused("\"scene\" is a symbolic link",
          [&](hid_t handle) { H5Lcreate_soft("/model/urdf", handle, "/scene", H5P_DEFAULT, H5P_DEFAULT); });
  refused("/scene: has layout", [&](hid_t handle) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &count, nullptr);
    H5Pset_virtual(properties, space, (folder / "other.h5").c_str(), "/x", space);
    dataset(handle, "/scene", H5T_NATIVE_DOUBLE, &count, properties);
    H5Sclose(space);
  });
  refused("/scene: is filtered", [&](hid_t handle) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 1, &count);
    H5Pset_shuffle(properties);
    dataset(handle, "/scene", H5T_NATIVE_DOUBLE, &count, properties);
  });
  refused("/scene: has layout 0", [&](hid_t handle) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_layout(properties, H5D_COMPACT);
    dataset(handle, "/scene", H5T_NATIVE_DOUBLE, &count, properties);
  });
  refused("is linked twice",
          [&](hid_t handle) { H5Lcreate_hard(handle, "/", handle, "/scene", H5P_DEFAULT, H5P_DEFAULT); });
}

// With a seal that fits, so that nothing stands before the reader. Bytes of numbers may change without being noticed.
TEST(Hdf5, FlippedBytesUnderAFreshSealAreReadOrRefused) {
  const TempFolder folder;
  const Scene scene = load_scene(fs::path(source_dir()) / "examples/scenes/event-block.toml");
  const fs::path file = folder / "run.h5";
  write_run(file, scene.model, run_scene(scene));
  const std::string good = read_bytes(file);
  std::mt19937_64 random(20260118);
  int refused = 0, read = 0;
  for (int trial = 0; trial < 1500; ++trial) {
    std::string bad = good;
    const size_t from = trial % 2 == 0 ? bad.size() - std::min<size_t>(bad.size() / 2, 16384) : kSealSize;
    for (int k = 0; k <= trial % 3; ++k)
      bad[from + random() % (bad.size() - from)] ^= static_cast<char>(1 + random() % 255);
    folder.write("run.h5", bad);
    seal_file(file);
    try {
      read_run(file);
      ++read;
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(read, 100);
}

TEST(Hdf5, AFullDiskIsAWriteError) {
  hdf5::Writer out("/dev/full", "full.h5");
  try {
    out.numbers("/x", std::vector<double>(1000), {1000}, "m");
    out.close();
    FAIL();
  } catch (const WriteError& error) {
    EXPECT_STREQ(error.what(), "full.h5: /x: cannot write: No space left on device");
  }
}

}  // namespace
}  // namespace scree
