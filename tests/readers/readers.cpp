#include "readers/readers.h"

#include <fmt/format.h>
#include <png.h>

#include <cstdio>  // jpeglib.h needs FILE

#include <jpeglib.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "contact/granular.h"
#include "formats/texture_colour.h"
#include "run/seal.h"
#include "scree/batch_file.h"
#include "scree/error.h"
#include "scree/height_field_file.h"
#include "scree/impact_scene.h"
#include "scree/mesh.h"
#include "scree/run.h"
#include "scree/scene.h"
#include "scree/state_file.h"
#include "scree/urdf.h"
#include "support/mesh_samples.h"
#include "support/paths.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestSeed = 20000;  // [bytes]: mutations of larger files are slow and say no more

[[noreturn]] void die(const std::string& what) {
  fmt::print(stderr, "{}\n", what);
  std::abort();
}

std::string bytes_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Small files that the inputs may name, where they are in the tree, and the input itself beside the scenes.
class Place {
 public:
  Place() {
    const fs::path source = source_dir();
    fs::create_directories(inside_);
    fs::copy(source / "tests/data/scenes", inside_, fs::copy_options::recursive);
    fs::copy(source / "tests/data/tetrahedron.obj", inside_);
    fs::create_directory(folder_ / "models");
    for (const char* const model : {"box-planar.urdf", "hopper.urdf"})
      fs::copy(source / "models" / model, folder_ / "models");
    put("sand.toml", "depths = [0.1]\ninclinations = [0]\nvertices = [[[[0, 0, 9], [1, 0, 9], [0, 1, 9]]]]\n");
  }
  fs::path put(const std::string& name, std::string_view bytes) const {
    std::ofstream(inside_ / name, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    return inside_ / name;
  }
  fs::path operator/(const std::string& name) const { return inside_ / name; }

 private:
  TempFolder folder_;
  fs::path inside_ = folder_ / "tests/data/scenes";
};

const Place& place() {
  static const Place there;
  return there;
}

std::string refusal;

template <class Read> bool accepts(Read&& read) {
  try {
    read();
    return true;
  } catch (const InputError& error) {
    const std::string what = error.what();
    refusal = what;
    if (what.empty() || what.find('\n') != std::string::npos) die("refused, but not in one line: " + what);
    return false;
  }
}

// A model that was read is written, read and written again without a change.
bool read_urdf(std::string_view bytes) {
  return accepts([&] {
    const Model model = parse_urdf(bytes, place() / "input.urdf");
    const std::string once = format_urdf(model);
    const std::string twice = format_urdf(parse_urdf(once, place() / "input.urdf"));
    if (once != twice) die("written, read and written again it differs:\n" + once + "\n" + twice);
  });
}

// What is accepted has triangles of its own vertices, and a colour for each or none.
void check_mesh(const TriangleMesh& mesh) {
  if (mesh.triangles.empty()) die("a mesh without triangles");
  for (const auto& t : mesh.triangles)
    for (const int corner : t)
      if (corner < 0 || static_cast<size_t>(corner) >= mesh.vertices.size()) die("a triangle of no vertex");
  for (const Vec3& p : mesh.vertices)
    if (!p.allFinite()) die("a vertex that is not finite");
  if (!mesh.colours.empty() && mesh.colours.size() != mesh.triangles.size()) die("colours of some triangles alone");
  for (const auto& colour : mesh.colours)
    for (const float c : colour)
      if (!(c >= 0 && c <= 1)) die("a colour out of [0, 1]");
}

template <auto Parse> std::function<bool(std::string_view)> read_mesh_as(const char* name) {
  return [name](std::string_view bytes) { return accepts([&] { check_mesh(Parse(bytes, name)); }); };
}

bool read_mtl(std::string_view bytes) {
  place().put("input.mtl", bytes);
  const fs::path mesh = place().put(
      "input.obj", "mtllib input.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl red\nf 1 2 3\nusemtl a skin\nf 3 2 1\n");
  return accepts([&] { check_mesh(load_mesh(mesh)); });
}

template <auto Load> bool read_as(const char* name, std::string_view bytes) {
  const fs::path file = place().put(name, bytes);
  return accepts([&] { (void)Load(file); });
}

bool read_height_field(const char* name, std::string_view bytes) {
  const fs::path file = place().put(name, bytes);
  return accepts([&] { (void)load_height_field(file, {Eigen::Vector2d::Zero(), 0.1, 0, 1}); });
}

bool read_motion(std::string_view bytes) {
  static const Model model = load_urdf(place() / "../../../models/hopper.urdf");
  const fs::path file = place().put("input.toml", bytes);
  return accepts([&] { (void)load_motion(file, model); });
}

// Without a fitting seal every mutation would be refused alike.
bool read_sealed(const char* name, std::string_view bytes, const std::function<void(const fs::path&)>& read) {
  std::string whole(bytes);
  whole.resize(std::max<size_t>(whole.size(), kSealSize));
  const fs::path file = place().put(name, whole);
  seal_file(file);
  return accepts([&] { read(file); });
}

// --- inputs to begin from ------------------------------------------------------------------------------------------

std::vector<std::string> files_of(const std::string& folder, const std::string& extension) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(source_dir()) / folder))
    if (entry.path().extension() == extension && entry.file_size() <= kLargestSeed) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const fs::path& file : files) seeds.push_back(bytes_of(file));
  return seeds;
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// The scenes of tests/data use the models there; those of the examples name files that `place` does not have.
std::vector<std::string> scene_seeds() {
  return joined(files_of("tests/data/scenes", ".toml"), {R"(model = "block.urdf"
duration = 0.1
base = "floating"
search_path = ["."]
gravity = [0, 0, -9.81]
[step]
integrator = "pbd-nmdp2"
dt = 0.01
event = { touch = 1e-8, rest_speed = 1e-5, flight_accuracy = 1e-9, max_events = 7 }
[contact]
law = "patch"
friction = 0.5
radius = 0.02
restitution = 0.3
smooth = { depth = 0.01, speed = 0.1, damping = 0.4 }
impact = { law = "restitution-blend", directions = 8 }
[[environment]]
shape = "stairs"
steps = 3
rise = 0.1
tread = 0.3
width = 1
position = [0, 0, -9]
[[environment]]
shape = "box"
size = [1, 1, 1]
position = [0, 0, -5]
rpy = [0.1, 0.2, 0.3]
)",
                                                         R"(model = "block.urdf"
duration = 0.1
[contact]
law = "granular"
table = "sand.toml"
[[environment]]
shape = "height-field"
file = "terrain.csv"
spacing = 0.5
origin = [-1, -1]
)"});
}

