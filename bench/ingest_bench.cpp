// SPDX-License-Identifier: Apache-2.0
// Reading a profiler trace, beside the least that anybody could do with the same file:
//   reader    our reader, from the file to the part of a Run
//   parser    simdjson's DOM parser on the text in memory, nothing looked at (raw files only)
//   unpack    unpacking alone, by ISA-L and by zlib (packed files only)
//
// Usage: ingest_bench TRACE...      (make large ones with ingest_repeat.py)
// Each measurement runs in a process of its own, best of five; CPU seconds, not elapsed ones.
#include <fmt/format.h>
#include <simdjson.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "cox/base/processes.h"

#include "trace/import/bytes/byte_source.hpp"
#include "trace/import/part/reader.hpp"

namespace {

using cox::trace::ByteSource;

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;
constexpr int kRounds = 5;

struct Cost {
  double cpu_s = 0;
  double peak_bytes = 0;
  double plain_bytes = 0;
};

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Runs `work` in a child, so that its peak is its own; it returns the unpacked bytes.
template <class Work>
Cost measure(Work work) {
  Cost best;
  for (int round = 0; round < kRounds; ++round) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return best;
    const pid_t child = fork();
    if (child == 0) {
      Cost c;
      const double before = cpu_seconds();
      c.plain_bytes = work();
      c.cpu_s = cpu_seconds() - before;
      rusage use{};
      getrusage(RUSAGE_SELF, &use);
      c.peak_bytes = 1024.0 * static_cast<double>(use.ru_maxrss);
      const bool told = write(ends[1], &c, sizeof c) == static_cast<ssize_t>(sizeof c);
      _exit(told ? 0 : 1);
    }
    close(ends[1]);
    Cost c;
    const bool got = read(ends[0], &c, sizeof c) == static_cast<ssize_t>(sizeof c);
    close(ends[0]);
    cox_wait_process(child, nullptr, 0);
    if (got && (best.cpu_s == 0 || c.cpu_s < best.cpu_s)) best = c;
  }
  return best;
}

double size_of(const std::string& path) {
  auto source = ByteSource::open(path, kNoLimit);
  std::vector<char> buffer(1 << 20);
  while (source) {
    const auto n = source->read(buffer);
    if (!n || *n == 0) break;
  }
  return source ? static_cast<double>(source->position()) : 0;
}

double read_it(const std::string& path) {
  const auto run = cox::trace::read_run(cox::trace::kKinetoReader, path,
                                        {.threads = 1, .progress = {}, .limit_bytes = kNoLimit});
  return run && !run->ranks.empty() ? 1 : 0;
}

double parse_it(const std::string& path) {
  simdjson::padded_string text;
  if (simdjson::padded_string::load(path).get(text) != simdjson::SUCCESS) return 0;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  return parser.parse(text).get(root) == simdjson::SUCCESS ? 1 : 0;
}

double unpack_zlib(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::vector<char> buffer(1 << 20);
  gzbuffer(file, 1 << 18);
  double sum = 0;
  for (int n = 0; (n = gzread(file, buffer.data(), 1 << 20)) > 0;) sum += n;
  gzclose(file);
  return sum;
}

void print(const char* what, const Cost& c, double bytes, const Cost* beside) {
  fmt::print(
      "  {:<14} {:8.3f} s CPU {:8.0f} MB/s   peak {:7.1f} MB = {:.3f} byte per byte{}\n", what, c.cpu_s,
      bytes / c.cpu_s * 1e-6, c.peak_bytes * 1e-6, c.peak_bytes / bytes,
      beside == nullptr ? "" : fmt::format("   time of the reader / this: {:.2f}", beside->cpu_s / c.cpu_s));
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string path = arguments[i];
    double bytes = 0;
    const Cost size = measure([&] { return size_of(path); });
    bytes = size.plain_bytes;
    const bool packed = path.ends_with(".gz");
    fmt::print("{} ({:.1f} MB unpacked)\n", path, bytes * 1e-6);
    const Cost reader = measure([&] { return read_it(path); });
    print("reader", reader, bytes, nullptr);
    if (packed) {
      print("unpack ISA-L", size, bytes, &reader);
      print("unpack zlib", measure([&] { return unpack_zlib(path); }), bytes, &reader);
    } else {
      print("read only", size, bytes, &reader);
      print("simdjson DOM", measure([&] { return parse_it(path); }), bytes, &reader);
    }
  }
}
