// SPDX-License-Identifier: Apache-2.0
/// \file
/// One Chrome trace event, and a batch of them, out of JSON text.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "cox/base/units.hpp"

#include "trace/import/kineto/names.hpp"

namespace cox::trace::kineto {

/// What PyTorch says about a collective; views into the text of the event, empty where it says nothing.
struct CommsArguments {
  std::string_view collective;
  std::string_view group_name;
  std::string_view group_description;
  std::string_view group_ranks;  ///< a string that holds a JSON list, sometimes cut with `...`
  std::string_view element_type;
  std::string_view in_split;
  std::string_view input_dims;  ///< as written, brackets included
  std::string_view input_type;  ///< as written, brackets included
  std::int64_t in_elements = -1;
  std::int64_t out_elements = -1;
  std::int64_t group_size = -1;
  std::int64_t sequence = -1;
  std::int64_t first_rank = -1;
  std::int64_t rank_stride = -1;
};

/// One event, valid until the next. Times as written, in the clock of the file.
struct TraceEvent {
  char phase = 0;  ///< X, B or E
  Category category = Category::Unknown;
  NameMeaning meaning;
  std::uint32_t name = 0;  ///< index in the names of its category
  std::int64_t pid = 0;
  std::uint64_t tid = 0;  ///< number, also of "stream 7"; a hash of other text
  std::optional<Nanoseconds> begin;
  std::optional<Nanoseconds> duration;
  std::int64_t correlation = 0;  ///< 0 = none
  std::int64_t external = 0;     ///< 0 = none
  std::int64_t stream = -1;
  std::string_view sync_kind;
  CommsArguments comms;
  bool has_comms = false;
};

/// Names of a file, by category, with their meanings.
class NameBook {
 public:
  std::uint32_t index(Category category, std::string_view raw);
  [[nodiscard]] const NameMeaning& meaning(Category category, std::uint32_t index) const {
    return pages_[static_cast<std::size_t>(category)].meanings[index];
  }
  [[nodiscard]] std::string_view raw(Category category, std::uint32_t index) const {
    return pages_[static_cast<std::size_t>(category)].texts.text(index);
  }
  [[nodiscard]] std::size_t size(Category category) const {
    return pages_[static_cast<std::size_t>(category)].texts.size();
  }

 private:
  struct Page {
    TextTable texts;
    std::vector<NameMeaning> meanings;
  };
  std::array<Page, 9> pages_;
};

/// Takes the events that say something about a rank's time.
class EventSink {
 public:
  EventSink() = default;
  EventSink(const EventSink&) = delete;
  EventSink& operator=(const EventSink&) = delete;
  virtual ~EventSink() = default;
  virtual void take(const TraceEvent& event) = 0;
};

/// Number of events seen, of any kind.
struct EventCounts {
  std::int64_t events = 0;
  std::int64_t complete = 0;   ///< phase X
  std::int64_t malformed = 0;  ///< no JSON object, or a damaged one
  std::int64_t unknown = 0;    ///< complete, of a category that is not known
};

/// Reads batches of events.
///
/// Cost: one pass; about 1 ns per byte. Held by: src/trace/import/kineto/kineto_test.cpp
class EventParser {
 public:
  EventParser(EventSink& sink, NameBook& names);
  EventParser(const EventParser&) = delete;
  EventParser& operator=(const EventParser&) = delete;
  ~EventParser();

  /// What became of a batch.
  struct Outcome {
    std::size_t used = 0;      ///< bytes whose events were taken
    bool array_ended = false;  ///< a closing bracket stood at `used - 1`
    bool failed = false;       ///< what stands at `used` is no event, or goes on after the batch
  };
  /// Takes the events in `text`, separated by commas. `kRoomBehind` bytes behind must be readable.
  ///
  /// Only the first stage of simdjson is used, which finds the tokens: its On-Demand reader does not always
  /// count brackets the same way when it passes over what is no JSON, and a damaged event must end at the
  /// same byte however the file is cut into batches.
  Outcome parse(const char* text, std::size_t size);

  [[nodiscard]] EventCounts& counts() { return counts_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  EventCounts counts_;
};

/// Bytes behind a batch that must be readable.
inline constexpr std::size_t kRoomBehind = 128;

/// A number of microseconds as written, rounded to nanoseconds; nothing where it is no number or not within
/// +-292 years.
[[nodiscard]] std::optional<Nanoseconds> parse_microseconds(std::string_view token);
/// A whole number, in quotes or not.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view token);

}  // namespace cox::trace::kineto
