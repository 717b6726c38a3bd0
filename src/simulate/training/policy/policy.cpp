// SPDX-License-Identifier: Apache-2.0
#include "simulate/training/policy/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "simulate/collective/prices.hpp"
#include "simulate/flow/ways.hpp"
#include "simulate/training/policy/backup_meeting.hpp"
#include "simulate/training/policy/server_network.hpp"
#include "simulate/training/policy/server_ports.hpp"
#include "simulate/training/policy/worker_input.hpp"
#include "simulate/training/policy/worker_times.hpp"
#include "simulate/training/step/step_loads.hpp"

namespace cox::simulate::training {
namespace {

using model::PolicyKind;

/// What a rank's packing takes before its gradients leave for the servers, and the servers' unpacking behind them: of the
/// widest stage.
model::Compressed on_the_way(const Plan& plan) {
  const Bytes widest = plan.widest_stage();
  return model::packed_message(plan.job().is_hybrid() ? plan.shard_of(widest) : widest,
                               plan.job().compression);
}

/// One that goes from worker to worker, or one for each of those that are played together.
std::vector<std::unique_ptr<StepEngine>> engines_of(const Plan& plan, const Noise& noise, std::uint64_t seed,
                                                    int workers, int replicas) {
  std::vector<std::unique_ptr<StepEngine>> engines;
  for (int w = 0; w < (plan.workers_together() ? workers : 1); ++w)
    engines.push_back(std::make_unique<StepEngine>(plan, &noise, seed, w * replicas, replicas));
  return engines;
}

/// Workers are the replicas of the model, or groups of them that share experts or shards; each works through its steps on its own.
class Job {
 public:
  Job(const Plan& plan, const Noise& noise, std::optional<WorkerInput> input, std::uint64_t seed,
      Recorder* recorder, PolicyOutcome* log, const UpdateSink* sink)
      : plan_(plan),
        recorder_(recorder),
        log_(log),
        sink_(sink),
        replicas_(plan.job().replicas_per_worker()),
        seed_(seed),
        workers_(plan.layout().data / replicas_),
        policy_(plan.scenario().policy, workers_),
        timeouts_(plan.scenario().fabric.timeouts, seed),
        trouble_{.noise = &noise, .timeouts = &timeouts_},
        servers_(plan, trouble_),
        packed_(on_the_way(plan)),
        input_(std::move(input)),
        engines_(engines_of(plan, noise, seed, workers_, replicas_)),
        now_(static_cast<std::size_t>(plan.stages() * replicas_)),
        waiting_(static_cast<std::size_t>(workers_),
                 {.units = std::vector<Waiting::Unit>(now_.size()), .begins = now_}),
        begun_(static_cast<std::size_t>(workers_)),
        finished_(begun_.size()),
        delivered_at_(begun_.size()),
        idle_(begun_.size()),
        times_(plan, all_engines(), workers_, replicas_),
        left_(static_cast<std::size_t>(plan.scenario().job.steps), workers_),
        to_come_(std::int64_t{workers_} * plan.scenario().job.steps) {
    out_.step_ends.resize(left_.size());
    if (barrier() && plan.server_network() != nullptr)
      out_.link_bytes.resize(plan.server_network()->links().size());  // a worker alone sends nothing
    else if (barrier() && plan.scenario().price == model::CollectivePrice::Rounds)
      loads_.emplace(plan.scenario());
    const bool together = plan.workers_together();
    if (plan.server_network() != nullptr && (!barrier() || together)) network_.emplace(plan, trouble_, seed);
    if (!together) return;
    under_way_.resize(static_cast<std::size_t>(workers_));
    for (int w = 0; w < workers_; ++w) engine(w).share(network_->of_worker(w, w * replicas_));
  }

