// SPDX-License-Identifier: Apache-2.0
#include "trace/import/tables/operation_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "cox/base/number_text.hpp"

#include "trace/import/part/part_builder.hpp"
#include "trace/import/tables/operation_events.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace {
namespace {

constexpr std::int64_t kMostNumber = INT32_MAX - 1;
/// Ranks, stages and the like: a hundred times the largest job so far.
constexpr std::int64_t kMostPlace = std::int64_t{1} << 24;
/// Durations hold 106 days, so this much to both sides of the first step;
/// a profile of one job is far shorter.
constexpr double kMostSeconds = 50.0 * 86400;
constexpr std::size_t kMostTypes = 4096;

struct NamedColumn {
  std::string_view name;
  OperationColumn column;
};
/// `pp_rank` and the like are what other writers call the same things.
constexpr std::array kOperationColumnNames{
    NamedColumn{"dp_rank", OperationColumn::DataRank}, NamedColumn{"stage", OperationColumn::Stage},
    NamedColumn{"pp_rank", OperationColumn::Stage},    NamedColumn{"tp_rank", OperationColumn::TensorRank},
    NamedColumn{"rank", OperationColumn::Rank},        NamedColumn{"step", OperationColumn::Step},
    NamedColumn{"optype", OperationColumn::Type},      NamedColumn{"op_type", OperationColumn::Type},
    NamedColumn{"start_ts", OperationColumn::Start},   NamedColumn{"duration", OperationColumn::Duration},
    NamedColumn{"seq_id", OperationColumn::Sequence},  NamedColumn{"mc", OperationColumn::Chunk},
    NamedColumn{"mb_id", OperationColumn::MicroBatch},
};

bool is_number(std::int64_t v) {
  return v >= -1 && v <= kMostNumber;
}

bool is_place(std::int64_t v) {
  return v >= -1 && v <= kMostPlace;
}

bool is_usable(const OperationRow& r, const std::vector<std::string>& types) {
  return std::isfinite(r.start_s) && std::isfinite(r.duration_s) && r.duration_s >= 0 &&
         !types[r.type].empty() && is_place(r.rank) && is_place(r.data) && is_place(r.stage) &&
         is_place(r.tensor) && is_number(r.step) && is_number(r.sequence) && is_number(r.chunk) &&
         is_number(r.micro_batch) && (r.rank >= 0 || (r.data >= 0 && r.stage >= 0));
}

/// Gives every row a rank: its own, or, in a table without, its place counted in Megatron's order (tensor
/// fastest, then data, then stage). Rows without a rank in a table with some are removed.
void give_ranks(std::vector<OperationRow>& rows) {
  const bool has_ranks =
      std::any_of(rows.begin(), rows.end(), [](const OperationRow& r) { return r.rank >= 0; });
  if (has_ranks) {
    std::erase_if(rows, [](const OperationRow& r) { return r.rank < 0; });
    return;
  }
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t> places;
  for (const OperationRow& r : rows) places.try_emplace({r.stage, r.data, r.tensor}, 0);
  std::int64_t next = 0;
  for (auto& [place, rank] : places) rank = next++;
  for (OperationRow& r : rows) r.rank = places.at({r.stage, r.data, r.tensor});
}

auto key(const OperationRow& r) {
  return std::tie(r.step, r.rank, r.start_s, r.duration_s, r.type, r.sequence, r.chunk, r.micro_batch, r.data,
                  r.stage, r.tensor);
}

/// Types in use, in the order of their names, so that the order of the rows leaves no trace.
void sort_types(OperationRows& table) {
  std::vector<bool> is_used(table.types.size());
  for (const OperationRow& r : table.rows) is_used[r.type] = true;
  std::map<std::string, std::uint32_t> names;
  std::vector<std::map<std::string, std::uint32_t>::iterator> place(table.types.size(), names.end());
  for (std::size_t t = 0; t < table.types.size(); ++t)
    if (is_used[t]) place[t] = names.try_emplace(clean_text(table.types[t]), 0).first;
  std::uint32_t next = 0;
  std::vector<std::string> sorted;
  for (auto& [name, index] : names) {
    index = next++;
    sorted.push_back(name);
  }
  for (OperationRow& r : table.rows) r.type = place[r.type]->second;
  table.types = std::move(sorted);
}

/// When each step begins on the Run's time line.
struct StepPlace {
  double first_s = 0;  ///< earliest start in it, as in the file
  double last_s = 0;   ///< latest end
  double offset_s = 0;
};

/// Tables count either from one origin or from each step's own beginning;
/// the latter are placed one after another.
class StepPlaces {
 public:
  explicit StepPlaces(const std::vector<OperationRow>& rows) {
    for (const OperationRow& r : rows) {
      const double end = r.start_s + r.duration_s;
      const auto [at, is_new] = steps_.try_emplace(r.step, StepPlace{.first_s = r.start_s, .last_s = end});
      at->second.first_s = std::min(at->second.first_s, r.start_s);
      at->second.last_s = std::max(at->second.last_s, end);
    }
    std::size_t overlapping = 0;
    const StepPlace* before = nullptr;
    for (auto& [step, place] : steps_) {
      if (before != nullptr) {
        const double shorter = std::min(before->last_s - before->first_s, place.last_s - place.first_s);
        const double overlap =
            std::min(before->last_s, place.last_s) - std::max(before->first_s, place.first_s);
        overlapping += overlap > shorter / 2 || place.first_s < before->first_s ? 1 : 0;
      }
      before = &place;
    }
    is_relative_ = 2 * overlapping >= steps_.size() && steps_.size() > 1;
    double next = 0;
    for (auto& [step, place] : steps_) {
      place.offset_s = is_relative_ ? next : place.first_s - steps_.begin()->second.first_s;
      next += place.last_s - place.first_s;
    }
  }

