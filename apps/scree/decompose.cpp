// CoACD is a Python package: the meshes go to a child's standard input as text, parts come back on its standard output.
#include "decompose.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "base/atomic_file.h"
#include "base/text.h"
#include "geometry/hull.h"
#include "scree/error.h"
#include "scree/urdf.h"

extern char** environ;

namespace scree::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kNoPackage = 3;  // exit code of the script
constexpr size_t kMostParts = 100000;

// Reads all before it writes: pipes cannot block both ways. What libraries print goes to stderr.
constexpr const char* kScript = R"(
import os, sys
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
try:
    import numpy
    import coacd
except ImportError:
    sys.exit(3)
coacd.set_log_level("error")
threshold = float(sys.argv[1])
words = iter(sys.stdin.read().split())
for _ in range(int(next(words))):
    n, m = int(next(words)), int(next(words))
    vertices = numpy.array([float(next(words)) for _ in range(3 * n)]).reshape(n, 3)
    triangles = numpy.array([int(next(words)) for _ in range(3 * m)], dtype=numpy.int32).reshape(m, 3)
    parts = coacd.run_coacd(coacd.Mesh(vertices, triangles), threshold=threshold, seed=1)
    print(len(parts), file=out)
    for points, faces in parts:
        print(len(points), len(faces), file=out)
        for p in points:
            print(*[repr(float(x)) for x in p], file=out)
        for f in faces:
            print(*[int(i) for i in f], file=out)
out.flush()
)";

std::string text_of(const TriangleMesh& mesh) {
  std::string text = fmt::format("{} {}\n", mesh.vertices.size(), mesh.triangles.size());
  for (const Vec3& v : mesh.vertices) text += fmt::format("{} {} {}\n", v.x(), v.y(), v.z());
  for (const auto& t : mesh.triangles) text += fmt::format("{} {} {}\n", t[0], t[1], t[2]);
  return text;
}

struct Outcome {
  int exit_code = -1;  // -1: killed by a signal
  std::string out, err;
};

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }
  void close() {
    if (value_ >= 0) ::close(value_);
    value_ = -1;
  }

 private:
  int value_;
};

// Where the child's words go and its messages are kept: files without names.
int unnamed_file() {
  const int file = memfd_create("scree", MFD_CLOEXEC);
  if (file < 0) throw InputError(fmt::format("--decompose: no temporary file: {}", std::strerror(errno)));
  return file;
}
void fill(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw InputError(fmt::format("--decompose: temporary file: {}", std::strerror(errno)));
    done += static_cast<size_t>(count);
  }
  lseek(file, 0, SEEK_SET);
}
std::string content(int file) {
  std::string text;
  char buffer[1 << 16];
  lseek(file, 0, SEEK_SET);
  for (ssize_t count = 0; (count = read(file, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(count));
  return text;
}

Outcome run_python(const DecomposeOptions& options, const std::string& input) {
  const Descriptor in(unnamed_file()), out(unnamed_file()), err(unnamed_file());
  fill(in.get(), input);
  std::vector<std::string> words = {options.python, "-c", kScript, fmt::format("{}", options.threshold)};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, out.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, err.get(), 2);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0)
    throw InputError(
        fmt::format("--decompose: cannot start {}: {}, expected a Python with the package coacd (pip "
                    "install coacd)",
                    options.python, std::strerror(failure)));
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(out.get()), content(err.get())};
}

