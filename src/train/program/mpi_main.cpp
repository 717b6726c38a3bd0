// SPDX-License-Identifier: Apache-2.0
// cox-train-openmpi and cox-train-mpich: one rank of `cox train` over MPI.
//   mpirun -n 4 cox-train-openmpi problem=quadratic optimizer=sgd,rate=0.1 workers=8 procs=4 ...
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <list>
#include <string>

#include "cox/base/assert.hpp"

#include "train/program/observed_marks.hpp"
#include "train/run/replica.hpp"

namespace {

using cox::Seconds;
using cox::Status;
using cox::train::Slot;

/// In front of every message.
struct Head {
  std::uint64_t generation = 0;
  std::uint64_t number = 0;
};

/// A message and its head travel as one, from where they lie. The generation is never another one: a rank that is lost ends an
/// MPI job; so messages that were given up need not be taken back: the program aborts behind a time-out. Messages between two ranks with one tag meet in order; the head is the proof.
class MpiTransport final : public cox::train::Transport {
 public:
  MpiTransport(int rank, int ranks, Seconds patience) : Transport(rank, ranks), patience_(patience) {
    void* bound = nullptr;
    int known = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&bound), &known);
    if (known != 0) tags_ = static_cast<std::uint64_t>(*static_cast<int*>(bound)) + 1;
  }

  Status wait() override {
    std::vector<MPI_Request> requests;
    for (const Going& g : going_) requests.push_back(g.request);
    const double until = MPI_Wtime() + patience_.count();
    int done = 0;
    for (int polls = 0;; ++polls) {
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE);
      if (done != 0) break;
      if (MPI_Wtime() > until) return give_up(requests);
      if (polls > kPolls) rest();
    }
    Status ended{};
    for (const Going& g : going_)
      if (ended) ended = look_at_head(g);
    going_.clear();
    return ended;
  }

  Status wait_for(int peer, std::uint64_t number) override {
    const Slot slot{.generation = generation(), .number = number};
    const double until = MPI_Wtime() + patience_.count();
    Status ended{};
    for (auto g = going_.begin(); g != going_.end();) {
      if (g->peer != peer || g->slot != slot) {
        ++g;
        continue;
      }
      int done = 0;
      for (int polls = 0;; ++polls) {
        MPI_Test(&g->request, &done, MPI_STATUS_IGNORE);
        if (done != 0) break;
        if (MPI_Wtime() > until) return cox::fail(late(g->receives, peer, slot, patience_));
        if (polls > kPolls) rest();
      }
      if (ended) ended = look_at_head(*g);
      g = going_.erase(g);
    }
    return ended;
  }

  void wait_longer(int times) override { patience_ = patience_ * times; }

  void expect_any(std::uint64_t number, std::span<std::byte> bytes) override {
    if (!expected_.empty()) return;
    const Slot slot{.generation = generation(), .number = number};
    Going& any = expected_.emplace_back(Going{.receives = true, .slot = slot});
    MPI_Datatype type = type_of(any, bytes.data(), bytes.size());
    MPI_Irecv(MPI_BOTTOM, 1, type, MPI_ANY_SOURCE, tag_of(slot), MPI_COMM_WORLD, &any.request);
    MPI_Type_free(&type);
  }

  cox::Result<int> receive_any(std::uint64_t number, std::span<std::byte> bytes) override {
    const Slot slot{.generation = generation(), .number = number};
    expect_any(number, bytes);
    Going& any = expected_.front();
    const double until = MPI_Wtime() + patience_.count();
    MPI_Status from{};
    int done = 0;
    for (int polls = 0;; ++polls) {
      MPI_Test(&any.request, &done, &from);
      if (done != 0) break;
      if (MPI_Wtime() > until) return cox::fail(nobody(slot, patience_));
      if (polls > kPolls) rest();
    }
    const Head head = any.head;
    expected_.clear();
    if (head.generation != slot.generation || head.number != slot.number)
      return cox::fail(unlike(from.MPI_SOURCE, slot, "number", head.number, slot.number));
    for (Going& g : going_)
      if (!g.receives && g.peer == from.MPI_SOURCE) MPI_Wait(&g.request, MPI_STATUS_IGNORE);
    std::erase_if(going_, [&](const Going& g) { return !g.receives && g.peer == from.MPI_SOURCE; });
    return from.MPI_SOURCE;
  }

 private:
  struct Going {
    int peer = 0;
    bool receives = false;
    Slot slot{};
    Head head{};
    MPI_Request request = MPI_REQUEST_NULL;
  };
  static constexpr int kPolls = 1000;

  static void rest() {
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000};
    nanosleep(&pause, nullptr);
  }

  void begin_send(int to, Slot slot, std::span<const std::byte> bytes) override {
    Going& g = going_.emplace_back(
        Going{.peer = to, .slot = slot, .head = {.generation = slot.generation, .number = slot.number}});
    MPI_Datatype type = type_of(g, bytes.data(), bytes.size());
    MPI_Isend(MPI_BOTTOM, 1, type, to, tag_of(slot), MPI_COMM_WORLD, &g.request);
    MPI_Type_free(&type);
  }
  void begin_receive(int from, Slot slot, std::span<std::byte> bytes) override {
    Going& g = going_.emplace_back(Going{.peer = from, .receives = true, .slot = slot});
    MPI_Datatype type = type_of(g, bytes.data(), bytes.size());
    MPI_Irecv(MPI_BOTTOM, 1, type, from, tag_of(slot), MPI_COMM_WORLD, &g.request);
    MPI_Type_free(&type);
  }
  void forget() override {
    going_.clear();
    expected_.clear();
  }

  /// Head and message, by address.
  static MPI_Datatype type_of(const Going& g, const std::byte* data, std::size_t size) {
    COX_ASSERT(size < std::size_t{1} << 31U, "a message has less than 2 GiB");
    std::array<int, 2> lengths{static_cast<int>(sizeof(Head)), static_cast<int>(size)};
    std::array<MPI_Aint, 2> places{};
    MPI_Get_address(&g.head, places.data());
    MPI_Get_address(data, &places[1]);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(size > 0 ? 2 : 1, lengths.data(), places.data(), MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
  }
  [[nodiscard]] int tag_of(Slot slot) const { return static_cast<int>(slot.number % tags_); }

  /// Of what came: is it what was waited for?
  [[nodiscard]] Status look_at_head(const Going& g) const {
    if (!g.receives) return {};
    if (g.head.generation != g.slot.generation)
      return cox::fail(unlike(g.peer, g.slot, "generation", g.head.generation, g.slot.generation));
    if (g.head.number != g.slot.number)
      return cox::fail(unlike(g.peer, g.slot, "number", g.head.number, g.slot.number));
    return {};
  }

  [[nodiscard]] tl::unexpected<cox::Error> give_up(const std::vector<MPI_Request>& requests) {
    auto at = going_.begin();
    for (const MPI_Request& r : requests) {
      if (r != MPI_REQUEST_NULL && (at->receives || std::next(at) == going_.end())) break;
      if (std::next(at) != going_.end()) ++at;
    }
    return cox::fail(late(at->receives, at->peer, at->slot, patience_));
  }

  Seconds patience_;
  std::uint64_t tags_ = 32'768;
  std::list<Going> going_;     ///< places that do not move
  std::list<Going> expected_;  ///< of the next `receive_any`: none or one
};

