// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/figures.hpp"

#include <algorithm>
#include <array>

#include "trace/import/bytes/byte_source.hpp"
#include "trace/import/figures/lines.hpp"

namespace cox::trace {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr std::size_t kHead = std::size_t{64} << 10;

struct Form {
  bool (*recognises)(std::string_view head);
  Result<Figures> (*read)(std::string_view text);
};

constexpr std::array<Form, 5> kForms{{{is_nccl_tests, read_nccl_tests},
                                      {is_osu, read_osu},
                                      {is_prometheus, read_prometheus},
                                      {is_size_table, read_size_table},
                                      {is_rank_summary, read_rank_summary}}};

std::string_view without_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

const Form* form_of(std::string_view head) {
  head = without_mark(head).substr(0, kHead);
  // Text only; and JSON is for others.
  if (head.empty() || head.find('\0') != std::string_view::npos || head.front() == '{' || head.front() == '[')
    return nullptr;
  const auto at =
      std::find_if(kForms.begin(), kForms.end(), [&](const Form& f) { return f.recognises(head); });
  return at == kForms.end() ? nullptr : at;
}

}  // namespace

bool is_figures(std::string_view head) {
  return form_of(head) != nullptr;
}

Result<std::optional<Figures>> figures_of(std::string_view bytes) {
  const Form* form = form_of(bytes);
  if (form == nullptr) return std::nullopt;
  COX_TRY(Figures figures, form->read(without_mark(bytes)));
  return std::optional(std::move(figures));
}

Result<std::optional<Figures>> read_figures(const std::filesystem::path& path) {
  std::string head(kHead, '\0');
  {
    COX_TRY(ByteSource source, ByteSource::open(path, kMostBytes));
    COX_TRY(const std::size_t n, source.read(head));
    head.resize(n);
  }
  if (form_of(head) == nullptr) return std::nullopt;
  COX_TRY(ByteSource source, ByteSource::open(path, kMostBytes));
  COX_TRY(const std::string bytes, source.read_all());
  auto figures = figures_of(bytes);
  if (figures) return figures;
  Error error = std::move(figures).error();
  error.where = Where{.file = path.string()};
  return fail(std::move(error));
}

}  // namespace cox::trace
