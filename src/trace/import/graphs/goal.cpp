// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/import/graphs/chakra_graph.hpp"
#include "trace/import/graphs/goal_text.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

/// Most ranks of one schedule that are kept: each takes about a kilobyte, and can take ten bytes of text.
constexpr std::size_t kMostRanks = std::size_t{1} << 17;

/// A schedule while it is read. Operation i has the id 2i + 1; its beginning, where something waits for that
/// alone (`irequires`), the id 2i.
class Schedule {
 public:
  explicit Schedule(const std::filesystem::path& path)
      : part_(path.string(), kGoalReader.format), graph_(part_) {}
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;
  ~Schedule() = default;

  void add(const GoalStatement& s);
  void skip(std::int64_t line);
  void note(std::string text) { part_.note(std::move(text)); }
  [[nodiscard]] bool empty() const { return operations_.empty(); }
  [[nodiscard]] ImportedJob finish() &&;

 private:
  using Place = std::uint32_t;  ///< index into operations_
  struct Operation {
    GraphNode node;
    bool has_start = false;  ///< something waits for its beginning
  };
  struct Wait {
    Place who;
    Place whom;
    bool start;  ///< for its beginning only
  };
  /// Messages of one sender to one receiver with one tag are received in the order in which they are sent.
  struct Channel {
    std::vector<Place> sent;
    std::vector<Place> received;
  };

  void begin_rank(std::uint64_t rank);
  void end_rank();
  void add_operation(const GoalStatement& s);
  void add_wait(const GoalStatement& s);
  void match_messages();
  void emit();

  PartBuilder part_;
  GraphBuilder graph_;
  std::vector<Operation> operations_;
  std::vector<Wait> waits_;
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Channel> channels_;  ///< from, to, tag
  std::map<std::int64_t, std::uint32_t> rank_index_;
  std::int64_t rank_ = -1;  ///< whose block is open; -1 = none
  /// A label of the open block, in `text_`. Labels are looked up by sorting: a hash of what a file chooses
  /// can be made to collide.
  struct Word {
    std::size_t at;
    std::size_t size;
  };
  struct Label {
    Word word;
    Place place;
  };
  struct Pending {
    Word who;
    Word whom;
    bool start;
  };
  [[nodiscard]] Word keep(std::string_view word);
  [[nodiscard]] std::string_view view(Word word) const {
    return std::string_view(text_).substr(word.at, word.size);
  }
  [[nodiscard]] const Label* find_label(Word word) const;
  std::string text_;
  std::vector<Label> labels_;
  std::vector<Pending> pending_;  ///< of the open block: labels may come later
  std::uint64_t declared_ = 0;
  std::int64_t unknown_labels_ = 0;
  std::int64_t outside_ = 0;
  std::int64_t skipped_ = 0;
  std::int64_t first_skipped_ = 0;
  std::int64_t from_any_ = 0;
  std::int64_t too_many_ = 0;
};

void Schedule::skip(std::int64_t line) {
  if (skipped_++ == 0) first_skipped_ = line;
}

void Schedule::begin_rank(std::uint64_t rank) {
  if (rank_ >= 0) end_rank();
  rank_ = rank <= INT32_MAX ? static_cast<std::int64_t>(rank) : -1;
}

Schedule::Word Schedule::keep(std::string_view word) {
  text_ += word;
  return {.at = text_.size() - word.size(), .size = word.size()};
}

/// The first operation of that label; `labels_` is sorted.
const Schedule::Label* Schedule::find_label(Word word) const {
  const auto found =
      std::lower_bound(labels_.begin(), labels_.end(), view(word),
                       [&](const Label& l, std::string_view wanted) { return view(l.word) < wanted; });
  return found != labels_.end() && view(found->word) == view(word) ? &*found : nullptr;
}

