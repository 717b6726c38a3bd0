// SPDX-License-Identifier: Apache-2.0
/// \file
/// Writes small Flight Recorder dumps for tests, each as a pickle (protocol 2, as torch's pickler writes it)
/// and as JSON.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace cox::trace::sample {

/// One value in both spellings.
struct Value {
  std::string pickle;
  std::string json;
};

inline Value none() {
  return {"N", "null"};
}
inline Value boolean(bool b) {
  return b ? Value{"\x88", "true"} : Value{"\x89", "false"};
}
inline Value integer(std::int64_t n) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &n, 8);
  return {std::string("\x8a\x08") + bytes, std::to_string(n)};
}
inline Value real(double d) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &d, 8);
  return {"G" + std::string(bytes.rbegin(), bytes.rend()), std::to_string(d)};
}
inline Value text(const std::string& s) {
  const auto n = static_cast<std::uint32_t>(s.size());
  std::string length(4, '\0');
  std::memcpy(length.data(), &n, 4);
  return {"X" + length + s, "\"" + s + "\""};
}
inline Value list(const std::vector<Value>& items) {
  Value out{"](", "["};
  for (const Value& v : items) {
    out.pickle += v.pickle;
    out.json += (out.json.size() > 1 ? "," : "") + v.json;
  }
  return {out.pickle + "e", out.json + "]"};
}
/// A pair is a tuple in a pickle.
inline Value pair(const Value& a, const Value& b) {
  return {a.pickle + b.pickle + "\x86", "[" + a.json + "," + b.json + "]"};
}
inline Value dict(const std::vector<std::pair<std::string, Value>>& items) {
  Value out{"}(", "{"};
  for (const auto& [key, v] : items) {
    out.pickle += text(key).pickle + v.pickle;
    out.json += (out.json.size() > 1 ? "," : "") + ("\"" + key + "\":") + v.json;
  }
  return {out.pickle + "u", out.json + "}"};
}
inline std::string as_pickle(const Value& v) {
  return "\x80\x02" + v.pickle + ".";
}

/// One entry of the ring; times are nanoseconds after `kSampleStart`, negative where there is none.
struct Entry {
  std::int64_t record = 0;
  std::string name = "nccl:all_reduce";
  std::int64_t sequence = 1;
  std::int64_t created = 0;
  std::int64_t started = -1;
  std::int64_t completed = -1;
  double duration_ms = -1;
  std::string group = "0";
  bool message = false;
  bool retired = true;
  std::int64_t elements = 12;
};
inline constexpr std::int64_t kSampleStart = 1'724'779'239'000'000'000;

inline Value entry(const Entry& e) {
  const auto moment = [](std::int64_t ns) { return ns < 0 ? none() : integer(kSampleStart + ns); };
  const Value sizes = list({list({integer(3), integer(e.elements / 3)})});
  const Value types = list({text("Float")});
  std::vector<std::pair<std::string, Value>> out{
      {"frames", list({dict({{"name", text("f")}, {"filename", text("a.py")}, {"line", integer(3)}})})},
      {"record_id", integer(e.record)},
      {"pg_id", integer(0)},
      {"process_group", pair(text(e.group), text("default_pg"))},
      {"collective_seq_id", integer(e.message ? 0 : e.sequence)},
      {"p2p_seq_id", integer(e.message ? e.sequence : 0)},
      {"op_id", integer(e.record + 1)},
      {"profiling_name", text(e.name)},
      {"time_created_ns", moment(e.created)},
      {"input_sizes", sizes},
      {"input_dtypes", types},
      {"output_sizes", sizes},
      {"output_dtypes", types},
      {"state", text(e.completed >= 0 ? "completed"
                     : e.started >= 0 ? "started"
                                      : "scheduled")},
      {"time_discovered_started_ns", moment(e.started)},
      {"time_discovered_completed_ns", moment(e.completed)},
      {"retired", boolean(e.retired)},
      {"timeout_ms", integer(600000)},
      {"is_p2p", boolean(e.message)}};
  if (e.duration_ms >= 0) out.emplace_back("duration_ms", real(e.duration_ms));
  return dict(out);
}

inline Value group(const std::string& name, const std::string& about, const std::string& ranks) {
  return dict({{"name", text(name)}, {"desc", text(about)}, {"ranks", text(ranks)}});
}

/// A dump of groups "0" (the world, 0 to 3) and, where asked for, "1" (0 and 2).
inline Value dump(const std::vector<Entry>& entries, bool second_group = false) {
  std::vector<Value> all;
  all.reserve(entries.size());
  for (const Entry& e : entries) all.push_back(entry(e));
  std::vector<std::pair<std::string, Value>> groups{{"0", group("0", "default_pg", "[0, 1, 2, 3]")}};
  if (second_group) groups.emplace_back("1", group("1", "undefined", "[0, 2]"));
  return dict({{"version", text("2.5")},
               {"pg_config", dict(groups)},
               {"pg_status", dict({{"0", dict({{"last_enqueued_collective", integer(3)}})}})},
               {"entries", list(all)}});
}

}  // namespace cox::trace::sample
