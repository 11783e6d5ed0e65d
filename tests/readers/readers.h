// Every reader of scree as a function of bytes, with inputs to begin from: for the sanitizers and for the fuzzers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace scree {

struct Reader {
  std::string name;
  // Whether the input was accepted. A refusal must be an InputError of one line; anything else ends the process, as
  // does an accepted input that breaks what the reader promises.
  std::function<bool(std::string_view bytes)> read;
  std::function<std::vector<std::string>()> seeds;  // inputs that are accepted
};

const std::vector<Reader>& readers();
const std::string& last_refusal();                 // what the reader that refused last said
const Reader& find_reader(std::string_view name);  // ends the process if there is none

}  // namespace scree