void Schedule::end_rank() {
  std::sort(labels_.begin(), labels_.end(), [&](const Label& a, const Label& b) {
    const int order = view(a.word).compare(view(b.word));
    return order != 0 ? order < 0 : a.place < b.place;
  });
  for (const Pending& p : pending_) {
    const Label* who = find_label(p.who);
    const Label* whom = find_label(p.whom);
    if (who == nullptr || whom == nullptr) {
      ++unknown_labels_;
      continue;
    }
    waits_.push_back({.who = who->place, .whom = whom->place, .start = p.start});
    if (p.start) operations_[whom->place].has_start = true;
  }
  pending_.clear();
  labels_.clear();
  text_.clear();
  rank_ = -1;
}

void Schedule::add_operation(const GoalStatement& s) {
  using What = GoalStatement::What;
  if (rank_ < 0) {
    ++outside_;
    return;
  }
  auto known = rank_index_.find(rank_);
  if (known == rank_index_.end()) {
    if (rank_index_.size() == kMostRanks) {
      ++too_many_;
      return;
    }
    const std::size_t index = part_.add_rank(Rank(static_cast<std::int32_t>(rank_)));
    known = rank_index_.emplace(rank_, static_cast<std::uint32_t>(index)).first;
  }
  const auto place = static_cast<Place>(operations_.size());
  GraphNode node{.id = 2 * std::uint64_t{place} + 1, .rank = known->second};
  if (s.what == What::Calc) {
    node.kind = OperationKind::Compute;
    node.name = part_.operation_name("calc");
    node.duration = duration_from_nanos(s.amount);
  } else {
    const bool send = s.what == What::Send;
    node.kind = send ? OperationKind::Send : OperationKind::Receive;
    node.name = part_.operation_name(send ? "send" : "recv");
    node.bytes = Bytes(static_cast<std::int64_t>(std::min<std::uint64_t>(s.amount, INT64_MAX)));
    if (!send && (s.peer == kAnyRank || s.tag == kAnyTag)) {
      ++from_any_;
    } else if (send) {
      channels_[{rank_, s.peer, s.tag}].sent.push_back(place);
    } else {
      channels_[{s.peer, rank_, s.tag}].received.push_back(place);
    }
  }
  operations_.push_back({.node = node});
  if (!s.label.empty()) labels_.push_back({.word = keep(s.label), .place = place});
}

void Schedule::add_wait(const GoalStatement& s) {
  if (rank_ < 0) {
    ++outside_;
    return;
  }
  const Word who = keep(s.label);
  const Word whom = keep(s.other);
  pending_.push_back({.who = who, .whom = whom, .start = s.what == GoalStatement::What::StartRequires});
}

void Schedule::add(const GoalStatement& s) {
  switch (s.what) {
    case GoalStatement::What::RankCount:
      declared_ = s.amount;
      break;
    case GoalStatement::What::Rank:
      begin_rank(s.amount);
      break;
    case GoalStatement::What::End:
      end_rank();
      break;
    case GoalStatement::What::Requires:
    case GoalStatement::What::StartRequires:
      add_wait(s);
      break;
    default:
      add_operation(s);
  }
}

void Schedule::match_messages() {
  std::int64_t unmatched = 0;
  std::int64_t unequal = 0;
  for (const auto& [key, channel] : channels_) {
    const std::size_t n = std::min(channel.sent.size(), channel.received.size());
    for (std::size_t i = 0; i < n; ++i) {
      waits_.push_back({.who = channel.received[i], .whom = channel.sent[i], .start = false});
      if (operations_[channel.received[i]].node.bytes != operations_[channel.sent[i]].node.bytes) ++unequal;
    }
    unmatched += static_cast<std::int64_t>(channel.sent.size() + channel.received.size() - 2 * n);
  }
  part_.note_count(from_any_, "receive from any rank or of any tag: whom it waits for is not in the schedule",
                   "receives from any rank or of any tag: whom they wait for is not in the schedule");
  // A send that is left over may be what such a receive takes.
  if (unmatched > from_any_)
    part_.note_count(unmatched, "send or receive", "sends and receives", " without a counterpart");
  part_.note_count(unequal, "message is", "messages are", " received with another size than sent");
}