std::string library() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  std::string text(version.data(), static_cast<std::size_t>(length));
  text.resize(std::min(text.size(), text.find_first_of(",\n")));
  std::replace(text.begin(), text.end(), '\t', ' ');  // MPICH aligns its version
  return text;
}

cox::Result<cox::train::TrainedRun> run(const std::vector<std::string>& words) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  COX_TRY(const cox::train::TrainJob job, cox::train::read_words(words));
  MpiTransport transport(rank, ranks, job.patience);
  COX_CHECK(cox::train::check_alike(job, transport));
  if (ranks != job.procs)
    return cox::fail({.code = cox::Errc::Unsupported,
                      .id = "train-001",
                      .message = std::to_string(ranks) + " ranks were started, and the job has " +
                                 std::to_string(job.procs) + " processes",
                      .hint = "start as many; is it the launcher of another MPI?",
                      .where = {}});
  cox::train::ObservedMarks marks(rank, ranks, job.told);
  COX_TRY(cox::train::TrainedRun made, cox::train::run_replica(job, transport, marks));
  made.library = library();
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto made = run({argv + 1, argv + argc});
  // What a rank says goes through the launcher: one write, and time to pass it on before an abort takes all down.
  const bool alike =  // what was asked for is at fault: all ranks say so
      !made && made.error().code != cox::Errc::Timeout && made.error().code != cox::Errc::Io;
  const std::string text = made ? cox::train::rows_of(*made) : cox::train::row_of(made.error());
  if (rank == 0 || !(made || alike)) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  if (!made && !alike) {
    const timespec pause{.tv_sec = 0, .tv_nsec = 300'000'000};
    nanosleep(&pause, nullptr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
