// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/manifest.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "cox/base/hash.hpp"

namespace cox::train {
namespace {

constexpr std::string_view kFirst = "cox-checkpoint 1\n";
constexpr std::string_view kHash = "hash\t";
constexpr std::size_t kMostParts = 4096;
constexpr std::int64_t kMost = std::int64_t{1} << 40;
constexpr int kMostExponent = 24;

Error unlike(std::string message) {
  return {
      .code = Errc::InvalidInput, .id = "train-008", .message = std::move(message), .hint = {}, .where = {}};
}

/// Takes a line's words off the text, one by one; what is not as expected is remembered.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  void word(std::string_view expected) {
    if (text_.substr(0, expected.size()) != expected) return stop();
    text_.remove_prefix(expected.size());
  }
  /// Until `end`, which goes with it.
  std::string_view until(char end) {
    const std::size_t at = text_.find(end);
    if (at == std::string_view::npos) {
      stop();
      return {};
    }
    const std::string_view found = text_.substr(0, at);
    text_.remove_prefix(at + 1);
    return found;
  }
  template <class T>
  T number(char end, T least, T most, int base = 10) {
    const std::string_view word = until(end);
    T value{};
    const auto [stopped, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (error == std::errc{} && stopped == word.data() + word.size() && value >= least && value <= most)
      return value;
    stop();
    return least;
  }
  [[nodiscard]] bool begins_with(std::string_view word) const { return text_.starts_with(word); }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }

 private:
  void stop() {
    good_ = false;
    text_ = {};
  }
  std::string_view text_;
  bool good_ = true;
};

SavedPart read_part(Reader& in, std::string_view name, std::int64_t elements) {
  SavedPart part;
  in.word(name);
  part.elements.first = in.number<std::int64_t>('\t', 0, elements);
  part.elements.count = in.number<std::int64_t>('\t', 0, elements - part.elements.first);
  part.hash = in.number<std::uint64_t>('\n', 0, ~std::uint64_t{0}, 16);
  return part;
}

/// Files whose stretches follow each other, each line beginning with `name`. Whether they cover `elements`.
bool read_parts(Reader& in, std::string_view name, std::int64_t elements, std::vector<SavedPart>& parts) {
  std::int64_t covered = 0;
  while (in.good() && in.begins_with(name) && parts.size() < kMostParts) {
    parts.push_back(read_part(in, name, elements));
    if (parts.back().elements.first != covered) return false;
    covered = parts.back().elements.end();
  }
  return covered == elements;
}

}  // namespace

std::string text_of(const Manifest& m) {
  std::string text = fmt::format("{}version\t{}\njob\t{}\nelements\t{}\nmoments\t{}\n", kFirst, m.version,
                                 m.job, m.elements, m.moments);
  if (m.workers > 0) text += fmt::format("workers\t{}\t{}\n", m.workers, m.worker_floats);
  if (m.scale)  // a power of two
    text +=
        fmt::format("scale\t2^{}\t{}\t{}\n", std::ilogb(m.scale->factor), m.scale->good, m.scale->skipped);
  for (const SavedPart& p : m.parts)
    text += fmt::format("part\t{}\t{}\t{:016x}\n", p.elements.first, p.elements.count, p.hash);
  for (const SavedPart& p : m.worker_parts)
    text += fmt::format("of-workers\t{}\t{}\t{:016x}\n", p.elements.first, p.elements.count, p.hash);
  return text + fmt::format("{}{:016x}\n", kHash, fnv1a(text));
}

Result<Manifest> read_manifest(std::string_view text) {
  if (text.substr(0, kFirst.size()) != kFirst) return fail(unlike("it is no manifest of a checkpoint"));
  const std::size_t behind = text.rfind(kHash);
  if (behind == std::string_view::npos ||
      text.substr(behind) != fmt::format("{}{:016x}\n", kHash, fnv1a(text.substr(0, behind))))
    return fail(unlike("its manifest is not as it was written"));
  Reader in(text.substr(kFirst.size(), behind - kFirst.size()));
  Manifest m;
  in.word("version\t");
  m.version = in.number<std::int64_t>('\n', 0, kMost);
  in.word("job\t");
  m.job = in.until('\n');
  in.word("elements\t");
  m.elements = in.number<std::int64_t>('\n', 1, kMost);
  in.word("moments\t");
  m.moments = in.number<int>('\n', 0, 2);
  if (in.begins_with("workers\t")) {
    in.word("workers\t");
    m.workers = in.number<std::int64_t>('\t', 1, kMost);
    m.worker_floats = in.number<std::int64_t>('\n', 1, kMost);
  }
  if (in.begins_with("scale\t")) {
    learn::LossScaleState& scale = m.scale.emplace();
    in.word("scale\t");
    in.word("2^");
    scale.factor = std::ldexp(1.0, in.number<int>('\t', -kMostExponent, kMostExponent));
    scale.good = in.number<std::int64_t>('\t', 0, kMost);
    scale.skipped = in.number<std::int64_t>('\n', 0, m.version);
  }
  const bool covered = read_parts(in, "part\t", m.elements, m.parts) &&
                       read_parts(in, "of-workers\t", m.workers, m.worker_parts);
  if (!in.good() || !in.empty() || !covered)
    return fail(unlike("its manifest does not say where all elements are"));
  return m;
}

}  // namespace cox::train
