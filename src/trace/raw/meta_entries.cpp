// SPDX-License-Identifier: Apache-2.0
#include "trace/raw/meta_entries.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "cox/base/number_text.hpp"
#include "cox/trace/raw_format.hpp"

#include "trace/raw/losses.hpp"

namespace cox::trace {
namespace {

constexpr std::size_t kMaxText = 400;  // of one note or name
constexpr std::size_t kMaxFacts = 16384;
constexpr std::size_t kMaxFact = 4096;  // of a fact's value

/// Head of the entry at the front, if the whole entry with its padding is there.
std::optional<MetaHead> front(std::string_view meta) {
  MetaHead head{};
  if (meta.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, meta.data(), sizeof head);
  if (static_cast<std::uint32_t>(head.kind) == 0) return std::nullopt;
  const std::size_t padded = (std::size_t{head.size} + 7) / 8 * 8;
  if (meta.size() - sizeof head < padded) return std::nullopt;
  return head;
}

std::size_t length(const MetaHead& head) {
  return sizeof head + (std::size_t{head.size} + 7) / 8 * 8;
}

/// Bytes of a well-formed UTF-8 sequence at `at`, 0 where there is none. Source: Unicode 15, table 3-7.
std::size_t utf8_length(std::string_view s, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned a = byte(at);
  const unsigned b = byte(at + 1);
  if (a < 0x80) return 1;
  if (a >= 0xc2 && a <= 0xdf) return tail(at + 1) ? 2 : 0;
  if (a >= 0xe0 && a <= 0xef) {
    const bool good = tail(at + 1) && tail(at + 2) && !(a == 0xe0 && b < 0xa0) && !(a == 0xed && b > 0x9f);
    return good ? 3 : 0;
  }
  if (a >= 0xf0 && a <= 0xf4) {
    const bool good =
        tail(at + 1) && tail(at + 2) && tail(at + 3) && !(a == 0xf0 && b < 0x90) && !(a == 0xf4 && b > 0x8f);
    return good ? 4 : 0;
  }
  return 0;
}

std::vector<MetaRanks> ranges_in(std::span<const std::int32_t> ranks) {
  std::vector<MetaRanks> ranges;
  for_each_range(ranks.data(), ranks.size(), [&](const MetaRanks& r) { ranges.push_back(r); });
  return ranges;
}

/// A list as it lies in a file.
std::vector<MetaRanks> listed(std::string_view list) {
  std::vector<std::int32_t> ranks(list.size() / sizeof(std::int32_t));
  if (!ranks.empty()) std::memcpy(ranks.data(), list.data(), list.size());
  return ranges_in(ranks);
}

/// Ranges as they lie in a file; nothing where one holds no ranks, or all together more than the communicator.
std::optional<std::vector<MetaRanks>> checked_ranges(std::string_view list, std::int32_t size) {
  std::vector<MetaRanks> ranges(list.size() / sizeof(MetaRanks));
  if (!ranges.empty()) std::memcpy(ranges.data(), list.data(), list.size());
  std::int64_t members = 0;
  for (const MetaRanks& r : ranges) {
    if (r.count <= 0) return std::nullopt;
    members += r.count;
  }
  if (members > size) return std::nullopt;
  return ranges;
}

std::optional<LocalCommunicator> communicator_of(std::string_view body, MetaKind kind) {
  MetaCommunicator fixed{};
  if (body.size() < sizeof fixed) return std::nullopt;
  std::memcpy(&fixed, body.data(), sizeof fixed);
  body.remove_prefix(sizeof fixed);
  const bool ranges = kind == MetaKind::CommunicatorRanges;
  const std::size_t each = ranges ? sizeof(MetaRanks) : sizeof(std::int32_t);
  if (fixed.member_count > body.size() / each) return std::nullopt;
  if (fixed.local_number == 0 || fixed.local_number > INT32_MAX || fixed.size < 0) return std::nullopt;
  LocalCommunicator c{.identity = fixed.identity,
                      .local_number = fixed.local_number,
                      .size = fixed.size,
                      .my_rank = fixed.my_rank,
                      .members = {},
                      .name = {}};
  const std::string_view list = body.substr(0, fixed.member_count * each);
  auto members = ranges ? checked_ranges(list, fixed.size) : std::optional(listed(list));
  if (!members) return std::nullopt;
  c.members = *std::move(members);
  c.name = clean_text(body.substr(list.size(), kMaxText));
  return c;
}

/// Lines `path<TAB>value`; others are not facts.
void add_facts(std::string_view body, std::vector<LocalityFact>& to) {
  while (!body.empty() && to.size() < kMaxFacts) {
    const std::string_view line = body.substr(0, body.find('\n'));
    body.remove_prefix(std::min(line.size() + 1, body.size()));
    const std::size_t tab = line.find('\t');
    if (tab == 0 || tab > kMaxText) continue;
    to.push_back(
        {.path = clean_text(line.substr(0, tab)), .value = clean_text(line.substr(tab + 1, kMaxFact))});
  }
}

}  // namespace

std::vector<MetaRanks> ranges_of(std::span<const Rank> ranks) {
  std::vector<std::int32_t> list;
  list.reserve(ranks.size());
  for (const Rank r : ranks) list.push_back(r.value());
  return ranges_in(list);
}

std::string clean_text(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = utf8_length(text, i);
    const auto c = static_cast<unsigned char>(text[i]);
    // C0 and C1 control characters would reach the user's terminal.
    const bool control =
        c < 0x20 || c == 0x7f || (n == 2 && c == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0);
    if (n == 0 || control)
      out += '?';
    else
      out += text.substr(i, n);
    i += std::max<std::size_t>(n, 1);
  }
  return out;
}

std::size_t whole_entries(std::string_view meta) {
  std::size_t at = 0;
  while (const auto head = front(meta.substr(at))) at += length(*head);
  return at;
}

MetaContent parse_meta(std::string_view meta) {
  MetaContent out;
  Losses losses;
  std::size_t at = 0;
  while (const auto head = front(meta.substr(at))) {
    const std::string_view body = meta.substr(at + sizeof(MetaHead), head->size);
    at += length(*head);
    if (head->kind == MetaKind::Communicator || head->kind == MetaKind::CommunicatorRanges) {
      if (auto c = communicator_of(body, head->kind))
        out.communicators.push_back(*std::move(c));
      else
        losses.add("the description of a communicator is damaged");
    } else if (head->kind == MetaKind::Note && out.guest_notes.size() < 100) {
      out.guest_notes.push_back(clean_text(body.substr(0, kMaxText)));
    } else if (head->kind == MetaKind::Locality) {
      add_facts(body, out.locality);
    }  // kinds that a later version added are none of our business
  }
  if (at < meta.size())
    losses.add(counted(static_cast<std::int64_t>(meta.size() - at), "byte of meta data is damaged",
                       "bytes of meta data are damaged"));
  const auto number = [](const LocalCommunicator& c) { return c.local_number; };
  std::stable_sort(out.communicators.begin(), out.communicators.end(),
                   [&](const auto& a, const auto& b) { return number(a) < number(b); });
  const auto twice = std::unique(out.communicators.begin(), out.communicators.end(),
                                 [&](const auto& a, const auto& b) { return number(a) == number(b); });
  if (twice != out.communicators.end())
    losses.add(counted(out.communicators.end() - twice, "communicator reuses", "communicators reuse") +
               " the number of an earlier one");
  out.communicators.erase(twice, out.communicators.end());
  out.losses = losses.take();
  return out;
}

}  // namespace cox::trace
