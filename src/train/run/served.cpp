// SPDX-License-Identifier: Apache-2.0
#include "train/run/served.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "cox/base/assert.hpp"
#include "cox/base/units_text.hpp"
#include "cox/learn/learner.hpp"
#include "cox/learn/optimize.hpp"
#include "cox/learn/problem.hpp"
#include "cox/sync/ages.hpp"
#include "cox/sync/policy.hpp"
#include "cox/sync/stream_file.hpp"

#include "train/executor/parting.hpp"
#include "train/executor/value_hash.hpp"
#include "train/run/replica.hpp"
#include "train/transport/exchange.hpp"

namespace cox::train {
namespace {

using Clock = std::chrono::steady_clock;

/// In front of parameters and gradients.
struct Head {
  std::int64_t worker = -1;  ///< nobody: the parameters are the last ones
  std::int64_t step = 0;     ///< of the worker
  double loss = 0;           ///< of its samples, before the step
};
constexpr std::int64_t kNewsOnly = -2;  ///< no worker: the server is there
constexpr int kNews = 8;                ///< of the patience, after which who has nothing to do hears that
/// A server hears of somebody within its patience, or gives up; so long may news be late.
constexpr int kLonger = 3;
constexpr std::size_t kHeadFloats = sizeof(Head) / sizeof(float);
static_assert(sizeof(Head) % sizeof(float) == 0);

/// A head and as many floats as there are parameters, sent as one.
class Message {
 public:
  explicit Message(std::int64_t parameters) : all_(kHeadFloats + static_cast<std::size_t>(parameters)) {}
  [[nodiscard]] Head head() const {
    Head h;
    std::memcpy(static_cast<void*>(&h), all_.data(), sizeof h);
    return h;
  }
  void set(const Head& h) { std::memcpy(all_.data(), &h, sizeof h); }
  [[nodiscard]] std::span<float> values() { return std::span(all_).subspan(kHeadFloats); }
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(all_)); }
  [[nodiscard]] Bytes size() const { return Bytes{static_cast<std::int64_t>(all_.size() * sizeof(float))}; }

 private:
  std::vector<float> all_;
};

Stretch workers_of(const TrainJob& job, int rank) {
  return part_of(job.workers, rank - 1, job.procs - 1);
}

/// The problem of a server: its gradients are what workers brought.
class Brought final : public learn::Problem {
 public:
  Brought(std::unique_ptr<learn::Problem> own, int workers) : own_(std::move(own)) {
    gradients_.resize(static_cast<std::size_t>(workers));
  }
  [[nodiscard]] std::span<const learn::Tensor> tensors() const override { return own_->tensors(); }
  void initial(std::span<float> x) const override { own_->initial(x); }
  double gradient(std::span<const float> /*x*/, const learn::Shard& shard, std::span<float> g) override {
    std::ranges::copy(gradients_[static_cast<std::size_t>(shard.worker)], g.begin());
    return 0;
  }
  [[nodiscard]] learn::Score score(std::span<const float> x) override { return own_->score(x); }
  [[nodiscard]] Flops flops() const override { return own_->flops(); }
  void keep(std::int64_t worker, std::span<const float> gradient) {
    gradients_[static_cast<std::size_t>(worker)].assign(gradient.begin(), gradient.end());
  }

 private:
  std::unique_ptr<learn::Problem> own_;
  std::vector<std::vector<float>> gradients_;
};

/// Numbers of messages, the same on all ranks: of parameters, and of gradients.
struct Numbers {
  explicit Numbers(Transport& transport) : parameters(transport.numbers(2)), gradients(parameters + 1) {}
  std::uint64_t parameters, gradients;
};

class Server {
 public:
  Server(const TrainJob& job, const learn::Way& way, const learn::OptimizerSpec& optimizer,
         const Injected& fault, Transport& transport, Marks& marks, std::unique_ptr<learn::Problem> problem)
      : job_(job),
        fault_(fault),
        transport_(transport),
        marks_(marks),
        numbers_(transport),
        problem_(std::move(problem), job.workers),
        learner_(problem_, optimizer, way, {.leaves = 1, .samples = job.samples}, job.workers),
        rules_(way.policy, job.workers),
        ages_(job.workers),
        writer_(stream_, job.workers),
        message_(problem_.parameters()),
        next_(problem_.parameters()),
        news_(problem_.parameters()),
        begun_(static_cast<std::size_t>(job.workers)) {
    news_.set({.worker = kNewsOnly, .step = 0, .loss = 0});
    for (int r = 1; r < transport.ranks(); ++r) processes_.emplace_back(problem_.parameters());
    made_.parameters = problem_.parameters();
    made_.served.emplace().messages.resize(static_cast<std::size_t>(transport.ranks()));
  }

