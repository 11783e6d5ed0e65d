// What was found about an impact: as text, as JSON, as a page that opens offline in a browser.           docs/impact.md
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scree/impact.h"
#include "scree/impact_scene.h"
#include "scree/outcome_set.h"

namespace scree {

struct ImpactReport {
  ImpactScene scene;
  std::vector<ImpactResult> outcomes;  // of laws
  std::vector<ImpactLaw> incomplete;   // laws that may have more outcomes than were found
  std::vector<std::string> notes;      // laws left out and why, searches that are not complete
  std::optional<OutcomeSet> set;       // of the set-valued law
  OutcomeOptions set_options;
};

// Laws that say something about the problem: anitescu-potra and sequential always, elastic ones where there is no
// friction (they ignore it), routh where there is one contact.
std::vector<ImpactLaw> applicable_impact_laws(const ImpactProblem& problem);
// Adds all outcomes of `law`. Outcomes whose velocities are the same, to 1e-9 of the velocity before, are told once,
// with their number.
void add_all_outcomes(ImpactReport& report, ImpactLaw law, ImpactOptions options, const ImpactSearch& search = {});
bool every_outcome_resolved(const ImpactReport& report);

std::string impact_report_text(const ImpactReport& report);  // several lines
std::string impact_report_json(const ImpactReport& report);  // one object

// One file, nothing else is loaded; at most about 5 MB, by leaving out samples and points of paths, which it says.
// Throws InputError if the file cannot be written.
void write_impact_page(const std::filesystem::path& file, const ImpactReport& report);

}  // namespace scree
