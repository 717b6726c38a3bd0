// SPDX-License-Identifier: Apache-2.0
#include "diagnose/stall/json.hpp"

#include <algorithm>
#include <string>

namespace cox::diagnose {
namespace {

Json json_of(const LastSeen& seen);
Json json_of(const StalledCall& call);
Json json_of(const Stall& stall);
Json json_of(const MismatchSide& side);
Json json_of(const Mismatch& mismatch);

template <class T>
Json list_of(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(json_of(item));
  return list;
}

/// Names come from files: what is not UTF-8 is replaced when the whole is printed.
Json json_of(const CallName& call) {
  Json j;
  j["operation"] = model::name_of(call.operation);
  j["point_to_point"] = call.point_to_point;
  j["comm"] = call.comm.value();
  j["comm_name"] = call.comm_name;
  j["seq"] = call.point_to_point ? Json(nullptr) : Json(call.seq);
  j["bytes"] = call.bytes.count();
  return j;
}

Json json_of(const LastSeen& seen) {
  Json j;
  j["rank"] = seen.rank.value();
  j["pid"] = seen.pid;
  j["host"] = seen.host;
  j["process"] = name_of(seen.process);
  j["process_source"] = name_of(seen.source);
  j["last_call"] = seen.last_call ? json_of(*seen.last_call) : Json(nullptr);
  j["last_call_end_s"] = seen.last_call ? Json(in_seconds(seen.last_call_end)) : Json(nullptr);
  j["inside"] = seen.inside ? json_of(*seen.inside) : Json(nullptr);
  j["idle_s"] = in_seconds(seen.idle);
  j["phase"] = seen.phase.empty() ? Json(nullptr) : Json(seen.phase);
  j["step"] = seen.step ? Json(seen.step->value()) : Json(nullptr);
  j["text"] = seen.text;
  return j;
}

Json json_of(const StalledCall& call) {
  Json j = json_of(call.call);
  j["since_s"] = in_seconds(call.since);
  j["waiting"] = numbers_of(call.waiting);
  j["missing"] = numbers_of(call.missing);
  j["left"] = numbers_of(call.left);
  j["not_recorded"] = numbers_of(call.not_recorded);
  j["unnamed"] = call.unnamed;
  return j;
}

Json json_of(const Stall& stall) {
  Json j;
  j["kind"] = name_of(stall.kind);
  j["hung"] = stall.hung;
  j["consequence"] = stall.consequence;
  j["ranks"] = numbers_of(stall.ranks);
  j["since_s"] = in_seconds(stall.since);
  j["since_utc"] = stall.since_utc.empty() ? Json(nullptr) : Json(stall.since_utc);
  j["waited_s"] = in_seconds(stall.waited);
  j["bar_s"] = in_seconds(stall.bar);
  j["calls"] = list_of(stall.calls);
  j["last_seen"] = list_of(stall.last_seen);
  j["text"] = stall.text;
  return j;
}

Json json_of(const MismatchSide& side) {
  Json j;
  j["ranks"] = numbers_of(side.ranks);
  j["operation"] = model::name_of(side.call.operation);
  j["bytes"] = side.call.bytes.count();
  j["root"] = side.root ? Json(*side.root) : Json(nullptr);
  j["type_bytes"] = side.type_bytes ? Json(*side.type_bytes) : Json(nullptr);
  return j;
}

Json json_of(const Mismatch& mismatch) {
  Json j;
  j["kind"] = name_of(mismatch.kind);
  j["comm"] = mismatch.comm.value();
  j["first_seq"] = mismatch.first_seq;
  j["last_seq"] = mismatch.last_seq;
  j["count"] = mismatch.count;
  j["ranks"] = numbers_of(mismatch.ranks);
  j["sides"] = list_of(mismatch.sides);
  j["text"] = mismatch.text;
  return j;
}

}  // namespace

Json hang_json(const Trouble& trouble) {
  Json j;
  j["hung"] =
      std::any_of(trouble.stalls.begin(), trouble.stalls.end(), [](const Stall& s) { return s.hung; });
  j["live"] = trouble.present.live;
  j["now_s"] = in_seconds(trouble.present.at);
  j["stalls"] = list_of(trouble.stalls);
  j["more"] = trouble.more_stalls;
  return j;
}

Json ending_json(const Trouble& trouble) {
  if (!trouble.ending) return nullptr;
  const Ending& e = *trouble.ending;
  Json j;
  j["exit_status"] = e.exit_status > 0 ? Json(e.exit_status) : Json(nullptr);
  j["logged"] = e.logged.empty() ? Json(nullptr) : Json(e.logged);
  j["signal"] = e.signal > 0 ? Json(e.signal) : Json(nullptr);
  j["told"] = e.told > 0 ? Json(e.told) : Json(nullptr);
  j["first_rank"] = e.first ? Json(e.first->value()) : Json(nullptr);
  j["first_status"] = e.first_status >= 0 ? Json(e.first_status) : Json(nullptr);
  j["first_was_cut"] = e.first_cut;
  j["only_cut_rank"] = e.only_cut ? Json(e.only_cut->value()) : Json(nullptr);
  j["only_closed_rank"] = e.only_closed ? Json(e.only_closed->value()) : Json(nullptr);
  j["absent_rank"] = e.absent_from ? Json(e.first->value()) : Json(nullptr);
  j["text"] = e.text;
  return j;
}

Json mismatches_json(const Trouble& trouble) {
  return list_of(trouble.mismatches);
}

}  // namespace cox::diagnose
