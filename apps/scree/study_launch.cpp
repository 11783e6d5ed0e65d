#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "scree/error.h"
#include "study.h"

namespace scree::cli {

int run_study(const StudyOptions& options) {
  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "scree-studies").string();
  std::vector<std::string> words = {program, "study"};
  if (options.quick) words.push_back("--quick");
  if (options.json) words.push_back("--json");
  if (!options.data.empty()) words.push_back("--data=" + options.data);
  if (!options.html.empty()) words.push_back("--html=" + options.html);
  if (options.jobs > 0) words.push_back("--jobs=" + std::to_string(options.jobs));
  words.insert(words.end(), {"--", options.name});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());  // returns only if it fails
  if (errno == ENOENT)
    throw InputError(fmt::format("study: no {}, which computes the studies; `make studies` builds it", program));
  throw InputError(fmt::format("study: cannot start {}: {}", program, std::strerror(errno)));
}

}  // namespace scree::cli
