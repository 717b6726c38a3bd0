// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/cause_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cox/base/units_text.hpp"

#include "diagnose/verdict/wording.hpp"

namespace cox::diagnose {
namespace {

CauseTest judged(const char* rule, double share, std::string text) {
  return {rule, share >= kExplains ? CauseTestState::Fired : CauseTestState::NotFired, share,
          std::move(text)};
}

CauseTest without_data(const char* rule, const char* needs) {
  return {rule, CauseTestState::NoData, 0, needs};
}

void test_samples(const Reasons& r, std::vector<CauseTest>& out) {
  static constexpr std::array kRules{"cpu_quota",      "cpu_contention",   "asleep_or_io",
                                     "slow_cpu_clock", "slow_code_or_cpu", "off_cpu"};
  if (!r.why) {
    for (const char* rule : kRules) out.push_back(without_data(rule, "needs samples of the process"));
    return;
  }
  const Why& w = *r.why;
  const auto told = [](double share, const char* what) {
    return fmt::format("{} of the extra work {}", percent(share), what);
  };
  out.push_back(judged("cpu_quota", w.throttled, told(w.throttled, "was denied a CPU by a quota")));
  out.push_back(judged("cpu_contention", w.ready, told(w.ready, "was ready to run and had no CPU")));
  out.push_back(judged("asleep_or_io", w.asleep, told(w.asleep, "was neither running nor ready")));
  const bool by_clock = w.cause == "slow_cpu_clock";
  out.push_back(w.clock
                    ? CauseTest{"slow_cpu_clock", by_clock ? CauseTestState::Fired : CauseTestState::NotFired,
                                by_clock ? w.computing : 0,
                                fmt::format("its CPU ran at {} of the others' frequency", percent(*w.clock))}
                    : without_data("slow_cpu_clock", "needs the CPU's frequency"));
  out.push_back(
      judged("slow_code_or_cpu", by_clock ? 0 : w.computing,
             told(w.computing, "was on a CPU, or waiting for one as long as everybody per second of it")));
  const bool off = w.cause == "off_cpu";
  out.push_back({"off_cpu", off ? CauseTestState::Fired : CauseTestState::NotFired, off ? w.off_cpu : 0,
                 told(w.off_cpu, "was asleep or waiting for a CPU, together")});
}

void test_device(const Reasons& r, std::vector<CauseTest>& out) {
  static constexpr std::array kRules{"slow_kernels", "uneven_work", "copies",     "data_loading",
                                     "gc",           "allocator",   "late_launch"};
  if (!r.device) {
    for (const char* rule : kRules) out.push_back(without_data(rule, "needs a profiler trace of the device"));
    return;
  }
  const DeviceWhy& w = *r.device;
  const bool uneven = w.cause == "uneven_work";
  const std::string kernels =
      fmt::format("{} of the extra time the device ran kernels, {} as many as on the others",
                  percent(w.kernels), percent(w.kernel_count_ratio));
  out.push_back(judged("slow_kernels", uneven ? 0 : w.kernels, kernels));
  out.push_back(judged("uneven_work", uneven ? w.kernels : 0, kernels));
  out.push_back(
      judged("copies", w.copies, fmt::format("{} of the extra time it only copied", percent(w.copies))));
  const auto of_idle = [&](const char* rule, double part, const char* what) {
    out.push_back(
        judged(rule, w.idle * part,
               fmt::format("the device had nothing to do in {} of the extra time; {} explains {} of that",
                           percent(w.idle), what, percent(part))));
  };
  of_idle("data_loading", w.data, "waiting for input");
  of_idle("gc", w.gc, "garbage collection");
  of_idle("allocator", w.allocation, "allocating memory");
  const bool launch = w.cause == "late_launch";
  std::string queue =
      w.queue ? fmt::format("; its collectives start {} after their launch", to_string(*w.queue)) : "";
  if (w.queue && w.usual_queue) queue += fmt::format(", the others' {}", to_string(*w.usual_queue));
  out.push_back(
      {"late_launch", launch ? CauseTestState::Fired : CauseTestState::NotFired, launch ? w.idle : 0,
       fmt::format("the device had nothing to do in {} of the extra time{}", percent(w.idle), queue)});
}

}  // namespace

std::string cause_of(const Reasons& r) {
  if (r.why && r.why->cause != "unknown") return r.why->cause;
  if (r.device && r.device->cause != "unknown") return r.device->cause;
  if (r.phase && r.phase->share >= kExplains) return r.phase->cause;
  return "unknown";
}

std::vector<CauseTest> test_causes(const Reasons& r) {
  std::vector<CauseTest> out;
  test_samples(r, out);
  test_device(r, out);
  out.push_back(
      r.phase ? judged("phase", r.phase->share,
                       fmt::format("{} of the extra work is in {}", percent(r.phase->share), r.phase->cause))
              : without_data("phase", "needs phases marked on all ranks"));
  return out;
}

CauseClass class_of(const std::string& cause) {
  static constexpr std::array<std::pair<const char*, CauseClass>, 18> kClasses{{
      {"cpu_quota", CauseClass::Host},
      {"cpu_contention", CauseClass::Host},
      {"asleep_or_io", CauseClass::Host},
      {"off_cpu", CauseClass::Host},
      {"slow_cpu_clock", CauseClass::Compute},
      {"slow_code_or_cpu", CauseClass::Compute},
      {"slow_kernels", CauseClass::Compute},
      {"uneven_work", CauseClass::Compute},
      {"copies", CauseClass::Locality},
      {"data_loading", CauseClass::Host},
      {"data", CauseClass::Host},
      {"gc", CauseClass::Host},
      {"allocator", CauseClass::Host},
      {"late_launch", CauseClass::Host},
      {"stage_imbalance", CauseClass::Compute},
      {"slow_worker", CauseClass::Compute},
      {"communication", CauseClass::Fabric},
      {"fabric", CauseClass::Fabric},
  }};
  for (const auto& [name, c] : kClasses)
    if (cause == name) return c;
  return CauseClass::Unknown;
}

const char* name_of(CauseClass c) {
  switch (c) {
    case CauseClass::Unknown:
      return "unknown";
    case CauseClass::Host:
      return "host";
    case CauseClass::Compute:
      return "compute";
    case CauseClass::Locality:
      return "locality";
    case CauseClass::Fabric:
      return "fabric";
    case CauseClass::GlobalEvent:
      return "global_event";
  }
  return "unknown";
}

const char* failure_mode_of(CauseClass c) {
  switch (c) {
    case CauseClass::Host:
    case CauseClass::GlobalEvent:
      return "runtime_and_control_plane";
    case CauseClass::Locality:
      return "locality";
    case CauseClass::Fabric:
      return "fabric_contention";
    case CauseClass::Compute:
    case CauseClass::Unknown:
      break;
  }
  return "synchronization_amplification";
}

const char* name_of(CauseTestState s) {
  switch (s) {
    case CauseTestState::Fired:
      return "fired";
    case CauseTestState::NotFired:
      return "not_fired";
    case CauseTestState::NoData:
      return "no_data";
  }
  return "no_data";
}

}  // namespace cox::diagnose
