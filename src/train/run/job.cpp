// SPDX-License-Identifier: Apache-2.0
#include "train/run/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/spelling.hpp"
#include "cox/learn/problem.hpp"

#include "train/run/slice_plan.hpp"

namespace cox::train {
namespace {

constexpr std::string_view kFixedOrder = "fixed-order";
constexpr std::string_view kRecomputing = "pipeline,recompute=1";

template <class T>
bool read_number(std::string_view word, T least, T most, T& out) {
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size() || !(value >= least && value <= most))
    return false;
  out = value;
  return true;
}

Error unknown(std::string message, std::string hint) {
  return {.code = Errc::Usage,
          .id = "train-002",
          .message = std::move(message),
          .hint = std::move(hint),
          .where = {}};
}

bool read_flag(std::string_view word, bool& out) {
  int flag = 0;
  const bool read = read_number(word, 0, 1, flag);
  out = flag == 1;
  return read;
}

/// `8,keep,0,sgd,1,0.9,0,0`: steps, state, pull, of the outer optimizer kind, rate, momentum, steps before, variates.
std::string words_of(const LocalRounds& local) {
  return fmt::format("{},{},{},{},{},{},{},{}", local.steps,
                     local.state == learn::LocalState::Keep ? "keep" : "reset", local.proximal,
                     name_of(local.outer.kind), local.outer.rate, local.outer.momentum, local.after,
                     local.variates ? 1 : 0);
}

std::vector<std::string_view> between_commas(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

bool read_rounds(std::string_view text, std::optional<LocalRounds>& out) {
  const std::vector<std::string_view> words = between_commas(text);
  LocalRounds made;
  const bool read =
      words.size() == 8 && read_number(words[0], 1, 1 << 20, made.steps) &&
      (words[1] == "keep" || words[1] == "reset") && read_number(words[2], 0.0, 1e9, made.proximal) &&
      (words[3] == "sgd" || words[3] == "nesterov") && read_number(words[4], 0.0, 1e9, made.outer.rate) &&
      read_number(words[5], 0.0, 1.0, made.outer.momentum) &&
      read_number(words[6], std::int64_t{0}, std::int64_t{1} << 40, made.after) &&
      read_flag(words[7], made.variates);
  if (!read) return false;
  if (words[1] == "reset") made.state = learn::LocalState::Reset;
  if (words[3] == "nesterov") made.outer.kind = learn::OptimizerKind::Nesterov;
  out = made;
  return true;
}

/// `4,8,1,2,0`: stages, micro-batches, schedule, chunks, recompute.
std::string words_of(const PipelineShape& p) {
  return fmt::format("{},{},{},{},{}", p.stages, p.micro_batches, static_cast<int>(p.schedule), p.chunks,
                     p.recompute ? 1 : 0);
}

bool read_pipeline(std::string_view text, std::optional<PipelineShape>& out) {
  constexpr int kMost = 1 << 20, kLastSchedule = static_cast<int>(model::PipelineSchedule::ZeroBubble);
  const std::vector<std::string_view> words = between_commas(text);
  PipelineShape made;
  int schedule = 0;
  const bool read = words.size() == 5 && read_number(words[0], 1, kMost, made.stages) &&
                    read_number(words[1], 1, kMost, made.micro_batches) &&
                    read_number(words[2], 0, kLastSchedule, schedule) &&
                    read_number(words[3], 1, kMost, made.chunks) && read_flag(words[4], made.recompute);
  made.schedule = static_cast<model::PipelineSchedule>(schedule);
  if (read) out = made;
  return read;
}

bool read_word(std::string_view key, std::string_view value, TrainJob& job) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  constexpr int kMostRanks = 1 << 20;
  if (key == "problem") return !(job.problem = value).empty();
  if (key == "optimizer") return !(job.optimizer = value).empty();
  if (key == "workers") return read_number(value, 1, kMostRanks, job.workers);
  if (key == "samples") return read_number(value, std::int64_t{1}, kMost, job.samples);
  if (key == "steps") return read_number(value, std::int64_t{1}, kMost, job.steps);
  if (key == "procs") return read_number(value, 1, kMostRanks, job.procs);
  if (key == "sum") return !(job.sum = value).empty();
  if (key == "layout") return !(job.layout = value).empty();
  if (key == "precision") {
    job.precision = value;
    return true;
  }
  if (key == "served") {
    job.served = value;
    return true;
  }
  if (key == "local") return value.empty() || read_rounds(value, job.local);
  if (key == "pipeline") return value.empty() || read_pipeline(value, job.pipeline);
  if (key == "tensor") return read_number(value, 0, kMostRanks, job.tensor);
  if (key == "checkpoint") {
    job.checkpoint = value;
    return true;
  }
  if (key == "every") return !(job.every = value).empty();
  if (key == "times") return read_flag(value, job.times);
  if (key == "beside") return read_flag(value, job.beside);
  if (key == "resume") return read_flag(value, job.resume);
  if (key == "predict") return read_flag(value, job.predict);
  if (key == "inject") {
    job.inject = value;
    return true;
  }
  if (key == "told") return read_flag(value, job.told);
  double seconds = 0;
  if (key != "patience_s" || !read_number(value, 1e-3, 1e6, seconds)) return false;
  job.patience = Seconds{seconds};
  return true;
}

}  // namespace

