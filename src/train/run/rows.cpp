// SPDX-License-Identifier: Apache-2.0
// What came of a job as lines, and back.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "cox/base/spelling.hpp"

#include "train/run/job.hpp"

namespace cox::train {
namespace {

constexpr std::string_view kFirst = "cox-train 1";
constexpr std::size_t kMostRanks = 4096;

using Words = std::vector<std::string_view>;

Words words_between(std::string_view line, char separator) {
  Words words;
  for (;;) {
    const std::size_t end = line.find(separator);
    words.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return words;
    line.remove_prefix(end + 1);
  }
}

template <class T>
bool read(std::string_view word, T& out) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  return error == std::errc{} && end == word.data() + word.size();
}

bool read_seconds(std::string_view word, Seconds& out) {
  double value = 0;
  if (!read(word, value)) return false;
  out = Seconds{value};
  return true;
}

bool read_rank(const Words& w, TrainedRun& run) {
  std::uint64_t hash = 0;
  std::int64_t state = 0;
  constexpr std::size_t kBefore = 3 + kUses;
  if (w.size() < kBefore || !read(w[1], hash) || !read(w[2], state) || run.sent.size() >= kMostRanks)
    return false;
  BytesByUse memory{};
  for (std::size_t u = 0; u < kUses; ++u) {
    std::int64_t bytes = 0;
    if (!read(w[3 + u], bytes)) return false;
    memory[u] = Bytes{bytes};
  }
  std::vector<Bytes> sent;
  for (std::size_t i = kBefore; i < w.size(); ++i) {
    std::int64_t bytes = 0;
    if (!read(w[i], bytes)) return false;
    sent.emplace_back(bytes);
  }
  run.hashes.push_back(hash);
  run.optimizer.emplace_back(state);
  run.memory.push_back(memory);
  run.sent.push_back(std::move(sent));
  return true;
}

bool read_line(const Words& w, TrainedRun& run) {
  if (w[0] == "library" && w.size() == 2) {
    run.library = w[1];
    return true;
  }
  if (w[0] == "took" && w.size() == 4)
    return read(w[1], run.parameters) && read(w[2], run.versions) && read_seconds(w[3], run.steps_took);
  if (w[0] == "point" && w.size() == 6) {
    TrainPoint p;
    const bool all = read(w[1], p.version) && read_seconds(w[2], p.at) && read(w[3], p.samples) &&
                     read(w[4], p.score.loss) && read(w[5], p.score.accuracy);
    run.points.push_back(p);
    return all;
  }
  if (w[0] == "diverged" && w.size() == 4) {
    learn::Divergence d{.worker = 0, .step = 0, .tensor = std::string(w[3])};
    const bool all = read(w[1], d.worker) && read(w[2], d.step);
    run.diverged = std::move(d);
    return all;
  }
  if (w[0] == "rank") return read_rank(w, run);
  if (w[0] == "resumed" && w.size() == 2) return read(w[1], run.resumed.emplace());
  if (w[0] == "refused" && w.size() == 2 && run.refused.size() < kMostRanks) {
    run.refused.emplace_back(w[1]);
    return true;
  }
  if (w[0] == "saved" && w.size() == 4)
    return read(w[1], run.saved.count) && read_seconds(w[2], run.saved.took) &&
           read_seconds(w[3], run.saved.beside);
  if (w[0] == "forecast" && w.size() == 8) {
    StepForecast& f = run.forecast.emplace();
    return read(w[1], f.from) && read(w[2], f.to) && read_seconds(w[3], f.mean) &&
           read_seconds(w[4], f.low) && read_seconds(w[5], f.high) && read_seconds(w[6], f.measured) &&
           read(w[7], f.rest);
  }
  if (w[0] == "served" && w.size() >= 7 && w.size() - 7 <= kMostRanks) {
    ServedUpdates& s = run.served.emplace();
    s.messages.resize(w.size() - 7);
    bool all = read(w[1], s.applied) && read(w[2], s.discarded) && read(w[3], s.largest_age) &&
               read(w[4], s.mean_age) && read(w[5], s.left) && read(w[6], s.samples);
    for (std::size_t r = 0; r < s.messages.size() && all; ++r) all = read(w[7 + r], s.messages[r]);
    return all;
  }
  if (w[0] == "scaled" && w.size() == 4) {
    ScaledRun& s = run.scaled.emplace();
    return read(w[1], s.factor) && read(w[2], s.skipped) && read(w[3], s.skipped_now);
  }
  if (w[0] == "stream" && w.size() == 2) {
    run.stream += w[1];
    run.stream += '\n';
    return true;
  }
  if (w[0] == "newest" && w.size() == 2) return read(w[1], run.saved_version.emplace());
  if (w[0] == "stopped" && w.size() == 1) return run.stopped = true;
  if (w[0] == "time" && w.size() == 2) {
    run.times.emplace_back();
    return read_seconds(w[1], run.times.back());
  }
  return false;
}

std::string one_row(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\n'; }, ' ');
  return text;
}

Errc code_of(std::string_view id) {
  if (id == "train-003") return Errc::Timeout;
  if (id == "train-001") return Errc::Unsupported;
  return id == "train-008" ? Errc::InvalidInput : Errc::Io;
}

Error unread(std::string message) {
  return {.code = Errc::Io,
          .id = "train-005",
          .message = std::move(message),
          .hint = "what the program said is above",
          .where = {}};
}

/// Of a line into which a launcher put what several ranks said when they failed: what the last one said.
std::string_view whole_failure(std::string_view line) {
  const std::size_t at = line.rfind("failed\t");
  return line.starts_with("failed") && at != std::string_view::npos ? line.substr(at) : line;
}

}  // namespace

