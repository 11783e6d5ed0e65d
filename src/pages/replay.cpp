#include "base/atomic_file.h"
#include "pages/replay_data.h"
#include "pages/replay_template.h"

namespace scree {

namespace {

void write_page(const std::filesystem::path& file, const nlohmann::json& data) {
  std::string page(replay_template());
  page.replace(page.find(kReplayPlaceholder), kReplayPlaceholder.size(), replay_json(data));
  write_atomically(file, page);
}

}  // namespace

void write_replay(const std::filesystem::path& file, const Model& model, const Run& run) {
  write_page(file, replay_data(model, run));
}

void write_replay(const std::filesystem::path& file, const Model& model, const Run& run, const Ghost& ghost) {
  write_page(file, replay_data(model, run, &ghost));
}

}  // namespace scree
