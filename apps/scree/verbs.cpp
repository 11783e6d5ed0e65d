#include "verbs.h"

namespace scree::cli {

void add_verbs(CLI::App& app, Action& action) {
  add_sim(app, action);
  add_check(app, action);
  add_view(app, action);
  add_convert(app, action);
  add_bench(app, action);
  add_study(app, action);
  add_calibrate(app, action);
  add_impact(app, action);
}

}  // namespace scree::cli
