// SPDX-License-Identifier: Apache-2.0
#include "cox/sync/stream_file.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <istream>
#include <limits>
#include <optional>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>

#include "cox/base/assert.hpp"

namespace cox::sync {
namespace {

constexpr std::string_view kFormat = "# cox.updates/";
constexpr std::string_view kHead = "# cox.updates/1 workers=";
constexpr std::string_view kColumns = "seconds,event,worker,version_read,version_applied,steps,applied";
constexpr std::size_t kLongestLine = 256;
constexpr int kMostWorkers = 1 << 20;
constexpr int kMostSteps = 1'000'000;

constexpr std::pair<StreamEvent::Kind, std::string_view> kKinds[] = {
    {StreamEvent::Kind::Read, "read"},         {StreamEvent::Kind::Delivered, "delivered"},
    {StreamEvent::Kind::Advanced, "advanced"}, {StreamEvent::Kind::Left, "left"},
    {StreamEvent::Kind::Joined, "joined"},     {StreamEvent::Kind::Abandoned, "abandoned"},
};

std::string_view name_of(StreamEvent::Kind kind) {
  for (const auto& [known, name] : kKinds)
    if (known == kind) return name;
  return "?";
}

template <class T>
std::optional<T> number(std::string_view text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= least && value <= most))
    return std::nullopt;
  return value;
}

/// What an error quotes: what a terminal can show of the beginning of a line.
std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 60)) out += c >= ' ' && c < 0x7f ? c : '?';
  return out;
}

/// Lines of at most `kLongestLine` bytes, with their numbers.
class StreamLines {
 public:
  StreamLines(std::istream& from, const std::string& name) : from_(from), name_(name) {}

  /// False at the end.
  Result<bool> next() {
    line_.clear();
    ++number_;
    int c = 0;
    while ((c = from_.get()) != std::istream::traits_type::eof() && c != '\n') {
      if (line_.size() == kLongestLine)
        return error(fmt::format("got a line of more than {} bytes", kLongestLine));
      line_ += static_cast<char>(c);
    }
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    if (from_.bad()) return error("the file cannot be read to its end");
    return c == '\n' || !line_.empty();
  }
  [[nodiscard]] std::string_view line() const { return line_; }
  /// The same error, of this line where it has no other place.
  [[nodiscard]] tl::unexpected<Error> located(Error error) const {
    if (!error.where) error.where = Where{name_, number_, 0};
    return fail(std::move(error));
  }
  [[nodiscard]] tl::unexpected<Error> error(std::string message) const {
    return fail(
        {.code = Errc::InvalidInput,
         .id = "sync-001",
         .message = std::move(message),
         .hint = "docs/reference/updates-csv.md has the columns; `cox learn --record` writes such a file",
         .where = Where{name_, number_, 0}});
  }

 private:
  std::istream& from_;
  const std::string& name_;
  std::string line_;
  std::int64_t number_ = 0;
};

struct TimedEvent {
  StreamEvent event{};
  Seconds at{};
};

/// Cells that an event has no use for are empty or 0.
std::optional<TimedEvent> event_of(std::string_view line) {
  std::array<std::string_view, 7> cells{};
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::size_t comma = line.find(',');
    if ((comma == std::string_view::npos) != (c + 1 == cells.size())) return std::nullopt;
    cells[c] = line.substr(0, comma);
    line.remove_prefix(comma == std::string_view::npos ? line.size() : comma + 1);
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  const auto whole = [](std::string_view text, std::int64_t least, std::int64_t most, std::int64_t without) {
    return text.empty() ? std::optional(without) : number<std::int64_t>(text, least, most);
  };
  const auto at = number<double>(cells[0], 0, std::numeric_limits<double>::max());
  const auto worker = whole(cells[2], 0, kMostWorkers - 1, 0);
  const auto read = whole(cells[3], 0, kMost, 0);
  const auto applied = whole(cells[4], 0, kMost, 0);
  const auto steps = whole(cells[5], 0, kMostSteps, 1);
  const auto used = whole(cells[6], 0, 1, 1);
  if (!at || !std::isfinite(*at) || !worker || !read || !applied || !steps || !used) return std::nullopt;
  for (const auto& [kind, name] : kKinds)
    if (cells[1] == name && (*steps > 0 || kind == StreamEvent::Kind::Abandoned))
      return TimedEvent{.event = {.kind = kind,
                                  .update = {.worker = static_cast<int>(*worker),
                                             .version_read = *read,
                                             .version_applied = *applied,
                                             .applied = *used == 1,
                                             .steps = static_cast<int>(*steps)}},
                        .at = Seconds{*at}};
  return std::nullopt;
}

