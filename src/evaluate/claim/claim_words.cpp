// SPDX-License-Identifier: Apache-2.0
#include "evaluate/claim/claim_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace cox::evaluate {
namespace {

constexpr std::size_t kMostNumbers = 64;
constexpr std::size_t kNear = 4;  ///< words beside a number that may say what it is
/// Begin what is about the next number, not about the last.
constexpr std::string_view kBegins = "for on at in over to from is are with takes gives becomes";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool is_word(char c) {
  return is_digit(c) || is_letter(c);
}

/// As people write a unit: so many of what cox/study/quantity.hpp reads. Case counts, as bits are not bytes.
struct Spelling {
  std::string_view written;
  std::string_view unit;
  double times = 1;
};
constexpr double kWeek = 7;
constexpr double kYear = 365;
constexpr std::array kSpellings = {
    Spelling{"milliseconds", "ms"},
    Spelling{"millisecond", "ms"},
    Spelling{"microseconds", "us"},
    Spelling{"microsecond", "us"},
    Spelling{"nanoseconds", "ns"},
    Spelling{"seconds", "s"},
    Spelling{"second", "s"},
    Spelling{"sec", "s"},
    Spelling{"minutes", "min"},
    Spelling{"minute", "min"},
    Spelling{"mins", "min"},
    Spelling{"hours", "h"},
    Spelling{"hour", "h"},
    Spelling{"days", "d"},
    Spelling{"day", "d"},
    Spelling{"weeks", "d", kWeek},
    Spelling{"week", "d", kWeek},
    Spelling{"years", "d", kYear},
    Spelling{"year", "d", kYear},
    Spelling{"GPU-days", "d"},
    Spelling{"GPU-hours", "h"},
    Spelling{"percent", "%"},
    Spelling{"%", "%"},
    Spelling{"times", "x"},
    Spelling{"fold", "x"},
    Spelling{"x", "x"},
    Spelling{"bytes", "B"},
    Spelling{"byte", "B"},
    Spelling{"KB", "kB"},
    Spelling{"bit/s", "bps"},
    Spelling{"kbit/s", "kbps"},
    Spelling{"Mbit/s", "Mbps"},
    Spelling{"Gbit/s", "Gbps"},
    Spelling{"Tbit/s", "Tbps"},
    Spelling{"kb/s", "kbps"},
    Spelling{"Mb/s", "Mbps"},
    Spelling{"Gb/s", "Gbps"},
    Spelling{"Tb/s", "Tbps"},
    Spelling{"KB/s", "kB/s"},
    Spelling{"MBps", "MB/s"},
    Spelling{"GBps", "GB/s"},
    Spelling{"FLOPs", "FLOP"},
    Spelling{"TFLOPs", "TFLOP"},
    Spelling{"PFLOP", "TFLOP", 1e3},
    Spelling{"PFLOPs", "TFLOP", 1e3},
    Spelling{"EFLOP", "TFLOP", 1e6},
    Spelling{"ZFLOP", "TFLOP", 1e9},
    Spelling{"GFLOPS", "GFLOP/s"},
    Spelling{"TFLOPS", "TFLOP/s"},
    Spelling{"PFLOPS", "PFLOP/s"},
};

struct Multiplier {
  std::string_view written;
  double times;
};
constexpr std::array kMultipliers = {Multiplier{"thousand", 1e3}, Multiplier{"million", 1e6},
                                     Multiplier{"billion", 1e9},  Multiplier{"trillion", 1e12},
                                     Multiplier{"k", 1e3},        Multiplier{"K", 1e3},
                                     Multiplier{"M", 1e6},        Multiplier{"T", 1e12}};
/// What is counted in billions, so that `70B` is no size.
constexpr std::string_view kCountedInBillions = "parameter param weight token model element value";

/// Two or three words that are one.
struct Joined {
  std::string_view apart;
  std::string_view together;
};
constexpr std::array kJoined = {Joined{"all reduce", "allreduce"},
                                Joined{"all to all", "alltoall"},
                                Joined{"all gather", "allgather"},
                                Joined{"reduce scatter", "reducescatter"},
                                Joined{"micro batch", "microbatch"},
                                Joined{"micro batches", "microbatches"},
                                Joined{"parameter server", "parameterserver"},
                                Joined{"speed up", "speedup"},
                                Joined{"break even", "breakeven"},
                                Joined{"halving doubling", "halvingdoubling"},
                                Joined{"data parallel", "dataparallel"}};

std::string lower(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c == '-' || c == '_' || c == '\'') continue;
    out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  }
  return out;
}