// What the child wrote, which is not trusted either.
class Reader {
 public:
  explicit Reader(const std::string& text) : words_(split(text)) {}
  double number() {
    const std::optional<double> value = at_ < words_.size() ? parse_number(words_[at_]) : std::nullopt;
    if (!value) throw InputError("--decompose: coacd: its answer ends early or is not a number");
    ++at_;
    return *value;
  }
  size_t count(size_t most) {
    const double value = number();
    if (!(value >= 0 && value <= static_cast<double>(most) && value == std::floor(value)))
      throw InputError(fmt::format("--decompose: coacd: it answers {}, expected an integer in [0, {}]", value, most));
    return static_cast<size_t>(value);
  }
  TriangleMesh mesh() {
    TriangleMesh mesh;
    const size_t vertices = count(words_.size()), triangles = count(words_.size());
    for (size_t k = 0; k < vertices; ++k) {
      Vec3& v = mesh.vertices.emplace_back();
      for (int axis = 0; axis < 3; ++axis) v(axis) = number();
    }
    if (vertices == 0) throw InputError("--decompose: coacd: a part has no vertices");
    for (size_t k = 0; k < triangles; ++k) {
      auto& t = mesh.triangles.emplace_back();
      for (int& corner : t) corner = static_cast<int>(count(vertices - 1));
    }
    return mesh;
  }

 private:
  std::vector<std::string_view> words_;
  size_t at_ = 0;
};

// As the model has it: scaled, triangles facing out.
TriangleMesh scaled(const Mesh& mesh) {
  TriangleMesh result;
  for (const Vec3& v : mesh.data->vertices) result.vertices.push_back(mesh.scale.cwiseProduct(v));
  result.triangles = mesh.data->triangles;
  if (mesh.scale.prod() < 0)
    for (auto& t : result.triangles) std::swap(t[1], t[2]);
  return result;
}

double volume_of(const TriangleMesh& mesh) {  // by the divergence theorem
  double sum = 0;
  const Vec3 from = mesh.vertices[0];
  for (const auto& t : mesh.triangles) {
    const auto corner = [&](size_t k) -> Vec3 { return mesh.vertices[static_cast<size_t>(t[k])] - from; };
    sum += corner(0).dot(corner(1).cross(corner(2))) / 6;
  }
  return sum;
}

std::string stl_of(const TriangleMesh& mesh) {
  std::string bytes(80, '\0');
  const auto put_u32 = [&](std::uint32_t x) {
    for (int k = 0; k < 4; ++k) bytes += static_cast<char>(x >> (8 * k) & 255);
  };
  const auto put = [&](const Vec3& v) {
    for (int k = 0; k < 3; ++k) put_u32(std::bit_cast<std::uint32_t>(static_cast<float>(v(k))));
  };
  put_u32(static_cast<std::uint32_t>(mesh.triangles.size()));
  for (const auto& t : mesh.triangles) {
    const auto corner = [&](size_t k) -> const Vec3& { return mesh.vertices[static_cast<size_t>(t[k])]; };
    const Vec3 normal = (corner(1) - corner(0)).cross(corner(2) - corner(0));
    put(normal.norm() > 0 ? Vec3(normal.normalized()) : Vec3(Vec3::Zero()));
    for (size_t k = 0; k < 3; ++k) put(corner(k));
    bytes.append(2, '\0');
  }
  return bytes;
}

// Letters a file name may have anywhere.
std::string plain(const std::string& name) {
  std::string result;
  for (const char c : name)
    result += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ? c : '_';
  return result.substr(0, 80);
}

}  // namespace

