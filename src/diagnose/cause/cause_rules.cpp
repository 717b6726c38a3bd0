// SPDX-License-Identifier: Apache-2.0
#include "diagnose/cause/cause_rules.hpp"

#include "diagnose/cause/cause.hpp"

namespace cox::diagnose {
namespace {

CauseTest judged(Cause rule, double share) {
  return {rule, share >= kExplains ? CauseTestState::Fired : CauseTestState::NotFired, share};
}

/// Of a rule that looks at more than its own share: fired where it was chosen, else it explains nothing.
CauseTest found(Cause rule, Cause cause, double share) {
  return rule == cause ? CauseTest{rule, CauseTestState::Fired, share}
                       : CauseTest{rule, CauseTestState::NotFired, 0};
}

CauseTest without_data(Cause rule) {
  return {rule, CauseTestState::NoData, 0};
}

void test_samples(const Reasons& r, std::vector<CauseTest>& out) {
  if (!r.why) {
    for (const Cause rule : {Cause::CpuQuota, Cause::CpuContention, Cause::AsleepOrIo, Cause::SlowCpuClock,
                             Cause::SlowCodeOrCpu, Cause::OffCpu})
      out.push_back(without_data(rule));
    return;
  }
  const Why& w = *r.why;
  out.push_back(judged(Cause::CpuQuota, w.throttled));
  out.push_back(judged(Cause::CpuContention, w.ready));
  out.push_back(judged(Cause::AsleepOrIo, w.asleep));
  out.push_back(w.clock ? found(Cause::SlowCpuClock, w.cause, w.computing)
                        : without_data(Cause::SlowCpuClock));
  out.push_back(judged(Cause::SlowCodeOrCpu, w.cause == Cause::SlowCpuClock ? 0 : w.computing));
  out.push_back(found(Cause::OffCpu, w.cause, w.off_cpu));
}

void test_device(const Reasons& r, std::vector<CauseTest>& out) {
  if (!r.device) {
    for (const Cause rule : {Cause::SlowKernels, Cause::UnevenWork, Cause::Copies, Cause::DataLoading,
                             Cause::Gc, Cause::Allocator, Cause::LateLaunch})
      out.push_back(without_data(rule));
    return;
  }
  const DeviceWhy& w = *r.device;
  if (!w.has_device) {
    for (const Cause rule : {Cause::SlowKernels, Cause::UnevenWork, Cause::Copies})
      out.push_back(without_data(rule));
    out.push_back(judged(Cause::DataLoading, w.data));
    out.push_back(judged(Cause::Gc, w.gc));
    out.push_back(judged(Cause::Allocator, w.allocation));
    out.push_back(without_data(Cause::LateLaunch));
    return;
  }
  const bool uneven = w.cause == Cause::UnevenWork;
  out.push_back(judged(Cause::SlowKernels, uneven ? 0 : w.kernels));
  out.push_back(judged(Cause::UnevenWork, uneven ? w.kernels : 0));
  out.push_back(judged(Cause::Copies, w.copies));
  out.push_back(judged(Cause::DataLoading, w.idle * w.data));
  out.push_back(judged(Cause::Gc, w.idle * w.gc));
  out.push_back(judged(Cause::Allocator, w.idle * w.allocation));
  out.push_back(found(Cause::LateLaunch, w.cause, w.idle));
}

void test_placement(const Reasons& r, std::vector<CauseTest>& out) {
  const Binding p = r.placement.value_or(Binding{});
  out.push_back({Cause::FarFromDevice, p.far, 0});
  out.push_back({Cause::SharedCores, p.shared, 0});
}

/// Whether a placement that stands out may be what a cause comes from: it says more of the same, or nothing was known
/// but where the time goes. A rank that computes for longer may simply have more to do, so a far device does not
/// explain that; a core of which somebody else uses a thread may.
bool comes_from(Cause placement, Cause cause) {
  const bool only_where = class_of(cause) == CauseClass::Unknown;
  if (placement == Cause::FarFromDevice)
    return only_where || cause == Cause::Copies || cause == Cause::LateLaunch;
  return only_where || cause == Cause::CpuContention || cause == Cause::OffCpu ||
         cause == Cause::SlowCodeOrCpu;
}

Cause cause_without_placement(const Reasons& r) {
  if (r.why && r.why->cause != Cause::Unknown) return r.why->cause;
  if (r.device && r.device->cause != Cause::Unknown) return r.device->cause;
  if (r.phase && r.phase->share >= kExplains) return r.phase->cause;
  return Cause::Unknown;
}

}  // namespace

Cause cause_of(const Reasons& r) {
  const Cause cause = cause_without_placement(r);
  const Cause placement = r.placement ? r.placement->cause() : Cause::Unknown;
  return placement != Cause::Unknown && comes_from(placement, cause) ? placement : cause;
}

std::vector<CauseTest> test_causes(const Reasons& r) {
  std::vector<CauseTest> out;
  test_samples(r, out);
  test_device(r, out);
  test_placement(r, out);
  out.push_back(r.phase ? judged(Cause::Unknown, r.phase->share) : without_data(Cause::Unknown));
  return out;
}

}  // namespace cox::diagnose
