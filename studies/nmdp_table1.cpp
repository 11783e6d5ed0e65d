#include "studies.h"
namespace scree { StudyResult study_nmdp_table1(const StudyContext&) { return {}; } }
