// SPDX-License-Identifier: Apache-2.0
#include "cox/trace/figures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "cox/base/number_text.hpp"

#include "trace/import/bytes/byte_order_mark.hpp"
#include "trace/import/bytes/byte_source.hpp"
#include "trace/import/figures/lines.hpp"

namespace cox::trace {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr std::size_t kHead = std::size_t{64} << 10;
// Of a folder.
constexpr std::size_t kMostFiles = 256;
constexpr std::size_t kMostEntries = 100'000;
constexpr std::size_t kMostValues = std::size_t{1} << 22;
constexpr std::size_t kOthersNamed = 3;

struct Form {
  bool (*recognises)(std::string_view head);
  Result<Figures> (*read)(std::string_view text);
};

constexpr std::array<Form, 5> kForms{{{is_nccl_tests, read_nccl_tests},
                                      {is_osu, read_osu},
                                      {is_prometheus, read_prometheus},
                                      {is_size_table, read_size_table},
                                      {is_rank_summary, read_rank_summary}}};

const Form* form_of(std::string_view head) {
  head = without_mark(head).substr(0, kHead);
  // Text only; and JSON is for others.
  if (head.empty() || head.find('\0') != std::string_view::npos || head.front() == '{' || head.front() == '[')
    return nullptr;
  const auto at =
      std::find_if(kForms.begin(), kForms.end(), [&](const Form& f) { return f.recognises(head); });
  return at == kForms.end() ? nullptr : at;
}

/// A table of no time above zero tells nothing: it is of a clock that stood, or of a column that was not filled.
Status check_times(const Figures& figures) {
  const auto* sizes = std::get_if<SizeTable>(&figures.table);
  if (sizes == nullptr) return {};
  for (const SizeSeries& s : sizes->series)
    for (const SizeTime& v : s.values)
      if (v.time.count() > 0) return {};
  return fail(no_figures("no time of the table is above zero"));
}

}  // namespace

bool is_figures(std::string_view head) {
  return form_of(head) != nullptr;
}

Result<std::optional<Figures>> figures_of(std::string_view bytes) {
  const Form* form = form_of(bytes);
  if (form == nullptr) return std::nullopt;
  COX_TRY(Figures figures, form->read(without_mark(bytes)));
  COX_CHECK(check_times(figures));
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

namespace {

/// Plain files of a folder by name.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code ec;
  for (std::filesystem::directory_iterator at(folder, ec), end;
       !ec && at != end && files.size() < kMostEntries; at.increment(ec)) {
    std::error_code of_file;
    if (std::filesystem::is_regular_file(at->symlink_status(of_file)) &&
        !at->path().filename().string().starts_with('.'))
      files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Joins the tables of several files.
class FolderTable {
 public:
  void add(const std::filesystem::path& path) {
    const std::string file = path.filename().string();
    Result<std::optional<Figures>> read = read_figures(path);
    if (!read) {
      notes_.push_back(fmt::format("{}: {}", file, read.error().message));
      ++damaged_;
    } else if (!*read || !std::holds_alternative<SizeTable>((*read)->table)) {
      others_.push_back(file);
    } else {
      take(**std::move(read), file);
    }
  }

  std::optional<Figures> finish(std::size_t not_read) && {
    if (files_ == 0) return std::nullopt;
    if (files_ > 1)
      for (SizeSeries& s : table_.series) put_file_in_front(s);
    else
      for (SizeSeries& s : table_.series) s.file.clear();
    for (const auto& [text, files] : said_) notes_.push_back(names_of_files(files) + ": " + text);
    if (!others_.empty())
      notes_.push_back("no times over message sizes, not used: " + names_of_files(others_));
    if (not_read > 0)
      notes_.push_back(counted(static_cast<std::int64_t>(not_read), "further file is not read",
                               "further files are not read"));
    return Figures{
        .format = format_, .table = std::move(table_), .notes = std::move(notes_), .damaged = damaged_};
  }

 private:
  void take(Figures figures, const std::string& file) {
    SizeTable& table = std::get<SizeTable>(figures.table);
    std::size_t values = values_;
    for (const SizeSeries& s : table.series) values += s.values.size();
    if (files_ > 0 && table.has_unit != table_.has_unit) {
      notes_.push_back(file + ": not used: its times have another unit than those before it");
      return;
    }
    if (values > kMostValues || table_.series.size() + table.series.size() > SizeCollector::kMostSeries) {
      notes_.push_back(file + ": not used: too many values or configurations with those before it");
      return;
    }
    values_ = values;
    table_.has_unit = table.has_unit;
    format_ = files_++ == 0 || std::string_view(format_) == figures.format ? figures.format : "several";
    for (SizeSeries& s : table.series) {
      s.file = file;
      table_.series.push_back(std::move(s));
    }
    for (const std::string& note : figures.notes) add_note(note, file);
  }

  /// Notes of one text together.
  void add_note(const std::string& text, const std::string& file) {
    const auto at = std::find_if(said_.begin(), said_.end(), [&](const auto& s) { return s.first == text; });
    if (at == said_.end())
      said_.emplace_back(text, std::vector<std::string>{file});
    else
      at->second.push_back(file);
  }

  /// What was a configuration's name tells which of the other files it is compared with.
  static void put_file_in_front(SizeSeries& s) {
    if (s.measures.empty()) s.measures = s.name;
    s.name = s.file + (s.name.empty() ? "" : ": ") + s.name;
  }

  static std::string names_of_files(const std::vector<std::string>& files) {
    const std::size_t named = std::min(files.size(), kOthersNamed);
    std::string text =
        fmt::format("{}", fmt::join(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(named), ", "));
    if (files.size() > named) text += fmt::format(" and {} more", files.size() - named);
    return text;
  }

  SizeTable table_;
  const char* format_ = "";
  std::vector<std::string> notes_;
  std::vector<std::string> others_;
  std::vector<std::pair<std::string, std::vector<std::string>>> said_;  // text, files
  std::int64_t files_ = 0;
  std::int64_t damaged_ = 0;
  std::size_t values_ = 0;
};

}  // namespace

std::optional<Figures> read_figures_folder(const std::filesystem::path& folder) {
  const std::vector<std::filesystem::path> files = files_in(folder);
  const std::size_t read = std::min(files.size(), kMostFiles);
  FolderTable table;
  for (std::size_t i = 0; i < read; ++i) table.add(files[i]);
  return std::move(table).finish(files.size() - read);
}

}  // namespace cox::trace