/// A cursor over the text.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  ClaimWords read() {
    while (at_ < text_.size()) {
      if (is_digit(text_[at_]) && number()) continue;
      if (is_word(text_[at_])) {
        word();
      } else {
        sign();
      }
    }
    // `no more than` is a bound; any other `not` says what is not.
    for (const std::size_t at : out_.denials) {
      const bool bounds = at + 2 < out_.words.size() && out_.words[at + 2] == "than";
      out_.denies = out_.denies || !bounds;
    }
    return std::move(out_);
  }

 private:
  static bool is_denial(std::string_view w) {
    return w == "not" || w == "no" || w == "never" || w == "cannot" || w == "doesnt" || w == "isnt" ||
           w == "dont";
  }

  void add_word(std::string_view text) {
    std::string w = lower(text);
    if (w.empty()) return;
    for (const Joined& j : kJoined) join(j, w);
    if (w.size() > 1 && w[0] == 'e' && std::ranges::all_of(w.substr(1), is_digit)) out_.unreadable = true;
    if (is_denial(w)) out_.denials.push_back(out_.words.size());
    const bool separates = w == "and" || w == "with" || w == "so";
    out_.words.push_back(w);
    if (separates) return separate();
    if (is_one_of(w, kBegins)) open_ = 0;
    beside_.push_back(w);
    if (open_ > 0) {
      ClaimNumber& last = out_.numbers.back();
      if (last.after.size() < kNear) last.after.push_back(w);
    }
  }

  /// Makes one word of `w` and those before it where they are `j.apart`.
  void join(const Joined& j, std::string& w) {
    const std::size_t blank = j.apart.rfind(' ');
    if (j.apart.substr(blank + 1) != w) return;
    std::string_view rest = j.apart.substr(0, blank);
    std::size_t words = 0;
    while (!rest.empty()) {
      const std::size_t from = rest.rfind(' ');
      const std::string_view one = from == std::string_view::npos ? rest : rest.substr(from + 1);
      if (out_.words.size() <= words || out_.words[out_.words.size() - 1 - words] != one) return;
      ++words;
      rest = from == std::string_view::npos ? std::string_view{} : rest.substr(0, from);
    }
    out_.words.resize(out_.words.size() - words);
    beside_.resize(beside_.size() - std::min(words, beside_.size()));
    if (open_ > 0) {
      std::vector<std::string>& after = out_.numbers.back().after;
      after.resize(after.size() - std::min(words, after.size()));
    }
    w = std::string(j.together);
  }

  void word() {
    const std::size_t from = at_;
    while (at_ < text_.size() &&
           (is_word(text_[at_]) || ((text_[at_] == '-' || text_[at_] == '_' || text_[at_] == '\'') &&
                                    at_ + 1 < text_.size() && is_letter(text_[at_ + 1]))))
      ++at_;
    add_word(text_.substr(from, at_ - from));
  }

  /// What is behind names nothing that is in front, nor the other way round.
  void separate() {
    beside_.clear();
    open_ = 0;
  }

  /// A sign between words: some end what a number may be named by, an equals sign is a verb.
  void sign() {
    const char c = text_[at_];
    if (c == '=' || (c == '-' && text_.substr(at_, 2) == "->")) add_word("is");
    if (c == '~') add_word("about");
    if (c == '<') add_word("under");
    if (c == '>') add_word("exceeding");
    const bool after_digit = at_ > 0 && is_digit(text_[at_ - 1]);
    const bool before_digit = at_ + 1 < text_.size() && is_digit(text_[at_ + 1]);
    if (c == '-' && before_digit && (at_ == 0 || text_[at_ - 1] == ' ')) out_.denies = true;
    // `.03`, `28,5`, `0.5.3`, `20-30`, `1e-300`, `10^23`: no part of these is the number that is meant.
    const bool after_power = at_ > 0 && (text_[at_ - 1] == 'e' || text_[at_ - 1] == 'E');
    if (before_digit &&
        (c == '.' || c == '^' || (after_digit && (c == ',' || c == '-')) || (c == '-' && after_power)))
      out_.unreadable = true;
    if (c == ',' || c == ';' || c == ':' || c == '(' || c == ')' || c == '.') {
      separate();
    }
    ++at_;
  }

  /// Digits of a number from `at`, with commas between groups of three left out.
  std::string digits(std::size_t& at) const {
    std::string out;
    while (at < text_.size()) {
      if (is_digit(text_[at])) {
        out += text_[at++];
      } else if (text_[at] == ',' && at + 3 < text_.size() && !out.empty() && is_digit(text_[at + 1]) &&
                 is_digit(text_[at + 2]) && is_digit(text_[at + 3]) &&
                 (at + 4 >= text_.size() || !is_digit(text_[at + 4]))) {
        ++at;
      } else {
        break;
      }
    }
    return out;
  }

  bool number() {
    if (at_ > 0 && is_word(text_[at_ - 1])) return false;
    std::size_t end = at_;
    std::string text = digits(end);
    if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
      text += text_[end++];
      while (end < text_.size() && is_digit(text_[end])) text += text_[end++];
    }
    const double times = power_of_ten(end);
    if (text.size() > 30) return false;
    std::optional<study::WrittenQuantity> q = with_unit(text, times, end);
    if (!q || out_.numbers.size() >= kMostNumbers) return false;
    q->text = std::string(text_.substr(at_, end - at_));
    ClaimNumber n{.value = std::move(*q)};
    n.before.assign(beside_.rbegin(), beside_.rend());
    if (n.before.size() > kNear) n.before.resize(kNear);
    n.relation = relation_of(n.before);
    out_.numbers.push_back(std::move(n));
    beside_.clear();
    open_ = 1;
    at_ = end;
    return true;
  }

  /// `e9` behind the digits; 1 where there is none.
  double power_of_ten(std::size_t& end) const {
    if (end >= text_.size() || (text_[end] != 'e' && text_[end] != 'E')) return 1;
    std::size_t at = end + 1;
    const bool minus = at < text_.size() && text_[at] == '-';
    if (at < text_.size() && (minus || text_[at] == '+')) ++at;
    int power = 0;
    const std::size_t first = at;
    while (at < text_.size() && is_digit(text_[at]) && at - first < 3)
      power = 10 * power + (text_[at++] - '0');
    if (at == first || power > 60) return 1;
    end = at;
    return std::pow(10, minus ? -power : power);
  }

  [[nodiscard]] std::string_view next_word(std::size_t at) const {
    while (at < text_.size() && (text_[at] == ' ' || text_[at] == '-')) ++at;
    std::size_t end = at;
    while (end < text_.size() && is_word(text_[end])) ++end;
    return text_.substr(at, end - at);
  }

  /// The longest piece from `at` that may be a unit.
  [[nodiscard]] std::string_view unit_at(std::size_t at) const {
    std::size_t end = at;
    const auto is_part = [&](std::size_t i) {
      return is_letter(text_[i]) || text_[i] == '%' ||
             ((text_[i] == '/' || text_[i] == '-') && i + 1 < text_.size() && is_letter(text_[i + 1]));
    };
    while (end < text_.size() && is_part(end)) ++end;
    return text_.substr(at, end - at);
  }

  static std::optional<study::WrittenQuantity> scaled(const std::string& number, std::string_view unit,
                                                      double times) {
    auto read = study::parse_quantity(fmt::format("{}{}", number, unit));
    if (!read) return std::nullopt;
    const study::Dimension d = read->value.dimension();
    read->value = study::Quantity(d, read->value.in_base_unit() * times);
    read->last_digit = study::Quantity(d, read->last_digit.in_base_unit() * times);
    if (!std::isfinite(read->value.in_base_unit())) return std::nullopt;
    return *std::move(read);
  }

  /// The number with what stands behind it, as far as that is a unit or a power of a thousand; a count otherwise.
  std::optional<study::WrittenQuantity> with_unit(const std::string& number, double times,
                                                  std::size_t& end) const {
    std::size_t at = end;
    if (at < text_.size() && (text_[at] == ' ' || text_[at] == '-')) ++at;
    const bool attached = at == end;
    const std::string_view unit = unit_at(at);
    if (unit.substr(0, unit.find('-')) == "B" && is_one_of(lower(next_word(at + 1)), kCountedInBillions)) {
      end = at + 1;
      return scaled(number, "", times * 1e9);
    }
    for (const Multiplier& m : kMultipliers)
      if (unit == m.written ||
          (attached && unit.starts_with(m.written) && unit.size() > 1 && unit[m.written.size()] == '-')) {
        end = at + m.written.size();
        return scaled(number, "", times * m.times);
      }
    if (auto q = of_unit(number, unit, times)) {
      end = at + unit.size();
      return q;
    }
    // `5-year-old`: the piece in front of a hyphen may be a unit alone.
    const std::size_t cut = unit.find('-');
    if (cut != std::string_view::npos)
      if (auto q = of_unit(number, unit.substr(0, cut), times)) {
        end = at + cut;
        return q;
      }
    if (attached && !unit.empty() && at < text_.size() && is_letter(text_[at]))
      return std::nullopt;  // `1F1B`, `2D`
    return scaled(number, "", times);
  }

  static std::optional<study::WrittenQuantity> of_unit(const std::string& number, std::string_view unit,
                                                       double times) {
    if (unit.empty()) return std::nullopt;
    const auto spelled = std::find_if(kSpellings.begin(), kSpellings.end(),
                                      [&](const Spelling& s) { return s.written == unit; });
    auto q = spelled == kSpellings.end() ? scaled(number, unit, times)
                                         : scaled(number, spelled->unit, times * spelled->times);
    // Results are printed in this unit; a power of ten is none to print in.
    if (q) q->unit = times == 1 ? std::string(unit) : std::string{};
    return q;
  }

  static Relation relation_of(std::vector<std::string>& before) {
    const std::string_view last = before.empty() ? std::string_view{} : std::string_view(before[0]);
    Relation relation = Relation::Is;
    std::size_t words = 1;
    if (is_one_of(last, "about approximately approx roughly nearly around circa")) {
      relation = Relation::About;
    } else if (last == "under") {
      relation = Relation::AtMost;
    } else if (before.size() > 1 && (last == "least" || last == "most") && before[1] == "at") {
      relation = last == "least" ? Relation::AtLeast : Relation::AtMost;
      words = 2;
    } else if (last == "exceeding") {
      relation = Relation::AtLeast;
    } else if (before.size() > 1 && last == "than" && is_one_of(before[1], "more less")) {
      const bool turned = before.size() > 2 && (before[2] == "no" || before[2] == "not");
      relation = (before[1] == "more") != turned ? Relation::AtLeast : Relation::AtMost;
      words = turned ? 3 : 2;
    } else {
      return relation;
    }
    before.erase(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(words));
    return relation;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  ClaimWords out_;
  std::vector<std::string> beside_;  ///< words since the last number or separator
  int open_ = 0;                     ///< 1 while words still belong to the last number
};

}  // namespace

ClaimWords claim_words(std::string_view text) {
  return Reader(text).read();
}

bool is_one_of(std::string_view word, std::string_view names) {
  if (word.empty()) return false;
  while (!names.empty()) {
    const std::size_t blank = std::min(names.find(' '), names.size());
    const std::string_view name = names.substr(0, blank);
    names.remove_prefix(std::min(blank + 1, names.size()));
    if (word == name || (word.size() == name.size() + 1 && word.starts_with(name) && word.back() == 's'))
      return true;
  }
  return false;
}

}  // namespace cox::evaluate
