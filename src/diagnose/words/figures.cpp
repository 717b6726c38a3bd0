// SPDX-License-Identifier: Apache-2.0
// Figures in words: the answer first, then what it rests on.
#include "diagnose/figures/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"
#include "cox/base/unknown_unit.hpp"

#include "diagnose/figures/parts.hpp"
#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kToldDips = 5;
constexpr std::size_t kToldOutlying = 3;
constexpr std::size_t kToldGone = 6;
constexpr std::size_t kToldSeries = 12;
constexpr std::size_t kToldQuantities = 24;

std::string series_name(const std::string& name, std::int64_t nodes) {
  std::string text = name;
  if (nodes > 0) text += fmt::format("{}{} node{}", text.empty() ? "" : ", ", nodes, nodes == 1 ? "" : "s");
  return text.empty() ? "all" : text;
}

std::string value_words(const QuantityAnswer& q, double value) {
  return q.is_time ? to_string(Seconds(value)) : fmt::format("{:.4g}", value);
}

/// What part of the path a difference points to.
const char* path_words(SizeDifference d) {
  switch (d) {
    case SizeDifference::SmallOnly:
    case SizeDifference::Offset:
      return "it is in what a message costs whatever its size: launch, software, protocol, hops";
    case SizeDifference::LargeOnly:
    case SizeDifference::Bandwidth:
      return "it is in the bytes: bandwidth of links, of memory, a protocol for large messages";
    case SizeDifference::Band:
      return "it is in the protocol or algorithm of these sizes: thresholds between eager and rendezvous, segments, "
             "trees and rings";
    case SizeDifference::Crossing:
      return "a trade: less per message for more per byte, or the reverse; the sizes that a job sends decide";
    case SizeDifference::Factor:
      return "all sizes alike: slower or shared hardware, neither the start of messages nor one size's protocol";
    case SizeDifference::None:
    case SizeDifference::Unclear:
      break;
  }
  return "";
}

std::string difference_words(const SizeComparison& c) {
  const std::string change =
      fmt::format("{} {}", percent(std::abs(c.ratio - 1)), c.ratio > 1 ? "longer" : "shorter");
  switch (c.difference) {
    case SizeDifference::None:
      return c.least_seen_ratio ? fmt::format("no difference; a difference of all sizes is told from {} on",
                                              percent(*c.least_seen_ratio))
                                : "these times scatter too much to tell a difference";
    case SizeDifference::Unclear:
      return fmt::format("too few sizes in common to compare ({})", c.sizes);
    case SizeDifference::Factor:
      return fmt::format("{} at every size", change);
    case SizeDifference::Offset:
      return fmt::format("{} {} per message, whatever its size",
                         to_string(Seconds(std::abs(c.offset.count()))),
                         c.offset.count() > 0 ? "more" : "less");
    case SizeDifference::SmallOnly:
      return fmt::format("{} up to {} only", change, to_string(*c.border));
    case SizeDifference::LargeOnly:
      return fmt::format("{} from {} on only", change, to_string(*c.border));
    case SizeDifference::Bandwidth:
      return fmt::format("{} in the part that grows with the size (large messages; it shows from {} on)",
                         change, to_string(*c.border));
    case SizeDifference::Band:
      return fmt::format("{} from {} to {} only", change, to_string(*c.border), to_string(*c.border_end));
    case SizeDifference::Crossing:
      return fmt::format("{} at the smallest size, {} {} at the largest; they cross at {}", change,
                         percent(std::abs(*c.ratio_beyond - 1)), *c.ratio_beyond > 1 ? "longer" : "shorter",
                         to_string(*c.border));
  }
  return {};
}