  Result<Played> play() {
    if (input_ && ahead())
      for (int u = 0; u < workers_ * units(); ++u) input_->ask(u, Seconds{});
    for (int w = 0; w < workers_; ++w) COX_CHECK(begin(w, Seconds{}));
    while (!over_) {
      if (const auto end = next_on_the_way()) {
        COX_CHECK(ended(*end));
        continue;
      }
      if (input_ && input_->soonest() <= next_event() && input_->soonest() < FlowEngine::kForEver) {
        ++out_.evaluated;
        if (const auto unit = input_->advance()) COX_CHECK(fed(*unit));
        continue;
      }
      if (events_.empty()) break;
      COX_CHECK(next_of_worker());
    }
    if (stopped_) return std::move(out_);
    COX_CHECK(end_steps());
    if (network_) take_network();
    for (const auto& one : engines_)
      for (std::size_t l = 0; l < one->link_bytes().size(); ++l) out_.link_bytes[l] += one->link_bytes()[l];
    const Seconds end = *std::ranges::max_element(out_.step_ends);
    out_.accounts = times_.close(end);
    if (loads_) {
      loads_->renew();
      add_own_messages(plan_, begun_, *loads_);
      out_.busiest_port = loads_->busiest(end);
    }
    if (log_ != nullptr) report();
    for (const auto& one : engines_) {
      out_.messages += one->messages();
      out_.evaluated += one->evaluated();
      out_.closure = out_.closure || one->closure();
      out_.memo = out_.memo || one->memo();
    }
    return std::move(out_);
  }

 private:
  enum class What : std::uint8_t { Due, Delivered, Computed };
  using Event = std::tuple<Seconds, What, int>;
  /// A worker that has the parameters, or input that is there before.
  struct Waiting {
    std::int64_t step = 0;
    Seconds since{};
    int missing = 0;  ///< units that lack the input of the step: it waits for them
    struct Unit {
      Seconds got{};  ///< its last input
      bool has = false;
      bool lacks = false;  ///< that of the step
    };
    std::vector<Unit> units{};
    std::vector<Seconds> begins{};  ///< of each unit, when it had the input of the step
  };

  /// A step of one of the workers that are played together.
  struct UnderWay {
    bool is = false;
    std::int64_t step = 0;
    Seconds since{};
    Seconds due = FlowEngine::kForEver;  ///< that an event is for
  };

  [[nodiscard]] StepEngine& engine(int w) const {
    return *engines_[static_cast<std::size_t>(w) % engines_.size()];
  }
  [[nodiscard]] std::vector<StepEngine*> all_engines() const {
    std::vector<StepEngine*> all;
    for (const auto& one : engines_) all.push_back(one.get());
    return all;
  }
  [[nodiscard]] bool more(int w) const {
    return begun_[static_cast<std::size_t>(w)] < plan_.scenario().job.steps;
  }
  [[nodiscard]] int units() const { return static_cast<int>(now_.size()); }  ///< of a worker
  [[nodiscard]] int first_unit(int w) const { return w * replicas_ * plan_.stages(); }
  [[nodiscard]] bool ahead() const { return plan_.job().input.ahead; }
  [[nodiscard]] Seconds next_event() const {
    return events_.empty() ? FlowEngine::kForEver : std::get<Seconds>(events_.top());
  }
  [[nodiscard]] bool barrier() const { return plan_.scenario().policy.kind == PolicyKind::Backup; }

  /// Worker `w` has the parameters and computes a step; with a barrier it is the step of that version.
  Status begin(int w, Seconds at) {
    const std::int64_t step = barrier() ? policy_.version() : begun_[static_cast<std::size_t>(w)];
    if (step >= plan_.scenario().job.steps) return {};
    ++begun_[static_cast<std::size_t>(w)];
    if (!input_) return start(w, step, at);
    Waiting& its = waiting_[static_cast<std::size_t>(w)];
    its.step = step;
    its.since = at;
    its.missing = units();
    for (Waiting::Unit& unit : its.units) unit.lacks = true;
    for (int u = 0; u < units(); ++u) {
      if (!ahead())
        input_->ask(first_unit(w) + u, at);
      else if (its.units[static_cast<std::size_t>(u)].has)
        take(w, u);
    }
    return its.missing == 0 ? start_fed(w) : Status{};
  }

  /// All ranks of a unit have their input.
  Status fed(const WorkerInput::Got& got) {
    const int w = got.unit / units();
    Waiting& its = waiting_[static_cast<std::size_t>(w)];
    Waiting::Unit& unit = its.units[static_cast<std::size_t>(got.unit % units())];
    unit = {.got = got.at, .has = true, .lacks = unit.lacks};
    if (!unit.lacks) return {};
    take(w, got.unit % units());
    return its.missing == 0 ? start_fed(w) : Status{};
  }

