#include "formats/atomic_file.h"
#include "sim/replay_data.h"
#include "sim/replay_template.h"

namespace scree {

void write_replay(const std::filesystem::path& file, const Model& model, const Run& run) {
  std::string page(replay_template());
  page.replace(page.find(kReplayPlaceholder), kReplayPlaceholder.size(), replay_json(replay_data(model, run)));
  write_atomically(file, page);
}

}  // namespace scree
