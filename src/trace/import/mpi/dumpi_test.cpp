// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>

#include "support/test_data.hpp"
#include "trace/import/mpi/dumpi_calls.hpp"
#include "trace/import/part/reader.hpp"

namespace cox::trace {
namespace {

namespace fs = std::filesystem;
using namespace cox::literals;
using dumpi::Call;
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
  Scratch() : path_(fs::temp_directory_path() / fmt::format("cox-dumpi-{}", ::getpid())) {
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

/// Writes one rank's file. Each call lasts from `at` to `at` + 1 ms.
class Writer {
 public:
  explicit Writer(std::uint32_t base_second = 1'600'000'000) : base_(base_second) {
    number(0xffaadd44554d5049, 8);
    number(0, 4);
    number(base_, 4);
  }
  void number(std::uint64_t v, int size) {
    for (int i = size - 1; i >= 0; --i) bytes_.push_back(static_cast<char>(v >> (8 * i)));
  }
  Writer& i(std::int64_t v) {
    number(static_cast<std::uint32_t>(v), 4);
    return *this;
  }
  Writer& h(std::uint16_t v) {
    number(v, 2);
    return *this;
  }
  Writer& b(std::uint8_t v) {
    number(v, 1);
    return *this;
  }
  Writer& array(const std::vector<std::int32_t>& values) {
    i(static_cast<std::int64_t>(values.size()));
    for (const std::int32_t v : values) i(v);
    return *this;
  }
  /// One status: bytes, source, tag.
  Writer& status(std::int32_t bytes, std::int32_t source, std::int32_t tag) {
    return i(1).i(bytes).i(source).b(0).b(0).i(tag);
  }
  Writer& call(Call function, std::uint32_t at_ms) {
    h(static_cast<std::uint16_t>(function)).b(0x4b).h(0);  // statuses, wall time, thread
    for (const std::uint32_t ms : {at_ms, at_ms + 1})
      h(static_cast<std::uint16_t>(ms / 1000)).i(std::int64_t{ms} % 1000 * 1'000'000);
    return *this;
  }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  /// With header and index behind it.
  [[nodiscard]] std::string whole(std::string_view host, std::uint8_t minor = 1) const {
    Writer w = *this;
    w.h(dumpi::kEndOfStream);
    const std::size_t header = w.bytes_.size();
    w.b(1).b(minor).b(0);
    w.number(base_, 8);
    w.h(static_cast<std::uint16_t>(host.size())).bytes_ += host;
    w.h(0).i(0).i(0);
    w.number(0xffaadd44554d5049, 8);
    for (const std::size_t offset : {std::size_t{0}, std::size_t{0}, std::size_t{0}, header, std::size_t{8},
                                     std::size_t{0}, std::size_t{0}})
      w.number(offset, 8);
    return w.bytes_;
  }

 private:
  std::uint32_t base_;
  std::string bytes_;
};

constexpr std::uint16_t kWorldComm = 2, kInt = 9;

std::string meta(const std::string& prefix, int ranks) {
  return fmt::format(
      "hostname=h\nnumprocs={}\nusername=u\nstartime=1\nfileprefix={}\nversion=1\nsubversion=1\n"
      "subsubversion=0\n",
      ranks, prefix);
}

/// Four ranks; evens and odds split with the order of ranks turned round; each pair sends one message.
std::string split_rank(int rank) {
  Writer w;
  w.call(Call::Init, 0).i(1).i(3);
  w.b('a').b('p').b('p');
  w.call(Call::CommRank, 10).h(kWorldComm).i(rank);
  w.call(Call::CommSplit, 20).h(kWorldComm).i(rank % 2).i(-rank).h(4);
  w.call(Call::Allreduce, 30).i(10).h(kInt).b(3).h(4);
  w.call(Call::Allgather, 40).i(10).h(kInt).i(10).h(kInt).h(4);
  if (rank >= 2)  // place 0 of its half
    w.call(Call::Isend, 50).i(5).h(kInt).i(1).i(77).h(4).i(9).call(Call::Wait, 60).i(9).i(0);
  else
    w.call(Call::Irecv, 50).i(50).h(kInt).i(-1).i(-1).h(4).i(9).call(Call::Wait, 60).i(9).status(20, 0, 77);
  w.call(Call::Finalize, 70);
  return w.whole(rank < 2 ? "left" : "right");
}

TEST(Dumpi, RanksTogetherResolveCommunicatorsAndMessages) {
  const Scratch scratch;
  spill(scratch.path() / "job.meta", meta("elsewhere/old", 4));
  for (int r = 0; r < 4; ++r) spill(scratch.path() / fmt::format("job-{:04}.bin", r), split_rank(r));
  ASSERT_TRUE(kDumpiReader.recognises({.path = "x", .bytes = meta("job", 4)}));
  EXPECT_EQ(kDumpiReader.companions(scratch.path() / "job.meta").size(), 4U);
  const auto run = read_run(kDumpiReader, scratch.path() / "job.meta", {.threads = 2});
  ASSERT_TRUE(run.has_value()) << run.error().to_string();
  ASSERT_EQ(run->ranks.size(), 4U);
  EXPECT_EQ(run->world_size, 4);
  EXPECT_EQ(run->origin_realtime_ns, 1'600'000'000'000'000'000);
  ASSERT_EQ(run->nodes.size(), 2U);
  EXPECT_EQ(run->nodes[1].clock.source, ClockSource::Realtime);
  EXPECT_EQ(run->ranks[0].program, "app");
  const EventColumns& e = run->ranks[0].events;
  ASSERT_EQ(e.size(), 3U);
  const Communicator* half = run->find(e.comm[0]);
  ASSERT_NE(half, nullptr);
  EXPECT_EQ(half->ranks, (std::vector<Rank>{Rank(0), Rank(2)}));
  EXPECT_EQ(half->by_rank, (std::vector<Rank>{Rank(2), Rank(0)}));  // by key
  EXPECT_EQ(e.comm[0], run->ranks[2].events.comm[0]);
  EXPECT_NE(e.comm[0], run->ranks[1].events.comm[0]);
  EXPECT_EQ(e.begin[0], 30ms);
  EXPECT_EQ(e.bytes[0], 40_B);
  EXPECT_EQ(e.bytes[1], 80_B);  // the whole array
  EXPECT_EQ(e.seq[1], 1U);
  EXPECT_EQ(e.op[2], static_cast<std::uint8_t>(WaitKind::Peer));
  EXPECT_EQ(e.aux[2], 0U);
  ASSERT_EQ(run->messages.size(), 2U);
  EXPECT_EQ(run->messages.from[0], Rank(2));
  EXPECT_EQ(run->messages.to[0], Rank(0));
  EXPECT_EQ(run->messages.bytes[0], 20_B);
  EXPECT_EQ(run->messages.receive_begin[0], 50ms);
  EXPECT_EQ(run->messages.receive_end[0], 61ms);
}

TEST(Dumpi, MissingRanksAreNamedAndLeaveCommunicatorsOpen) {
  const Scratch scratch;
  spill(scratch.path() / "job.meta", meta("job", 4));
  for (int r = 0; r < 3; ++r) spill(scratch.path() / fmt::format("job-{:04}.bin", r), split_rank(r));
  spill(scratch.path() / "job-0009.bin", split_rank(0));  // beyond the world: not of this job
  const auto run = read_run(kDumpiReader, scratch.path() / "job.meta", {.threads = 1});
  ASSERT_TRUE(run.has_value());
  ASSERT_EQ(run->ranks.size(), 3U);
  std::string notes;
  for (const Note& n : run->notes) notes += n.text + "\n";
  EXPECT_NE(notes.find("the file of 1 of 4 ranks is missing"), std::string::npos) << notes;
  const CommId first = run->ranks[0].events.comm[0];
  EXPECT_TRUE(run->find(first)->ranks.empty());
  EXPECT_EQ(run->find(first)->name, "MPI_COMM_WORLD/split 0 color 0");
  EXPECT_EQ(first, run->ranks[2].events.comm[0]);
}

TEST(Dumpi, SecondsOfSixteenBitsGoOn) {
  Writer w;
  const auto barrier = [&](std::uint16_t s) {
    w.h(static_cast<std::uint16_t>(Call::Barrier)).b(0x08).h(s).i(0).h(s).i(1000).h(kWorldComm);
  };
  barrier(65'000);
  barrier(65'535);
  barrier(3);
  barrier(65'530);
  barrier(40'000);
  const dumpi::RankFile file = dumpi::read_rank(w.whole("h"));
  ASSERT_EQ(file.calls.events.size(), 5U);
  EXPECT_EQ(file.calls.events[2].begin, std::chrono::seconds(65'536 + 3));
  EXPECT_EQ(file.calls.events[3].begin, std::chrono::seconds(65'530));  // recorded late
  EXPECT_EQ(file.calls.events[4].begin, std::chrono::seconds(65'536 + 40'000 - 65'536));
}

TEST(Dumpi, RequestsWithNobodyAndPersistentOnes) {
  Writer w;
  w.call(Call::Isend, 1).i(5).h(kInt).i(-2).i(1).h(kWorldComm).i(7).call(Call::Wait, 2).i(7).i(0);
  w.call(Call::SendInit, 3).i(5).h(kInt).i(1).i(1).h(kWorldComm).i(8);
  for (std::uint32_t n = 0; n < 2; ++n) w.call(Call::Start, 10 + n).i(8).call(Call::Wait, 20 + n).i(8).i(0);
  w.call(Call::Wait, 30).i(8).i(0);  // not started again
  const dumpi::RankFile file = dumpi::read_rank(w.whole("h"));
  EXPECT_EQ(file.ending, dumpi::Ending::Whole);
  ASSERT_EQ(file.calls.sends.size(), 2U);
  EXPECT_EQ(file.calls.sends[1].begin, 11ms);
  EXPECT_EQ(file.calls.sends[1].end, 22ms);
  EXPECT_EQ(file.calls.sends[1].bytes, 20_B);
  EXPECT_EQ(file.orphans, 1);
}

TEST(Dumpi, AWaitThatIsTimedBeforeThePostEndsWithIt) {
  Writer w;
  w.call(Call::Isend, 50).i(5).h(kInt).i(0).i(1).h(kWorldComm).i(7).call(Call::Wait, 20).i(7).i(0);
  const dumpi::RankFile file = dumpi::read_rank(w.whole("h"));
  ASSERT_EQ(file.calls.sends.size(), 1U);
  EXPECT_EQ(file.calls.sends[0].begin, 50ms);
  EXPECT_EQ(file.calls.sends[0].end, 50ms);
}

TEST(Dumpi, OneFileAloneTellsWhatItCan) {
  const Scratch scratch;
  spill(scratch.path() / "any.bin", split_rank(3));
  const auto run = read_run(kDumpiReader, scratch.path() / "any.bin", {.threads = 1});
  ASSERT_TRUE(run.has_value());
  ASSERT_EQ(run->ranks.size(), 1U);
  EXPECT_EQ(run->ranks[0].rank, Rank(3));  // as MPI_Comm_rank said
  spill(scratch.path() / "none-x.bin", Writer().whole("h"));
  const auto nameless = read_run(kDumpiReader, scratch.path() / "none-x.bin", {.threads = 1});
  ASSERT_TRUE(nameless.has_value());
  ASSERT_EQ(nameless->notes.size(), 1U);
  EXPECT_NE(nameless->notes[0].text.find("taken as 0"), std::string::npos);
}

TEST(Dumpi, OneFileTellsCopiesAndListedGroups) {
  Writer w;
  w.call(Call::CommRank, 1).h(kWorldComm).i(1).call(Call::CommSize, 2).h(kWorldComm).i(4);
  w.call(Call::CommDup, 3).h(kWorldComm).h(4).call(Call::Barrier, 4).h(4);
  w.call(Call::CommGroup, 5).h(4).h(3).call(Call::GroupIncl, 6).h(3).i(2).array({3, 1}).h(5);
  w.call(Call::CommCreate, 7).h(4).h(5).h(6).call(Call::Barrier, 8).h(6);
  w.call(Call::GroupIncl, 9).h(3).i(2).array({3, 9}).h(7);  // there is no place 9
  w.call(Call::CommCreate, 10).h(4).h(7).h(8).call(Call::Barrier, 11).h(8);
  const Scratch scratch;
  spill(scratch.path() / "one.bin", w.whole("h"));
  const auto run = read_run(kDumpiReader, scratch.path() / "one.bin", {.threads = 1});
  ASSERT_TRUE(run.has_value());
  const EventColumns& e = run->ranks[0].events;
  ASSERT_EQ(e.size(), 3U);
  EXPECT_EQ(run->find(e.comm[0])->ranks.size(), 4U);
  EXPECT_EQ(run->find(e.comm[1])->by_rank, (std::vector<Rank>{Rank(3), Rank(1)}));
  EXPECT_TRUE(run->find(e.comm[2])->ranks.empty());
  ASSERT_EQ(run->notes.size(), 1U);
  EXPECT_NE(run->notes[0].text.find("members of some communicators"), std::string::npos);
}

TEST(Dumpi, UnknownLayoutsAndDamageStopWithTheirPlace) {
  Writer pcontrol;
  pcontrol.call(Call::Barrier, 1).h(kWorldComm);
  pcontrol.h(128).b(0x08).h(0).i(0).h(0).i(0);
  const dumpi::RankFile stopped = dumpi::read_rank(pcontrol.whole("h"));
  EXPECT_EQ(stopped.ending, dumpi::Ending::Damaged);
  EXPECT_EQ(stopped.stopped_at, "Pcontrol");
  EXPECT_EQ(stopped.calls.events.size(), 1U);
  Writer wild;
  wild.h(999);
  EXPECT_EQ(dumpi::read_rank(wild.bytes()).ending, dumpi::Ending::Damaged);
  Writer huge;
  huge.call(Call::Waitall, 1).i(2).i(0xffffffff).i(1);
  EXPECT_EQ(dumpi::read_rank(huge.bytes()).ending, dumpi::Ending::Cut);
  Writer deep;  // arrays of arrays that claim four thousand millions
  deep.h(78).b(0).h(3).i(1).i(0xffffffff).i(2).i(1).i(1).i(0xffffffff);
  EXPECT_EQ(dumpi::read_rank(deep.bytes()).ending, dumpi::Ending::Cut);
  EXPECT_TRUE(dumpi::read_rank(Writer().whole("h", 0)).header.has_value());
}

TEST(Dumpi, EveryLayoutIsReadToItsEnd) {
  // A record of zeros is whole for each function: every array in it is empty.
  std::size_t known = 0;
  for (std::size_t f = 0; f < dumpi::functions().size(); ++f) {
    Writer w;
    w.h(static_cast<std::uint16_t>(f)).b(0);
    for (int n = 0; n < 100; ++n) w.b(0);
    dumpi::File file(w.bytes());
    dumpi::Record record;
    known += file.next(record);
  }
  EXPECT_EQ(known, 293U - 10);  // MPI_Pcontrol, eight of MPI-IO that are never written, and the end mark
}

/// Both fixtures: format 1.1 with seven ranks, 1.0 with four.
class DumpiFixture : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(DumpiFixture, EveryRankInitialisesAndFinalisesOnce) {
  COX_NEED_DATA(folder, "traces/dumpi-sst");
  const auto [name, ranks] = GetParam();
  for (int r = 0; r < ranks; ++r) {
    const std::string bytes = slurp(folder / fmt::format("{}-{:04}.bin", name, r));
    const dumpi::RankFile file = dumpi::read_rank(bytes);
    EXPECT_EQ(file.ending, dumpi::Ending::Whole);
    EXPECT_EQ(file.own_rank, r);
    EXPECT_EQ(file.world_size, ranks);
    EXPECT_EQ(file.calls.inits, 1);
    EXPECT_EQ(file.calls.finalizes, 1);
    EXPECT_EQ(file.footer_differs, 0);  // counts of every function, by the writer itself
    EXPECT_TRUE(dumpi::File(bytes).footer().has_value());
  }
}

TEST_P(DumpiFixture, AllRanksTogether) {
  COX_NEED_DATA(folder, "traces/dumpi-sst");
  const auto [name, ranks] = GetParam();
  const auto run = read_run(kDumpiReader, folder / fmt::format("{}.meta", name), {.threads = 2});
  ASSERT_TRUE(run.has_value()) << run.error().to_string();
  ASSERT_EQ(run->ranks.size(), static_cast<std::size_t>(ranks));
  EXPECT_EQ(run->world_size, ranks);
  std::size_t receives = 0;
  for (const RankTrack& t : run->ranks) {
    EXPECT_EQ(t.state, WriterState::Closed);
    EXPECT_FALSE(t.useful.begin.empty());
    receives += ranks == 7 ? 84 : 1;
  }
  EXPECT_EQ(run->messages.size(), receives);
  EXPECT_TRUE(run->notes.empty());
  for (const Communicator& c : run->communicators) EXPECT_EQ(c.ranks.size(), static_cast<std::size_t>(ranks));
  EXPECT_EQ(run->origin_realtime_ns != 0, ranks == 4);  // the other one's clock counts from its start
}

TEST_P(DumpiFixture, CutAnywhereGivesWhatIsInFrontOfTheCut) {
  COX_NEED_DATA(folder, "traces/dumpi-sst");
  const std::string bytes = slurp(folder / fmt::format("{}-0000.bin", GetParam().first));
  std::size_t before = 0;
  for (std::size_t n = 8; n < bytes.size(); n += n < 1000 ? 1 : 37) {
    const dumpi::RankFile file = dumpi::read_rank(bytes.substr(0, n));
    EXPECT_NE(file.ending, dumpi::Ending::Damaged) << n;
    EXPECT_GE(file.calls.inside.size(), before) << n;
    before = file.calls.inside.size();
  }
}

INSTANTIATE_TEST_SUITE_P(Both, DumpiFixture,
                         testing::Values(std::pair{"testbgp", 7}, std::pair{"testtrace", 4}),
                         [](const auto& which) { return std::string(which.param.first); });

}  // namespace
}  // namespace cox::trace
