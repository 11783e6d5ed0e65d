// A TOML table read key by key, with every mistake reported as "file:line: key: value, expected ...".
#pragma once

#include <toml++/toml.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "scree/error.h"

namespace scree {

// Reads and parses a file of at most 16 MiB. Throws InputError, also for what the parser itself would fall over.
toml::table parse_toml_file(const std::filesystem::path& file, std::string& text);

toml::table parse_toml(const std::string& text, const std::string& name);  // the same of a text, which errors call so

class TomlReader {
 public:
  TomlReader(const toml::table& table, std::string file, std::string name = "");

  void check_keys(const std::vector<std::string>& known) const;  // throws for an unknown key, names the nearest known
  void require(const std::string& key) const;
  std::vector<std::string> keys() const;  // in the order of the file

  bool has(const std::string& key) const { return table_->contains(key); }
  bool is_table(const std::string& key) const { return table_->get(key) && table_->get(key)->is_table(); }
  bool is_array(const std::string& key) const { return table_->get(key) && table_->get(key)->is_array(); }

  // An absent key gives nothing, a value of the wrong type throws.
  // Integer or float, finite, at most `largest` in size.
  std::optional<double> number(const std::string& key, double largest = kLargestNumber) const;
  std::optional<int> integer(const std::string& key) const;  // a TOML integer that fits an int
  std::optional<bool> boolean(const std::string& key) const;
  std::optional<std::string> string(const std::string& key) const;  // without control characters
  std::optional<std::vector<std::string>> strings(const std::string& key) const;
  std::optional<TomlReader> table(const std::string& key) const;
  std::vector<TomlReader> tables(const std::string& key) const;  // an array of tables; none if the key is absent
  // One number where `count` is 1, else an array of `count` numbers.
  std::optional<std::vector<double>> numbers(const std::string& key, int count, double largest = kLargestNumber) const;

  std::optional<std::vector<double>> list(const std::string& key) const;               // an array of any length
  std::optional<std::vector<std::vector<double>>> rows(const std::string& key) const;  // of a matrix, of equal length

  // Throws InputError "file:line: table.key: what".
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;
  // Runs a check that throws InputError and adds where the offending value came from.
  template <class Check> void blame(const std::string& key, Check&& check) const;

 private:
  double to_number(const std::string& key, const toml::node& node, double largest = kLargestNumber) const;
  [[noreturn]] void fail_type(const std::string& key, const toml::node& node, const std::string& expected) const;

  const toml::table* table_;
  std::string file_, name_;
};

template <class Check> void TomlReader::blame(const std::string& key, Check&& check) const {
  try {
    check();
  } catch (const InputError& error) {
    fail(key, error.what());
  }
}

}  // namespace scree
