// SPDX-License-Identifier: Apache-2.0
#include "model/toml/keys/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "cox/base/power.hpp"
#include "cox/base/spelling.hpp"
#include "cox/base/units_text.hpp"

namespace cox::model {
namespace {

/// What a message needs to know about the value.
struct Asked {
  const std::string& full;
  const DocumentNode& node;
  const Notes& notes;
  const std::filesystem::path& folder;
  double least;
  double most;

  [[nodiscard]] tl::unexpected<Error> refuse(const std::string& wanted, std::string hint) const {
    return notes.refuse("scenario-003", node.at,
                        fmt::format("{} is {}, expected {}", full, shown(node), wanted), std::move(hint));
  }
};

bool is_number(const DocumentNode& node) {
  return node.kind == DocumentNode::Kind::Integer || node.kind == DocumentNode::Kind::Real;
}

// One set of words per quantity. `value_of` is the number that the limits of a key are in.
struct TimeQuantity {
  using Value = Seconds;
  static constexpr std::string_view kWanted = "a time such as \"25us\"";
  static Result<Seconds> parse(std::string_view text) { return parse_seconds(text); }
  static double value_of(Seconds v) { return v.count(); }
  static Seconds make(double v) { return Seconds{v}; }
};
struct SizeQuantity {
  using Value = Bytes;
  static constexpr std::string_view kWanted = "a size such as \"256MiB\"";
  static Result<Bytes> parse(std::string_view text) { return parse_bytes(text); }
  static double value_of(Bytes v) { return static_cast<double>(v.count()); }
  static Bytes make(double v) { return Bytes{static_cast<std::int64_t>(v)}; }
};
struct RateQuantity {
  using Value = Bandwidth;
  static constexpr std::string_view kWanted = "a rate such as \"50GB/s\" or \"400Gbps\"";
  static Result<Bandwidth> parse(std::string_view text) { return parse_bandwidth(text); }
  static double value_of(Bandwidth v) { return v.in_bytes_per_s(); }
  static Bandwidth make(double v) { return Bandwidth::bytes_per_s(v); }
};
struct PerByteQuantity {
  using Value = TimePerByte;
  static constexpr std::string_view kWanted = "a time per byte such as \"20ps/B\"";
  static Result<TimePerByte> parse(std::string_view text) { return parse_time_per_byte(text); }
  static double value_of(TimePerByte v) { return v.in_seconds_per_byte(); }
  static TimePerByte make(double v) { return TimePerByte::seconds_per_byte(v); }
};
/// A rate that is kept as time per byte; either is accepted.
struct EitherRateQuantity : PerByteQuantity {
  static constexpr std::string_view kWanted =
      "a rate such as \"50GB/s\", or a time per byte such as \"20ps/B\"";
  static Result<TimePerByte> parse(std::string_view text) {
    if (text.ends_with("/B")) return parse_time_per_byte(text);
    COX_TRY(const Bandwidth rate, parse_bandwidth(text));
    if (rate.in_bytes_per_s() == 0)
      return fail(Error{.code = Errc::InvalidInput,
                        .id = "base-001",
                        .message = fmt::format("{} never ends, expected a rate such as 50GB/s", shown(text)),
                        .hint = "for a message whose bytes cost nothing write \"0s/B\"",
                        .where = std::nullopt});
    return rate.time_per_byte();
  }
};
struct FlopRateQuantity {
  using Value = FlopRate;
  static constexpr std::string_view kWanted = "a rate of operations such as \"312TFLOP/s\"";
  static Result<FlopRate> parse(std::string_view text) { return parse_flop_rate(text); }
  static double value_of(FlopRate v) { return v.in_flops_per_s(); }
  static FlopRate make(double v) { return FlopRate::flops_per_s(v); }
};

struct PowerQuantity {
  using Value = Power;
  static constexpr std::string_view kWanted = "a power such as \"700W\"";
  static Result<Power> parse(std::string_view text) { return parse_power(text); }
  static double value_of(Power v) { return v.in_watts(); }
  static Power make(double v) { return Power::watts(v); }
};

template <class Quantity>
Status store_quantity(const Asked& asked, typename Quantity::Value& out) {
  if (is_number(asked.node))
    return asked.notes.refuse(
        "scenario-003", asked.node.at,
        fmt::format("{} is {} without a unit, expected {}", asked.full, shown(asked.node), Quantity::kWanted),
        "write the number and its unit between quotes; docs/reference/units.md lists the units");
  if (asked.node.kind != DocumentNode::Kind::Text)
    return asked.refuse(std::string(Quantity::kWanted), "write the number and its unit between quotes");
  auto value = Quantity::parse(asked.node.text);
  if (!value)
    return asked.notes.refuse("scenario-003", asked.node.at,
                              fmt::format("{}: {}", asked.full, value.error().message), value.error().hint);
  if (Quantity::value_of(*value) < asked.least)
    return asked.refuse(fmt::format("at least {}", spelled(Quantity::make(asked.least))), "");
  if (Quantity::value_of(*value) > asked.most)
    return asked.refuse(fmt::format("at most {}", spelled(Quantity::make(asked.most))), "");
  out = *value;
  return {};
}

/// A whole number of a file: `12`, `1_000`, and `175e9`, which TOML calls a float.
std::optional<std::int64_t> whole(const DocumentNode& node) {
  constexpr double kExact = 9007199254740992;  // 2^53
  if (node.kind == DocumentNode::Kind::Integer) return node.integer;
  if (node.kind == DocumentNode::Kind::Real && std::abs(node.real) <= kExact &&
      std::trunc(node.real) == node.real)
    return static_cast<std::int64_t>(node.real);
  return std::nullopt;
}

template <class Integer>
Status store_count(const Asked& asked, Integer& out) {
  const std::optional<std::int64_t> value = whole(asked.node);
  const auto number = static_cast<double>(value.value_or(0));
  if (!value || number < asked.least || number > asked.most)
    return asked.refuse(fmt::format("a whole number from {:.0f} to {:.0f}", asked.least, asked.most),
                        asked.node.kind == DocumentNode::Kind::Text ? "write it without quotes" : "");
  out = static_cast<Integer>(*value);
  return {};
}

Status store_ratio(const Asked& asked, double& out) {
  const double value = asked.node.kind == DocumentNode::Kind::Integer
                           ? static_cast<double>(asked.node.integer)
                           : asked.node.real;
  if (!is_number(asked.node) || !(value >= asked.least && value <= asked.most) || !std::isfinite(value))
    return asked.refuse(asked.most == kNoLimit
                            ? fmt::format("a number of at least {}", asked.least)
                            : fmt::format("a number from {} to {}", asked.least, asked.most),
                        asked.node.kind == DocumentNode::Kind::Text ? "write it without quotes" : "");
  out = value;
  return {};
}

Status store_flag(const Asked& asked, bool& out) {
  if (asked.node.kind != DocumentNode::Kind::Flag) return asked.refuse("true or false", "");
  out = asked.node.flag;
  return {};
}

Status store_text(const Asked& asked, std::string& out) {
  constexpr std::size_t kMost = 200;
  const std::string& text = asked.node.text;
  bool plain = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    // Control characters: ASCII, and U+0080 to U+009F, which terminals obey as well.
    if (c < ' ' || c == 0x7f || (c == 0xc2 && next >= 0x80 && next < 0xa0)) plain = false;
  }
  if (asked.node.kind != DocumentNode::Kind::Text || text.size() > kMost || !plain)
    return asked.refuse(fmt::format("one line of text of at most {} bytes", kMost), "");
  out = text;
  return {};
}

Status store_path(const Asked& asked, std::string& out) {
  constexpr std::size_t kMost = 4096;
  const std::string& text = asked.node.text;
  if (asked.node.kind != DocumentNode::Kind::Text || text.empty() || text.size() > kMost ||
      text.find('\0') != std::string::npos)
    return asked.refuse("the path of a file", "it is looked for from the folder of the scenario");
  out = (asked.folder / text).lexically_normal().string();
  return {};
}

/// Elements one by one as `store` takes them; nothing is stored where one is refused.
template <class T>
Status store_array(const Asked& asked, std::string_view wanted, std::size_t most, std::string_view hint,
                   Status (*store)(const Asked&, T&), std::vector<T>& out) {
  if (asked.node.kind != DocumentNode::Kind::Array) return asked.refuse(std::string(wanted), "");
  if (asked.node.items.size() > most)
    return asked.notes.refuse(
        "scenario-003", asked.node.at,
        fmt::format("{} has {} entries, expected at most {}", asked.full, asked.node.items.size(), most),
        std::string(hint));
  std::vector<T> values;
  values.reserve(asked.node.items.size());
  for (std::size_t i = 0; i < asked.node.items.size(); ++i) {
    const std::string full = fmt::format("{}[{}]", asked.full, i);
    COX_CHECK(store(Asked{full, asked.node.items[i], asked.notes, asked.folder, asked.least, asked.most},
                    values.emplace_back()));
  }
  out = std::move(values);
  return {};
}

Status store_counts(const Asked& asked, std::vector<int>& out) {
  return store_array<int>(asked, "an array of whole numbers such as [4, 4, 2]", kMostRanksNamed, "",
                          &store_count, out);
}

Status store_ratios(const Asked& asked, std::vector<double>& out) {
  return store_array<double>(asked, "an array of numbers such as [0.9, 1, 1.3]", kMostQuantiles,
                             "put them into a file", &store_ratio, out);
}

template <class T>
Status store_word(const Asked& asked, const WordField<T>& field, T& target) {
  const auto words = field.words();
  if (asked.node.kind == DocumentNode::Kind::Text)
    for (std::size_t i = 0; i < words.size(); ++i)
      if (words[i] == asked.node.text) {
        field.set(target, i);
        return {};
      }
  const auto near = nearest(asked.node.text, std::vector<std::string>(words.begin(), words.end()));
  return asked.refuse(fmt::format("one of {}", fmt::join(words, ", ")),
                      near ? fmt::format("did you mean \"{}\"", *near) : std::string{});
}

/// What the controller's own table takes; its ranges are there, too.
template <class T>
Status store_setting(const Asked& asked, const SettingField<T>& field, T& target) {
  const pace::Parameter& about = *field.about;
  const std::string_view kind = kind_name(about);
  if (kind == "word") {
    const auto words = setting_words(about);
    if (asked.node.kind != DocumentNode::Kind::Text ||
        std::find(words.begin(), words.end(), asked.node.text) == words.end()) {
      const auto near = nearest(asked.node.text, std::vector<std::string>(words.begin(), words.end()));
      return asked.refuse(fmt::format("one of {}", fmt::join(words, ", ")),
                          near ? fmt::format("did you mean \"{}\"", *near) : std::string{});
    }
  }
  std::string text = asked.node.text;
  if (kind == "time") {
    Seconds value{};
    COX_CHECK(store_quantity<TimeQuantity>(asked, value));
    text = spelled(value);
  } else if (kind == "count") {
    std::int64_t value = 0;
    COX_CHECK(store_count(asked, value));
    text = fmt::format("{}", value);
  } else if (kind == "ratio") {
    double value = 0;
    COX_CHECK(store_ratio(asked, value));
    text = fmt::format("{}", value);
  }
  pace::Settings scratch;
  if (!pace::set(scratch, about.key, text.c_str()))
    return asked.refuse(fmt::format("a {} in the range of this parameter, such as {}", kind, about.fallback),
                        about.effect);
  field.at(target)[about.key] = text;
  return {};
}

std::string rate_text(TimePerByte t) {
  if (t == TimePerByte{}) return spelled(t);
  const Bandwidth rate = Bandwidth::bytes_per_s(1 / t.in_seconds_per_byte());
  return std::isfinite(rate.in_bytes_per_s()) && rate.time_per_byte() == t ? spelled(rate) : spelled(t);
}

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

template <class T>
Status store(const Key<T>& key, T& target, const DocumentNode& node, const std::string& full,
             const Notes& notes, const std::filesystem::path& folder) {
  const Asked asked{full, node, notes, folder, key.least, key.most};
  return std::visit(
      Overloaded{[&](Seconds& (*at)(T&)) { return store_quantity<TimeQuantity>(asked, at(target)); },
                 [&](Bytes& (*at)(T&)) { return store_quantity<SizeQuantity>(asked, at(target)); },
                 [&](Bandwidth& (*at)(T&)) { return store_quantity<RateQuantity>(asked, at(target)); },
                 [&](TimePerByte& (*at)(T&)) { return store_quantity<PerByteQuantity>(asked, at(target)); },
                 [&](FlopRate& (*at)(T&)) { return store_quantity<FlopRateQuantity>(asked, at(target)); },
                 [&](Power& (*at)(T&)) { return store_quantity<PowerQuantity>(asked, at(target)); },
                 [&](int& (*at)(T&)) { return store_count(asked, at(target)); },
                 [&](std::int64_t& (*at)(T&)) { return store_count(asked, at(target)); },
                 [&](std::uint64_t& (*at)(T&)) { return store_count(asked, at(target)); },
                 [&](double& (*at)(T&)) { return store_ratio(asked, at(target)); },
                 [&](bool& (*at)(T&)) { return store_flag(asked, at(target)); },
                 [&](std::string& (*at)(T&)) { return store_text(asked, at(target)); },
                 [&](std::vector<int>& (*at)(T&)) { return store_counts(asked, at(target)); },
                 [&](std::vector<double>& (*at)(T&)) { return store_ratios(asked, at(target)); },
                 [&](const WordField<T>& field) { return store_word(asked, field, target); },
                 [&](const RateField<T>& field) {
                   return store_quantity<EitherRateQuantity>(asked, field.at(target));
                 },
                 [&](const PathField<T>& field) { return store_path(asked, field.at(target)); },
                 [&](const SettingField<T>& field) { return store_setting(asked, field, target); }},
      key.field);
}

template <class T>
std::string text_of(const Key<T>& key, T& target) {
  return std::visit(
      Overloaded{
          [&](int& (*at)(T&)) { return fmt::format("{}", at(target)); },
          [&](std::int64_t& (*at)(T&)) { return fmt::format("{}", at(target)); },
          [&](std::uint64_t& (*at)(T&)) { return fmt::format("{}", at(target)); },
          [&](double& (*at)(T&)) { return fmt::format("{}", at(target)); },
          [&](bool& (*at)(T&)) { return std::string(at(target) ? "true" : "false"); },
          [&](std::string& (*at)(T&)) { return at(target); },
          [&](std::vector<int>& (*at)(T&)) { return fmt::format("[{}]", fmt::join(at(target), ", ")); },
          [&](std::vector<double>& (*at)(T&)) { return fmt::format("[{}]", fmt::join(at(target), ", ")); },
          [&](const WordField<T>& field) { return std::string(field.words()[field.get(target)]); },
          [&](const RateField<T>& field) { return rate_text(field.at(target)); },
          [&](const PathField<T>& field) { return field.at(target); },
          [&](const SettingField<T>& field) {
            const auto& said = field.at(target);
            const auto at = said.find(field.about->key);
            return at == said.end() ? std::string(field.about->fallback) : at->second;
          },
          [&](auto at) { return spelled(at(target)); }},
      key.field);
}

template <class T>
bool is_quoted(const Field<T>& field) {
  return std::visit(
      Overloaded{[](int& (*)(T&)) { return false; }, [](std::int64_t& (*)(T&)) { return false; },
                 [](std::uint64_t& (*)(T&)) { return false; }, [](double& (*)(T&)) { return false; },
                 [](bool& (*)(T&)) { return false; }, [](std::vector<int>& (*)(T&)) { return false; },
                 [](std::vector<double>& (*)(T&)) { return false; },
                 [](const SettingField<T>& setting) {
                   const std::string_view kind = kind_name(*setting.about);
                   return kind == "word" || kind == "time";
                 },
                 [](const auto&) { return true; }},
      field);
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define COX_INSTANTIATE(T)                                                                        \
  template Status store(const Key<T>&, T&, const DocumentNode&, const std::string&, const Notes&, \
                        const std::filesystem::path&);                                            \
  template std::string text_of(const Key<T>&, T&);                                                \
  template bool is_quoted(const Field<T>&);
COX_INSTANTIATE(Draft)
COX_INSTANTIATE(NoiseSource)
COX_INSTANTIATE(LayerGroup)
COX_INSTANTIATE(FailureClass)
COX_INSTANTIATE(NodeClass)
COX_INSTANTIATE(Neighbour)
#undef COX_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace cox::model