  /// Seconds from the Run's origin.
  [[nodiscard]] double begin(const OperationRow& r) const {
    const StepPlace& p = steps_.at(r.step);
    return p.offset_s + (r.start_s - p.first_s);
  }
  [[nodiscard]] bool is_relative() const { return is_relative_; }

 private:
  std::map<std::int64_t, StepPlace> steps_;
  bool is_relative_ = false;
};

/// Ranks with their places.
std::map<std::int64_t, std::size_t> add_ranks(PartBuilder& builder, const std::vector<OperationRow>& rows) {
  std::map<std::int64_t, model::Role> roles;
  std::int64_t conflicts = 0;
  for (const OperationRow& r : rows) {
    const model::Role role{.data = static_cast<int>(r.data),
                           .tensor = static_cast<int>(r.tensor),
                           .pipeline = static_cast<int>(r.stage)};
    const auto [at, is_new] = roles.try_emplace(r.rank, role);
    if (is_new || at->second == role) continue;
    ++conflicts;
    at->second = std::max(at->second, role);
  }
  builder.note_count(
      conflicts, "row puts", "rows put",
      " a rank in another place (dp_rank, stage, tp_rank) than others do; the highest place counts");
  std::map<std::int64_t, std::size_t> index;
  for (const auto& [rank, role] : roles) {
    index[rank] = builder.add_rank(Rank(static_cast<std::int32_t>(rank)));
    builder.rank(index[rank]).role = role;
    builder.rank(index[rank]).timing = "operation table";
  }
  return index;
}

void add_operations(PartBuilder& builder, const OperationRows& table, const StepPlaces& places,
                    const std::map<std::int64_t, std::size_t>& ranks, const OperationGroups& groups) {
  model::Program& o = builder.program();
  std::vector<std::uint32_t> names;
  names.reserve(table.types.size());
  for (const std::string& type : table.types) names.push_back(builder.operation_name(type));
  std::size_t track = 0;
  std::int64_t last_rank = -1;
  // Where the table does not number the operations of one type in a step, their order does.
  std::vector<std::int32_t> so_far(table.types.size(), 0);
  std::int64_t last_step = -1;
  for (const OperationRow& r : table.rows) {
    if (r.rank != last_rank || r.step != last_step) std::fill(so_far.begin(), so_far.end(), 0);
    last_step = r.step;
    if (r.rank != last_rank) {
      track = ranks.at(r.rank);
      last_rank = r.rank;
    }
    const OperationMeaning meaning = meaning_of(table.types[r.type]);
    const std::int32_t ordinal = so_far[r.type]++;
    const bool is_counted = r.sequence < 0 && meaning.kind == OperationKind::Collective;
    o.rank.push_back(static_cast<std::uint32_t>(track));
    o.kind.push_back(meaning.kind);
    o.name.push_back(names[r.type]);
    o.begin.push_back(duration_from_seconds(places.begin(r)));
    o.duration.push_back(duration_from_seconds(r.duration_s));
    o.bytes.emplace_back(0);
    o.step.push_back(static_cast<std::int32_t>(r.step));
    o.micro_batch.push_back(static_cast<std::int32_t>(r.micro_batch));
    o.chunk.push_back(static_cast<std::int32_t>(r.chunk));
    o.sequence.push_back(is_counted ? ordinal : static_cast<std::int32_t>(r.sequence));
    o.comm.push_back(groups.of(meaning.group, track));
  }
}

/// Tables do not say how many ranks the job has. Where all places of the layout are there and ranks are not
/// numbered through, each row's rank stands for several (one of each tensor group was recorded), and nobody
/// knows the number (0). Ranks 1 to n are counted from 1. Otherwise a gap is a rank that is missing.
int count_world(PartBuilder& builder) {
  const std::vector<RankTrack>& ranks = builder.run().ranks;
  std::set<std::tuple<int, int, int>> places;
  model::Role last;
  for (const RankTrack& t : ranks) {
    places.emplace(t.role.data, t.role.tensor, t.role.pipeline);
    last.data = std::max(last.data, t.role.data);
    last.tensor = std::max(last.tensor, t.role.tensor);
    last.pipeline = std::max(last.pipeline, t.role.pipeline);
  }
  // Counted from 0, so that a missing first one shows; -1 is a dimension that the table does not have.
  const auto count = [](int highest) { return std::max(1.0, highest + 1.0); };
  const double all = count(last.data) * count(last.tensor) * count(last.pipeline);
  const int highest = ranks.back().rank.value() + 1;
  if (static_cast<double>(places.size()) < all) {
    builder.note(
        fmt::format("{} of {:.0f} places (data ranks x tensor ranks x stages) {} in the table: collectives "
                    "are those of the ranks that are",
                    places.size(), all, places.size() == 1 ? "is" : "are"));
    return highest;
  }
  const int first = ranks.front().rank.value();
  const bool through = first <= 1 && static_cast<std::size_t>(highest - first) == ranks.size();
  if (through && first == 1) {
    builder.note(
        fmt::format("ranks are taken as counted from 1, so that none of {} is missing", highest - 1));
    return highest - 1;
  }
  if (last.data < 0 || last.pipeline < 0 || through) return highest;
  builder.note(fmt::format(
      "{}, numbered up to {}, {} for several, and what those do among themselves is not in the table",
      counted(static_cast<std::int64_t>(ranks.size()), "rank", "ranks"), highest - 1,
      ranks.size() == 1 ? "fills all places: it stands" : "fill all places: each stands"));
  return 0;
}

tl::unexpected<Error> refuse(std::string message, std::string hint) {
  return fail(Error{.code = Errc::InvalidInput,
                    .id = "import-005",
                    .message = std::move(message),
                    .hint = std::move(hint),
                    .where = {}});
}

}  // namespace

