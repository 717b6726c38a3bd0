// SPDX-License-Identifier: Apache-2.0
// Where a late rank's extra time goes and why, as one clause.
#include <algorithm>
#include <variant>

#include "diagnose/words/sentences.hpp"

namespace cox::diagnose {
namespace {

/// Behind "rank 2,"; empty for a cause that says why and not where.
const char* place_of(Cause c) {
  switch (c) {
    case Cause::Forward:
      return "in its forward pass";
    case Cause::Backward:
      return "in its backward pass";
    case Cause::Optimizer:
      return "in its optimizer";
    case Cause::Data:
      return "in its data loader";
    case Cause::Evaluation:
      return "in its evaluation";
    case Cause::OutsidePhases:
      return "outside of all marked phases";
    case Cause::OptimizerOrData:
      return "in its optimizer or its data loader";
    default:
      return "";
  }
}

/// Empty for a cause that says where and not why.
const char* reason_of(Cause c, bool many, bool has_device) {
  switch (c) {
    case Cause::CpuQuota:
      return "a quota denied it a CPU";
    case Cause::CpuContention:
      return "it was ready to run and had no CPU";
    case Cause::AsleepOrIo:
      return "it slept or waited for input and output";
    case Cause::SlowCpuClock:
      return "its CPU ran at a lower frequency than the others'";
    case Cause::SlowCodeOrCpu:
      return "it computed for longer than the others";
    case Cause::OffCpu:
      return "it slept, and waited for a CPU when it woke";
    case Cause::SlowKernels:
      return "its device ran as many kernels, each slower";
    case Cause::UnevenWork:
      return "its device ran more kernels than the others'";
    case Cause::Copies:
      return "its device copied for longer";
    case Cause::DataLoading:
      return has_device ? "its device waited for input" : "it waited for input";
    case Cause::Gc:
      return "its host collected garbage";
    case Cause::Allocator:
      return "its host allocated memory";
    case Cause::LateLaunch:
      return "its host launched late: the device had nothing to do";
    case Cause::FarFromDevice:
      return many ? "they are bound to CPUs away from devices, no other rank is"
                  : "it is bound to CPUs away from devices, no other rank is";
    case Cause::SharedCores:
      return "they are bound to cores that they share, no other rank is";
    case Cause::StageImbalance:
      return "its stage has more to compute than the others";
    case Cause::SlowWorker:
      return "ranks that do the same are not slow";
    case Cause::Communication:
      return "transfers take longer than their like";
    case Cause::Fabric:
      return "groups that use it are slower than their like";
    default:
      return "";
  }
}

}  // namespace

bool has_no_data(const Finding& f) {
  // Where ranks may run is known of any Run; that nothing is wrong with it is no answer.
  const auto silent = [](const CauseTest& t) {
    const bool of_place = t.rule == Cause::FarFromDevice || t.rule == Cause::SharedCores;
    return t.state == CauseTestState::NoData || (of_place && t.state == CauseTestState::NotFired);
  };
  return !f.tests.empty() && std::ranges::all_of(f.tests, silent);
}

std::string cause_sentence(const Finding& f) {
  std::string text = place_of(f.cause);
  if (const auto* e = std::get_if<LateEvidence>(&f.evidence);
      e != nullptr && e->reasons.phase && e->reasons.phase->share >= kExplains && text.empty())
    text = place_of(e->reasons.phase->cause);
  const auto* late = std::get_if<LateEvidence>(&f.evidence);
  const bool has_device = late != nullptr && late->reasons.device && late->reasons.device->has_device;
  const std::string why = reason_of(f.cause, f.ranks.size() > 1, has_device);
  if (!text.empty() && !why.empty()) text += "; ";
  text += why;
  if (!text.empty()) return text;
  return has_no_data(f) ? "not known: this input holds nothing that causes are told by"
                        : "not known: nothing in this input explains most of it";
}

}  // namespace cox::diagnose
