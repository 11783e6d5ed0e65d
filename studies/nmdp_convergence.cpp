#include "studies.h"
namespace scree {
StudyResult study_nmdp_convergence(const StudyContext&) { return {}; }
}  // namespace scree
