// SPDX-License-Identifier: Apache-2.0
/// \file
/// What figures tell that are no recording: times over message sizes, and one value per rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cox/base/ids.hpp"
#include "cox/base/units.hpp"
#include "cox/trace/figures.hpp"

namespace cox::diagnose {

/// A size that takes longer than a larger one does.
struct SizeDip {
  Bytes size{};
  Seconds time{};
  Bytes larger{};  ///< the larger size
  Seconds larger_time{};
};

/// One configuration over sizes.
struct SizeAnswer {
  std::string name;
  std::int64_t nodes = 0;
  std::int64_t sizes = 0;                ///< different ones
  std::int64_t repeats = 0;              ///< most values of one size
  std::optional<Seconds> latency{};      ///< Hockney: time = latency + size / bandwidth
  std::optional<Bandwidth> bandwidth{};  ///< the same; nothing where larger messages take no longer
  double fit_error_ratio = 0;            ///< median of |time / fit - 1|
  Bandwidth ceiling{};                   ///< highest size over time
  std::optional<Bytes> ceiling_from{};   ///< smallest size that reaches 90 % of it, and all larger ones do
  bool ceiling_reached = false;          ///< else the rate still rises at the largest size
  Bytes largest{};                       ///< size
  bool in_place = false;                 ///< the result lies where the input was
  bool has_other_place = false;          ///< `in_place`: out of place is there as well
  double bus_ratio = 0;                  ///< bus bandwidth over size by time; 0 = not told
  std::vector<SizeDip> dips{};           ///< ascending
};

enum class SizeDifference : std::uint8_t {
  None,
  Factor,
  Offset,
  SmallOnly,
  LargeOnly,
  Bandwidth,  ///< the part that grows with the size takes longer by a factor
  Band,       ///< sizes from one to another, neither the smallest nor the largest
  Crossing,   ///< smaller ones one way, larger ones the other
  Unclear
};
[[nodiscard]] const char* name_of(SizeDifference d);  ///< `none`, `factor`, `offset`, `small_only`, ...

/// A size that leaves what is said of the others.
struct OutlyingSize {
  Bytes size{};
  double ratio = 1;  ///< after over before
};

/// Two configurations over the sizes that both have.
struct SizeComparison {
  std::string before;
  std::string after;
  std::int64_t nodes = 0;
  std::int64_t sizes = 0;
  SizeDifference difference = SizeDifference::None;
  double ratio = 1;  ///< after over before, where they differ
  Seconds offset{};  ///< Offset: after less before
  std::optional<Bytes>
      border{};  ///< SmallOnly: largest that differs; LargeOnly, Bandwidth, Band: smallest; Crossing: there it turns
  std::optional<Bytes> border_end{};     ///< Band: largest that differs
  std::optional<double> ratio_beyond{};  ///< Crossing: of the largest, where `ratio` is that of the smallest
  std::vector<OutlyingSize> outlying{};  ///< ascending by size; what is said above is of the others
  double scatter_ratio = 0;              ///< of a ratio of two times
  std::optional<double>
      least_seen_ratio{};     ///< a factor at all sizes that nine of ten tables would tell, if any is
  std::int64_t of_files = 0;  ///< of a folder: `before` is the median of so many others; else 0
  bool of_places = false;     ///< in place against out of place: a remark, no trouble
};

/// Whether they differ by more than single sizes.
[[nodiscard]] bool differs(const SizeComparison& c);

/// Whether they were compared: that they do not differ says something only where a difference would have been told.
[[nodiscard]] bool is_tested(const SizeComparison& c);

/// Where two configurations differ that were compared on one node and on several.
enum class DifferencePlace : std::uint8_t { InsideNode, BetweenNodes, Both };
[[nodiscard]] const char* name_of(DifferencePlace p);  ///< `inside_node`, `between_nodes`, `both`
struct PlaceAnswer {
  std::string before;
  std::string after;
  DifferencePlace place = DifferencePlace::Both;
};

/// One quantity over ranks.
struct QuantityAnswer {
  std::string name;
  bool is_time = false;
  std::int64_t ranks = 0;
  double median = 0;
  Rank highest;
  double highest_value = 0;
  Rank lowest;
  double lowest_value = 0;
  bool has_spread = false;        ///< of all ranks; without it nobody is named
  bool is_communication = false;  ///< by its name: the time in it is that of waiting as well
  std::vector<Rank> missing;      ///< named by the table, without a value here
  std::vector<Rank> above;        ///< beyond the bar, most first
  std::vector<Rank> below;
  double above_ratio = 0;       ///< of the first of `above` over the median, less one
  double below_ratio = 0;       ///< of the first of `below` under the median
  double least_seen_ratio = 0;  ///< a difference that would have been seen; of `has_spread`
};

/// One quantity of the same ranks before a change and after it.
struct RankComparison {
  std::string name;
  bool is_time = false;
  std::int64_t ranks = 0;    ///< that both have
  double ratio = 1;          ///< after over before, median of the ranks
  bool tested = false;       ///< spread, count and unit are told on both sides; else only `ratio` is stated
  std::vector<Rank> more{};  ///< beyond the bar, most first
  std::vector<Rank> less{};
  double more_ratio = 0;        ///< of the first of `more`: after over before, less one
  double less_ratio = 0;        ///< of the first of `less`: one less after over before
  double least_seen_ratio = 0;  ///< a change of one rank that would have been seen; of `tested`
};

/// Whether a change would have been told.
[[nodiscard]] bool is_tested(const RankComparison& c);
/// Whether ranks take longer than before. In a collective most of them have to: one that takes longer may come earlier.
[[nodiscard]] bool is_slower(const RankComparison& c);
/// Of a plain number nothing tells whether more of it is good.
[[nodiscard]] bool is_other_number(const RankComparison& c);

struct FiguresAnswer {
  std::string format;
  bool has_unit = true;
  std::int64_t files = 0;  ///< of a folder; else 0
  std::vector<SizeAnswer> sizes;
  std::vector<SizeComparison> comparisons;
  std::vector<PlaceAnswer> places;
  std::vector<QuantityAnswer> quantities;
  std::vector<RankComparison> rank_comparisons;  ///< against `before`
  std::vector<std::string> notes;
  bool nothing_in_common = false;  ///< with `before`: no configuration and size, or no quantity, is in both
  bool has_before = false;         ///< compared with a table from before a change
  std::string of_before;           ///< the first name in `before`, where nothing is in common
  std::vector<std::string>
      gone;  ///< configurations and quantities of `before` that were compared with nothing