/// `at 4.19 MB 3.1 times as long`.
std::string outlying_words(const SizeComparison& c) {
  std::string text;
  for (std::size_t i = 0; i < std::min(c.outlying.size(), kToldOutlying); ++i)
    text += fmt::format("{} {} {:.2g} times", i > 0 ? ", at" : "at", to_string(c.outlying[i].size),
                        c.outlying[i].ratio);
  text += " as long";
  if (c.outlying.size() > kToldOutlying)
    text += fmt::format(" ({} more such sizes)", c.outlying.size() - kToldOutlying);
  return text;
}

/// In place against out of place is worth a line where it differs.
void say_places(const SizeComparison& c, Lines& lines) {
  if (!differs(c) && c.outlying.empty()) return;
  std::string text = c.outlying.empty() ? "" : outlying_words(c);
  if (differs(c)) text += (text.empty() ? "" : "; elsewhere ") + difference_words(c);
  lines.push_back(fmt::format("remark: {} against {}: {}.", series_name(c.after, c.nodes),
                              series_name(c.before, 0), text));
}

void say_comparison(const SizeComparison& c, Lines& lines) {
  const std::string who =
      c.before == c.after
          ? fmt::format("{}: against before", series_name(c.after, c.nodes))
          : fmt::format("{} against {}", series_name(c.after, c.nodes), series_name(c.before, 0));
  lines.push_back(c.outlying.empty()
                      ? fmt::format("{}: {}.", who, difference_words(c))
                      : fmt::format("{}: {}; elsewhere {}.", who, outlying_words(c), difference_words(c)));
  if (differs(c)) lines.push_back(fmt::format("  {}.", path_words(c.difference)));
  if (!c.outlying.empty())
    lines.emplace_back(
        "  single sizes: measure them again; what stays is the protocol or algorithm that is chosen there.");
}

/// Where a difference is: each place is another part of the path.
void say_place(const PlaceAnswer& p, Lines& lines) {
  const std::string& who = p.after.empty() ? "all" : p.after;
  switch (p.place) {
    case DifferencePlace::BetweenNodes:
      lines.push_back(fmt::format("{}: equal inside a node, so the difference is between nodes.", who));
      lines.emplace_back("  NICs, cables, switches, or the transport that the library takes there.");
      return;
    case DifferencePlace::InsideNode:
      lines.push_back(fmt::format("{}: equal between nodes, so the difference is inside a node.", who));
      lines.emplace_back(
          "  shared memory, PCIe, links between devices, or the transport that the library takes there.");
      return;
    case DifferencePlace::Both:
      lines.push_back(fmt::format("{}: it differs inside a node as well as between nodes.", who));
      lines.emplace_back("  what both have in common: software, CPU, memory, devices.");
      return;
  }
}

/// A rate; of a collective whose bus bandwidth is told, that.
std::string rate_words(const SizeAnswer& s, Bandwidth rate) {
  return s.bus_ratio > 0
             ? fmt::format("{} busbw", to_string(Bandwidth::bytes_per_s(rate.in_bytes_per_s() * s.bus_ratio)))
             : to_string(rate);
}

std::string ceiling_words(const SizeAnswer& s) {
  const std::string rate = rate_words(s, s.ceiling);
  if (!s.ceiling_reached)
    return fmt::format("no ceiling: the rate still rises at the largest size measured ({}), {}",
                       to_string(s.largest), rate);
  return s.ceiling_from ? fmt::format("ceiling {}, reached from {} on", rate, to_string(*s.ceiling_from))
                        : fmt::format("highest rate {}, and less for the largest size", rate);
}