  /// The `u`-th unit of a worker that waits takes its input, and the next one may be made from then on.
  void take(int w, int u) {
    Waiting& its = waiting_[static_cast<std::size_t>(w)];
    Waiting::Unit& unit = its.units[static_cast<std::size_t>(u)];
    unit.has = unit.lacks = false;
    its.begins[static_cast<std::size_t>(u)] = unit.got;
    --its.missing;
    if (ahead() && more(w)) input_->ask(first_unit(w) + u, std::max(unit.got, its.since));
  }

  Status start_fed(int w) {
    const Waiting& its = waiting_[static_cast<std::size_t>(w)];
    engine(w).feed(its.begins);
    return start(w, its.step, its.since);
  }

  /// Step `step` of worker `w`, which may wait for its input, begins.
  Status start(int w, std::int64_t step, Seconds at) {
    std::fill(now_.begin(), now_.end(), at);
    StepEngine& engine = this->engine(w);
    if (plan_.workers_together()) {
      under_way_[static_cast<std::size_t>(w)] = {.is = true, .step = step, .since = at};
      engine.begin(step, Meeting::None, now_);
      return went_on(w);
    }
    engine.move_to(w * replicas_);
    times_.begin(w);
    if (recorder_ != nullptr) recorder_->open_step(step, first_unit(w), engine.factors());
    COX_CHECK(engine.run(step, Meeting::None, now_, recorder_));
    is_through(w, at);
    return {};
  }

  /// A step that is played beside others has come further.
  Status went_on(int w) {
    UnderWay& its = under_way_[static_cast<std::size_t>(w)];
    StepEngine& engine = this->engine(w);
    if (!engine.is_over()) {
      if (engine.due() < its.due) events_.emplace(its.due = engine.due(), What::Due, w);
      return {};
    }
    times_.begin(w);
    if (recorder_ != nullptr) recorder_->open_step(its.step, first_unit(w), engine.factors());
    COX_CHECK(engine.end(now_, recorder_));
    is_through(w, its.since);
    its = {};
    return {};
  }

  Status come_due(int w, Seconds at) {
    UnderWay& its = under_way_[static_cast<std::size_t>(w)];
    if (its.due != at) return {};  // of what has come otherwise
    its.due = FlowEngine::kForEver;
    engine(w).come_due();
    return went_on(w);
  }

  /// The step of worker `w` that began at `at` ends as `now_` says.
  void is_through(int w, Seconds at) {
    const Seconds end = *std::max_element(now_.begin(), now_.end());
    finished_[static_cast<std::size_t>(w)] = end;
    times_.computed(w, at, now_, end);
    if (recorder_ != nullptr) recorder_->close_step();
    events_.emplace(barrier() ? end : end + packed_.encode, What::Computed, w);
  }

  Status next_of_worker() {
    const auto [at, what, worker] = events_.top();
    ++out_.evaluated;
    events_.pop();
    if (what == What::Due) return come_due(worker, at);
    return what == What::Delivered ? delivered(worker, at) : computed(worker, at);
  }

  /// Steps of workers that nobody waits for any more.
  Status end_steps() {
    events_ = {};
    for (UnderWay& one : under_way_) one.due = FlowEngine::kForEver;
    for (int w = 0; w < static_cast<int>(under_way_.size()); ++w)
      if (under_way_[static_cast<std::size_t>(w)].is) COX_CHECK(went_on(w));
    const auto is_open = [&] { return std::ranges::any_of(under_way_, &UnderWay::is); };
    while (is_open()) {
      if (const auto end = next_on_the_way()) {
        const auto* left = std::get_if<WorkerLeft>(&*end);
        if (left != nullptr) COX_CHECK(ended(*left));
      } else if (!events_.empty()) {
        if (std::get<What>(events_.top()) == What::Due)
          COX_CHECK(next_of_worker());
        else
          events_.pop();
      } else {
        for (std::size_t w = 0; w < under_way_.size(); ++w)  // that of a worker which waits for ever
          if (under_way_[w].is) return engine(static_cast<int>(w)).end(now_, nullptr);
      }
    }
    return {};
  }

