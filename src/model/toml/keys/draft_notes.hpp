// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where each value of a draft came from, and the errors that point there.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/base/result.hpp"
#include "cox/model/document.hpp"
#include "cox/model/origin.hpp"

namespace cox::model {

struct Note {
  Origin origin = Origin::Default;
  std::string why;
  TextPosition at;

  /// Said by --set: options have no place in the file.
  [[nodiscard]] bool is_option() const { return origin == Origin::File && at.line == 0; }
};

/// Notes by full key (`fabric.kind`, `noise[0].law`); what has none is as the tables say.
class Notes {
 public:
  explicit Notes(std::string file) : file_(std::move(file)) {}

  void set(const std::string& key, Note note) { notes_.insert_or_assign(key, std::move(note)); }
  [[nodiscard]] const Note* find(const std::string& key) const {
    const auto at = notes_.find(key);
    return at == notes_.end() ? nullptr : &at->second;
  }
  /// Whether a file or a preset says it.
  [[nodiscard]] bool said(const std::string& key) const {
    const Note* note = find(key);
    return note && (note->origin == Origin::File || note->origin == Origin::Preset);
  }
  /// The first key that a file or --set says: `key` itself or, where that ends with a dot,
  /// one that begins with it.
  [[nodiscard]] std::optional<std::string> first_of_file(std::string_view key) const {
    for (auto at = notes_.lower_bound(std::string(key)); at != notes_.end(); ++at) {
      const bool same = key.ends_with('.') ? at->first.starts_with(key) : at->first == key;
      if (!same) return std::nullopt;
      if (at->second.origin == Origin::File) return at->first;
    }
    return std::nullopt;
  }
  /// Keys that the file or --set says, without those inside arrays, in the order of the file.
  [[nodiscard]] std::vector<std::pair<std::string, TextPosition>> of_file() const {
    std::vector<std::pair<std::string, TextPosition>> keys;
    for (const auto& [key, note] : notes_)
      if (note.origin == Origin::File && key.find('[') == std::string::npos) keys.emplace_back(key, note.at);
    std::stable_sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
      return a.second.line != b.second.line ? a.second.line < b.second.line
                                            : a.second.column < b.second.column;
    });
    return keys;
  }
  void derive(const std::string& key, std::string why) {
    set(key, {.origin = Origin::Derived, .why = std::move(why), .at = {}});
  }
  [[nodiscard]] const std::string& file() const { return file_; }

  void set_empty_table(std::string key, TextPosition at) { empty_tables_.emplace_back(std::move(key), at); }
  /// The first table of the file that is `key` or in it, and says nothing.
  [[nodiscard]] const std::pair<std::string, TextPosition>* empty_table(std::string_view key) const {
    const auto is_in = [&](const auto& one) {
      return one.first.starts_with(key) && (one.first.size() == key.size() || one.first[key.size()] == '.');
    };
    const auto at = std::find_if(empty_tables_.begin(), empty_tables_.end(), is_in);
    return at == empty_tables_.end() ? nullptr : &*at;
  }

  /// An error at a place of the file.
  [[nodiscard]] tl::unexpected<Error> refuse(std::string id, TextPosition at, std::string message,
                                             std::string hint) const {
    return fail(Error{.code = Errc::InvalidInput,
                      .id = std::move(id),
                      .message = std::move(message),
                      .hint = std::move(hint),
                      .where = Where{.file = file_, .line = at.line, .column = at.column}});
  }
  /// Parts that cannot go together (scenario-004), at the first of `keys` that the file has.
  [[nodiscard]] tl::unexpected<Error> clash(std::initializer_list<std::string_view> keys, std::string message,
                                            std::string hint) const {
    for (const std::string_view key : keys)
      if (const Note* note = find(std::string(key)); note && note->at.line != 0)
        return refuse("scenario-004", note->at, std::move(message), std::move(hint));
    return refuse("scenario-004", {}, std::move(message), std::move(hint));
  }

 private:
  std::string file_;
  std::map<std::string, Note> notes_;
  std::vector<std::pair<std::string, TextPosition>> empty_tables_;  ///< whose keys there are
};

}  // namespace cox::model