std::string rows_of(const TrainedRun& run) {
  std::string text = fmt::format("{}\nlibrary\t{}\ntook\t{}\t{}\t{}\n", kFirst, run.library, run.parameters,
                                 run.versions, run.steps_took.count());
  for (const TrainPoint& p : run.points)
    text += fmt::format("point\t{}\t{}\t{}\t{}\t{}\n", p.version, p.at.count(), p.samples, p.score.loss,
                        p.score.accuracy);
  if (run.diverged)
    text +=
        fmt::format("diverged\t{}\t{}\t{}\n", run.diverged->worker, run.diverged->step, run.diverged->tensor);
  for (std::size_t r = 0; r < run.sent.size(); ++r) {
    text += fmt::format("rank\t{}\t{}", run.hashes[r], run.optimizer[r].count());
    for (const Bytes b : run.memory[r]) text += fmt::format("\t{}", b.count());
    for (const Bytes b : run.sent[r]) text += fmt::format("\t{}", b.count());
    text += '\n';
  }
  if (run.resumed) text += fmt::format("resumed\t{}\n", *run.resumed);
  for (const std::string& what : run.refused) text += fmt::format("refused\t{}\n", one_row(what));
  if (run.saved.count > 0)
    text +=
        fmt::format("saved\t{}\t{}\t{}\n", run.saved.count, run.saved.took.count(), run.saved.beside.count());
  if (run.saved_version) text += fmt::format("newest\t{}\n", *run.saved_version);
  if (const auto& f = run.forecast; f)
    text += fmt::format("forecast\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", f->from, f->to, f->mean.count(),
                        f->low.count(), f->high.count(), f->measured.count(), f->rest);
  if (const auto& s = run.served; s) {
    text += fmt::format("served\t{}\t{}\t{}\t{}\t{}\t{}", s->applied, s->discarded, s->largest_age,
                        s->mean_age, s->left, s->samples);
    for (const std::int64_t m : s->messages) text += fmt::format("\t{}", m);
    text += '\n';
  }
  if (const auto& s = run.scaled; s)
    text += fmt::format("scaled\t{}\t{}\t{}\n", s->factor, s->skipped, s->skipped_now);
  for (const std::string_view line : words_between(run.stream, '\n'))
    if (!line.empty()) text += fmt::format("stream\t{}\n", line);
  if (run.stopped) text += "stopped\n";
  for (const Seconds t : run.times) text += fmt::format("time\t{}\n", t.count());
  return text;
}

std::string row_of(const TrainMoment& moment) {
  return fmt::format("at\t{}\t{}\n", moment.version, moment.loss);
}

std::optional<TrainMoment> read_moment(std::string_view line) {
  const Words w = words_between(line, '\t');
  TrainMoment moment;
  if (w.size() != 3 || w[0] != "at" || !read(w[1], moment.version) || !read(w[2], moment.loss)) return {};
  return moment;
}

std::string row_of(const Error& error) {
  return fmt::format("failed\t{}\t{}\t{}\n", error.id, one_row(error.message), one_row(error.hint));
}

Result<TrainedRun> read_rows(const std::string& text) {
  TrainedRun run;
  bool begun = false;
  for (const std::string_view line : words_between(text, '\n')) {
    if (line.empty() || read_moment(line)) continue;
    const Words words = words_between(whole_failure(line), '\t');
    if (words[0] == "failed" && words.size() == 4)
      return fail({.code = code_of(words[1]),
                   .id = std::string(words[1]),
                   .message = std::string(words[2]),
                   .hint = std::string(words[3]),
                   .where = {}});
    if (line == kFirst)
      begun = true;
    else if (!begun || !read_line(words, run))
      return fail(unread(fmt::format("the ranks said \"{}\", which is no row of a result", shown(line))));
  }
  if (!begun) return fail(unread("the ranks ended without a result"));
  return run;
}

}  // namespace cox::train