std::vector<std::string> stl_seeds() {
  const std::string ascii =
      "solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1e-3 "
      "0\nendloop\nendfacet\nendsolid\n";
  std::string binary(84 + 2 * 50, '\0');
  binary[80] = 2;
  for (size_t k = 84; k + 4 <= binary.size(); k += 4) {
    const float x = static_cast<float>(k) * 0.25f;
    std::memcpy(binary.data() + k, &x, 4);
  }
  return {ascii, binary};
}

std::string png(int depth, int colour, int channels) {
  constexpr png_uint_32 kSize = 5;
  std::string out;
  png_structp p = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(p);
  png_set_write_fn(
      p, &out,
      [](png_structp writer, png_bytep data, size_t count) {
        static_cast<std::string*>(png_get_io_ptr(writer))->append(reinterpret_cast<const char*>(data), count);
      },
      [](png_structp) {});
  png_set_IHDR(p, info, kSize, kSize, depth, colour, PNG_INTERLACE_ADAM7, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  png_write_info(p, info);
  std::vector<png_byte> row(kSize * static_cast<size_t>(channels * depth / 8), 0xff);
  for (int pass = 0; pass < 7; ++pass)
    for (png_uint_32 k = 0; k < kSize; ++k) png_write_row(p, row.data());
  png_write_end(p, info);
  png_destroy_write_struct(&p, &info);
  return out;
}

std::string jpeg(bool progressive) {
  constexpr JDIMENSION kSize = 16;
  jpeg_compress_struct c;
  jpeg_error_mgr errors;
  c.err = jpeg_std_error(&errors);
  jpeg_create_compress(&c);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&c, &bytes, &size);
  c.image_width = c.image_height = kSize;
  c.input_components = 3;
  c.in_color_space = JCS_RGB;
  jpeg_set_defaults(&c);
  if (progressive) jpeg_simple_progression(&c);
  jpeg_start_compress(&c, TRUE);
  std::vector<JSAMPLE> row(3 * kSize);
  for (JDIMENSION k = 0; k < kSize; ++k) {
    for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<JSAMPLE>(16 * k + i);
    JSAMPROW rows = row.data();
    jpeg_write_scanlines(&c, &rows, 1);
  }
  jpeg_finish_compress(&c);
  std::string out(reinterpret_cast<const char*>(bytes), size);
  jpeg_destroy_compress(&c);
  std::free(bytes);
  return out;
}

std::vector<std::string> bytes_of(const std::vector<MeshSample>& samples) {
  std::vector<std::string> seeds;
  for (const MeshSample& sample : samples) seeds.push_back(sample.bytes);
  return seeds;
}

// Without files beside them.
std::vector<std::string> gltf_seeds() {
  std::vector<MeshSample> samples = gltf_samples();
  std::erase_if(samples, [](const MeshSample& sample) { return !sample.companions.empty(); });
  return bytes_of(samples);
}

Scene small_scene(const std::string& text) { return load_scene(place().put("seed.toml", text)); }

std::vector<std::string> run_seeds() {
  const std::vector<std::string> texts = {
      "model = \"pendulum.urdf\"\nduration = 0.03\nstep.dt = 0.01\n",
      "model = \"block.urdf\"\nduration = 0.03\nstep.dt = 0.01\n[[environment]]\nshape = \"plane\"\n"};
  std::vector<std::string> seeds;
  for (const std::string& text : texts) {
    const Scene scene = small_scene(text);
    write_run(place() / "seed.h5", scene.model, run_scene(scene));
    seeds.push_back(bytes_of(place() / "seed.h5"));
  }
  return seeds;
}

