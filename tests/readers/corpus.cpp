// scree_readers COUNT [SEED [READER...]]: every reader under sanitizers on its seeds and on COUNT mutations of them.
// scree_readers --write FOLDER: the seeds as files FOLDER/READER/N, for scree_fuzz.
#include <fmt/format.h>

#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "readers/readers.h"

namespace scree {
namespace {

namespace fs = std::filesystem;

// What has broken parsers, here or elsewhere.
const std::vector<std::string> kTokens = {
    "nan",        "inf",  "-inf",      "1e999",  "-1",      "0",  "-0", "5e-324", "1e308", "99999999999999999999",
    "2147483648", "0x",   "\xc3\xa9",  "\xff",   "[;",      "[[", "]]", "[",      "{",     "}",
    "=",          "\"",   "'''",       "\"\"\"", "\n",      "\r", "\t", "#",      "<",     "/>",
    "<!--",       "&#0;", "<![CDATA[", "../",    "\\u0000", "."};

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, std::uint64_t seed) : seeds_(seeds), random_(seed) {}

  std::string next() {
    std::string text = pick(seeds_);
    for (size_t changes = 1 + below(4); changes > 0; --changes) change(text);
    return text;
  }

 private:
  size_t below(size_t n) { return n == 0 ? 0 : static_cast<size_t>(random_() % n); }
  const std::string& pick(const std::vector<std::string>& items) { return items[below(items.size())]; }

  void change(std::string& text) {
    const size_t at = below(text.size() + 1), length = std::min(below(below(3) == 0 ? 200 : 8), text.size() - at);
    switch (below(8)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(at, text.substr(at, length));
        break;
      case 4:
        text.insert(at, pick(kTokens));
        break;
      case 5:
        replace_number(text, at);
        break;
      case 6: {  // a part of another seed
        const std::string& other = pick(seeds_);
        const size_t from = below(other.size());
        text.insert(at, other.substr(from, below(200)));
        break;
      }
      default:
        text.resize(at);
    }
  }

  // The number at or after `at`.
  void replace_number(std::string& text, size_t at) {
    const char* const kDigits = "0123456789.-+eE";
    const size_t from = text.find_first_of("0123456789", at);
    if (from == std::string::npos) return;
    const size_t to = std::min(text.find_first_not_of(kDigits, from), text.size());
    text.replace(from, to - from, kTokens[below(12)]);
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64 random_;
};

int write_seeds(const fs::path& folder) {
  for (const Reader& reader : readers()) {
    fs::create_directories(folder / reader.name);
    size_t number = 0;
    for (const std::string& seed : reader.seeds())
      std::ofstream(folder / reader.name / std::to_string(number++), std::ios::binary) << seed;
  }
  return 0;
}

// What is being read, and where it goes if the reader does not survive it.
constexpr const char* kFatal = "scree_readers.fatal";
std::string reading;

void keep_fatal() {
  const int file = open(kFatal, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (file < 0 || write(file, reading.data(), reading.size()) < 0) return;
  constexpr char kSaid[] = "scree_readers: the input is in scree_readers.fatal\n";
  if (write(2, kSaid, sizeof kSaid - 1) < 0) return;
}

int run(size_t count, std::uint64_t seed, const std::vector<std::string>& names) {
  size_t total = 0, refused = 0;
  for (const Reader& reader : readers()) {
    if (!names.empty() && std::find(names.begin(), names.end(), reader.name) == names.end()) continue;
    const std::vector<std::string> seeds = reader.seeds();
    for (size_t k = 0; k < seeds.size(); ++k)
      if (!reader.read(seeds[k])) {
        fmt::print(stderr, "{}: seed {} is refused: {}\n", reader.name, k, last_refusal());
        ++refused;
      }
    Mutator mutator(seeds, seed);
    size_t accepted = 0;
    for (size_t k = 0; k < count; ++k) {
      reading = mutator.next();
      accepted += reader.read(reading) ? 1 : 0;
    }
    fmt::print("{:<10} {:>3} seeds, {} mutations, {} accepted\n", reader.name, seeds.size(), count, accepted);
    total += seeds.size() + count;
  }
  fmt::print("{} inputs\n", total);
  return refused == 0 ? 0 : 1;
}

}  // namespace
}  // namespace scree

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--write") == 0) return scree::write_seeds(argv[2]);
  const auto number = [&](int k, std::uint64_t fallback) {
    return k < argc ? static_cast<std::uint64_t>(std::strtoull(argv[k], nullptr, 10)) : fallback;
  };
  const std::vector<std::string> names(argv + std::min(argc, 3), argv + argc);
  __sanitizer_set_death_callback(scree::keep_fatal);
  std::signal(SIGABRT, [](int) { scree::keep_fatal(); });  // failed assertions
  return scree::run(number(1, 1000), number(2, 1), names);
}
