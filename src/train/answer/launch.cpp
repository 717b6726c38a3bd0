// SPDX-License-Identifier: Apache-2.0
#include "train/answer/launch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "cox/base/child.hpp"

namespace cox::train {
namespace {

constexpr const char* kId = "train-005";
constexpr Seconds kLongest{1e6};

Error failed(std::string message, std::string hint) {
  return {
      .code = Errc::NotFound, .id = kId, .message = std::move(message), .hint = std::move(hint), .where = {}};
}

}  // namespace

Result<std::vector<std::string>> launch_words(const TrainJob& job, const TrainQuestion& question) {
  const std::string library(name_of(question.carrier));
  const std::filesystem::path program = question.programs / ("cox-train-" + library);
  if (access(program.c_str(), X_OK) != 0)
    return fail(
        failed(fmt::format("{} is not there or cannot be executed", program.string()),
               "it is built where the library's headers are installed; --transport threads needs none"));
  std::vector<std::string> words = question.launch;  // the program of Gloo starts its ranks itself
  if (words.empty() && question.carrier != Carrier::Gloo) {
    // Where two MPI libraries are installed side by side, each has a launcher under a name of its own.
    const std::string own = "mpirun." + library;
    words = {in_path(own) ? own : "mpirun"};
    if (question.carrier == Carrier::OpenMpi) words.emplace_back("--oversubscribe");
    words.insert(words.end(), {"-n", std::to_string(job.procs)});
  }
  words.push_back(program.string());
  const std::vector<std::string> told = words_of(job);
  words.insert(words.end(), told.begin(), told.end());
  return words;
}

Result<TrainedRun> run_launched(const TrainJob& job, const TrainQuestion& question) {
  COX_TRY(const std::vector<std::string> words, launch_words(job, question));
  std::string line;
  const auto hear = [&](std::string_view some) {
    for (const char c : some) {
      if (c != '\n') {
        line += c;
        continue;
      }
      if (const auto moment = read_moment(line)) question.told(moment->version, moment->loss);
      line.clear();
    }
  };
  ChildLimits limits{.time = kLongest};
  if (job.told) limits.hear = hear;
  limits.stop = question.stop;
  COX_TRY(const Ended ended, run_child(words, kId, limits));
  if (question.stop && question.stop())
    return fail({.code = Errc::Io,
                 .id = kId,
                 .message = "the job was interrupted",
                 .hint = job.checkpoint.empty() && job.served.empty()
                             ? "--checkpoint FOLDER saves a job on its way"
                             : "",
                 .where = {}});
  if (ended.status == 0 || !ended.out.empty()) return read_rows(ended.out);
  Error silent =
      failed(fmt::format("{} ended with status {}", words.front(), ended.status), "what it said is above");
  silent.code = Errc::Io;
  return fail(std::move(silent));
}

}  // namespace cox::train