void say_series(const SizeAnswer& s, bool has_unit, Lines& lines) {
  std::string text = series_name(s.name, s.nodes) + ":";
  if (s.sizes == 0) {
    lines.push_back(fmt::format("{} no time above zero.", text));
  } else if (!has_unit) {
    lines.push_back(fmt::format("{} {} sizes, in an unknown unit.", text, s.sizes));
  } else if (!s.latency) {
    lines.push_back(fmt::format("{} {}: too few to tell latency from bandwidth; highest rate {}.", text,
                                counted(s.sizes, "size"), rate_words(s, s.ceiling)));
  } else {
    if (s.fit_error_ratio > kPoorFit)
      text += fmt::format(" times do not follow latency plus size over bandwidth ({} off);",
                          percent(s.fit_error_ratio));
    else
      text += fmt::format(" latency {}, bandwidth {}{} (line {} off);", to_string(*s.latency),
                          s.bandwidth ? to_string(*s.bandwidth) : "not reached",
                          s.bandwidth && s.bus_ratio > 0 ? " algbw" : "", percent(s.fit_error_ratio));
    lines.push_back(fmt::format("{} {}.", text, ceiling_words(s)));
  }
  for (std::size_t i = 0; i < std::min(s.dips.size(), kToldDips); ++i) {
    const SizeDip& d = s.dips[i];
    lines.push_back(fmt::format("  dip: {} take {:.1f} times as long as {}.", to_string(d.size),
                                d.time.count() / d.larger_time.count(), to_string(d.larger)));
  }
  if (s.dips.size() > kToldDips) lines.push_back(fmt::format("  {} more dips.", s.dips.size() - kToldDips));
}

void say_named(const QuantityAnswer& q, Lines& lines) {
  if (q.is_communication) {
    if (!q.below.empty())
      lines.push_back(fmt::format(
          "{}: {} spend{} least in it, {} less than the others. Who comes last waits least, but no order was recorded.",
          q.name, subject_of(q.below), q.below.size() == 1 ? "s" : "", percent(q.below_ratio)));
    if (!q.above.empty())
      lines.push_back(
          fmt::format("{}: {} spend{} most in it, {} more than the others: waiting and transfer together.",
                      q.name, subject_of(q.above), q.above.size() == 1 ? "s" : "", percent(q.above_ratio)));
    return;
  }
  // Of a plain number nothing tells whether more of it is good (tokens per second) or bad.
  const bool is_one = q.above.size() == 1;
  const std::string_view has_more =
      q.is_time ? (is_one ? "takes longer" : "take longer") : (is_one ? "is higher" : "are higher");
  if (!q.above.empty())
    lines.push_back(fmt::format("{}: {} {}, {} above the other ranks (median {}).", q.name,
                                subject_of(q.above), has_more, percent(q.above_ratio),
                                value_words(q, q.median)));
  if (!q.below.empty())
    lines.push_back(fmt::format("{}: {} {} below the other ranks, by {}.", q.name, subject_of(q.below),
                                q.below.size() == 1 ? "is" : "are", percent(q.below_ratio)));
}

void say_quantity(const QuantityAnswer& q, Lines& lines) {
  if (!q.missing.empty()) {
    lines.push_back(fmt::format("{}: {} of {} ranks report it; {} {} not. Nothing is said of the group.",
                                q.name, q.ranks, q.ranks + static_cast<std::int64_t>(q.missing.size()),
                                subject_of(q.missing), q.missing.size() == 1 ? "does" : "do"));
    return;
  }
  if (!q.above.empty() || !q.below.empty()) return say_named(q, lines);
  if (q.ranks < 3) {
    lines.push_back(fmt::format("{}: too few ranks to compare ({}).", q.name, q.ranks));
  } else if (q.median <= 0) {
    lines.push_back(fmt::format("{}: the median is not above 0, so nobody is compared with it.", q.name));
  } else if (!q.has_spread) {
    lines.push_back(fmt::format(
        "{}: highest {} (rank {}), lowest {} (rank {}), median {}; nobody is named: nothing tells how much a value varies.",
        q.name, value_words(q, q.highest_value), q.highest.value(), value_words(q, q.lowest_value),
        q.lowest.value(), value_words(q, q.median)));
  } else if (q.least_seen_ratio > 1) {
    lines.push_back(
        fmt::format("{}: nobody is named: too few values of each rank for their scatter.", q.name));
  } else {
    lines.push_back(fmt::format("{}: no rank differs from the others; a difference is told from {} on.",
                                q.name, percent(q.least_seen_ratio)));
  }
}

