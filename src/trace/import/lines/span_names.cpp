// SPDX-License-Identifier: Apache-2.0
#include "trace/import/lines/span_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

namespace cox::trace {
namespace {

using model::Collective;

constexpr std::size_t kLongestName = 128;

/// Small letters and digits only.
std::string squeezed(std::string_view name) {
  std::string out;
  for (const char c : name.substr(0, kLongestName)) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

bool holds(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}

std::optional<Collective> collective_of(std::string_view s) {
  // These put it on a queue; when it runs is another matter.
  for (const std::string_view word : {"launch", "enqueue", "submit", "issue", "init"})
    if (holds(s, word)) return std::nullopt;
  static constexpr std::array<std::pair<std::string_view, Collective>, 5> kAnywhere{
      {{"allreduce", Collective::AllReduce},
       {"reducescatter", Collective::ReduceScatter},
       {"allgather", Collective::AllGather},
       {"alltoall", Collective::AllToAll},
       {"all2all", Collective::AllToAll}}};
  for (const auto& [word, collective] : kAnywhere)
    if (holds(s, word)) return collective;
  for (const std::string_view library :
       {"torchdistributed", "dist", "nccl", "rccl", "gloo", "mpi", "c10d", "ucc", "comm"})
    if (s.starts_with(library)) {
      s.remove_prefix(library.size());
      break;
    }
  // Plain words that a program also uses for other things.
  static constexpr std::array<std::pair<std::string_view, Collective>, 6> kAlone{
      {{"broadcast", Collective::Broadcast},
       {"bcast", Collective::Broadcast},
       {"barrier", Collective::Barrier},
       {"reduce", Collective::Reduce},
       {"gather", Collective::Gather},
       {"scatter", Collective::Scatter}}};
  for (const auto& [word, collective] : kAlone)
    if (s == word) return collective;
  return std::nullopt;
}

bool is_message(std::string_view s) {
  for (const std::string_view library : {"nccl", "rccl", "gloo", "mpi", "c10d", "dist"})
    if (s.starts_with(library)) {
      s.remove_prefix(library.size());
      break;
    }
  for (const std::string_view word : {"send", "recv", "receive", "isend", "irecv", "sendrecv"})
    if (s.starts_with(word)) return true;
  return false;
}

/// Takes the number off the end.
std::int64_t take_number(std::string_view& s) {
  const std::size_t last = s.find_last_not_of("0123456789");
  const std::size_t at = last == std::string_view::npos ? 0 : last + 1;
  std::int64_t n = -1;
  const auto [end, ec] = std::from_chars(s.data() + at, s.data() + s.size(), n);
  if (ec != std::errc() || end != s.data() + s.size()) return -1;
  s = s.substr(0, at);
  return n;
}

bool is_step(std::string_view s) {
  static constexpr std::array<std::string_view, 12> kSteps{
      "step",      "trainstep", "trainingstep", "iteration",  "iter",         "trainiteration",
      "trainiter", "batch",     "trainbatch",   "globalstep", "profilerstep", "minibatch"};
  return std::find(kSteps.begin(), kSteps.end(), s) != kSteps.end();
}

std::optional<PhaseKind> phase_of(std::string_view s) {
  static constexpr std::array<std::pair<std::string_view, PhaseKind>, 16> kPhases{
      {{"forward", PhaseKind::Forward},
       {"fwd", PhaseKind::Forward},
       {"backward", PhaseKind::Backward},
       {"bwd", PhaseKind::Backward},
       {"optim", PhaseKind::Optimizer},
       {"optstep", PhaseKind::Optimizer},
       {"weightupdate", PhaseKind::Optimizer},
       {"dataload", PhaseKind::Data},
       {"datawait", PhaseKind::Data},
       {"dataiter", PhaseKind::Data},
       {"datafetch", PhaseKind::Data},
       {"loaddata", PhaseKind::Data},
       {"nextbatch", PhaseKind::Data},
       {"getbatch", PhaseKind::Data},
       {"eval", PhaseKind::Evaluation},
       {"validat", PhaseKind::Evaluation}}};
  if (s == "data") return PhaseKind::Data;
  for (const auto& [word, phase] : kPhases)
    if (s.starts_with(word)) return phase;
  return std::nullopt;
}

}  // namespace

SpanMeaning span_meaning(std::string_view name) {
  const std::string text = squeezed(name);
  if (const auto collective = collective_of(text))
    return {.kind = SpanKind::Collective, .collective = *collective};
  if (is_message(text)) return {.kind = SpanKind::Message};
  std::string_view s = text;
  const std::int64_t number = take_number(s);
  if (is_step(s)) return {.kind = SpanKind::Step, .step = number};
  if (const auto phase = phase_of(text)) return {.kind = SpanKind::Phase, .phase = *phase};
  if (text == "gc" || text == "gccollect" || text == "garbagecollection") return {.kind = SpanKind::Gc};
  return {};
}

}  // namespace cox::trace