bool read_state(std::string_view bytes) {
  static const Model model = load_urdf(place() / "block.urdf");
  return read_sealed("input.h5", bytes, [](const fs::path& f) { load_state(f, model); });
}

std::vector<std::string> state_seeds() {
  const Scene scene =
      small_scene("model = \"block.urdf\"\nduration = 0.03\nstep.dt = 0.01\n[[environment]]\nshape = \"plane\"\n");
  save_state(place() / "seed.h5", scene.model, run_scene(scene).states.back().state);
  return {bytes_of(place() / "seed.h5")};
}

std::vector<std::string> batch_seeds() {
  const Scene scene = small_scene(
      "model = \"pendulum.urdf\"\nduration = 0.03\nstep = { dt = 0.01, integrator = \"pbfd-coulomb\" }\n"
      "batch = { position = 0.1, kp_scale = [0.5, 2] }\n");
  BatchRunOptions options;
  options.trajectories = 3;
  options.threads = 1;
  run_batch(scene, options, place() / "batch.h5");
  return {bytes_of(place() / "batch.h5")};
}

const char* const kImpactMatrices = R"(
[matrices]
M = [[1, 0], [0, 1]]
Jn = [[0, 1]]
Jt = [[1, 0]]
v = [1, -1]
mu = [0.5]
restitution = 0.5
)";

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all = {
      {"urdf", read_urdf, [] { return joined(files_of("models", ".urdf"), files_of("tests/data", ".urdf")); }},
      {"stl", [](std::string_view b) { return accepts([&] { (void)parse_stl(b, "input.stl"); }); }, stl_seeds},
      {"obj", [](std::string_view b) { return accepts([&] { (void)parse_obj(b, "input.obj"); }); },
       [] { return files_of("tests/data", ".obj"); }},
      {"dae", read_mesh_as<parse_dae>("input.dae"), [] { return bytes_of(dae_samples()); }},
      {"gltf", read_mesh_as<parse_gltf>("input.gltf"), gltf_seeds},
      {"mtl", read_mtl,
       [] {
         return std::vector<std::string>{
             "newmtl red\nKd 0.8 0.1 0\nKs 1 1 1\nnewmtl a skin\nmap_Kd images/red%20one.png\nKd 1 1 0.5\n"};
       }},
      {"texture", [](std::string_view b) { return accepts([&] { (void)mean_colour(b, "input"); }); },
       [] {
         return std::vector<std::string>{png(8, PNG_COLOR_TYPE_GRAY, 1), png(16, PNG_COLOR_TYPE_RGB, 3),
                                         png(8, PNG_COLOR_TYPE_RGB_ALPHA, 4), jpeg(false), jpeg(true)};
       }},
      {"scene",
       [](std::string_view b) { return read_as<[](const fs::path& f) { return load_scene(f); }>("input.toml", b); },
       scene_seeds},
      {"motion", read_motion,
       [] {
         return std::vector<std::string>{
             "title = \"m\"\nbase = \"planar\"\naxes = \"xz\"\npoints = [\"toe\"]\nloop_from = 0\n[groups]\nfeet = "
             "[\"toe\"]\n"
             "[[keyframe]]\nafter = 0.5\nmove = { feet = [0, 0, 0.01] }\n[[keyframe]]\nafter = 1\n"
             "move = { feet = [0, 0, -0.01] }\n",
             "[[keyframe]]\nafter = 1\n"};
       }},
      {"impact", [](std::string_view b) { return read_as<load_impact_scene>("input.toml", b); },
       [] { return joined(files_of("examples/impact", ".toml"), {kImpactMatrices}); }},
      {"csv", [](std::string_view b) { return read_height_field("input.csv", b); },
       [] { return std::vector<std::string>{"0,1,2,3\n1,2,3,4\r\n-1, 2e-1,3,4\n0.5,0,0,0\n"}; }},
      {"png", [](std::string_view b) { return read_height_field("input.png", b); },
       [] {
         return std::vector<std::string>{png(8, PNG_COLOR_TYPE_GRAY, 1), png(16, PNG_COLOR_TYPE_GRAY, 1),
                                         png(8, PNG_COLOR_TYPE_GRAY_ALPHA, 2)};
       }},
      {"granular", [](std::string_view b) { return read_as<load_granular>("input.toml", b); },
       [] { return joined(files_of("examples/contact", ".toml"), {bytes_of(place() / "sand.toml")}); }},
      {"run", [](std::string_view b) { return read_sealed("input.h5", b, [](const fs::path& f) { read_run(f); }); },
       run_seeds},
      {"batch", [](std::string_view b) { return read_sealed("input.h5", b, [](const fs::path& f) { read_batch(f); }); },
       batch_seeds},
      {"state", read_state, state_seeds},
  };
  return all;
}

const std::string& last_refusal() { return refusal; }

const Reader& find_reader(std::string_view name) {
  for (const Reader& reader : readers())
    if (reader.name == name) return reader;
  die(fmt::format("no reader \"{}\"", name));
}

}  // namespace scree
