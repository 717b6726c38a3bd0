// SPDX-License-Identifier: Apache-2.0
// Ranks that sleep 10 ms and all-reduce 8 bytes over Gloo, one of them sleeping longer: work that takes no
// CPU, so that more ranks than cores tell nothing but what was put in. usage: gloo_skew RANKS STEPS SLOW-RANK
// EXTRA-MS (-1: nobody)
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

namespace {

/// Gloo takes the store by reference, later versions as a shared one.
template <class Context>
void connect(Context& context, const std::shared_ptr<gloo::rendezvous::FileStore>& store,
             std::shared_ptr<gloo::transport::Device>& device) {
  if constexpr (requires { context.connectFullMesh(*store, device); })
    context.connectFullMesh(*store, device);
  else
    context.connectFullMesh(store, device);
}

int run_rank(int rank, int ranks, int steps, std::chrono::duration<double, std::milli> work,
             const std::string& meeting_place) {
  auto store = std::make_shared<gloo::rendezvous::FileStore>(meeting_place);
  gloo::transport::tcp::attr attributes;
  attributes.iface = "lo";
  auto device = gloo::transport::tcp::CreateDevice(attributes);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
  context->setTimeout(std::chrono::seconds(60));
  connect(*context, store, device);
  for (int i = 0; i < steps; ++i) {
    double value = 1;
    std::this_thread::sleep_for(work);
    gloo::AllreduceOptions o(context);
    o.setOutput(&value, 1);
    o.setAlgorithm(gloo::AllreduceOptions::Algorithm::BCUBE);
    o.setReduceFunction(
        [](void* c, const void* a, const void* b, std::size_t n) { gloo::sum<double>(c, a, b, n); });
    o.setTag(static_cast<std::uint32_t>(i));
    gloo::allreduce(o);
    if (value != ranks) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: gloo_skew RANKS STEPS SLOW-RANK EXTRA-MS\n");
    return 2;
  }
  const int ranks = std::atoi(argv[1]);
  const int steps = std::atoi(argv[2]);
  const int slow = std::atoi(argv[3]);
  const double extra = std::atof(argv[4]);
  std::string place = (std::filesystem::temp_directory_path() / "gloo_skew.XXXXXX").string();
  if (mkdtemp(place.data()) == nullptr) return 1;
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() != 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int code = 1;
    try {
      code = run_rank(rank, ranks, steps,
                      std::chrono::duration<double, std::milli>(10 + (rank == slow ? extra : 0)), place);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "gloo_skew: rank %d: %s\n", rank, e.what());
    }
    std::fflush(nullptr);
    std::exit(code);  // runs destructors of the process, as a program that ends in order does
  }
  int status = 0;
  int failed = 0;
  while (wait(&status) > 0) failed |= static_cast<int>(status != 0);
  std::error_code ec;
  std::filesystem::remove_all(place, ec);
  if (failed == 0) std::printf("%d steps\n", steps);
  return failed;
}