Decomposition decompose_collision_meshes(const Model& model, const fs::path& model_file,
                                         const DecomposeOptions& options) {
  // Meshes that several shapes share are decomposed once.
  using Key = std::pair<const TriangleMesh*, std::array<double, 3>>;
  const auto key_of = [](const Mesh& mesh) {
    return Key{mesh.data.get(), {mesh.scale.x(), mesh.scale.y(), mesh.scale.z()}};
  };
  std::map<Key, size_t> index;
  std::vector<TriangleMesh> wholes;
  for (const Shape& shape : model.shapes())
    if (const auto* mesh = std::get_if<Mesh>(&shape.geometry); mesh && shape.role == ShapeRole::collision)
      if (!mesh->data->triangles.empty() && index.try_emplace(key_of(*mesh), wholes.size()).second)
        wholes.push_back(scaled(*mesh));

  std::vector<std::vector<TriangleMesh>> parts(wholes.size());
  if (!wholes.empty()) {
    std::string input = fmt::format("{}\n", wholes.size());
    for (const TriangleMesh& whole : wholes) input += text_of(whole);
    const Outcome outcome = run_python(options, input);
    if (outcome.exit_code == kNoPackage)
      throw InputError(
          fmt::format("--decompose: {} has no package coacd, which does the work: pip install coacd", options.python));
    if (outcome.exit_code != 0)
      throw InputError(
          one_line(fmt::format("--decompose: coacd failed: {}",
                               outcome.err.substr(outcome.err.size() - std::min<size_t>(outcome.err.size(), 300)))));
    Reader reader(outcome.out);
    for (std::vector<TriangleMesh>& of_mesh : parts)
      for (size_t count = reader.count(kMostParts); count > 0; --count) of_mesh.push_back(reader.mesh());
  }

  Decomposition result{model, {}, {}};
  const auto name_of = [&](BodyIndex body) { return body.valid() ? model.body(body).name : std::string("world"); };
  ModelBuilder builder(model.name());
  for (size_t i = 0; i < model.bodies().size(); ++i)
    builder.add_body(model.bodies()[i], name_of(model.bodies()[i].parent), model.joints()[i]);
  std::map<std::pair<size_t, size_t>, std::pair<std::string, std::shared_ptr<const TriangleMesh>>> files;
  std::map<std::string, int> taken;
  for (const Shape& shape : model.shapes()) {
    const auto* mesh = std::get_if<Mesh>(&shape.geometry);
    const auto found = mesh && shape.role == ShapeRole::collision ? index.find(key_of(*mesh)) : index.end();
    if (found == index.end()) {
      builder.add_shape(name_of(shape.body), shape);
      continue;
    }
    const size_t k = found->second;
    const std::string name = shape.name.empty() ? name_of(shape.body) : shape.name;
    Decomposed& told = result.meshes.emplace_back();
    told.shape = name;
    told.link = name_of(shape.body);
    told.mesh_volume = volume_of(wholes[k]);
    told.hull_volume = hull_volume(wholes[k].vertices);
    told.parts = std::max<size_t>(1, parts[k].size());
    if (parts[k].size() < 2) {
      told.parts_volume = told.hull_volume;
      builder.add_shape(name_of(shape.body), shape);
      continue;
    }
    std::string stem = fmt::format("{}-{}", plain(model_file.stem().string()), plain(name));
    if (const int count = ++taken[stem]; count > 1) stem += fmt::format("_{}", count);
    for (size_t p = 0; p < parts[k].size(); ++p) {
      told.parts_volume += hull_volume(parts[k][p].vertices);
      auto& [uri, data] = files[{k, p}];
      if (!data) {
        uri = fmt::format("{}-part{}.stl", stem, p);
        data = std::make_shared<const TriangleMesh>(parts[k][p]);
        result.parts.push_back({model_file.parent_path() / uri, stl_of(*data)});
      }
      Shape part = shape;
      part.name = fmt::format("{}-part{}", name, p);
      part.geometry = Mesh{.uri = uri, .data = data};
      builder.add_shape(name_of(shape.body), part);
    }
  }
  for (const Frame& frame : model.frames()) builder.add_frame(name_of(frame.body), frame);
  for (const ContactPoint& point : model.contact_points()) builder.add_contact_point(name_of(point.body), point);
  result.model = builder.build();
  return result;
}

void save(const Decomposition& decomposition, const fs::path& model_file) {
  // All are filled before any gets its name.
  std::vector<std::pair<fs::path, std::unique_ptr<AtomicFile>>> files;
  const auto fill_file = [&](const fs::path& name, const std::string& text) {
    files.emplace_back(name, std::make_unique<AtomicFile>(name));
    std::ofstream stream(files.back().second->temporary(), std::ios::binary);
    stream << text;
    stream.close();
    if (!stream) throw InputError(fmt::format("{}: cannot write", name.string()));
  };
  for (const Decomposition::Part& part : decomposition.parts) fill_file(part.file, part.stl);
  fill_file(model_file, format_urdf(decomposition.model));
  for (auto& [name, file] : files) file->commit();
}

}  // namespace scree::cli
