// SPDX-License-Identifier: Apache-2.0
// cox-train-gloo: all ranks of `cox train` over Gloo's TCP transport, on this machine.
//   cox-train-gloo problem=quadratic optimizer=sgd,rate=0.1 workers=8 procs=4 ...
// starts a process for each rank, itself again with two words in front: its number and a folder where the ranks meet.
// Where one fails the others are killed.
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "cox/base/child.hpp"
#include "cox/base/processes.h"

#include "train/program/observed_marks.hpp"
#include "train/run/replica.hpp"

namespace {

namespace fs = std::filesystem;
using cox::Seconds;
using cox::Status;
using cox::train::Slot;

/// Gloo takes the store by reference, later versions as a shared one.
template <class Context>
void connect_mesh(Context& context, const std::shared_ptr<gloo::rendezvous::FileStore>& store,
                  std::shared_ptr<gloo::transport::Device>& device) {
  if constexpr (requires { context.connectFullMesh(*store, device); })
    context.connectFullMesh(*store, device);
  else
    context.connectFullMesh(store, device);
}

/// One unbound buffer per message: waits of a buffer only count, so two messages in one could be taken for each other. A wait that
/// is late closes all pairs of the context; the program ends behind it.
class GlooTransport final : public cox::train::Transport {
 public:
  GlooTransport(int rank, int ranks, const std::string& store, Seconds patience)
      : Transport(rank, ranks), patience_(patience) {
    gloo::transport::tcp::attr attributes;
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    attributes.iface = interface != nullptr ? interface : "lo";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    context->setTimeout(std::chrono::ceil<std::chrono::milliseconds>(patience));
    connect_mesh(*context, std::make_shared<gloo::rendezvous::FileStore>(store), device);
    context_ = std::move(context);
  }

  Status wait() override {
    const auto until = std::chrono::steady_clock::now() + patience_;
    Status ended{};
    for (const Going& g : going_) {
      if (!ended) break;
      try {
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        const auto some = std::max(left, std::chrono::milliseconds(1));
        if (g.buffer && (g.receives ? g.buffer->waitRecv(some) : g.buffer->waitSend(some))) continue;
      } catch (const std::exception&) {  // late, or the other end is closed
      }
      const bool in_vain = std::chrono::steady_clock::now() >= until;
      ended =
          cox::fail(in_vain ? late(g.receives, g.peer, g.slot, patience_) : lost(g.receives, g.peer, g.slot));
    }
    going_.clear();
    return ended;
  }

 private:
  struct Going {
    int peer = 0;
    bool receives = false;
    Slot slot{};
    std::unique_ptr<gloo::transport::UnboundBuffer> buffer;  ///< none where it could not begin
  };

  void begin_send(int to, Slot slot, std::span<const std::byte> bytes) override {
    auto* data =
        const_cast<std::byte*>(bytes.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast): only read
    begin(false, to, slot, data, bytes.size());
  }
  void begin_receive(int from, Slot slot, std::span<std::byte> bytes) override {
    begin(true, from, slot, bytes.data(), bytes.size());
  }
  void forget() override { going_.clear(); }

  void begin(bool receives, int peer, Slot slot, std::byte* data, std::size_t size) {
    Going& g =
        going_.emplace_back(Going{.peer = peer, .receives = receives, .slot = slot, .buffer = nullptr});
    try {
      auto buffer = context_->createUnboundBuffer(data, size);
      if (receives)
        buffer->recv(peer, number_of(slot));
      else
        buffer->send(peer, number_of(slot));
      g.buffer = std::move(buffer);
    } catch (const std::exception&) {  // the other end is closed: `wait` says so
    }
  }

  /// The highest byte is 9: Gloo's own operations have 1 to 8 there. Then 16 bits of generation, 40 of number.
  static std::uint64_t number_of(Slot slot) {
    return std::uint64_t{9} << 56U | (std::uint64_t{slot.generation} & 0xffffU) << 40U |
           (slot.number & 0xff'ffff'ffffU);
  }

