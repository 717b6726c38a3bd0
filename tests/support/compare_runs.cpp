// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "support/make_run.hpp"

namespace cox::test {
namespace {

using trace::EventColumns;
using trace::RankTrack;

/// Name of the first column that differs, and where.
std::string difference(const EventColumns& a, const EventColumns& b) {
  if (a.size() != b.size()) return std::to_string(a.size()) + " and " + std::to_string(b.size()) + " events";
  for (std::size_t i = 0; i < a.size(); ++i) {
    const char* what = nullptr;
    if (a.begin[i] != b.begin[i]) what = "begin";
    if (a.end[i] != b.end[i]) what = "end";
    if (a.bytes[i] != b.bytes[i]) what = "bytes";
    if (a.comm[i] != b.comm[i]) what = "comm";
    if (a.seq[i] != b.seq[i]) what = "seq";
    if (a.kind[i] != b.kind[i]) what = "kind";
    if (a.op[i] != b.op[i]) what = "op";
    if (a.flags[i] != b.flags[i]) what = "flags";
    if (a.thread[i] != b.thread[i]) what = "thread";
    if (a.aux[i] != b.aux[i]) what = "aux";
    if (what != nullptr) return std::string(what) + " of event " + std::to_string(i);
  }
  return {};
}

std::string difference(const RankTrack& a, const RankTrack& b) {
  if (a.rank != b.rank) return "rank";
  if (a.node != b.node) return "node";
  if (a.local_rank != b.local_rank) return "local rank";
  if (a.pid != b.pid || a.pid_namespace != b.pid_namespace || a.attempt != b.attempt) return "process";
  if (a.program != b.program || a.library != b.library || a.timing != b.timing) return "texts";
  if (a.state != b.state) return "state";
  if (a.overhead_per_event != b.overhead_per_event) return "overhead";
  if (a.dropped_records != b.dropped_records || a.recycled_records != b.recycled_records) return "losses";
  if (a.start_time != b.start_time || a.node_number != b.node_number || a.local_size != b.local_size)
    return "what tells processes apart";
  if (a.samples != b.samples) return "samples";
  if (a.locality != b.locality) return "locality";
  return difference(a.events, b.events);
}

}  // namespace

std::string difference(const trace::Run& a, const trace::Run& b) {
  if (a.info.provenance != b.info.provenance) return "provenance";
  if (a.world_size != b.world_size) return "world size";
  if (a.origin_realtime_ns != b.origin_realtime_ns) return "origin";
  if (a.nodes.size() != b.nodes.size()) return "number of nodes";
  for (std::size_t i = 0; i < a.nodes.size(); ++i)
    if (a.nodes[i].id != b.nodes[i].id || a.nodes[i].host != b.nodes[i].host ||
        a.nodes[i].boot_id != b.nodes[i].boot_id || a.nodes[i].time_namespace != b.nodes[i].time_namespace)
      return "node " + std::to_string(i);
  if (a.communicators.size() != b.communicators.size()) return "number of communicators";
  for (std::size_t i = 0; i < a.communicators.size(); ++i) {
    const trace::Communicator& x = a.communicators[i];
    const trace::Communicator& y = b.communicators[i];
    if (x.id != y.id || x.identity != y.identity || x.name != y.name || x.size != y.size ||
        x.ranks != y.ranks)
      return "communicator " + std::to_string(i);
  }
  if (a.ranks.size() != b.ranks.size()) return "number of ranks";
  for (std::size_t i = 0; i < a.ranks.size(); ++i)
    if (std::string d = difference(a.ranks[i], b.ranks[i]); !d.empty())
      return "rank track " + std::to_string(i) + ": " + d;
  return {};
}

}  // namespace cox::test