LocalRounds rounds_of(const learn::Way& way) {
  COX_ASSERT(way.is_local(), "its workers take steps of their own");
  return {.steps = way.policy.local_steps,
          .state = way.local_state,
          .proximal = way.proximal,
          .after = way.synchronous_steps,
          .variates = way.control_variates,
          .outer = way.outer};
}

std::string precision_of(const learn::Way& way) {
  const learn::CompressorSpec& c = way.compressor;
  if (!c.master) return {};
  std::string text = fmt::format("{},master=yes", name_of(c.kind));
  if (c.loss_scale) text += fmt::format(",loss-scale={}", c.loss_scale->factor);
  if (c.loss_scale && c.loss_scale->dynamic)
    text += fmt::format(",dynamic=yes,growth-interval={}", c.loss_scale->growth_interval);
  return text;
}

Result<learn::CompressorSpec> read_precision(const std::string& text) {
  COX_TRY(learn::CompressorSpec spec, learn::read_compressor(text));
  if (spec.master) return spec;
  return fail({.code = Errc::Usage,
               .id = "train-004",
               .message = fmt::format("got \"{}\", which is no mixed precision", shown(text)),
               .hint = "the program is started by cox train, of the same version",
               .where = {}});
}

Result<SumBy> read_sum(const std::string& text) {
  SumBy sum;
  const std::size_t comma = text.find(',');
  const std::string name = text.substr(0, comma);
  std::vector<std::string> names{std::string(kFixedOrder)};
  for (int a = 0; a <= static_cast<int>(model::kLastAlgorithm); ++a) {
    const auto algorithm = static_cast<model::Algorithm>(a);
    // Those that need nobody but the ranks, in groups of one size.
    if (algorithm == model::Algorithm::InNetwork || algorithm == model::Algorithm::ParameterServer ||
        algorithm == model::Algorithm::Hierarchical3)
      continue;
    if (!model::Schedule::make({.kind = model::Collective::AllReduce, .algorithm = algorithm})) continue;
    names.emplace_back(model::name_of(algorithm));
    if (name == names.back()) sum.algorithm = algorithm;
  }
  if (!sum.algorithm && name != kFixedOrder) {
    const auto near = nearest(name, names);
    return fail(unknown(
        fmt::format("\"{}\" is no all-reduce, expected one of {}", shown(name), fmt::join(names, ", ")),
        near ? fmt::format("did you mean {}?", *near) : ""));
  }
  if (comma == std::string::npos) return sum;
  constexpr std::string_view kGroup = "group=";
  const std::string_view rest = std::string_view(text).substr(comma + 1);
  if (sum.algorithm != model::Algorithm::Hierarchical2 || !rest.starts_with(kGroup) ||
      !read_number(rest.substr(kGroup.size()), 1, 1 << 20, sum.group))
    return fail(unknown(fmt::format("\"{}\" behind {} has no meaning", shown(rest), name),
                        "say a group as in hierarchical,group=2"));
  return sum;
}