Result<int> workers_of(StreamLines& lines) {
  COX_TRY(const bool any, lines.next());
  const std::string_view head = lines.line();
  const auto workers =
      any && head.starts_with(kHead) ? number<int>(head.substr(kHead.size()), 1, kMostWorkers) : std::nullopt;
  if (!workers)
    return lines.error(
        fmt::format("got '{}', expected `{}N` with 1 to {} workers", shown(head), kHead, kMostWorkers));
  COX_TRY(const bool columns, lines.next());
  if (!columns || lines.line() != kColumns)
    return lines.error(fmt::format("got '{}', expected the columns {}", shown(lines.line()), kColumns));
  return *workers;
}

}  // namespace

StreamWriter::StreamWriter(std::ostream& to, int workers) : to_(to) {
  to_ << kHead << workers << '\n' << kColumns << '\n';
}

void StreamWriter::add(const StreamEvent& event, Seconds at) {
  const Update& u = event.update;
  std::string line = fmt::format("{},{},", at.count(), name_of(event.kind));
  switch (event.kind) {
    case StreamEvent::Kind::Read:
      line += fmt::format("{},{},,,", u.worker, u.version_read);
      break;
    case StreamEvent::Kind::Delivered:
      line +=
          fmt::format("{},{},{},{},{:d}", u.worker, u.version_read, u.version_applied, u.steps, u.applied);
      break;
    case StreamEvent::Kind::Advanced:
      line += fmt::format(",,{},,", u.version_applied);
      break;
    case StreamEvent::Kind::Abandoned:
      line += fmt::format("{},{},,{},", u.worker, u.version_read, u.steps);
      break;
    case StreamEvent::Kind::Averaged:
      COX_ASSERT(false, "exchanges in pairs have no line");
      break;
    case StreamEvent::Kind::Left:
    case StreamEvent::Kind::Joined:
      line += fmt::format("{},,,,", u.worker);
      break;
  }
  to_ << line << '\n';
}

bool holds_stream(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<char, kFormat.size()> begin{};
  file.read(begin.data(), begin.size());
  return file && std::string_view(begin.data(), begin.size()) == kFormat;
}

Status read_stream(std::istream& from, const std::string& name, const StreamBegin& begin,
                   const StreamTake& take) {
  StreamLines lines(from, name);
  COX_TRY(const int workers, workers_of(lines));
  COX_CHECK(begin(workers));
  Ledger ledger(workers);
  Seconds last{};
  while (true) {
    COX_TRY(const bool any, lines.next());
    if (!any) return {};
    if (lines.line().empty()) continue;
    const auto timed = event_of(lines.line());
    if (!timed) return lines.error(fmt::format("got '{}', expected {}", shown(lines.line()), kColumns));
    if (timed->at < last)
      return lines.error(
          fmt::format("got an event at {} s after one at {} s", timed->at.count(), last.count()));
    last = timed->at;
    if (!ledger.take(timed->event)) return lines.error(ledger.error());
    const Result<bool> goes_on = take(timed->event, timed->at);
    if (!goes_on) return lines.located(goes_on.error());
    if (!*goes_on) return {};
  }
}

Status read_stream(const std::filesystem::path& path, const StreamBegin& begin, const StreamTake& take) {
  std::error_code error;
  std::ifstream file(path, std::ios::binary);
  if (!std::filesystem::is_regular_file(path, error) || !file)
    return fail({.code = Errc::InvalidInput,
                 .id = "sync-001",
                 .message = "cannot be read, or is no file",
                 .hint = "name a file of updates that you may read",
                 .where = Where{path.string(), 0, 0}});
  return read_stream(file, path.string(), begin, take);
}

}  // namespace cox::sync
