// Kills and full disks: runs, fans and batches that are killed at random moments, or find a disk that is full at a
// random size, and are resumed until they end. Their files must then have the bits of a run that nobody touched, and no
// program may end otherwise than by the kill, with 0, or with 1 and a message.
//
//   scree_storage_campaign CASES SEED
#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "run/hdf5.h"
#include "scree/error.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/temp_folder.h"

namespace scree {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Work {
  const char* name;
  std::vector<std::string> arguments;
};

std::vector<Work> all_work() {
  const std::string scenes = source_dir() + "/examples/scenes/";
  return {{"run", {"sim", scenes + "robosimian-jump.toml", "--dt", "0.01", "--duration", "0.6", "--chunk", "4"}},
          {"run by accuracy",
           {"sim", scenes + "robosimian-jump.toml", "--accuracy", "1e-4", "--output", "0.01", "--duration", "0.6",
            "--chunk", "4", "--checkpoint", "0.1"}},
          {"run of events", {"sim", scenes + "event-block.toml", "--chunk", "3"}},
          {"fan", {"sim", source_dir() + "/tests/data/scenes/fan.toml", "--branches", "300", "--chunk", "7"}},
          {"batch",
           {"sim", scenes + "robosimian-batch.toml", "--duration", "0.2", "--batch", "24", "--chunk", "3",
            "--rows-every", "2"}}};
}

// The bytes of all datasets but those that tell wall times.
void collect(const hdf5::Reader& in, const std::string& path, std::map<std::string, std::string>& all) {
  std::vector<std::string> names;
  try {
    names = in.children(path.empty() ? "/" : path);
  } catch (const InputError&) {  // a dataset
    if (path == "/settings") return;
    const hdf5::Extents shape = in.extents(path);
    const auto bytes = [](const auto& values) {
      return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]);
    };
    try {
      all[path] = bytes(in.numbers(path, shape));
      return;
    } catch (const InputError&) {
    }
    try {
      all[path] = bytes(in.integers(path, shape));
      return;
    } catch (const InputError&) {
    }
    try {
      for (const std::string& text : in.strings(path, shape)) all[path] += text + '\n';
      return;
    } catch (const InputError&) {
    }
    for (const hdf5::Type type : {hdf5::Type::uint64, hdf5::Type::int64, hdf5::Type::uint8}) try {
        std::string values(8 * shape[0], '\0');
        in.get(path, type, shape, 0, shape[0], values.data());
        all[path] = values;
        return;
      } catch (const InputError&) {
      }
    throw InputError(path + ": of no type that is known");
  }
  for (const std::string& name : names) collect(in, path + "/" + name, all);
}

std::map<std::string, std::string> contents(const fs::path& file) {
  std::map<std::string, std::string> all;
  collect(hdf5::Reader(file), "", all);
  return all;
}

std::vector<std::string> command(const Work& work, const fs::path& out, bool resume, int blocks = 0) {
  std::vector<std::string> words;
  if (blocks > 0) words = {"/bin/sh", "-c", fmt::format("ulimit -f {} && exec \"$@\"", blocks), "sh"};
  words.push_back(cli_program());
  words.insert(words.end(), work.arguments.begin(), work.arguments.end());
  words.insert(words.end(), {"--out", out.string(), "--quiet"});
  if (resume) words.push_back("--resume");
  return words;
}

struct Counts {
  int kills = 0, full = 0, ended = 0, wrong = 0;
};

struct Reference {
  std::map<std::string, std::string> contents;
  double seconds = 0;
  double blocks = 0;  // of half a kilobyte
};

class Campaign {
 public:
  explicit Campaign(unsigned seed) : random_(seed), works_(all_work()) {
    for (const Work& work : works_) {
      const fs::path file = folder_ / "reference.h5";
      const auto start = Clock::now();
      const Outcome outcome = Process(command(work, file, false)).wait();
      if (outcome.exit_code != 0) throw InputError(fmt::format("{}: {}", work.name, outcome.err));
      references_.push_back({contents(file), std::chrono::duration<double>(Clock::now() - start).count(),
                             static_cast<double>(fs::file_size(file)) / 512});
      fs::remove(file);
    }
  }

  int run(int cases) {
    std::map<std::string, Counts> counts;
    for (int k = 0; k < cases; ++k) {
      const size_t which = static_cast<size_t>(k) % works_.size();
      one(works_[which], references_[which], k / static_cast<int>(works_.size()) % 2 == 1, counts[works_[which].name]);
    }
    int wrong = 0;
    for (const auto& [name, c] : counts) {
      fmt::print("{:<16} {:4} ended with the right bits, {:4} kills, {:4} full disks, {} wrong\n", name, c.ended,
                 c.kills, c.full, c.wrong);
      wrong += c.wrong;
    }
    return wrong;
  }

 private:
  double uniform(double most) { return std::uniform_real_distribution<double>(0, most)(random_); }

  void one(const Work& work, const Reference& reference, bool full, Counts& counts) {
    const fs::path file = folder_ / "out.h5";
    bool resume = false;
    for (int interruptions = 0; interruptions < 4; ++interruptions, resume = true) {
      if (full) {
        const Outcome outcome =
            Process(command(work, file, resume, 1 + static_cast<int>(uniform(1.1 * reference.blocks)))).wait();
        if (outcome.exit_code == 0) break;
        ++counts.full;
        if (outcome.exit_code != 1 || outcome.err.find("cannot write") == std::string::npos || fs::exists(file))
          return fail(work, counts, fmt::format("full disk: exit {}: {}", outcome.exit_code, outcome.err));
      } else {
        Process process(command(work, file, resume));
        std::this_thread::sleep_for(std::chrono::duration<double>(uniform(1.2 * reference.seconds)));
        if (process.finished()) {
          if (const Outcome outcome = process.wait(); outcome.exit_code != 0)
            return fail(work, counts, fmt::format("exit {}: {}", outcome.exit_code, outcome.err));
          break;
        }
        kill(process.id(), SIGKILL);
        process.wait();
        ++counts.kills;
      }
    }
    const Outcome last = Process(command(work, file, true)).wait();
    if (last.exit_code != 0) return fail(work, counts, fmt::format("resumed: exit {}: {}", last.exit_code, last.err));
    if (contents(file) != reference.contents) return fail(work, counts, "resumed: other bits");
    fs::remove(file);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path()))
      if (entry.path().extension() != ".tmp") return fail(work, counts, "left behind: " + entry.path().string());
    ++counts.ended;
  }

  void fail(const Work& work, Counts& counts, const std::string& what) {
    fmt::print("WRONG {}: {}\n", work.name, what);
    ++counts.wrong;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_.path())) fs::remove_all(entry.path());
  }

  std::mt19937_64 random_;
  std::vector<Work> works_;
  std::vector<Reference> references_;
  TempFolder folder_;
};

}  // namespace
}  // namespace scree

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: scree_storage_campaign CASES SEED\n");
    return 2;
  }
  return scree::Campaign(static_cast<unsigned>(std::atoi(argv[2]))).run(std::atoi(argv[1])) == 0 ? 0 : 1;
}