  Result<TrainedRun> run() {
    began_ = Clock::now();
    add_point();
    for (int w = 0; w < job_.workers; ++w) let_go(w);
    while (under_way_ > 0) {
      const auto before = Clock::now();
      marks_.wait(-1);
      const auto from = transport_.receive_any(numbers_.gradients, message_.bytes());
      waited_ += Clock::now() - before;
      if (!from) return fail(with_busy(from.error()));
      marks_.came(*from, message_.size());
      if (std::ranges::count(processes_, true, &Process::busy) > 1)  // another one brings a gradient
        transport_.expect_any(numbers_.gradients, next_.bytes());
      COX_CHECK(take(*from));
      std::swap(message_, next_);
      COX_CHECK(mind_others());
    }
    for (int r = 1; r < transport_.ranks(); ++r) {
      Process& p = processes_[static_cast<std::size_t>(r - 1)];
      p.out.set({});
      std::ranges::copy(learner_.parameters(), p.out.values().begin());
      send(r, p.out);
    }
    COX_CHECK(transport_.wait());
    made_.steps_took = Clock::now() - began_ - scoring_;
    if (!made_.diverged && made_.versions > made_.points.back().version) add_point();
    tell();
    return std::move(made_);
  }
  [[nodiscard]] std::span<const float> parameters() const { return learner_.parameters(); }

 private:
  /// Who is silent may be any of those who compute.
  [[nodiscard]] Error with_busy(Error error) const {
    std::string ranks;
    for (std::size_t r = 0; r < processes_.size(); ++r)
      if (processes_[r].busy) ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", r + 1);
    error.message += fmt::format("; gradients were under way on rank {}", ranks);
    return error;
  }

  /// The server must not wait longer than the patience for one who computes; what it does itself meanwhile is nobody else's. Those who have nothing to do hear
  /// that it is there.
  Status mind_others() {
    const auto now = Clock::now();
    for (std::size_t r = 0; r < processes_.size(); ++r) {
      Process& p = processes_[r];
      if (p.busy && waited_ - p.waited_before > job_.patience) {
        static_cast<void>(transport_.wait());  // so that nothing of ours lies anywhere
        return fail({.code = Errc::Timeout,
                     .id = "train-003",
                     .message = fmt::format("rank 0 waited {} for rank {} to bring a gradient of worker {}",
                                            to_string(waited_ - p.waited_before), r + 1, p.out.head().worker),
                     .hint = "see whether that rank still runs",
                     .where = {}});
      }
      if (p.busy || now - p.heard < job_.patience / kNews) continue;
      p.heard = now;
      send(static_cast<int>(r) + 1, news_);
    }
    return {};
  }

  /// One that computes: what is on its way to it, and which of its workers wait for it.
  struct Process {
    explicit Process(std::int64_t parameters) : out(parameters) {}
    Message out;
    bool busy = false;
    Seconds waited_before{};                                   ///< of the server, when it began to compute
    Clock::time_point heard = Clock::now();                    ///< from the server, or was heard of
    std::deque<std::pair<int, std::vector<float>>> waiting{};  ///< with the parameters that they have read
  };

  [[nodiscard]] int rank_of(int worker) const {
    int rank = 1;
    while (workers_of(job_, rank).end() <= worker) ++rank;
    return rank;
  }
  void send(int rank, Message& message) {
    marks_.sent(rank, message.size());
    transport_.send(rank, numbers_.parameters, message.bytes());
    ++made_.served->messages[0];
  }

  /// The worker has read the newest version and begins its next step, where it has one.
  void let_go(int worker) {
    if (ends_ || begun_[static_cast<std::size_t>(worker)] == job_.steps) return;
    ++under_way_;
    const int rank = rank_of(worker);
    Process& p = processes_[static_cast<std::size_t>(rank - 1)];
    if (p.busy || !p.waiting.empty()) {
      const std::span<const float> x = learner_.parameters();
      p.waiting.emplace_back(worker, std::vector<float>(x.begin(), x.end()));
      return;
    }
    begin(rank, worker, learner_.parameters());
  }
  void begin(int rank, int worker, std::span<const float> x) {
    Process& p = processes_[static_cast<std::size_t>(rank - 1)];
    p.busy = true;
    p.waited_before = waited_;
    p.out.set({.worker = worker, .step = begun_[static_cast<std::size_t>(worker)]++, .loss = 0});
    std::ranges::copy(x, p.out.values().begin());
    send(rank, p.out);
  }

