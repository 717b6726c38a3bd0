// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "support/test_data.hpp"
#include "trace/import/mpi/otf2_events.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using namespace cox::literals;
using model::Collective;

std::string slurp(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

void spill(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// A folder of this process's own, gone afterwards.
class Scratch {
 public:
  Scratch() : path_(fs::temp_directory_path() / fmt::format("cox-otf2-{}", ::getpid())) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Scratch() {
    std::error_code ec;
    fs::remove_all(path_, ec);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::int64_t blocking_collectives(const RankTrack& t, Collective op) {
  std::int64_t n = 0;
  for (std::size_t i = 0; i < t.events.size(); ++i)
    n += t.events.kind[i] == EventKind::Collective && t.events.collective(i) == op &&
         (t.events.flags[i] & kNonBlocking) == 0;
  return n;
}

/// Makes little archives: definitions and events as OTF2 writes them.
class Writer {
 public:
  explicit Writer(otf2::ByteOrder order) : order_(order) { chunk(); }
  void chunk() {
    byte(3);
    byte(static_cast<std::uint8_t>(order_));
    full(1);
    full(0);
  }
  void byte(std::uint8_t v) { bytes_.push_back(static_cast<char>(v)); }
  void number(std::uint64_t v, int size) {
    for (int i = 0; i < size; ++i)
      byte(static_cast<std::uint8_t>(v >> (8 * (order_ == otf2::ByteOrder::Little ? i : size - 1 - i))));
  }
  void full(std::uint64_t v) { number(v, 8); }
  Writer& packed(std::uint64_t v) {
    if (v == otf2::kUndefined64 || v == otf2::kUndefined32) {
      byte(0xff);
      return *this;
    }
    int size = 0;
    while (size < 8 && v >> (8 * size) != 0) ++size;
    byte(static_cast<std::uint8_t>(size));
    number(v, size);
    return *this;
  }
  Writer& text(std::string_view t) {
    bytes_ += t;
    byte(0);
    return *this;
  }
  Writer& raw(std::uint8_t v) {
    byte(v);
    return *this;
  }
  /// A record with its length in front; the content is what `fill` writes.
  template <class Fill>
  void record(std::uint8_t id, Fill fill) {
    byte(id);
    const std::size_t at = bytes_.size();
    fill(*this);
    const std::size_t length = bytes_.size() - at;
    std::string content = bytes_.substr(at);
    bytes_.resize(at);
    if (length < 255) {
      byte(static_cast<std::uint8_t>(length));
    } else {
      byte(255);
      full(length);
    }
    bytes_ += content;
  }
  void at(std::uint64_t time) {
    byte(5);
    full(time);
  }
  void enter(std::uint32_t region) {
    byte(12);
    packed(region);
  }
  void leave(std::uint32_t region) {
    byte(13);
    packed(region);
  }
  [[nodiscard]] std::string whole() const { return bytes_ + "\2\n"; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  otf2::ByteOrder order_;
  std::string bytes_;
};

constexpr std::uint32_t kAllreduce = 0, kIallreduce = 1, kWait = 2, kSend = 3, kRecv = 4, kUser = 5;

/// Two ranks on two hosts; 1 GHz; regions as above; communicator 0 is the world, 1 is MPI_COMM_SELF.
std::string definitions(otf2::ByteOrder order, bool with_clock = true) {
  Writer w(order);
  if (with_clock)
    w.record(5, [](Writer& r) {
      r.packed(1'000'000'000).packed(1000).packed(5000).packed(1'700'000'000'000'000'000);
    });
  const std::array names{"",      "MPI_Allreduce", "MPI_Iallreduce", "MPI_Wait", "MPI_Send",       "MPI_Recv",
                         "solve", "node",          "left",           "right",    "MPI_COMM_WORLD", "Master"};
  for (std::uint32_t i = 0; i < names.size(); ++i)
    w.record(10, [&](Writer& r) { r.packed(i).text(names[i]); });
  for (std::uint32_t n = 0; n < 2; ++n) {
    w.record(12, [&](Writer& r) { r.packed(n).packed(8 + n).packed(7).packed(otf2::kUndefined32); });
    w.record(13, [&](Writer& r) { r.packed(n).packed(11).raw(1).packed(n); });
    w.record(14, [&](Writer& r) { r.packed(n).packed(11).raw(1).packed(0).packed(n); });
  }
  for (std::uint32_t i = 0; i < 6; ++i)
    w.record(15, [&](Writer& r) {
      r.packed(i).packed(i + 1).packed(0).raw(0).packed(0).packed(0).packed(0);
      r.packed(i + 1).raw(1).raw(i == kUser ? 1 : 4).packed(0);
    });
  w.record(18, [](Writer& r) {
    r.packed(0).packed(0).raw(6).packed(2).packed(0).packed(1).raw(4).raw(4).packed(0);
  });
  w.record(18, [](Writer& r) {
    r.packed(1).packed(0).raw(4).packed(2).packed(0).packed(1).raw(5).raw(4).packed(0);
  });
  w.record(18, [](Writer& r) { r.packed(2).packed(0).raw(5).packed(0).raw(6).raw(4).packed(0); });
  w.record(22, [](Writer& r) { r.packed(0).packed(10).packed(1).packed(otf2::kUndefined32); });
  w.record(22, [](Writer& r) { r.packed(1).packed(0).packed(2).packed(otf2::kUndefined32); });
  w.record(99, [](Writer& r) { r.packed(7).text("from the future"); });
  return w.whole();
}

std::string anchor(otf2::ByteOrder order, std::uint64_t chunk, std::uint8_t substrate = 1,
                   std::uint8_t compression = 1) {
  Writer w(order);
  Writer head(order);
  std::string bytes = w.bytes().substr(0, 2);
  Writer body(order);
  const std::size_t skip = body.size();
  body.text("OTF2").raw(3).raw(3).raw(3).raw(0).raw(2);
  body.full(chunk);
  body.full(std::uint64_t{4} << 20);
  body.raw(substrate).raw(compression);
  body.full(2);
  body.full(20);
  body.text("machine").text("by hand").text("");
  return bytes + body.bytes().substr(skip);
}

/// Everything of `definitions` as the reader of events needs it.
struct Prepared {
  otf2::Definitions defs = otf2::parse_definitions(definitions(otf2::ByteOrder::Little), 0);
  otf2::Context context{.definitions = defs,
                        .clock = otf2::TickClock(1'000'000'000, 1000),
                        .groups = {{1, {0, 1}}},
                        .members = {},
                        .sizes = {{0, 2}, {1, 1}}};
  Prepared() { context.members[0] = &context.groups.at(1); }
  [[nodiscard]] otf2::LocationResult read(const std::string& bytes, const otf2::LocalDefinitions& local = {},
                                          std::uint64_t chunk = 0) const {
    return otf2::read_events(bytes, chunk, local, context, Rank(0), 0);
  }
};

void collective(Writer& w, std::uint32_t comm, std::uint8_t op = 11,
                std::uint32_t root = otf2::kUndefined32) {
  w.record(23, [&](Writer& r) { r.raw(op).packed(comm).packed(root).packed(40).packed(40); });
}

/// A send by one rank, a receive by the other, and an Allreduce of both.
std::string events(otf2::ByteOrder order, int rank) {
  Writer w(order);
  w.at(1000);
  w.enter(kUser);
  w.at(2000);
  w.enter(rank == 0 ? kSend : kRecv);
  w.record(rank == 0 ? 14 : 18,
           [&](Writer& r) { r.packed(rank == 0 ? 1 : 0).packed(0).packed(7).packed(64); });
  w.at(3000);
  w.leave(rank == 0 ? kSend : kRecv);
  w.at(4000);
  w.enter(kAllreduce);
  w.record(22, [](Writer&) {});
  w.at(4900);
  collective(w, 0);
  w.at(5000);
  w.leave(kAllreduce);
  w.at(6000);
  w.leave(kUser);
  return w.whole();
}

TEST(Otf2, LittleAndBigEndianArchivesSayTheSame) {
  for (const otf2::ByteOrder order : {otf2::ByteOrder::Little, otf2::ByteOrder::Big}) {
    const Scratch scratch;
    spill(scratch.path() / "t.otf2", anchor(order, 1 << 20));
    spill(scratch.path() / "t.def", definitions(order));
    fs::create_directories(scratch.path() / "t");
    for (int r = 0; r < 2; ++r) spill(scratch.path() / "t" / fmt::format("{}.evt", r), events(order, r));
    ASSERT_TRUE(kOtf2Reader.recognises({.path = "t.otf2", .bytes = slurp(scratch.path() / "t.otf2")}));
    const auto run = read_run(kOtf2Reader, scratch.path() / "t.otf2", {.threads = 1});
    ASSERT_TRUE(run.has_value()) << run.error().to_string();
    ASSERT_EQ(run->ranks.size(), 2U);
    EXPECT_EQ(run->info.tool, "by hand");
    EXPECT_EQ(run->origin_realtime_ns, 1'700'000'000'000'000'000);
    ASSERT_EQ(run->nodes.size(), 2U);
    EXPECT_EQ(run->nodes[1].host, "right");
    EXPECT_EQ(run->nodes[1].clock.source, ClockSource::Unknown);
    ASSERT_EQ(run->messages.size(), 1U);
    EXPECT_EQ(run->messages.send_begin[0], 1us);
    EXPECT_EQ(run->messages.receive_end[0], 2us);
    EXPECT_EQ(run->messages.bytes[0], 64_B);
    EXPECT_EQ(run->messages.tag[0], 7);
    const EventColumns& e = run->ranks[0].events;
    ASSERT_EQ(e.size(), 2U);
    EXPECT_EQ(e.kind[0], EventKind::Wait);
    EXPECT_EQ(e.op[0], static_cast<std::uint8_t>(WaitKind::Peer));
    EXPECT_EQ(e.aux[0], 1U);
    EXPECT_EQ(e.collective(1), Collective::AllReduce);
    EXPECT_EQ(e.begin[1], 3us);
    EXPECT_EQ(e.end[1], 4us);
    EXPECT_EQ(e.bytes[1], 20_B);  // 40 bytes for two members
    EXPECT_EQ(run->find(e.comm[1])->ranks, (std::vector<Rank>{Rank(0), Rank(1)}));
    EXPECT_EQ(run->ranks[0].useful.begin, (std::vector<Duration>{0us, 2us, 4us}));
    EXPECT_EQ(kOtf2Reader.companions(scratch.path() / "t.otf2").size(), 3U);
    EXPECT_FALSE(kOtf2Reader.recognises({.path = "x", .bytes = "OTF2"}));
  }
}

TEST(Otf2, RecordsNewerThanThisReaderAndAttributesAreSkipped) {
  Writer w(otf2::ByteOrder::Little);
  w.at(2000);
  w.enter(kAllreduce);
  w.record(200, [](Writer& r) { r.text(std::string(300, 'x')); });  // long: nine bytes of length
  w.record(6, [](Writer& r) { r.packed(1).raw(3).packed(5); });
  w.record(22, [](Writer&) {});
  collective(w, 0);
  w.at(3000);
  w.leave(kAllreduce);
  const Prepared p;
  const otf2::LocationResult out = p.read(w.whole());
  EXPECT_EQ(out.ending, otf2::Ending::Whole);
  EXPECT_EQ(out.records[200], 1);
  EXPECT_EQ(out.records[6], 0);
  ASSERT_EQ(out.calls.events.size(), 1U);
  EXPECT_EQ(otf2::event_name(31), "Metric");
  EXPECT_EQ(otf2::event_name(88), "CommDestroy");
  EXPECT_EQ(otf2::event_name(200), "record 200");
}

TEST(Otf2, ChunksContinueAtTheirBoundaries) {
  Writer w(otf2::ByteOrder::Little);
  w.at(2000);
  w.enter(kAllreduce);
  collective(w, 0);
  w.byte(0);
  while (w.size() < 128) w.byte(0xee);  // what is behind the end of a chunk means nothing
  w.chunk();
  w.at(3000);
  w.leave(kAllreduce);
  const Prepared p;
  const otf2::LocationResult out = p.read(w.whole(), {}, 128);
  EXPECT_EQ(out.ending, otf2::Ending::Whole);
  ASSERT_EQ(out.calls.events.size(), 1U);
  EXPECT_EQ(out.calls.events[0].end, 2us);
  EXPECT_EQ(p.read(w.whole(), {}, 0).ending, otf2::Ending::Cut);
  EXPECT_EQ(p.read(w.whole(), {}, 64).ending, otf2::Ending::Damaged);
}

TEST(Otf2, LocationsOwnNumbersAndClocksAreMapped) {
  Writer w(otf2::ByteOrder::Big);
  w.record(5, [](Writer& r) { r.raw(3).packed(2).raw(0).packed(9).packed(kAllreduce); });  // dense: 1 is 0
  w.record(5, [](Writer& r) { r.raw(6).packed(1).raw(1).packed(77).packed(0); });          // sparse: 77 is 0
  w.record(6, [](Writer& r) {
    r.full(1000);
    r.packed(0).full(0);
  });
  w.record(6, [](Writer& r) {
    r.full(3000);
    r.packed(200).full(0);
  });
  const otf2::LocalDefinitions local = otf2::parse_local_definitions(w.whole(), 0);
  EXPECT_EQ(local.corrected(1000), 1000U);
  EXPECT_EQ(local.corrected(2000), 2100U);
  EXPECT_EQ(local.corrected(4000), 4300U);
  EXPECT_EQ(local.corrected(0), static_cast<std::uint64_t>(-100));
  Writer e(otf2::ByteOrder::Little);
  e.at(2000);
  e.enter(1);
  collective(e, 77);
  e.at(3000);
  e.leave(1);
  const Prepared p;
  const otf2::LocationResult out = p.read(e.whole(), local);
  ASSERT_EQ(out.calls.events.size(), 1U);
  EXPECT_EQ(out.calls.events[0].comm, CommId(0));
  EXPECT_EQ(out.calls.events[0].begin, 1100ns);
  EXPECT_EQ(out.calls.events[0].end, 2200ns);
}

TEST(Otf2, NonBlockingCollectivesGetTheirCommunicatorWhenTheyComplete) {
  Writer w(otf2::ByteOrder::Little);
  w.at(2000);
  w.enter(kIallreduce);
  w.record(85, [](Writer& r) { r.packed(5); });
  w.at(2100);
  w.leave(kIallreduce);
  w.at(3000);
  w.enter(kWait);
  w.record(86,
           [](Writer& r) { r.raw(11).packed(0).packed(otf2::kUndefined32).packed(16).packed(16).packed(5); });
  w.at(4000);
  w.leave(kWait);
  const Prepared p;
  const otf2::LocationResult out = p.read(w.whole());
  ASSERT_EQ(out.calls.events.size(), 2U);
  const Event& started = out.calls.events[0];
  EXPECT_EQ(started.comm, CommId(0));
  EXPECT_EQ(started.flags, kNonBlocking);
  EXPECT_EQ(started.end, 1100ns);
  EXPECT_EQ(started.bytes, 8_B);
  EXPECT_EQ(out.calls.events[1].op, static_cast<std::uint8_t>(WaitKind::Request));
  EXPECT_EQ(out.calls.waits_for, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{1, 0}}));
}

TEST(Otf2, RootsAndCallsThatDidNotReturn) {
  Writer w(otf2::ByteOrder::Little);
  w.at(2000);
  w.enter(kAllreduce);
  collective(w, 0, 1, 1);
  w.at(2500);
  w.leave(kAllreduce);
  w.at(3000);
  w.enter(kRecv);
  const Prepared p;
  const otf2::LocationResult out = p.read(w.whole());
  ASSERT_EQ(out.calls.events.size(), 2U);
  EXPECT_EQ(out.calls.events[0].flags, kRooted);
  EXPECT_EQ(out.calls.events[0].aux, 1U);
  EXPECT_EQ(out.calls.events[1].end, kStillRunning);
  // Of a file that was cut nobody knows whether they returned.
  EXPECT_EQ(p.read(w.bytes()).calls.events.size(), 1U);
}

TEST(Otf2, HostileNumbersAreBounded) {
  const Prepared p;
  Writer w(otf2::ByteOrder::Little);
  w.at(2000);
  w.leave(kAllreduce);  // not entered
  w.at(1500);
  w.enter(kUser);  // back in time
  w.at(otf2::kUndefined64 - 5);
  w.leave(kUser);  // near the end of the world
  w.at(std::uint64_t{1} << 63);
  w.leave(kUser);  // beyond it
  w.byte(16);
  w.packed(9);                                             // completes nothing
  w.record(14, [](Writer& r) { r.packed(1).packed(0); });  // short
  w.byte(14);
  w.byte(255);
  w.full(std::uint64_t{1} << 62);  // longer than the file
  const otf2::LocationResult out = p.read(w.whole());
  EXPECT_EQ(out.ending, otf2::Ending::Cut);
  EXPECT_EQ(out.strange_leaves, 1);
  EXPECT_GE(out.backwards, 1);
  EXPECT_GE(out.far, 1);
  Writer d(otf2::ByteOrder::Little);
  d.record(18, [](Writer& r) { r.packed(0).packed(0).raw(6).packed(0xfffffffe).packed(0); });
  d.record(10, [](Writer& r) { r.packed(0).raw('x'); });  // no end of the string
  const otf2::Definitions defs = otf2::parse_definitions(d.whole(), 0);
  EXPECT_EQ(defs.damaged, 2);
  EXPECT_TRUE(defs.groups.empty());
  Writer m(otf2::ByteOrder::Little);
  m.record(5, [](Writer& r) { r.raw(6).packed(std::uint64_t{1} << 60).raw(0).packed(1); });
  EXPECT_EQ(otf2::parse_local_definitions(m.whole(), 0).comms(0), 0U);
}

TEST(Otf2, WhatIsNoArchiveSaysWhy) {
  const Scratch scratch;
  const auto message = [&](const std::string& anchor_bytes) {
    spill(scratch.path() / "t.otf2", anchor_bytes);
    const auto run = read_run(kOtf2Reader, scratch.path() / "t.otf2", {.threads = 1});
    EXPECT_FALSE(run.has_value());
    EXPECT_EQ(run.error().id, "import-005");
    return run.error().message;
  };
  const std::string good = anchor(otf2::ByteOrder::Little, 1 << 20);
  EXPECT_NE(message(good).find("t.def, cannot be read"), std::string::npos);
  EXPECT_NE(message(anchor(otf2::ByteOrder::Little, 1 << 20, 2)).find("SION"), std::string::npos);
  EXPECT_NE(message(anchor(otf2::ByteOrder::Little, 1 << 20, 1, 2)).find("compressed"), std::string::npos);
  EXPECT_NE(message(good.substr(0, 20)).find("ends early"), std::string::npos);
  spill(scratch.path() / "t.def", definitions(otf2::ByteOrder::Little, false));
  EXPECT_NE(message(good).find("clock"), std::string::npos);
  const std::string part = events(otf2::ByteOrder::Little, 0);
  EXPECT_TRUE(kOtf2Reader.recognises({.path = "0.evt", .bytes = part}));
  EXPECT_NE(message(part).find("part of an OTF2 archive"), std::string::npos);
}

/// The fixture, whose counts are in its description.
class Otf2Fixture : public testing::Test {
 protected:
  static trace::Run read(int threads) {
    auto run =
        read_run(kOtf2Reader, test::test_data("traces/otf2-sst") / "traces.otf2", {.threads = threads});
    EXPECT_TRUE(run.has_value()) << run.error().to_string();
    return run ? *std::move(run) : trace::Run{};
  }
};

TEST_F(Otf2Fixture, HoldsWhatItsDescriptionSays) {
  COX_NEED_DATA(folder, "traces/otf2-sst");
  const trace::Run run = read(2);
  ASSERT_EQ(run.ranks.size(), 10U);
  EXPECT_EQ(run.world_size, 10);
  EXPECT_EQ(run.info.tool, "Score-P 2.0.2");
  std::map<Collective, std::int64_t> sum;
  for (const RankTrack& t : run.ranks) {
    for (int op = 0; op < model::kCollectiveCount; ++op)
      sum[static_cast<Collective>(op)] += blocking_collectives(t, static_cast<Collective>(op));
    EXPECT_EQ(t.state, WriterState::Closed);
    EXPECT_FALSE(t.useful.begin.empty());
  }
  for (const Collective op : {Collective::AllReduce, Collective::AllToAll, Collective::AllGather})
    EXPECT_EQ(sum[op], 360) << model::name_of(op);
  for (const Collective op :
       {Collective::Broadcast, Collective::Gather, Collective::Reduce, Collective::Scatter})
    EXPECT_EQ(sum[op], 30) << model::name_of(op);
  EXPECT_EQ(run.messages.size(), 1440U);
  ASSERT_EQ(run.sources.size(), 1U);
  EXPECT_EQ(run.sources[0].records, 22180);
  EXPECT_EQ(run.sources[0].used_records, 22180);
  std::set<std::string> hosts;
  for (const Node& n : run.nodes) hosts.insert(n.host);
  EXPECT_EQ(hosts.size(), 10U);
  EXPECT_TRUE(hosts.contains("kn10.eth"));
  // Members of a communicator leave its operations after the last of them entered.
  std::map<std::pair<std::int32_t, std::uint32_t>, std::pair<Duration, Duration>> span;  // last in, first out
  for (const RankTrack& t : run.ranks)
    for (std::size_t i = 0; i < t.events.size(); ++i) {
      if (t.events.kind[i] != EventKind::Collective || t.events.comm[i] == kNoComm) continue;
      if (t.events.collective(i) != Collective::AllReduce) continue;
      auto& [in, out] =
          span.try_emplace({t.events.comm[i].value(), t.events.seq[i]}, Duration::min(), Duration::max())
              .first->second;
      in = std::max(in, t.events.begin[i]);
      out = std::min(out, t.events.end[i]);
    }
  std::size_t late = 0;
  for (const auto& [key, s] : span) late += s.first <= s.second + 20us;
  EXPECT_EQ(late, span.size());
}

TEST_F(Otf2Fixture, DoesNotDependOnThreads) {
  COX_NEED_DATA(folder, "traces/otf2-sst");
  const trace::Run one = read(1);
  const trace::Run four = read(4);
  ASSERT_EQ(one.ranks.size(), four.ranks.size());
  for (std::size_t r = 0; r < one.ranks.size(); ++r) {
    EXPECT_EQ(one.ranks[r].events.begin, four.ranks[r].events.begin);
    EXPECT_EQ(one.ranks[r].events.comm, four.ranks[r].events.comm);
  }
  EXPECT_EQ(one.messages.receive_end, four.messages.receive_end);
}

/// What otf2-print says of a location: kinds of records with their times, in order.
std::map<std::uint64_t, std::vector<std::pair<std::string, std::uint64_t>>> printed(const fs::path& anchor) {
  std::map<std::uint64_t, std::vector<std::pair<std::string, std::uint64_t>>> out;
  const std::string command = fmt::format("otf2-print '{}' 2>/dev/null", anchor.string());
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  if (!pipe) return out;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    std::istringstream words(line.data());
    std::string kind;
    std::uint64_t location = 0;
    std::uint64_t time = 0;
    if (words >> kind >> location >> time) out[location].emplace_back(kind, time);
  }
  return out;
}

TEST_F(Otf2Fixture, EveryRecordIsTheOneThatOtf2PrintSees) {
  COX_NEED_DATA(folder, "traces/otf2-sst");
  if (std::system("command -v otf2-print > /dev/null 2>&1") != 0)  // NOLINT(concurrency-mt-unsafe)
    GTEST_SKIP() << "no otf2-print here (Debian: otf2-tools)";
  const std::map<std::uint8_t, std::string> names{{12, "ENTER"},
                                                  {13, "LEAVE"},
                                                  {15, "MPI_ISEND"},
                                                  {16, "MPI_ISEND_COMPLETE"},
                                                  {17, "MPI_IRECV_REQUEST"},
                                                  {19, "MPI_IRECV"},
                                                  {22, "MPI_COLLECTIVE_BEGIN"},
                                                  {23, "MPI_COLLECTIVE_END"}};
  const auto expected = printed(folder / "traces.otf2");
  ASSERT_EQ(expected.size(), 10U);
  for (const auto& [location, records] : expected) {
    const fs::path stem = folder / "traces" / std::to_string(location);
    const auto local = otf2::parse_local_definitions(slurp(fs::path(stem) += ".def"), 4 << 20);
    const std::string bytes = slurp(fs::path(stem) += ".evt");
    otf2::RecordReader reader(bytes, otf2::Content::Events, 1 << 20);
    otf2::Record record;
    std::vector<std::pair<std::string, std::uint64_t>> seen;
    while (reader.next(record)) {
      const auto name = names.find(record.id);
      seen.emplace_back(name == names.end() ? std::to_string(record.id) : name->second,
                        local.corrected(record.time));
    }
    EXPECT_EQ(reader.ending(), otf2::Ending::Whole);
    EXPECT_EQ(seen, records) << "location " << location;
  }
}

TEST_F(Otf2Fixture, CutAnywhereGivesWhatIsInFrontOfTheCut) {
  COX_NEED_DATA(folder, "traces/otf2-sst");
  const std::string bytes = slurp(folder / "traces" / "3.evt");
  const Prepared p;
  std::size_t before = 0;
  for (std::size_t n = 0; n < bytes.size(); n += 41) {
    const otf2::LocationResult out = p.read(bytes.substr(0, n), {}, 1 << 20);
    EXPECT_EQ(out.ending, otf2::Ending::Cut) << n;
    EXPECT_LE(out.end_at, n);
    EXPECT_GE(out.calls.events.size(), before);
    before = out.calls.events.size();
  }
  const std::string defs = slurp(folder / "traces.def");
  for (std::size_t n = 0; n + 2 < defs.size(); n += 13)
    EXPECT_NE(otf2::parse_definitions(defs.substr(0, n), 4 << 20).ending, otf2::Ending::Whole) << n;
  const std::string whole = slurp(folder / "traces.otf2");
  for (std::size_t n = 0; n < whole.size(); ++n) static_cast<void>(otf2::parse_anchor(whole.substr(0, n)));
}

TEST_F(Otf2Fixture, ArchiveWithADamagedLocationKeepsTheOthers) {
  COX_NEED_DATA(folder, "traces/otf2-sst");
  const Scratch scratch;
  fs::copy(folder, scratch.path(), fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(scratch.path()))
    fs::permissions(entry.path(), fs::perms::owner_all, fs::perm_options::add);
  fs::resize_file(scratch.path() / "traces" / "4.evt", 10'000);
  fs::remove(scratch.path() / "traces" / "7.evt");
  const auto run = read_run(kOtf2Reader, scratch.path() / "traces.otf2", {.threads = 2});
  ASSERT_TRUE(run.has_value());
  ASSERT_EQ(run->ranks.size(), 10U);
  EXPECT_EQ(run->ranks[7].events.size(), 0U);
  EXPECT_GT(run->ranks[4].events.size(), 0U);
  std::string notes;
  for (const Note& n : run->notes) notes += n.text + "\n";
  EXPECT_NE(notes.find("events of location 4 are cut at byte"), std::string::npos) << notes;
  EXPECT_NE(notes.find("events of location 7 are missing"), std::string::npos) << notes;
  EXPECT_NE(notes.find("rank 4: 1 return of MPI_Init, 0 of MPI_Finalize"), std::string::npos) << notes;
}

}  // namespace
}  // namespace cox::trace