/// Hands operations over with what they wait for. The beginning of an operation waits for what the operation
/// requires, but not for a message that it receives.
void Schedule::emit() {
  const auto by_who = [](const Wait& a, const Wait& b) { return a.who < b.who; };
  std::stable_sort(waits_.begin(), waits_.end(), by_who);
  std::vector<std::uint64_t> ids;
  std::size_t at = 0;
  for (Place i = 0; i < operations_.size(); ++i) {
    Operation& o = operations_[i];
    const std::uint64_t start = 2 * std::uint64_t{i};
    std::uint64_t message = 0;
    ids.clear();
    for (; at < waits_.size() && waits_[at].who == i; ++at) {
      // Labels are known within a rank only: whatever leads to another one is a message.
      const bool received = operations_[waits_[at].whom].node.rank != o.node.rank;
      const std::uint64_t id = 2 * std::uint64_t{waits_[at].whom} + (waits_[at].start ? 0 : 1);
      if (received) {
        message = id;
      } else {
        ids.push_back(id);
      }
    }
    if (o.has_start) {
      GraphNode begin{
          .id = start, .rank = o.node.rank, .name = part_.operation_name("start"), .implied = true};
      begin.duration = Duration::zero();
      graph_.add(begin, ids);
      ids.assign(1, start);
    }
    if (message != 0) ids.push_back(message);
    graph_.add(o.node, ids);
  }
}

ImportedJob Schedule::finish() && {
  if (rank_ >= 0) {
    part_.note(fmt::format("the file ends inside the operations of rank {}", rank_));
    end_rank();
  }
  match_messages();
  emit();
  part_.note_count(skipped_, "statement that is none of the format, in line ",
                   "statements that are none of the format, the first in line ",
                   fmt::format("{}: not used", first_skipped_));
  part_.count(skipped_ + outside_ + too_many_, 0);
  part_.note_count(unknown_labels_, "dependency on a label that its rank does not have",
                   "dependencies on labels that their rank does not have");
  part_.note_count(outside_, "statement", "statements", " outside of a rank's block: not used");
  part_.note_count(too_many_, "operation of a rank", "operations of ranks",
                   " beyond the number that can be kept: not used");
  if (declared_ > 0 && declared_ <= INT32_MAX) {
    part_.run().world_size = static_cast<int>(declared_);
    if (rank_index_.size() < declared_)
      part_.note(fmt::format("{} of {} ranks {} operations", rank_index_.size(), declared_,
                             rank_index_.size() == 1 ? "has" : "have"));
  }
  graph_.finish();
  return std::move(part_).finish_job();
}

bool recognise(const Head& head) {
  // The first statement says how many ranks there are; comments may stand before it.
  GoalLines lines(ByteSource::over(head.bytes, head.bytes.size()));
  const auto first = lines.next();
  if (!first || !*first) return false;
  const auto statement = parse_goal_statement(**first);
  return statement &&
         (statement->what == GoalStatement::What::RankCount || statement->what == GoalStatement::What::Rank);
}

Result<ImportedJob> read(const std::filesystem::path& path, const ImportOptions& options) {
  COX_TRY(ByteSource source, ByteSource::open(path, options.limit_bytes));
  GoalLines lines(std::move(source));
  Schedule schedule(path);
  while (true) {
    COX_TRY(const auto text, lines.next());
    if (!text) break;
    if (const auto statement = parse_goal_statement(*text)) {
      schedule.add(*statement);
    } else {
      schedule.skip(lines.line());
    }
  }
  if (schedule.empty())
    return fail(Error{.code = Errc::InvalidInput,
                      .id = "import-005",
                      .message = "no operation of a GOAL schedule, expected `calc`, `send` or "
                                 "`recv` in a rank's block",
                      .hint = "write the schedule again; a binary one must be converted to text first",
                      .where = Where{.file = path.string(), .line = lines.line()}});
  if (lines.cut()) schedule.note("the file's compression stops early");
  return std::move(schedule).finish();
}

}  // namespace

const Reader kGoalReader{.format = "goal", .title = "GOAL schedule", .recognises = recognise, .read = read};

}  // namespace cox::trace