std::string change_words(double ratio) {
  return fmt::format("{} {}", percent(std::abs(ratio - 1)), ratio < 1 ? "less" : "more");
}

std::string comparison_sentence(const RankComparison& c) {
  const std::string who = fmt::format("{}, against before", c.name);
  if (!c.tested)
    return fmt::format("{}: {} in the median of {}; nothing tells how much a value varies.", who,
                       change_words(c.ratio), counted(c.ranks, "rank"));
  if (c.more.empty() && c.less.empty() && c.least_seen_ratio > 1)
    return who + ": too few values of each rank for their scatter.";
  if (c.more.empty() && c.less.empty())
    return fmt::format("{}: no rank changed; a change is told from {} on.", who, percent(c.least_seen_ratio));
  std::string text = who + ":";
  if (!c.more.empty())
    text += fmt::format(" {} take{} more, up to {}{}", subject_of(c.more), c.more.size() == 1 ? "s" : "",
                        percent(c.more_ratio), c.less.empty() ? "" : ";");
  if (!c.less.empty())
    text += fmt::format(" {} take{} less, up to {}", subject_of(c.less), c.less.size() == 1 ? "s" : "",
                        percent(c.less_ratio));
  return text + fmt::format("; the median of {} takes {}.", counted(c.ranks, "rank"), change_words(c.ratio));
}

/// One line in place of a comparison that cannot be made.
std::string nothing_words(const FiguresAnswer& a) {
  const bool over_sizes = a.quantities.empty();
  const std::string here =
      over_sizes ? (a.sizes.empty() ? "" : a.sizes.front().name) : a.quantities.front().name;
  const std::string names = here == a.of_before
                                ? ""
                                : fmt::format(" (here {}, before {})", here.empty() ? "no name" : here,
                                              a.of_before.empty() ? "no name" : a.of_before);
  return over_sizes
             ? fmt::format(
                   "Nothing to compare: no configuration of one name and number of nodes has a size in both{}.",
                   names)
             : fmt::format("Nothing to compare: no quantity of one name is in both{}.", names);
}

/// The one configuration that there is to tell of, where nothing was compared.
const SizeAnswer* only_series(const FiguresAnswer& a) {
  const SizeAnswer* only = nullptr;
  for (const SizeAnswer& s : a.sizes) {
    if (s.has_other_place) continue;
    if (only != nullptr) return nullptr;
    only = &s;
  }
  const bool compared = std::any_of(a.comparisons.begin(), a.comparisons.end(),
                                    [](const SizeComparison& c) { return !c.of_places; });
  return compared || a.nothing_in_common ? nullptr : only;
}

bool stands_out(const SizeComparison& c) {
  return differs(c) || !c.outlying.empty();
}

std::string headline_of_files(const FiguresAnswer& a) {
  std::int64_t differ = 0;
  std::int64_t told = 0;
  const SizeComparison* first = nullptr;
  for (const SizeComparison& c : a.comparisons) {
    told += stands_out(c) || is_tested(c);
    if (!stands_out(c)) continue;
    ++differ;
    if (first == nullptr) first = &c;
  }
  if (told == 0) return fmt::format("{} files: no two of them can be compared.", a.files);
  if (differ == 0) return fmt::format("{} files: those that measure the same do not differ.", a.files);
  if (differ == 1)
    return fmt::format("{} files: {} differs from {}.", a.files, first->after,
                       first->of_files > 0 ? "the median" : first->before);
  return fmt::format("{} files: {} of {} comparisons show a difference.", a.files, differ, told);
}

