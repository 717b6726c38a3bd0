// SPDX-License-Identifier: Apache-2.0
// What is allocated while steps go on, against what is counted.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "train/run/memory_plan.hpp"
#include "train/run/replica.hpp"
#include "train/transport/threads.hpp"

namespace cox::train {
namespace {

std::int64_t allocated() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<std::int64_t>(now.uordblks + now.hblkhd);
}

/// What all ranks have allocated when a rank begins a step.
class AllocatedMarks final : public Marks {
 public:
  explicit AllocatedMarks(std::int64_t step) : step_(step) {}
  void step(std::int64_t number) override {
    if (number == step_) at_step = allocated();
  }
  std::int64_t at_step = 0;

 private:
  std::int64_t step_;
};

/// Beyond what ranks count at their most, in floats.
double beyond_counted(const TrainJob& job) {
  const std::int64_t before = allocated();
  ThreadHub hub(job.procs, job.patience);
  std::vector<std::unique_ptr<Transport>> links;
  for (int r = 0; r < job.procs; ++r) links.push_back(hub.transport(r));
  AllocatedMarks first(job.steps - 1);
  Marks none;
  std::vector<Result<TrainedRun>> made(links.size(), TrainedRun{});
  {
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < links.size(); ++r)
      threads.emplace_back(
          [&, r] { made[r] = run_replica(job, *links[r], r == 0 ? static_cast<Marks&>(first) : none); });
  }
  if (!made.front()) {
    ADD_FAILURE() << made.front().error().message;
    return 0;
  }
  Bytes counted{};
  for (const BytesByUse& memory : made.front()->memory) counted += sum_of(memory);
  return static_cast<double>(first.at_step - before - counted.count()) / sizeof(float);
}

// The first process may have all parameters, to score them; a copy on any other is too much.
TEST(Kept, NoOtherProcessHasAllParameters) {
  if (allocated() == 0) GTEST_SKIP() << "another allocator, which does not tell";
  TrainJob job{.problem = "mlp,dimension=64,hidden=256,layers=8,pairs=1,held-out=2,blocks=4",
               .optimizer = "sgd,rate=0.001",
               .workers = 4,
               .samples = 1,
               .steps = 8,
               .procs = 4};
  const auto parameters = static_cast<double>((*problem_of(job))->parameters());
  const std::string folder = ::testing::TempDir() + "kept";
  for (const auto& [layout, precision, saves] : {std::tuple{"zero-3", "", false},
                                                 {"zero-3", "bf16,master=yes", false},
                                                 {"tensor", "", false},
                                                 {"tensor", "", true}}) {
    job.layout = layout;
    job.precision = precision;
    job.tensor = job.layout == "tensor" ? 4 : 0;
    job.checkpoint = saves ? folder : "";
    job.every = "3";
    std::filesystem::remove_all(folder);
    EXPECT_LT(beyond_counted(job), 1.8 * parameters)
        << layout << ' ' << precision << (saves ? ", saved" : "");
  }
}

}  // namespace
}  // namespace cox::train
