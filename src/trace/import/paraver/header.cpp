// SPDX-License-Identifier: Apache-2.0
#include "trace/import/paraver/header.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

namespace cox::trace {
namespace {

constexpr std::string_view kMagic = "#Paraver (";
/// Most tasks of a trace: a rank costs about a kilobyte, and four bytes of the header are enough to name one.
constexpr std::size_t kMostTasks = std::size_t{1} << 18;

tl::unexpected<Error> not_a_header(std::string message) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "import-005",
                    .message = std::move(message),
                    .hint = "look at the first line; write the trace again where it was edited or cut",
                    .where = Where{.file = {}, .line = 1}});
}

/// Reads forward through the header's text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool number(std::int64_t& value) {
    const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc() || value < 0) return false;
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return true;
  }
  bool skip(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }
  bool skip_past(char what) {
    const std::size_t at = rest_.find(what);
    if (at == std::string_view::npos) return false;
    rest_.remove_prefix(at + 1);
    return true;
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// `4(1:1,1:1,1:1,1:1),5`: tasks, threads and node of each, and how many communicators follow.
bool read_application(Cursor& in, std::int64_t nodes, std::vector<std::int32_t>& node_of_task) {
  std::int64_t tasks = 0;
  if (!in.number(tasks) || !in.skip("(")) return false;
  do {
    std::int64_t threads = 0;
    std::int64_t node = 0;
    if (!in.number(threads) || !in.skip(":") || !in.number(node)) return false;
    node_of_task.push_back(node >= 1 && node <= nodes ? static_cast<std::int32_t>(node - 1) : 0);
  } while (in.skip(","));
  if (!in.skip(")") || std::cmp_not_equal(node_of_task.size(), tasks)) return false;
  std::int64_t communicators = 0;
  return !in.skip(",") || in.number(communicators);
}

}  // namespace

std::size_t ParaverHeader::tasks() const {
  std::size_t sum = 0;
  for (const auto& tasks : node_of_task) sum += tasks.size();
  return sum;
}

std::optional<Duration> ParaverHeader::time(std::int64_t value) const {
  // The largest Duration means "still running", so a time stays below it.
  if (value < 0 || value > (std::numeric_limits<std::int64_t>::max() - 1) / unit_ps) return std::nullopt;
  return Duration{value * unit_ps};
}

bool is_paraver_header(std::string_view head) {
  return head.starts_with(kMagic);
}

Result<ParaverHeader> parse_paraver_header(std::string_view line) {
  Cursor in(line);
  if (!in.skip(kMagic) || !in.skip_past(')') || !in.skip(":"))
    return not_a_header("no Paraver header, expected `#Paraver (when):duration:...`");
  ParaverHeader header;
  std::int64_t duration = 0;
  if (!in.number(duration)) return not_a_header("no duration in the header, expected a whole number");
  if (in.skip("_ns"))
    header.unit_ps = 1'000;
  else
    in.skip("_us");
  std::int64_t applications = 0;
  if (!in.skip(":") || !in.number(header.nodes) || (in.skip("(") && !in.skip_past(')')) || !in.skip(":") ||
      !in.number(applications))
    return not_a_header("no nodes and applications in the header, expected `duration_ns:1(4):1:...`");
  // A node is worth a host only where a task is on it, so their number is bounded by the line's length.
  header.nodes = std::min<std::int64_t>(header.nodes, std::numeric_limits<std::int32_t>::max());
  std::size_t tasks = 0;
  while (in.skip(":")) {
    std::vector<std::int32_t> node_of_task;
    if (!read_application(in, header.nodes, node_of_task))
      return not_a_header("application " + std::to_string(header.node_of_task.size() + 1) +
                          " of the header is incomplete, expected `tasks(threads:node,...),communicators`");
    header.node_of_task.push_back(std::move(node_of_task));
    tasks += header.node_of_task.back().size();
    if (tasks > kMostTasks)
      return not_a_header("more than " + std::to_string(kMostTasks) + " tasks, expected at most that");
  }
  if (!in.at_end() || header.node_of_task.empty() ||
      std::cmp_not_equal(header.node_of_task.size(), applications))
    return not_a_header("the header lists " + std::to_string(header.node_of_task.size()) +
                        " applications, expected " + std::to_string(applications));
  return header;
}

}  // namespace cox::trace