/// What became of every rank alike, which no rank shows against the others.
std::optional<std::string> headline_of_all(const std::vector<RankComparison>& comparisons, bool more,
                                           bool (*wanted)(const RankComparison&)) {
  for (const RankComparison& c : comparisons)
    if (c.ranks > 1 && (more ? c.more : c.less).size() == static_cast<std::size_t>(c.ranks) && wanted(c))
      return fmt::format("{}: every rank {} {} than before, {} in the median.", c.name,
                         c.is_time ? "takes" : "has", more ? "more" : "less", percent(std::abs(c.ratio - 1)));
  return std::nullopt;
}

/// Why what was there before is not as good: slower ranks first, then plain numbers that changed.
std::optional<std::string> headline_of_worse(const std::vector<RankComparison>& comparisons) {
  if (auto all = headline_of_all(comparisons, true, is_slower)) return all;
  for (const RankComparison& c : comparisons)
    if (is_slower(c))
      return fmt::format("{}: {} {} more than before.", c.name, subject_of(c.more),
                         c.more.size() == 1 ? "takes" : "take");
  for (const bool more : {true, false})
    if (auto all = headline_of_all(comparisons, more, is_other_number)) return all;
  for (const RankComparison& c : comparisons)
    if (is_other_number(c)) {
      const std::vector<Rank>& ranks = c.more.empty() ? c.less : c.more;
      return fmt::format("{}: {} {} {} than before.", c.name, subject_of(ranks),
                         ranks.size() == 1 ? "has" : "have", c.more.empty() ? "less" : "more");
    }
  return std::nullopt;
}

/// Good news, unless something of before could not be compared.
std::string unless_untested(const FiguresAnswer& a, std::string good) {
  return !a.has_before || a.is_clean() ? good
                                       : "Not all of before could be compared; nothing is told to be slower.";
}

std::string headline_of(const FiguresAnswer& a) {
  if (a.nothing_in_common) return nothing_words(a);
  if (a.files > 0 && std::none_of(a.comparisons.begin(), a.comparisons.end(),
                                  [](const SizeComparison& c) { return c.before == c.after; }))
    return headline_of_files(a);
  if (!a.quantities.empty()) {
    if (auto worse = headline_of_worse(a.rank_comparisons)) return *std::move(worse);
    for (const QuantityAnswer& q : a.quantities)
      if (!q.is_communication && !q.above.empty())
        return fmt::format("{}: {} {} above the other ranks.", q.name, subject_of(q.above),
                           q.above.size() == 1 ? "is" : "are");
    for (const QuantityAnswer& q : a.quantities)
      if (!q.is_time && !q.is_communication && !q.below.empty())
        return fmt::format("{}: {} {} below the other ranks.", q.name, subject_of(q.below),
                           q.below.size() == 1 ? "is" : "are");
    if (auto all = headline_of_all(a.rank_comparisons, false, [](const RankComparison&) { return true; }))
      return unless_untested(a, *std::move(all));
    const bool any = std::any_of(a.quantities.begin(), a.quantities.end(), [](const QuantityAnswer& q) {
      return q.has_spread && q.missing.empty() && !q.is_communication && q.least_seen_ratio <= 1;
    });
    return any ? unless_untested(a, "No rank's own work stands out.")
               : "Nobody can be named from these figures.";
  }
  for (const SizeComparison& c : a.comparisons)
    if (differs(c) && !c.of_places) return "Configurations differ.";
  for (const SizeComparison& c : a.comparisons)
    if (!c.outlying.empty() && !c.of_places) return "Configurations differ at single sizes only.";
  const bool compared = std::any_of(a.comparisons.begin(), a.comparisons.end(),
                                    [](const SizeComparison& c) { return is_tested(c) && !c.of_places; });
  return compared ? unless_untested(a, "Configurations do not differ.") : "Times over message sizes.";
}

template <class T, class Say>
void say_some(const std::vector<T>& items, std::size_t most, const char* what, Lines& lines, const Say& say) {
  for (std::size_t i = 0; i < std::min(items.size(), most); ++i) say(items[i]);
  if (items.size() > most)
    lines.push_back(fmt::format("{} more {} are in the JSON.", items.size() - most, what));
}

}  // namespace