  /// What came from a process.
  Status take(int from) {
    const Head head = message_.head();
    Process& p = processes_[static_cast<std::size_t>(from - 1)];
    const Stretch own = workers_of(job_, from);
    if (!p.busy || head.worker < own.first || head.worker >= own.end()) {
      static_cast<void>(transport_.wait());  // so that nothing of ours lies anywhere
      return fail(
          {.code = Errc::Io,
           .id = "train-004",
           .message = fmt::format("rank {} brought a gradient of worker {}, which it was not asked for", from,
                                  head.worker),
           .hint = "all ranks have to run the same program with the same job",
           .where = {}});
    }
    ++made_.served->messages[static_cast<std::size_t>(from)];
    --under_way_;
    p.busy = false;
    p.heard = Clock::now();
    ++came_;
    if (fault_.rank == 0 && fault_.delay > Seconds{}) std::this_thread::sleep_for(fault_.delay);
    if (!ends_) {
      problem_.keep(head.worker, message_.values());
      rules_.delivered(static_cast<int>(head.worker), released_);  // its events say what that is
      follow(head.loss);
    }
    if (ends_) {
      under_way_ -= static_cast<std::int64_t>(p.waiting.size());
      p.waiting.clear();
    }
    if (p.busy || p.waiting.empty()) return {};
    const auto next = std::move(p.waiting.front());
    p.waiting.pop_front();
    begin(from, next.first, next.second);
    return {};
  }

  /// What the policy made of it.
  void follow(double loss) {
    const Seconds at = Clock::now() - began_;
    for (const sync::StreamEvent& e : rules_.events()) {
      if (job_.times) writer_.add(e, at);
      if (!learner_.take(e)) {
        made_.diverged = learner_.diverged();
        ends_ = true;
        return;
      }
      ages_.take(e);
      if (e.kind == sync::StreamEvent::Kind::Delivered)
        ++(e.update.applied ? made_.served->applied : made_.served->discarded);
      if (e.kind != sync::StreamEvent::Kind::Advanced) continue;
      made_.versions = learner_.version();
      if (made_.versions >= 2 * made_.points.back().version) add_point();
    }
    marks_.version(made_.versions, loss);
    if (marks_.stops_before(made_.versions)) ends_ = made_.stopped = true;
    for (const int worker : released_) let_go(worker);
  }

  void add_point() {
    const auto before = Clock::now();
    made_.points.push_back({.version = made_.versions,
                            .at = before - began_,
                            .samples = learner_.samples(),
                            .score = problem_.score(learner_.parameters())});
    scoring_ += Clock::now() - before;
  }
  void tell() {
    const sync::AgeCounts ages = ages_.all();
    made_.served->mean_age = ages.mean();
    made_.served->largest_age = ages.largest();
    made_.served->samples = made_.served->applied * job_.samples;
    made_.served->left = came_ - made_.served->applied - made_.served->discarded;
    made_.stream = stream_.str();
  }

  const TrainJob& job_;
  Injected fault_;
  Transport& transport_;
  Marks& marks_;
  Numbers numbers_;
  Brought problem_;
  learn::Learner learner_;
  sync::Policy rules_;
  sync::StreamAges ages_;
  std::ostringstream stream_;
  sync::StreamWriter writer_;
  Message message_;
  Message next_;  ///< comes while what came before is worked with
  Message news_;  ///< may be on its way to several
  std::vector<Process> processes_;
  std::vector<std::int64_t> begun_;  ///< steps of each worker
  std::vector<int> released_;
  std::int64_t came_ = 0;       ///< gradients
  std::int64_t under_way_ = 0;  ///< steps that were let go and have not come
  bool ends_ = false;           ///< nobody is let go any more
  Clock::time_point began_{};
  Seconds scoring_{};
  Seconds waited_{};  ///< for anybody's gradient
  TrainedRun made_;
};

