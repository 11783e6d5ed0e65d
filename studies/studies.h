// Studies: each runs a set of simulations, sets its figures beside those of a paper or of theory and says, by
// comparing numbers, which goals are met. `scree study NAME` prints them (docs/studies.md).
#pragma once

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <vector>

#include "scree/research/study.h"

namespace scree {

struct StudyContext {
  std::filesystem::path data;  // folder that holds models/ and motions/
  bool quick = false;          // fewer step sizes, shorter runs
  int jobs = 1;                // >= 1 threads over independent runs; no figure but wall times depends on it
  // Simulated time done and wanted [s] of the runs at hand; false asks to stop. Called by one thread at a time.
  std::function<bool(double, double)> progress = [](double, double) { return true; };
};

struct StudyInterrupted : std::runtime_error {
  StudyInterrupted() : std::runtime_error("interrupted") {}
};

struct Study {
  const char* name;
  const char* description;
  StudyResult (*run)(const StudyContext&);  // throws InputError: files of `data`; StudyInterrupted
};
const std::vector<Study>& studies();

StudyResult study_nmdp_jump(const StudyContext& context);
StudyResult study_nmdp_walk(const StudyContext& context);
StudyResult study_nmdp_table1(const StudyContext& context);
StudyResult study_nmdp_truth(const StudyContext& context);
StudyResult study_nmdp_cost(const StudyContext& context);
StudyResult study_nmdp_stability(const StudyContext& context);
StudyResult study_nmdp_drop(const StudyContext& context);
StudyResult study_nmdp_convergence(const StudyContext& context);
StudyResult study_nmdp_accuracy(const StudyContext& context);
StudyResult study_nmdp_unseen(const StudyContext& context);
StudyResult study_pbfd_box(const StudyContext& context);
StudyResult study_pbfd_optimizers(const StudyContext& context);
StudyResult study_pbfd_batch(const StudyContext& context);
StudyResult study_pbfd_chain(const StudyContext& context);
StudyResult study_impact_cradle(const StudyContext& context);
StudyResult study_impact_rack(const StudyContext& context);
StudyResult study_impact_galperin(const StudyContext& context);
StudyResult study_impact_certificate(const StudyContext& context);
StudyResult study_impact_block(const StudyContext& context);
StudyResult study_impact_compass(const StudyContext& context);
StudyResult study_impact_boxwall(const StudyContext& context);
StudyResult study_impact_ramone(const StudyContext& context);
StudyResult study_impact_disks(const StudyContext& context);
StudyResult study_event_bounce(const StudyContext& context);
StudyResult study_event_painleve(const StudyContext& context);
StudyResult study_event_block_fan(const StudyContext& context);
StudyResult study_event_compass_fan(const StudyContext& context);
StudyResult study_event_robosimian_step(const StudyContext& context);
StudyResult study_event_agreement(const StudyContext& context);
StudyResult study_event_inclusion(const StudyContext& context);
StudyResult study_conservation(const StudyContext& context);

}  // namespace scree