namespace {

void say_notes(const FiguresAnswer& a, Lines& lines) {
  for (const std::string& note : a.notes) lines.push_back("note: " + note);
}

/// Of many files only those that differ, and how many do not.
void leave_out_equal(std::vector<SizeComparison>& compared, std::string& rest) {
  const auto is_equal = [](const SizeComparison& c) {
    return c.of_files > 0 && !differs(c) && is_tested(c) && c.outlying.empty();
  };
  std::int64_t equal = 0;
  double least_seen = 0;
  for (const SizeComparison& c : compared) {
    if (!is_equal(c)) continue;
    ++equal;
    least_seen = std::max(least_seen, c.least_seen_ratio.value_or(0));
  }
  if (equal == 0) return;
  std::erase_if(compared, is_equal);
  rest = fmt::format(
      "{} {} from the median of the others that measure the same; a difference of all sizes is told from {} on.",
      equal, equal == 1 ? "does not differ" : "do not differ", percent(least_seen));
}

/// What was there before and is not compared, by name.
void say_gone(const FiguresAnswer& a, Lines& lines) {
  if (a.gone.empty() || a.nothing_in_common) return;
  std::string text;
  for (std::size_t i = 0; i < std::min(a.gone.size(), kToldGone); ++i)
    text += (i > 0 ? ", " : "") + (a.gone[i].empty() ? "no name" : a.gone[i]);
  if (a.gone.size() > kToldGone) text += fmt::format(" ({} more)", a.gone.size() - kToldGone);
  lines.push_back(fmt::format("Before and not comparable here: {}.", text));
}

/// What is told of configurations: in place is a remark beside out of place.
void say_sizes(const FiguresAnswer& a, Lines& lines) {
  std::vector<SizeComparison> compared, of_places;
  for (const SizeComparison& c : a.comparisons) (c.of_places ? of_places : compared).push_back(c);
  std::string rest;
  leave_out_equal(compared, rest);
  std::vector<SizeAnswer> told;
  std::copy_if(a.sizes.begin(), a.sizes.end(), std::back_inserter(told),
               [](const SizeAnswer& s) { return !s.has_other_place; });
  say_some(compared, kToldSeries, "comparisons", lines,
           [&](const SizeComparison& c) { say_comparison(c, lines); });
  if (!rest.empty()) lines.push_back(rest);
  for (const PlaceAnswer& p : a.places) say_place(p, lines);
  if (a.files > 0) say_notes(a, lines);
  say_some(told, kToldSeries, "configurations", lines,
           [&](const SizeAnswer& s) { say_series(s, a.has_unit, lines); });
  if (only_series(a) != nullptr && told.front().dips.empty() && told.front().latency)
    lines.emplace_back("  no dips: no size takes much longer than a larger one.");
  say_some(of_places, kToldSeries, "comparisons", lines,
           [&](const SizeComparison& c) { say_places(c, lines); });
}

}  // namespace

std::vector<std::string> figure_lines(const FiguresAnswer& a) {
  const UnknownUnit unit(a.has_unit ? std::nullopt : std::optional(Seconds(1)));
  Lines lines;
  if (only_series(a) == nullptr) lines.push_back(headline_of(a));
  say_gone(a, lines);
  say_sizes(a, lines);
  say_some(a.quantities, kToldQuantities, "quantities", lines,
           [&](const QuantityAnswer& q) { say_quantity(q, lines); });
  say_some(a.rank_comparisons, kToldQuantities, "comparisons", lines,
           [&](const RankComparison& c) { lines.push_back(comparison_sentence(c)); });
  if (!a.quantities.empty())
    lines.emplace_back("Cannot tell: who came when, since when, and why: these are summaries.");
  if (a.files == 0) say_notes(a, lines);
  return lines;
}

}  // namespace cox::diagnose
