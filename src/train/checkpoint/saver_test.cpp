// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/saver.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "train/transport/threads.hpp"

namespace cox::train {
namespace {

namespace fs = std::filesystem;

TEST(CheckpointSaver, ReadsHowOften) {
  EXPECT_EQ(read_save_every("100")->steps, 100);
  EXPECT_EQ(read_save_every("5%")->steps, 0);
  EXPECT_DOUBLE_EQ(read_save_every("5%")->share, 0.05);
  EXPECT_DOUBLE_EQ(read_save_every("0.5%")->share, 0.005);
  for (const char* wrong : {"", "%", "0", "-1", "1.5", "0%", "100%", "nan%", "5 %", "often", "1e30"}) {
    const auto read = read_save_every(wrong);
    ASSERT_FALSE(read) << wrong;
    EXPECT_EQ(read.error().id, "train-002");
  }
}

// Saves of 2 s among steps of 1 s, at most a fifth of the time: four times as long between them as they take.
TEST(CheckpointSaver, KeepsToAShare) {
  EXPECT_EQ(steps_until_saved(0.2, Seconds{2}, Seconds{2}, Seconds{10}, Seconds{1}), 6);
  EXPECT_EQ(steps_until_saved(0.2, Seconds{4}, Seconds{2}, Seconds{16}, Seconds{1}), 8);
  EXPECT_EQ(steps_until_saved(0.2, Seconds{4}, Seconds{2}, Seconds{160}, Seconds{1}), 1) << "there is room";
  double saved = 0, stepped = 20;
  for (int i = 0; i < 100; ++i) {
    const double cost = i % 7 == 0 ? 3 : 2;
    saved += cost;
    EXPECT_LE(saved, 0.2 * (saved + stepped) * (1 + 1e-12)) << i;
    stepped += static_cast<double>(
                   steps_until_saved(0.2, Seconds{saved}, Seconds{3}, Seconds{stepped}, Seconds{0.5})) *
               0.5;
  }
  EXPECT_GT(saved, 0.19 * (saved + stepped)) << "no fewer than the share allows";
}

constexpr int kRanks = 3;
constexpr std::int64_t kElements = 10;

/// Ten parameters with one moment, on three ranks.
class SaverOnRanks : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / (std::string("saver-") + info->name());
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// One rank's end of a job.
  struct Rank {
    Saver saver;
    std::vector<float> x{}, moment{};
    Stretch own{};

    [[nodiscard]] Status save(std::int64_t version) {
      x.assign(static_cast<std::size_t>(own.count), static_cast<float>(version));
      moment.assign(x.size(), -x.front());
      const std::vector<SavedSpan> mine = {{.elements = own, .values = {x, moment}}};
      return saver.save(version, mine, std::chrono::steady_clock::now());
    }
  };
  /// `what` on all ranks of a job that goes on from what is there; what came of it on each.
  std::vector<Status> on_ranks(bool beside, const SaveEvery& every, const DiskHook& hook,
                               const std::function<Status(Rank&)>& what) const {
    ThreadHub hub(kRanks, Seconds{60});
    std::vector<std::unique_ptr<Transport>> links;
    for (int r = 0; r < kRanks; ++r) links.push_back(hub.transport(r));
    std::vector<Status> made(kRanks);
    std::vector<std::jthread> threads;
    for (int r = 0; r < kRanks; ++r)
      threads.emplace_back([&, r] {
        MemoryCount memory;  // outlives the rank
        Rank rank{.saver = Saver(folder_.string(), every, "a job", kElements, 1,
                                 *links[static_cast<std::size_t>(r)])};
        rank.own = part_of(kElements, r, kRanks);
        if (beside) rank.saver.write_beside(memory, 2 * rank.own.count);
        made[static_cast<std::size_t>(r)] = [&]() -> Status {
          COX_CHECK(rank.saver.resume());
          rank.saver.set_hook(hook);
          return what(rank);
        }();
      });
    threads.clear();
    return made;
  }
  void save_whole(std::int64_t version) const {
    for (const Status& s : on_ranks(false, {.steps = 7}, {}, [&](Rank& rank) { return rank.save(version); }))
      ASSERT_TRUE(s) << s.error().message;
  }
  /// The newest, which is whole, and none that is newer was refused.
  [[nodiscard]] std::int64_t newest() const {
    const auto found = Generations(folder_).newest(
        {.version = 0, .job = "a job", .elements = kElements, .moments = 1, .parts = {}});
    EXPECT_TRUE(found && found->state) << (found ? "none" : found.error().message);
    if (!found || !found->state) return -1;
    EXPECT_TRUE(found->refused.empty());
    for (const float v : found->state->parameters) EXPECT_EQ(v, static_cast<float>(found->state->version));
    for (const float v : found->state->moments) EXPECT_EQ(v, -static_cast<float>(found->state->version));
    return found->state->version;
  }
  /// What is half written.
  [[nodiscard]] int left() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder_))
      count += entry.path().filename().string().find(".tmp-") != std::string::npos ? 1 : 0;
    return count;
  }
  /// Calls of one save.
  [[nodiscard]] int calls(bool beside) const {
    std::atomic<int> all = 0;
    const DiskHook count = [&](DiskCall, const fs::path&) {
      ++all;
      return 0;
    };
    for (const Status& s : on_ranks(beside, {.steps = 7}, count, [&](Rank& rank) -> Status {
           COX_CHECK(rank.save(7));
           return rank.saver.finish(7);
         }))
      EXPECT_TRUE(s) << s.error().message;
    return all;
  }

  fs::path folder_;
};