  /// Something between workers and servers, or within a worker, is over.
  Status ended(const ServerNetwork::End& end) {
    if (const auto* of_worker = std::get_if<WorkerLeft>(&end)) {
      engine(of_worker->worker).take(of_worker->left);
      return went_on(of_worker->worker);
    }
    const auto& done = std::get<ServerTransfer>(end);
    if (!done.pushed) return fetched(done.worker, done.at);
    if (packed_.decode == Seconds{}) return delivered(done.worker, done.at);
    events_.emplace(done.at + packed_.decode, What::Delivered, done.worker);
    return {};
  }

  Status computed(int w, Seconds at) {
    if (barrier()) return meet(w, at);
    const std::int64_t step = begun_[static_cast<std::size_t>(w)] - 1;
    if (network_)
      network_->send(w, true, at, step);
    else if (servers_.disturbed())
      servers_.send(w, true, at, step);
    else
      events_.emplace(servers_.push(at) + packed_.decode, What::Delivered, w);
    return {};
  }

  Status delivered(int w, Seconds at) {
    const std::int64_t step = begun_[static_cast<std::size_t>(w)] - 1;
    static_cast<void>(policy_.delivered(w, released_));
    note(at);
    if (!network_)
      out_.messages += std::int64_t{2} * replicas_ * std::max(1, plan_.scenario().policy.servers);
    if (more(w))
      idle_[static_cast<std::size_t>(w)] -= at;
    else
      times_.stopped(w, at);
    delivered_at_[static_cast<std::size_t>(w)] = at;
    if (--left_[static_cast<std::size_t>(step)] == 0) out_.step_ends[static_cast<std::size_t>(step)] = at;
    if (--to_come_ == 0) over_ = true;  // neighbours would go on
    for (const int r : released_) {
      if (!more(r)) continue;
      idle_[static_cast<std::size_t>(r)] += at;
      times_.waited(r, at - delivered_at_[static_cast<std::size_t>(r)]);
      const std::int64_t for_step = begun_[static_cast<std::size_t>(r)];
      if (network_)
        network_->send(r, false, at, for_step);
      else if (servers_.disturbed())
        servers_.send(r, false, at, for_step);
      else
        COX_CHECK(fetched(r, servers_.pull(at)));
    }
    return {};
  }

  Status fetched(int w, Seconds at) {
    stop(w, at);
    return begin(w, at);
  }

  /// What ends between workers and servers before anything else happens.
  [[nodiscard]] std::optional<ServerNetwork::End> next_on_the_way() {
    const Seconds until = input_ ? std::min(next_event(), input_->soonest()) : next_event();
    if (network_) return network_->next(until);
    return servers_.next(until);
  }

  void take_network() {
    out_.neighbours = network_->neighbours();
    FlowOutcome flow = network_->take_outcome();
    out_.messages += flow.messages;
    out_.evaluated += flow.played + flow.evaluated;
    out_.memo = out_.memo || flow.memo;
    out_.link_bytes.resize(flow.link_bytes.size());
    for (std::size_t l = 0; l < out_.link_bytes.size(); ++l) out_.link_bytes[l] += flow.link_bytes[l];
  }

  /// How much of the time the busiest card or port of a server takes.
  [[nodiscard]] double busiest_link(Seconds total) const {
    const Network& network = *plan_.server_network();
    const model::Cluster& c = plan_.scenario().cluster;
    const std::size_t own = c.pcie.bandwidth > Bandwidth{} || c.pcie.latency > Seconds{} ? 2 : 1;
    std::vector<LinkIndex> way;
    double busiest = 0;
    const auto look = [&](std::size_t at) {
      const Bandwidth rate = network.links()[way[at]].bandwidth;
      busiest = std::max(busiest, out_.link_bytes[way[at]] / (rate.in_bytes_per_s() * total.count()));
    };
    const model::Fabric fixed = [&] {  // the first and last links are the same by any routing
      model::Fabric f = plan_.scenario().fabric;
      f.routing = model::Routing::Static;
      return f;
    }();
    const auto look_at_both_ends = [&](int server, int other) {
      if (other == server) return;
      fixed_route(network, fixed, 0, other, server, way);
      for (std::size_t i = 0; i < std::min(own, way.size()); ++i) look(way.size() - 1 - i);
      fixed_route(network, fixed, 0, server, other, way);
      for (std::size_t i = 0; i < std::min(own, way.size()); ++i) look(i);
    };
    for (const int server : plan_.server_devices()) {
      const int each = std::max(1, c.devices_per_node);
      look_at_both_ends(server, (server + each) % network.ranks());           // of another node
      look_at_both_ends(server, server / each * each + (server + 1) % each);  // of its own
    }
    return busiest;
  }