  /// Whether a rank's own work stands out, or a configuration is slower.
  [[nodiscard]] bool has_trouble() const;
  /// Whether something was tested and nothing stands out: what --check asks for. With `before`: all of it was compared, and
  /// told neither slower nor, of a plain number, other than before.
  [[nodiscard]] bool is_clean() const;
};

/// Sizes: the Hockney line by least relative deviation (iterated weights), dips where a size takes 1.2 times as long as a
/// larger one and three and a half times the scatter of both more, every configuration against the first one that measures
/// the same on as many nodes; in place against out of place is a remark. The ceiling is reached where a size of at most
/// half the largest has 90 % of it, or a line that fits has at most 15 % of the largest time as latency.
/// `before`: configurations of the same name are compared with those of this table instead.
/// Differences: none, a factor, an offset, small messages only, large ones only, the part that grows with the size, a band
/// of sizes, a crossing: the one that explains most (Bayesian information criterion), where it explains more than scatter
/// does, from 5 % on. Beside it single sizes that leave it by a fifth and by more than scatter gives (Rosner's procedure).
///
/// Ranks: Welch's t of each against the median of the others, corrected for ranks and quantities; 19 values count
/// as one independent value. Beyond that: 5 %, and four robust spreads of the other ranks.
/// Against `before`, quantities by their name: Welch's t of each rank against itself, with the same corrections, and 5 %.
/// Source: Hockney 1994; Welch 1947. Held by: src/diagnose/figures/figures_test.cpp, against_before_test.cpp
[[nodiscard]] FiguresAnswer understand_figures(const trace::Figures& figures,
                                               const trace::Figures* before = nullptr);
/// The answer first. Never empty.
[[nodiscard]] std::vector<std::string> figure_lines(const FiguresAnswer& a);
/// Schema `cox.figures/1`.
[[nodiscard]] std::string to_json(const FiguresAnswer& a, const std::string& input);
/// Schema `cox.figures-summary/1`, on one line. `verdict`: the first line of the answer.
[[nodiscard]] std::string to_summary(const FiguresAnswer& a, const std::string& input,
                                     const std::string& verdict);

}  // namespace cox::diagnose
