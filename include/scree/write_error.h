// What a file that cannot be written looks like: a full or broken disk. Nobody's mistake, unlike an InputError; the
// command line exits with 1.
#pragma once

#include <stdexcept>

namespace scree {

// what() reads "<file>: cannot write: <why>", on one line.
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace scree