  /// Backup workers: as many as are waited for sum their gradients; whoever is later starts again.
  Status meet(int w, Seconds at) {
    const sync::Ruling ruling = policy_.delivered(w, released_);
    if (ruling == sync::Ruling::Wait) return {};
    if (ruling == sync::Ruling::Discard) {
      note(at);
      const Seconds ready = std::max(at, last_meeting_) + servers_.alone(w, policy_.version());
      times_.waited(w, std::max(at, last_meeting_) - at);
      stop(w, ready);
      return begin(w, ready);
    }
    std::vector<Seconds> times;
    times.reserve(released_.size());
    for (const int r : released_) times.push_back(finished_[static_cast<std::size_t>(r)]);
    COX_CHECK(reduce(times));
    last_meeting_ = *std::max_element(times.begin(), times.end());
    note(last_meeting_);
    out_.step_ends[static_cast<std::size_t>(policy_.version() - 1)] = last_meeting_;
    over_ = stopped_ || policy_.version() >= plan_.scenario().job.steps;
    const std::vector<int> members = released_;
    for (std::size_t m = 0; m < members.size(); ++m) {
      idle_[static_cast<std::size_t>(members[m])] += at - finished_[static_cast<std::size_t>(members[m])];
      times_.waited(members[m], at - finished_[static_cast<std::size_t>(members[m])]);
      stop(members[m], times[m]);
      if (!over_) COX_CHECK(begin(members[m], times[m]));
    }
    return {};
  }

  /// Moves the members' arrivals to when they have the sum of all gradients,
  /// stage by stage beside each other.
  Status reduce(std::vector<Seconds>& times) {
    const BackupMeeting meeting(plan_, released_);
    if (meeting.members() == 1) return {};
    const std::vector<Seconds> arrivals = times;
    if (plan_.server_network() != nullptr) {
      COX_TRY(BackupMeeting::Left left, meeting.play_on_links(arrivals, trouble_, policy_.version(), seed_));
      for (std::size_t l = 0; l < out_.link_bytes.size(); ++l) out_.link_bytes[l] += left.link_bytes[l];
      out_.messages += left.messages;
      out_.evaluated += left.evaluated;
      out_.memo = out_.memo || left.memo;
      times = std::move(left.at);
      return {};
    }
    if (loads_) {
      loads_->renew();
      COX_CHECK(meeting.add_loads(*loads_));
    }
    for (int s = 0; s < plan_.stages(); ++s) {
      const model::Compressed sum = meeting.sum(s);
      if (const auto whole = plan_.whole_time(sum.kind, sum.bytes, meeting.of(), meeting.members())) {
        const Seconds end = *std::ranges::max_element(arrivals) + sum.encode + sum.decode +
                            drawn_time(*whole, seed_, policy_.version(), s);
        for (Seconds& t : times) t = std::max(t, end);
        continue;
      }
      COX_TRY(const BackupMeeting::Left left, meeting.play(s, arrivals, trouble_, policy_.version()));
      out_.messages += left.messages;
      out_.evaluated += left.evaluated;
      for (std::size_t m = 0; m < times.size(); ++m) times[m] = std::max(times[m], left.at[m]);
    }
    return {};
  }

  void stop(int w, Seconds until) {
    times_.stopped(w, until);
    if (recorder_ == nullptr) return;
    recorder_->open_step(0, first_unit(w), engine(w).factors());
    for (int u = 0; u < static_cast<int>(now_.size()); ++u)
      recorder_->stop(u, finished_[static_cast<std::size_t>(w)], until);
    recorder_->close_step();
  }

  void note(Seconds at) {
    for (const sync::StreamEvent& e : policy_.events())
      if (sink_ != nullptr && !stopped_) stopped_ = over_ = !(*sink_)(e, streamed_ = std::max(streamed_, at));
    if (log_ == nullptr) return;
    for (const sync::StreamEvent& e : policy_.events())
      if (e.kind == sync::StreamEvent::Kind::Delivered) log_->log.push_back(e.update);
    log_->at.resize(log_->log.size(), at);
  }

