// SPDX-License-Identifier: Apache-2.0
#include "train/executor/paged_floats.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include "cox/base/assert.hpp"

namespace cox::train {
namespace {

std::size_t page_floats() {
  static const std::size_t floats = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) / sizeof(float);
  return floats;
}

Bytes page() {
  return Bytes{static_cast<std::int64_t>(page_floats() * sizeof(float))};
}

/// [first, end) of pages.
struct Pages {
  std::size_t first = 0;
  std::size_t end = 0;
};
Pages pages_of(const Stretch& s) {
  if (s.count == 0) return {};
  const std::size_t floats = page_floats();
  return {.first = static_cast<std::size_t>(s.first) / floats,
          .end = (static_cast<std::size_t>(s.end()) + floats - 1) / floats};
}

}  // namespace

Bytes paged_bytes(const Stretch& s) {
  const Pages pages = pages_of(s);
  return page() * static_cast<std::int64_t>(pages.end - pages.first);
}

PagedFloats::PagedFloats(std::int64_t count, MemoryCount& memory, Use use)
    : memory_(memory),
      use_(use),
      count_(static_cast<std::size_t>(count)),
      open_(pages_of({.first = 0, .count = count}).end) {
  void* at = ::mmap(nullptr, std::max<std::size_t>(open_.size(), 1) * page_floats() * sizeof(float),
                    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  COX_ASSERT(at != MAP_FAILED, "there are addresses for all elements");
  values_ = static_cast<float*>(at);
}

PagedFloats::~PagedFloats() {
  for (const std::uint16_t uses : open_)
    if (uses > 0) memory_.give_back(use_, page());
  ::munmap(values_, std::max<std::size_t>(open_.size(), 1) * page_floats() * sizeof(float));
}

void PagedFloats::open(const Stretch& s) {
  const Pages pages = pages_of(s);
  for (std::size_t p = pages.first; p < pages.end; ++p)
    if (open_[p]++ == 0) memory_.take(use_, page());
}

void PagedFloats::close(const Stretch& s) {
  const Pages pages = pages_of(s);
  std::size_t from = pages.first;
  std::size_t to = pages.end;
  for (std::size_t p = pages.first; p < pages.end; ++p) {
    COX_ASSERT(open_[p] > 0, "what is closed was open");
    if (--open_[p] == 0)
      memory_.give_back(use_, page());
    else if (p == pages.first)
      ++from;
    else
      to = std::min(to, p);
  }
  if (from < to)
    ::madvise(values_ + from * page_floats(), (to - from) * page_floats() * sizeof(float), MADV_DONTNEED);
}

}  // namespace cox::train
