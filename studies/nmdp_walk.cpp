#include "studies.h"
namespace scree { StudyResult study_nmdp_walk(const StudyContext&) { return {}; } }