  void report() {
    log_->step_ends = out_.step_ends;
    log_->idle = idle_;
    double ages = 0;
    std::int64_t applied = 0;
    for (const sync::Update& u : log_->log) {
      if (!u.applied) {
        ++log_->discarded;
        continue;
      }
      ++applied;
      ages += static_cast<double>(u.age());
    }
    log_->mean_age = applied > 0 ? ages / static_cast<double>(applied) : 0;
    log_->total = *std::max_element(out_.step_ends.begin(), out_.step_ends.end());
    log_->servers_busy = network_ && !barrier() ? busiest_link(log_->total) : servers_.busy(log_->total);
  }

  const Plan& plan_;
  Recorder* recorder_;
  PolicyOutcome* log_;
  const UpdateSink* sink_;
  int replicas_;  ///< of a worker
  std::uint64_t seed_;
  int workers_;
  sync::Policy policy_;
  TimeoutDraws timeouts_;
  MessageTrouble trouble_;
  ServerPorts servers_;
  model::Compressed packed_;  ///< a rank's gradients, to servers
  std::optional<ServerNetwork> network_;
  std::optional<WorkerInput> input_;
  std::vector<std::unique_ptr<StepEngine>> engines_;  ///< of all workers, or one for each
  std::vector<UnderWay> under_way_;                   ///< per worker, where they are played together
  std::vector<Seconds> now_;
  std::vector<Waiting> waiting_;       ///< per worker, where steps have input
  std::vector<std::int64_t> begun_;    ///< steps, per worker
  std::vector<Seconds> finished_;      ///< its last computation
  std::vector<Seconds> delivered_at_;  ///< its last update
  std::vector<Seconds> idle_;
  WorkerTimes times_;
  std::vector<int> left_;     ///< workers that have not delivered a step
  std::int64_t to_come_ = 0;  ///< updates to servers
  std::vector<int> released_;
  std::optional<PortLoads> loads_;  ///< of backup workers whose links are not played
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Seconds last_meeting_{};
  bool over_ = false;
  bool stopped_ = false;  ///< by the sink
  Seconds streamed_{};    ///< a meeting is over later than those who come late to it are sent away
  Played out_;
};

tl::unexpected<Error> cannot(std::string message, std::string hint) {
  return fail({.code = Errc::Unsupported,
               .id = "simulate-003",
               .message = std::move(message),
               .hint = std::move(hint),
               .where = std::nullopt});
}

}  // namespace

Result<Played> play_policy(const Plan& plan, std::uint64_t seed, Recorder* recorder, PolicyOutcome* log,
                           const UpdateSink* sink) {
  const model::Scenario& s = plan.scenario();
  if (s.policy.in_step())
    return cannot("a synchronous policy has no log of updates", "ask for another policy");
  if (plan.job().zero_stage > 0 && !plan.job().is_hybrid())
    return cannot(
        fmt::format("zero_stage {} spreads its shards over all replicas, and the policy goes on without some",
                    plan.job().zero_stage),
        "use the synchronous policy, job.zero_stage = 0, or job.layout.shard: replicas that hold a set are a worker");
  const int workers = plan.layout().data / plan.job().replicas_per_worker();
  if (s.policy.backups >= workers)
    return cannot(fmt::format("{} backups of {} workers: nobody is left", s.policy.backups, workers),
                  "use fewer backups");
  COX_TRY(const Noise noise, Noise::make(s.noise, plan.placement(), seed));
  std::optional<WorkerInput> input;
  if (plan.job().input.takes_time()) {
    COX_TRY(input, WorkerInput::make(plan));
  }
  COX_TRY(Played played, Job(plan, noise, std::move(input), seed, recorder, log, sink).play());
  played.repeats =
      noise.repeats(s.job.steps, *std::max_element(played.step_ends.begin(), played.step_ends.end()));
  return played;
}

}  // namespace cox::simulate::training

namespace cox::simulate {

Result<PolicyOutcome> simulate_policy(const model::Scenario& scenario, std::uint64_t seed) {
  COX_TRY(const training::Plan plan, training::Plan::make(scenario));
  PolicyOutcome out;
  COX_TRY(const training::Played played, training::play_policy(plan, seed, nullptr, &out));
  static_cast<void>(played);
  return out;
}

}  // namespace cox::simulate