Result<Injected> read_injected(const std::string& text) {
  Injected made;
  std::string_view left = text;
  bool read = true;
  while (!left.empty() && read) {
    const std::size_t end = std::min(left.find(','), left.size());
    const std::string_view word = left.substr(0, end);
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view key = word.substr(0, equals),
                           value = word.substr(std::min(equals + 1, word.size()));
    double seconds = 0;
    if (key == "rank")
      read = read_number(value, 0, 1 << 20, made.rank);
    else if (key == "nan")
      read = read_number(value, std::int64_t{0}, std::int64_t{1} << 40, made.nan);
    else
      read = key == "delay" && read_number(value, 1e-6, 1e3, seconds);
    if (seconds > 0) made.delay = Seconds{seconds};
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  const bool whole = made.rank >= 0 && (made.delay > Seconds{} || made.nan >= 0);
  if (text.empty() || (read && whole)) return made;
  return fail(unknown(
      fmt::format("\"{}\" is no fault, expected a rank with a delay in seconds or with a step", shown(text)),
      "such as rank=1,delay=0.02 or rank=1,nan=5"));
}

Result<TrainLayout> read_layout(const std::string& text) {
  const std::vector<std::string> names{"data-parallel", "zero-1", "zero-2", "zero-3", "pipeline", "tensor"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (text == names[i]) return static_cast<TrainLayout>(i);
  if (text == kRecomputing) return TrainLayout::Pipeline;
  const auto near = nearest(text, names);
  return fail(
      unknown(fmt::format("\"{}\" is no layout, expected one of {}", shown(text), fmt::join(names, ", ")),
              near ? fmt::format("did you mean {}?", *near) : ""));
}

PipelineShape pipeline_of(const std::string& layout, const model::TrainingJob& job) {
  const bool interleaved = job.schedule == model::PipelineSchedule::Interleaved && job.layout.pipeline > 1;
  return {.stages = job.layout.pipeline,
          .micro_batches = job.micro_batches,
          .schedule = job.schedule,
          .chunks = interleaved ? job.interleave : 1,
          .recompute = layout == kRecomputing};
}

std::vector<std::string> words_of(const TrainJob& job) {
  return {"problem=" + job.problem,
          "optimizer=" + job.optimizer,
          fmt::format("workers={}", job.workers),
          fmt::format("samples={}", job.samples),
          fmt::format("steps={}", job.steps),
          fmt::format("procs={}", job.procs),
          "sum=" + job.sum,
          "precision=" + job.precision,
          "layout=" + job.layout,
          "served=" + job.served,
          "local=" + (job.local ? words_of(*job.local) : std::string()),
          "pipeline=" + (job.pipeline ? words_of(*job.pipeline) : std::string()),
          fmt::format("tensor={}", job.tensor),
          fmt::format("patience_s={}", job.patience.count()),
          fmt::format("times={}", job.times ? 1 : 0),
          "checkpoint=" + job.checkpoint,
          "every=" + job.every,
          fmt::format("beside={}", job.beside ? 1 : 0),
          fmt::format("resume={}", job.resume ? 1 : 0),
          fmt::format("predict={}", job.predict ? 1 : 0),
          "inject=" + job.inject,
          fmt::format("told={}", job.told ? 1 : 0)};
}

std::string identity_of(const TrainJob& job) {
  std::string same = fmt::format("problem={} optimizer={} workers={} samples={}", job.problem, job.optimizer,
                                 job.workers, job.samples);
  if (job.local) same += " local=" + words_of(*job.local);
  if (!job.precision.empty()) same += " precision=" + job.precision;
  if (job.share().leaves > 1) same += fmt::format(" micro-batches={}", job.share().leaves);
  const auto problem = learn::read_problem(job.problem);
  if (job.tensor > 0 && problem && !keeps_bits(job, *problem))
    same += fmt::format(" slices={}", job.tensor);  // of other bits
  if (job.sum == kFixedOrder) return same;
  return same + fmt::format(" all-reduce={} processes={}", job.sum, job.procs);
}

Result<TrainJob> read_words(std::span<const std::string> words) {
  TrainJob job;
  for (const std::string& word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view value = std::string_view(word).substr(std::min(equals + 1, word.size()));
    if (read_word(std::string_view(word).substr(0, equals), value, job)) continue;
    return fail({.code = Errc::Usage,
                 .id = "train-004",
                 .message = fmt::format("got \"{}\", which is no part of a job", shown(word)),
                 .hint = "the program is started by cox train, of the same version",
                 .where = {}});
  }
  return job;
}

}  // namespace cox::train
