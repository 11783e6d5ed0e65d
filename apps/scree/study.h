// The verb `study`. Its options are read by scree itself; the studies are a program of their own (scree-studies), so
// that nobody waits for their compilation who does not ask for them.
#pragma once

#include <string>

namespace scree::cli {

struct StudyOptions {
  std::string name, html, data;
  bool quick = false, json = false;
  int jobs = 0;  // 0: as many as the machine has
};

// Returns the exit code. In scree: becomes scree-studies (study_launch.cpp). There: runs the study (study.cpp).
int run_study(const StudyOptions& options);

}  // namespace scree::cli
