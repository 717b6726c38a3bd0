// SPDX-License-Identifier: Apache-2.0
// What each rule for a cause found, or needs.
#include <fmt/format.h>

#include "cox/base/number_text.hpp"
#include "cox/base/units_text.hpp"

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

std::string of_work(double share, const char* what) {
  return fmt::format("{} of the extra work {}", percent(share), what);
}

std::string of_idle(const DeviceWhy& w, const char* what, double part) {
  if (!w.has_device) return fmt::format("{} explains {} of the extra own work", what, percent(part));
  return fmt::format("the device had nothing to do in {} of the extra time; {} explains {} of that",
                     percent(w.idle), what, percent(part));
}

std::string launch_sentence(const DeviceWhy& w) {
  std::string queue =
      w.queue ? fmt::format("; its collectives start {} after their launch", to_string(*w.queue)) : "";
  if (w.queue && w.usual_queue) queue += fmt::format(", the others' {}", to_string(*w.usual_queue));
  return fmt::format("the device had nothing to do in {} of the extra time{}", percent(w.idle), queue);
}

/// Of the rules on samples; empty for all others.
std::string sentence_of(Cause rule, const Why& w) {
  switch (rule) {
    case Cause::CpuQuota:
      return of_work(w.throttled, "was denied a CPU by a quota");
    case Cause::CpuContention:
      return of_work(w.ready, "was ready to run and had no CPU");
    case Cause::AsleepOrIo:
      return of_work(w.asleep, "was neither running nor ready");
    case Cause::SlowCpuClock:
      return w.clock ? fmt::format("its CPU ran at {} of the others' frequency", percent(*w.clock))
                     : "needs the CPU's frequency";
    case Cause::SlowCodeOrCpu:
      return of_work(w.computing, "was on a CPU, or waiting for one as long as everybody per second of it");
    case Cause::OffCpu:
      return of_work(w.off_cpu, "was asleep or waiting for a CPU, together");
    default:
      return {};
  }
}

/// Of the rules on activities of the device; empty for all others.
std::string sentence_of(Cause rule, const DeviceWhy& w) {
  const bool of_host = rule == Cause::DataLoading || rule == Cause::Gc || rule == Cause::Allocator;
  if (!w.has_device && !of_host) return "needs a profiler trace of the device";
  switch (rule) {
    case Cause::SlowKernels:
    case Cause::UnevenWork:
      return fmt::format("{} of the extra time the device ran kernels, {} as many as on the others",
                         percent(w.kernels), percent(w.kernel_count_ratio));
    case Cause::Copies:
      return fmt::format("{} of the extra time it only copied", percent(w.copies));
    case Cause::DataLoading:
      return of_idle(w, "waiting for input", w.data);
    case Cause::Gc:
      return of_idle(w, "garbage collection", w.gc);
    case Cause::Allocator:
      return of_idle(w, "allocating memory", w.allocation);
    case Cause::LateLaunch:
      return launch_sentence(w);
    default:
      return {};
  }
}

std::string sentence_of(Cause rule, const Binding& p) {
  if (rule == Cause::SharedCores)
    return p.shared == CauseTestState::Fired
               ? "bound to cores that another rank is bound to; no other ranks are"
               : "bound to cores of its own, or not alone in sharing them";
  if (p.far == CauseTestState::NoData) return "needs to know at which NUMA nodes devices are";
  if (p.far == CauseTestState::NotFired)
    return "may use CPUs beside GPUs and network ports, or is not alone in being bound elsewhere";
  std::string nodes;
  for (const int node : p.device_nodes) nodes += fmt::format("{}{}", nodes.empty() ? "" : ", ", node);
  return fmt::format("bound to CPUs away from the {} of {}, which are at NUMA node{} {}; no other rank is",
                     p.device, p.host, p.device_nodes.size() == 1 ? "" : "s", nodes);
}

}  // namespace

std::string sentence_of(const CauseTest& t, const Reasons& r) {
  if (t.rule == Cause::Unknown)
    return r.phase ? fmt::format("{} of the extra work is in {}", percent(r.phase->share),
                                 name_of(r.phase->cause))
                   : "needs phases marked on all ranks";
  if (t.rule <= Cause::OffCpu) return r.why ? sentence_of(t.rule, *r.why) : "needs samples of the process";
  if (t.rule == Cause::FarFromDevice || t.rule == Cause::SharedCores)
    return r.placement ? sentence_of(t.rule, *r.placement) : "needs where ranks may run";
  return r.device ? sentence_of(t.rule, *r.device) : "needs a profiler trace of the device";
}

const char* rule_name(const CauseTest& t) {
  return t.rule == Cause::Unknown ? "phase" : name_of(t.rule);
}

}  // namespace cox::diagnose