/// Gradients until the server says that it was the last; returns the parameters at the end.
Result<std::vector<float>> compute(const TrainJob& job, const Injected& fault, Transport& transport,
                                   Marks& marks, learn::Problem& problem) {
  const learn::StepShare share{.leaves = 1, .samples = job.samples};
  const Numbers numbers(transport);
  const bool faulty = fault.rank == transport.rank();
  const std::int64_t last = workers_of(job, transport.rank()).end() - 1;
  Message in(problem.parameters()), out(problem.parameters());
  transport.wait_longer(kLonger);
  transport.receive(0, numbers.parameters, in.bytes());
  for (std::int64_t done = 0;;) {
    marks.wait(0);
    COX_CHECK(transport.wait_for(0, numbers.parameters));
    marks.came(0, in.size());
    Head head = in.head();
    if (head.worker == kNewsOnly) {
      transport.receive(0, numbers.parameters, in.bytes());
      continue;
    }
    if (head.worker < 0) return std::vector<float>(in.values().begin(), in.values().end());
    marks.step(done++);
    marks.begin(StepPart::Gradient, {});
    if (faulty && fault.delay > Seconds{}) std::this_thread::sleep_for(fault.delay);
    head.loss = problem.gradient(
        in.values(), share.shard(job.workers, static_cast<int>(head.worker), head.step, 0), out.values());
    if (faulty && head.step == fault.nan && head.worker == last)
      out.values().front() = std::numeric_limits<float>::quiet_NaN();
    marks.end();
    out.set(head);
    transport.receive(0, numbers.parameters,
                      in.bytes());  // the word that there is room goes before the gradient
    marks.sent(0, out.size());
    transport.send(0, numbers.gradients, out.bytes());
    marks.wait(0);
    COX_CHECK(transport.wait_for(0, numbers.gradients));
    marks.taken();
  }
}

}  // namespace

std::optional<std::string> served_word(const learn::Way& way) {
  if (way.rule != learn::Rule::Policy || way.centre > 0) return std::nullopt;
  switch (way.policy.kind) {
    case model::PolicyKind::Backup:
      return fmt::format("backup,backups={}", way.policy.backups);
    case model::PolicyKind::BoundedWait:
      return fmt::format("bounded-wait,staleness={}", way.policy.staleness);
    case model::PolicyKind::BoundedDiscard:
      return fmt::format("bounded-discard,staleness={}", way.policy.staleness);
    case model::PolicyKind::Asynchronous:
      if (way.weight == learn::AgeWeight::None) return "asynchronous";
      return way.weight == learn::AgeWeight::Inverse ? "age-weighted"
                                                     : fmt::format("age-weighted,decay={}", way.decay);
    case model::PolicyKind::Synchronous:
    case model::PolicyKind::LocalSgd:
      break;
  }
  return std::nullopt;
}

Bytes served_message(std::int64_t parameters) {
  return Bytes{static_cast<std::int64_t>(sizeof(Head))} + Bytes{parameters} * sizeof(float);
}

Result<TrainedRun> run_served(const TrainJob& job, Transport& transport, Marks& marks) {
  COX_TRY(std::unique_ptr<learn::Problem> problem, problem_of(job));
  COX_TRY(const learn::OptimizerSpec optimizer, learn::read_optimizer(job.optimizer));
  COX_TRY(const learn::Way way, learn::read_way(job.served));
  COX_TRY(const Injected fault, read_injected(job.inject));
  const std::vector<Bytes> before = transport.sent();
  TrainedRun made;
  std::uint64_t hash = 0;
  if (transport.rank() == 0) {
    Server server(job, way, optimizer, fault, transport, marks, std::move(problem));
    COX_TRY(made, server.run());
    hash = hash_of(server.parameters());
  } else {
    COX_TRY(const std::vector<float> x, compute(job, fault, transport, marks, *problem));
    hash = hash_of(x);
  }
  std::vector<Bytes> sent = transport.sent();
  for (std::size_t r = 0; r < sent.size(); ++r) sent[r] -= before[r];
  COX_CHECK(compare_ends(transport, hash, sent, made));
  made.memory.resize(made.hashes.size());
  made.optimizer.assign(made.hashes.size(), Bytes{});
  made.optimizer.front() =
      Bytes{made.parameters * static_cast<std::int64_t>(learn::moments_of(optimizer.kind))} * sizeof(float);
  return made;
}

}  // namespace cox::train
