// SPDX-License-Identifier: Apache-2.0
// A data-parallel training step for bench/live_steps.py: timers in place of devices, real collectives over Gloo.
//
//   live_step RANK RANKS STORE INTERFACE START_S STEPS FORWARD_MS BACKWARD_MS BUCKETS BUCKET_BYTES
//
// From START of the machine's monotonic clock on: a forward pass, then BUCKETS times a part of the backward pass and
// the ring all-reduce of its gradients, which goes on beside the next part on a stream of its own, in order; a step
// ends when the last is done. Prints `begin`, and when each step ended, in seconds of that clock.
#include <gloo/allreduce.h>
#include <gloo/math.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/probe/gloo_connect.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

/// All-reduces one after the other on a thread of its own.
class Stream {
 public:
  Stream(std::shared_ptr<gloo::Context> context, std::size_t values)
      : context_(std::move(context)), values_(values), thread_([this] { work(); }) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void issue() {
    {
      const std::lock_guard lock(mutex_);
      ++issued_;
    }
    changed_.notify_all();
  }
  void await_all() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_ == issued_; });
  }

 private:
  void work() {
    for (std::unique_lock lock(mutex_);;) {
      changed_.wait(lock, [this] { return ends_ || done_ < issued_; });
      if (done_ == issued_) return;
      lock.unlock();
      reduce();
      lock.lock();
      ++done_;
      changed_.notify_all();
    }
  }
  void reduce() {
    gloo::AllreduceOptions options(context_);
    options.setOutput(values_.data(), values_.size());
    options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);
    options.setReduceFunction(
        [](void* c, const void* a, const void* b, std::size_t n) { gloo::sum<float>(c, a, b, n); });
    options.setTag(++tag_);
    gloo::allreduce(options);
  }

  std::shared_ptr<gloo::Context> context_;
  std::vector<float> values_;
  std::uint32_t tag_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  long issued_ = 0;
  long done_ = 0;
  bool ends_ = false;
  std::thread thread_;
};

double now_s() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 11) return 2;
  const int rank = std::atoi(argv[1]);
  const Clock::time_point start{
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::atof(argv[5])))};
  const int steps = std::atoi(argv[6]);
  const Milliseconds forward{std::atof(argv[7])};
  const Milliseconds backward{std::atof(argv[8])};
  const int buckets = std::atoi(argv[9]);
  const auto bytes = static_cast<std::size_t>(std::atoll(argv[10]));

  const auto context =
      cox::bench::probe::gloo_context(rank, std::atoi(argv[2]), argv[3], argv[4], std::chrono::seconds(60));

  Stream stream(context, bytes / sizeof(float));
  std::vector<double> ends;
  std::this_thread::sleep_until(start);
  ends.push_back(now_s());
  for (int step = 0; step < steps; ++step) {
    std::this_thread::sleep_for(forward);
    for (int bucket = 0; bucket < buckets; ++bucket) {
      std::this_thread::sleep_for(backward / buckets);
      stream.issue();
    }
    stream.await_all();
    ends.push_back(now_s());
  }
  for (const double end : ends) std::printf("%.6f\n", end);
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "live_step: %s\n", e.what());
  return 1;
}
