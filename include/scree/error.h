// What a user's mistake looks like: bad file, option or value. The command line prints it on one line and exits with 2.
// Numerical outcomes are never exceptions; they are a status in a report.
#pragma once

#include <stdexcept>
#include <string>

namespace scree {

// what() reads "<place>: <what came>, expected <what was wanted>", on one line.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace scree
