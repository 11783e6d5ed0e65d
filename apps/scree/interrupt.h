// The first SIGINT or SIGTERM asks a run to stop after the current step; a second one kills the process.
#pragma once

namespace scree::cli {

void catch_interrupts();
bool interrupted();

}  // namespace scree::cli