TEST_F(SaverOnRanks, AWriteThatFailsAtEachOfItsCallsInTurnIsNamedAndTheOneBeforeIsWhatItWas) {
  for (const bool beside : {false, true}) {
    fs::remove_all(folder_);
    const int all = calls(beside);
    // A folder, and a file that is made, written, on the device and closed, of each rank; the manifest, two folders and a name.
    EXPECT_EQ(all, kRanks * 6 + 7);
    for (int fails = 0; fails < all; ++fails) {
      fs::remove_all(folder_);
      save_whole(7);
      std::atomic<int> count = 0;
      std::atomic<int> of_call = -1;
      const DiskHook hook = [&](DiskCall call, const fs::path&) {
        if (count++ != fails) return 0;
        of_call = static_cast<int>(call);
        return ENOSPC;
      };
      const auto made = on_ranks(beside, {.steps = 7}, hook, [](Rank& rank) -> Status {
        COX_CHECK(rank.save(14));
        return rank.saver.finish(14);
      });
      for (const Status& s : made) {
        ASSERT_FALSE(s) << fails;
        EXPECT_EQ(s.error().id, "train-007");
        EXPECT_EQ(s.error().message, made.front().error().message);
      }
      const std::string& said = made.front().error().message;
      EXPECT_NE(said.find(" of checkpoint 14 in " + folder_.string() +
                          ": No space left on device; checkpoint 7, the one before"),
                std::string::npos)
          << said;
      EXPECT_EQ(said.find('\n'), std::string::npos);
      EXPECT_EQ(left(), 0) << said;
      // The last call is behind the name: then the new one is there, beside the one before.
      EXPECT_EQ(newest(), said.find("cannot write saver-") != std::string::npos ? 14 : 7) << said;
      EXPECT_TRUE(fs::exists(folder_ / "00000007" / "manifest"));
      EXPECT_GE(of_call, 0);
    }
  }
}

// As by kill -9: the process that calls is gone, with all its threads.
TEST_F(SaverOnRanks, AWriteThatStopsAtEachOfItsCallsInTurnLeavesTheOneBefore) {
  for (const bool beside : {false, true}) {
    fs::remove_all(folder_);
    const int all = calls(beside);
    for (int stops = 0; stops < all; ++stops) {
      fs::remove_all(folder_);
      save_whole(7);
      EXPECT_EXIT(
          {
            std::atomic<int> count = 0;
            const DiskHook hook = [&](DiskCall, const fs::path&) {
              return count++ == stops ? std::raise(SIGKILL) : 0;
            };
            on_ranks(beside, {.steps = 7}, hook, [](Rank& rank) -> Status {
              COX_CHECK(rank.save(14));
              return rank.saver.finish(14);
            });
          },
          testing::KilledBySignal(SIGKILL), "")
          << stops;
      EXPECT_EQ(newest(), stops + 1 == all ? 14 : 7) << stops;
      save_whole(21);  // the same command again: what was half written is gone
      EXPECT_EQ(newest(), 21);
      EXPECT_EQ(left(), 0);
    }
  }
}

// No rank's files can be written before all ranks have saved and changed what they saved.
TEST_F(SaverOnRanks, StepsGoOnWhileACopyIsWritten) {
  std::counting_semaphore<> go(0);
  const DiskHook hook = [&](DiskCall call, const fs::path& path) {
    if (call == DiskCall::Create && path.filename() != "manifest") go.acquire();
    return 0;
  };
  const auto made = on_ranks(true, {.steps = 7}, hook, [&](Rank& rank) -> Status {
    COX_CHECK(rank.save(7));
    rank.x.assign(rank.x.size(), 999.0F);
    for (std::int64_t version = 8; version <= 13; ++version) {
      if (rank.saver.asks(version)) COX_CHECK(rank.saver.follow(version));
      EXPECT_EQ(rank.saver.newest(), -1);
      EXPECT_FALSE(rank.saver.due(version, 100));
    }
    EXPECT_TRUE(rank.saver.due(14, 100));
    go.release();
    COX_CHECK(rank.saver.finish(14));
    EXPECT_EQ(rank.saver.newest(), 7);
    EXPECT_EQ(rank.saver.saved().count, 1);
    EXPECT_GT(rank.saver.saved().beside, Seconds{0});
    return {};
  });
  for (const Status& s : made) ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(newest(), 7);
}

// By a share of the time the next one comes when this one is there; by steps it waits for it.
TEST_F(SaverOnRanks, OneIsUnderWayAtATime) {
  std::counting_semaphore<> go(0);
  const DiskHook hook = [&](DiskCall call, const fs::path& path) {
    if (call == DiskCall::Create && path.filename() == "manifest") go.acquire();
    return 0;
  };
  const auto made = on_ranks(true, {.steps = 0, .share = 0.5}, hook, [&](Rank& rank) -> Status {
    EXPECT_FALSE(rank.saver.due(9, 1000));
    EXPECT_TRUE(rank.saver.due(10, 1000));
    COX_CHECK(rank.save(10));
    for (std::int64_t version = 11; version <= 200; ++version) {
      EXPECT_FALSE(rank.saver.due(version, 1000)) << version;
      if (rank.saver.asks(version)) COX_CHECK(rank.saver.follow(version));
    }
    go.release(1);
    COX_CHECK(rank.saver.finish(201));
    EXPECT_TRUE(rank.saver.due(1'000, 1000)) << "the last one always";
    COX_CHECK(rank.save(1000));
    go.release(1);
    return rank.saver.finish(1000);
  });
  for (const Status& s : made) ASSERT_TRUE(s) << s.error().message;
  EXPECT_EQ(newest(), 1000);
}

}  // namespace
}  // namespace cox::train
