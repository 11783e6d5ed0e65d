// Runs a program as a user would and keeps what it said.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "support/temp_folder.h"

extern char** environ;

namespace scree {

struct Outcome {
  int exit_code = -1;  // -1: killed by a signal
  std::string out, err;
};

class Process {
 public:
  explicit Process(std::vector<std::string> arguments) {
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, (folder_ / "out").c_str(), O_CREAT | O_WRONLY, 0600);
    posix_spawn_file_actions_addopen(&actions, 2, (folder_ / "err").c_str(), O_CREAT | O_WRONLY, 0600);
    if (posix_spawn(&id_, argv[0], &actions, nullptr, argv.data(), environ) != 0) id_ = -1;
    posix_spawn_file_actions_destroy(&actions);
  }
  pid_t id() const { return id_; }
  bool finished() { return done_ || (done_ = waitpid(id_, &status_, WNOHANG) == id_); }
  // Whether the program has installed a handler for the signal.
  bool catches(int signal) const {
    const std::string status = read_bytes("/proc/" + std::to_string(id_) + "/status");
    const size_t caught = status.find("SigCgt:");
    return caught != std::string::npos &&
           (std::stoull(status.substr(caught + 7), nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  Outcome wait() {
    if (id_ < 0) return {};
    if (!done_) waitpid(id_, &status_, 0);
    done_ = true;
    return {WIFEXITED(status_) ? WEXITSTATUS(status_) : -1, read_bytes(folder_ / "out"), read_bytes(folder_ / "err")};
  }

 private:
  TempFolder folder_;
  pid_t id_ = -1;
  int status_ = 0;
  bool done_ = false;
};

}  // namespace scree