  Seconds patience_;
  std::shared_ptr<gloo::Context> context_;
  std::vector<Going> going_;
};

/// Says what a rank that failed has to say; its exit status.
int end_with(const std::string& row) {
  std::fwrite(row.data(), 1, row.size(), stdout);
  std::fflush(stdout);
  return 1;
}

/// One rank; its exit status.
int run_rank(int rank, const std::string& store, const cox::train::TrainJob& job) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left where the one that started us is killed
  cox_rank(rank, job.procs);
  std::unique_ptr<GlooTransport> transport;
  try {
    transport = std::make_unique<GlooTransport>(rank, job.procs, store, job.patience);
  } catch (const std::exception& e) {
    return end_with(cox::train::row_of(cox::Error{
        .code = cox::Errc::Io,
        .id = "train-005",
        .message = "rank " + std::to_string(rank) + " cannot meet the others: " + e.what(),
        .hint =
            "GLOO_SOCKET_IFNAME names the interface (lo where it is not set); is a port free in net.ipv4.ip_local_port_range?",
        .where = {}}));
  }
  cox::train::ObservedMarks marks(rank, job.procs, job.told);
  auto made = cox::train::run_replica(job, *transport, marks);
  if (made) made->library = "Gloo";
  const std::string text = made ? cox::train::rows_of(*made) : cox::train::row_of(made.error());
  if (rank == 0 || !made) std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return made ? 0 : 1;
}

/// Ranks that run. Where one has failed, the others have `kGrace` to say that they have lost it; then they are killed.
class Ranks {
 public:
  void add(pid_t pid) { running_.push_back(pid); }
  [[nodiscard]] std::size_t size() const { return running_.size(); }
  void fail(int status) {
    if (status_ == 0) end_at_ = std::chrono::steady_clock::now() + kGrace;
    if (status_ == 0) status_ = status;
  }
  /// Until all have ended; the first exit status that is not 0.
  int wait() {
    while (!running_.empty()) {
      const bool some = std::erase_if(running_, [&](pid_t pid) { return has_ended(pid); }) > 0;
      if (status_ != 0 && std::chrono::steady_clock::now() >= end_at_)
        for (const pid_t pid : running_) cox_signal_process(pid, SIGKILL);
      if (!some) usleep(kPause);
    }
    return status_;
  }

 private:
  static constexpr std::chrono::seconds kGrace{2};
  static constexpr useconds_t kPause = 10'000;

  bool has_ended(pid_t pid) {
    int how = 0;
    if (cox_wait_process(pid, &how, WNOHANG) == 0) return false;
    if (const int status = cox::exit_status_of(how); status != 0) fail(status);
    return true;
  }

  std::vector<pid_t> running_;
  int status_ = 0;
  std::chrono::steady_clock::time_point end_at_{};
};

int run_all(const std::vector<std::string>& words, int ranks, const std::string& store) {
  Ranks running;
  for (int r = 0; r < ranks; ++r) {
    std::vector<std::string> told{"cox-train-gloo", std::to_string(r), store};
    told.insert(told.end(), words.begin(), words.end());
    pid_t pid = 0;
    if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, cox::argument_list(told).data(), environ) == 0)
      running.add(pid);
    else
      running.fail(1);
  }
  return running.wait();
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> words(argv + 1, argv + argc);
  const bool is_rank = words.size() > 2 && words[1].find('/') == 0;
  const std::string store = is_rank ? words[1] : "";
  const int rank = is_rank ? std::atoi(words[0].c_str()) : 0;
  if (is_rank) words.erase(words.begin(), words.begin() + 2);
  const auto job = cox::train::read_words(words);
  if (!job) {
    std::fputs(cox::train::row_of(job.error()).c_str(), stdout);
    return 1;
  }
  if (is_rank) return run_rank(rank, store, *job);
  std::string folder = (fs::temp_directory_path() / "cox-train-gloo.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const int status = run_all(words, job->procs, folder);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return status;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
  return 1;
}
