// SPDX-License-Identifier: Apache-2.0
#include "train/executor/executor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cox/base/assert.hpp"

namespace cox::train {
namespace {

constexpr std::int64_t kFloat = sizeof(float);

/// The schedule of as many bytes as there are floats.
Result<model::Schedule> in_floats(const model::CollectiveSpec& spec) {
  COX_ASSERT(spec.bytes.count() % kFloat == 0, "whole floats are sent");
  model::CollectiveSpec floats = spec;
  floats.bytes = spec.bytes / kFloat;
  return model::Schedule::make(floats);
}

bool overlap(std::size_t first, std::size_t count, std::size_t other, std::size_t others) {
  return first < other + others && other < first + count;
}

}  // namespace

Result<std::vector<Bytes>> scheduled_bytes(const model::CollectiveSpec& spec) {
  COX_TRY(const model::Schedule schedule, in_floats(spec));
  std::vector<Bytes> bytes = model::bytes_sent(schedule);
  for (Bytes& b : bytes) b = b * kFloat;
  return bytes;
}

void Executor::add_round(const model::Schedule& schedule, std::int64_t k, int rank) {
  Round round;
  std::vector<model::Transfer> list;
  for (int lane = 0; lane < schedule.lanes(); ++lane) {
    if (k >= schedule.rounds(lane)) continue;
    schedule.transfers(k, list, lane);
    for (const model::Transfer& t : list) {
      const std::uint64_t number = messages_++;
      if (t.from != rank && t.to != rank) continue;
      const bool sends = t.from == rank;
      (sends ? round.sends : round.receives)
          .push_back({.peer = sends ? t.to : t.from,
                      .number = number,
                      .first = static_cast<std::size_t>(t.offset.count()),
                      .count = static_cast<std::size_t>(t.bytes.count()),
                      .combine = t.combine});
    }
  }
  std::size_t room = 0;
  for (const Message& m : round.receives) {
    if (m.adds()) room += m.count;
    COX_ASSERT(m.adds() || std::ranges::none_of(
                               round.sends,
                               [&](const Message& s) { return overlap(m.first, m.count, s.first, s.count); }),
               "a round does not replace what it sends");
  }
  if (room > apart_.size()) apart_.resize(room);
  if (!round.sends.empty() || !round.receives.empty()) rounds_.push_back(std::move(round));
}

Result<Executor> Executor::make(const model::CollectiveSpec& spec, int rank) {
  if (spec.kind == model::Collective::AllToAll || spec.kind == model::Collective::Barrier)
    return fail({.code = Errc::Unsupported,
                 .id = "train-002",
                 .message = fmt::format("{} is not carried out yet", model::name_of(spec.kind)),
                 .hint = "all-reduce, reduce-scatter, all-gather, broadcast and reduce are",
                 .where = {}});
  COX_TRY(const model::Schedule schedule, in_floats(spec));
  COX_ASSERT(rank >= 0 && rank < schedule.participants(), "one of the participants");
  Executor made;
  made.floats_ = static_cast<std::size_t>(spec.bytes.count() / kFloat);
  made.participants_ = schedule.participants();
  std::int64_t rounds = 0;
  for (int lane = 0; lane < schedule.lanes(); ++lane) rounds = std::max(rounds, schedule.rounds(lane));
  for (std::int64_t k = 0; k < rounds; ++k) made.add_round(schedule, k, rank);
  return made;
}

Status Executor::run(Transport& transport, std::span<float> values) {
  COX_ASSERT(values.size() == floats_, "as many floats as the spec has");
  const std::uint64_t base = transport.numbers(messages_);
  for (const Round& round : rounds_) {
    std::size_t at = 0;
    // A rendezvous tells a sender that there is room: behind what is sent to it that word would wait.
    for (const Message& m : round.receives) {
      const std::span<float> into =
          m.adds() ? std::span(apart_).subspan(at, m.count) : values.subspan(m.first, m.count);
      if (m.adds()) at += m.count;
      transport.receive(m.peer, base + m.number, std::as_writable_bytes(into));
    }
    for (const Message& m : round.sends)
      transport.send(m.peer, base + m.number, std::as_bytes(values.subspan(m.first, m.count)));
    COX_CHECK(transport.wait());
    at = 0;
    for (const Message& m : round.receives) {
      if (!m.adds()) continue;
      const std::span<const float> came = std::span(apart_).subspan(at, m.count);
      const std::span<float> here = values.subspan(m.first, m.count);
      at += m.count;
      for (std::size_t i = 0; i < here.size(); ++i) here[i] += came[i];
    }
  }
  return {};
}

}  // namespace cox::train