int find_operation_column(std::string_view name) {
  for (const NamedColumn& c : kOperationColumnNames)
    if (c.name == name) return static_cast<int>(c.column);
  return -1;
}

Result<void> check_operation_columns(const std::vector<int>& found) {
  const auto has = [&](OperationColumn c) {
    return std::find(found.begin(), found.end(), static_cast<int>(c)) != found.end();
  };
  std::string_view missing;
  if (!has(OperationColumn::Type)) missing = "optype";
  if (missing.empty() && !has(OperationColumn::Start)) missing = "start_ts";
  if (missing.empty() && !has(OperationColumn::Duration)) missing = "duration";
  const bool has_place = has(OperationColumn::DataRank) && has(OperationColumn::Stage);
  if (missing.empty() && !has(OperationColumn::Rank) && !has_place)
    missing = "rank, and no dp_rank and stage";
  if (missing.empty()) return {};
  return refuse(
      fmt::format("the table has no column {}", missing),
      "a table of operations has columns optype, start_ts, duration (seconds), step, rank, dp_rank, stage");
}

Result<ImportedJob> make_operation_part(std::string file, std::string format, OperationRows table) {
  PartBuilder builder(std::move(file), std::move(format));
  const auto total = static_cast<std::int64_t>(table.rows.size());
  std::erase_if(table.rows, [&](const OperationRow& r) { return !is_usable(r, table.types); });
  give_ranks(table.rows);
  const auto usable = static_cast<std::int64_t>(table.rows.size());
  if (usable == 0)
    return refuse(fmt::format("none of {} rows has a type, a start, a duration and a rank", total),
                  "start_ts and duration are seconds; rank, dp_rank and stage count from 0");
  if (usable < total)
    builder.note(fmt::format("{} of {} rows without a type, start, duration or rank that can be used",
                             total - usable, total));
  sort_types(table);
  if (table.types.size() > kMostTypes)
    return refuse(fmt::format("{} types of operation, expected at most {}", table.types.size(), kMostTypes),
                  "optype is the kind of operation, not the name of each");
  std::sort(table.rows.begin(), table.rows.end(),
            [](const OperationRow& a, const OperationRow& b) { return key(a) < key(b); });
  const auto twice =
      std::unique(table.rows.begin(), table.rows.end(),
                  [](const OperationRow& a, const OperationRow& b) { return key(a) == key(b); });
  builder.note_count(table.rows.end() - twice, "row stands in the table twice; it is used once",
                     "rows stand in the table twice; each is used once");
  table.rows.erase(twice, table.rows.end());

  const StepPlaces places(table.rows);
  std::int64_t far = 0;
  std::erase_if(table.rows, [&](const OperationRow& r) {
    const double begin = places.begin(r);
    const bool is_far = !(begin > -kMostSeconds && begin + r.duration_s < kMostSeconds);
    far += is_far ? 1 : 0;
    return is_far;
  });
  if (table.rows.empty())
    return refuse("the times of the table are not seconds: they span more than 50 days",
                  "start_ts and duration are seconds");
  builder.note_count(far, "row", "rows", " more than 50 days from the first step");
  if (places.is_relative())
    builder.note(
        "times count from each step's own beginning: steps are placed one after another, "
        "without the gaps between them");
  const auto ranks = add_ranks(builder, table.rows);
  const OperationGroups groups(builder);
  add_operations(builder, table, places, ranks, groups);
  add_operation_events(builder, groups);
  builder.run().world_size = count_world(builder);
  builder.run().times = TimesKind::Clocked;
  builder.count(total, static_cast<std::int64_t>(table.rows.size()));
  return std::move(builder).finish_job();
}

}  // namespace cox::trace
