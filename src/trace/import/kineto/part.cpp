// SPDX-License-Identifier: Apache-2.0
#include "trace/import/kineto/part.hpp"

#include <algorithm>
#include <limits>

#include "trace/import/kineto/order.hpp"
#include "trace/raw/meta_entries.hpp"

namespace cox::trace::kineto {
namespace {

std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

/// Elements of all tensors in `[[6144], [2, 3]]`, or -1: products of the innermost lists, added up.
std::int64_t elements_in(std::string_view dims) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  std::int64_t sum = 0;
  std::int64_t product = 1;
  std::int64_t number = -1;
  bool some = false;
  const auto settle = [&] {
    if (number < 0) return;
    product = number == 0 ? 0 : std::min(product, kMost / number) * number;
    some = true;
    number = -1;
  };
  for (const char c : dims) {
    if (c >= '0' && c <= '9')
      number = std::min(kMost, std::max<std::int64_t>(number, 0) * 10 + (c - '0'));
    else
      settle();
    if (c == '[') {
      product = 1;
      some = false;
    }
    if (c == ']' && some) {
      sum = std::min(kMost, sum + product);
      some = false;
    }
  }
  return sum > 0 ? sum : -1;
}

/// First quoted text of a list.
std::string_view first_text(std::string_view list) {
  const std::size_t open = list.find('"');
  if (open == std::string_view::npos) return {};
  const std::size_t close = list.find('"', open + 1);
  return close == std::string_view::npos ? std::string_view() : list.substr(open + 1, close - open - 1);
}

}  // namespace

std::uint32_t Collector::host_lane(std::uint64_t tid) {
  if (last_lane_.second != kNone && last_lane_.first == tid) return last_lane_.second;
  const auto next = static_cast<std::uint32_t>(lanes_.size());
  last_lane_ = {tid, lanes_.try_emplace(tid, next).first->second};
  return last_lane_.second;
}

/// Message size as nccl-tests counts it: the larger side, in elements times their size.
std::uint32_t Collector::comms_of(const TraceEvent& event) {
  if (!event.has_comms) return kNone;
  const CommsArguments& a = event.comms;
  Comms c;
  if (!a.collective.empty()) c.collective = collective_in(a.collective);
  std::int64_t elements = std::max(a.in_elements, a.out_elements);
  Bytes element = element_size(a.element_type);
  // Older annotations of the call tell the tensors instead. Of records the lists begin with other things.
  if (elements < 0 && event.meaning.kind != NameKind::CommsRecord) {
    elements = elements_in(a.input_dims);
    if (element == Bytes{0}) element = element_size(first_text(a.input_type));
    c.collective = event.meaning.collective;
  }
  std::int64_t bytes = 0;
  if (elements > 0 && !__builtin_mul_overflow(elements, element.count(), &bytes)) c.bytes = bytes;
  c.element = static_cast<std::uint32_t>(element.count());
  c.group = groups_.index(a);
  c.sequence = a.sequence;
  c.variable = a.in_split.size() > 2;
  comms_.push_back(c);
  return static_cast<std::uint32_t>(comms_.size() - 1);
}

void Collector::take(const TraceEvent& e) {
  if (e.phase != 'X' && e.phase != 'B' && e.phase != 'E') return;
  const bool known = e.category != Category::Unknown && e.category != Category::Uninteresting &&
                     (e.category != Category::PythonFrame || e.meaning.kind == NameKind::Gc);
  if (e.phase == 'X' && !known) return;
  if (!e.begin) {
    ++no_begin_;
    return;
  }
  const std::int64_t begin = e.begin->count();
  if (e.phase == 'E') {
    const auto at = open_.find({e.pid, e.tid});
    if (at == open_.end() || at->second.empty()) {
      ++unpaired_;
      return;
    }
    auto [span, wanted] = at->second.back();
    at->second.pop_back();
    span.end = std::max(span.begin, begin);
    if (wanted) close(span);
    return;
  }
  if (e.phase == 'X' && (!e.duration || e.duration->count() < 0)) {
    ++no_duration_;
    return;
  }
  Span span{.category = e.category, .meaning = e.meaning, .name = e.name, .begin = begin};
  if (known) {
    const bool device =
        e.category == Category::Kernel || e.category == Category::Copy || e.category == Category::DeviceSync;
    if (e.category == Category::Kernel) devices_.insert(e.pid);
    if (!device && pid_ == 0) pid_ = e.pid;
    const std::int64_t stream = e.stream >= 0 ? e.stream : static_cast<std::int64_t>(e.tid & 0xffffffff);
    span.lane = device ? static_cast<std::uint32_t>(stream) : host_lane(e.tid);
    span.correlation = e.correlation;
    span.external = e.external;
    span.comms = comms_of(e);
    // Stream waits are made on the device: no host stands still for them.
    if (e.category == Category::DeviceSync && e.sync_kind.find("Wait Event") != std::string_view::npos)
      span.category = Category::Uninteresting;
  }
  if (e.phase == 'B') {
    ++begun_;
    open_[{e.pid, e.tid}].emplace_back(span, known);
    return;
  }
  span.end = saturating_add(begin, e.duration->count());
  close(span);
}

void Collector::close(const Span& span) {
  ++tally_.used;
  switch (span.category) {
    case Category::Kernel:
      return take_kernel(span);
    case Category::Copy:
      return add_row(ActivityKind::Copy, span);
    case Category::Runtime:
      return add_row(span.meaning.kind == NameKind::HostSync     ? ActivityKind::HostSync
                     : span.meaning.kind == NameKind::Allocation ? ActivityKind::Allocation
                                                                 : ActivityKind::Launch,
                     span);
    case Category::DeviceSync:
      return syncs_.push_back(span);
    case Category::PythonFrame:
      return add_row(ActivityKind::Gc, span);
    case Category::HostOp:
    case Category::Annotation:
      return take_host(span);
    default:
      --tally_.used;
  }
}

void Collector::take_kernel(const Span& span) {
  if (span.meaning.kind == NameKind::Copy) return add_row(ActivityKind::Copy, span);
  ++tally_.kernels;
  tally_.kernel_time += Nanoseconds(std::min(span.end - span.begin, kFarNs));
  if (span.meaning.kind != NameKind::Collective) return add_row(ActivityKind::Kernel, span);
  ++tally_.collectives;
  collectives_.push_back(span);
}

void Collector::take_host(const Span& span) {
  const HostCall call{span.lane, span.begin, span.end, span.external, span.comms};
  switch (span.meaning.kind) {
    case NameKind::Collective:
      ++host_collectives_;
      return collectives_.push_back(span);
    case NameKind::CommsRecord:
      if (span.comms != kNone && comms_[span.comms].collective) records_.push_back(call);
      break;
    case NameKind::CollectiveCall:
      if (span.comms != kNone) calls_.push_back(call);
      break;
    case NameKind::Step:
      return marks_.push_back(span);
    case NameKind::OptimizerStep:
      marks_.push_back(span);
      break;
    case NameKind::DataLoad:
      marks_.push_back(span);
      return add_row(ActivityKind::DataLoad, span);
    case NameKind::Gc:
      return add_row(ActivityKind::Gc, span);
    default:
      break;
  }
  add_row(ActivityKind::HostOp, span);
}

void Collector::add_row(ActivityKind kind, const Span& span) {
  rows_.begin.push_back(span.begin);
  rows_.end.push_back(span.end);
  rows_.correlation.push_back(span.correlation);
  rows_.kind.push_back(kind);
  rows_.lane.push_back(span.lane);
  // Names of different categories are numbered apart; the category is kept in the upper bits until the end.
  rows_.name.push_back(span.name | static_cast<std::uint32_t>(span.category) << 28);
}

}  // namespace cox::trace::kineto
