// SPDX-License-Identifier: Apache-2.0
// How fast gradients are packed and unpacked, beside a copy and std::nth_element in the same run. CPU time, median of 9
// passes over 2^24 floats. Rates are of the floats' bytes.
//   copy           memcpy of the floats
//   nth_element    the k largest sizes of 1 %, on a copy (the copy is not counted)
//   NAME encode    Compressor::encode
//   NAME decode    Compressor::decode
//   NAME feedback  Feedback::compress: adds what was left, packs, unpacks, keeps what is left
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

#include "cox/base/random.hpp"
#include "cox/base/stats.hpp"

#include "learn/compress/compressor.hpp"

namespace {

using namespace cox;

constexpr std::size_t kSize = 1 << 24;

Seconds cpu_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return Seconds{static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec)};
}

/// GB/s of floats: median over passes of `work`, each after `prepare`.
double rate(
    const std::function<void()>& work, const std::function<void()>& prepare = [] {}) {
  std::vector<double> times;
  for (int pass = 0; pass < 10; ++pass) {
    prepare();
    const Seconds begin = cpu_time();
    work();
    if (pass > 0) times.push_back((cpu_time() - begin).count());  // the first touches memory
  }
  return 4e-9 * static_cast<double>(kSize) / median(times);
}

}  // namespace

int main() {
  std::vector<double> z(kSize);
  RandomStream(1, 1).normals32(0, 0, z);
  const std::vector<float> x(z.begin(), z.end());
  std::vector<float> out(kSize);
  const double copy = rate([&] { std::memcpy(out.data(), x.data(), kSize * sizeof(float)); });
  const auto larger = [](float a, float b) { return std::abs(a) > std::abs(b); };
  const double nth = rate(
      [&] { std::nth_element(out.begin(), out.begin() + kSize / 100, out.end(), larger); }, [&] { out = x; });
  fmt::print("{:<24}{:>8}{:>10}{:>16}\n", "", "GB/s", "x copy", "x nth_element");
  const auto print = [&](const std::string& name, double gb) {
    fmt::print("{:<24}{:>8.2f}{:>10.2f}{:>16.1f}\n", name, gb, gb / copy, gb / nth);
  };
  print("copy", copy);
  print("nth_element", nth);
  const std::vector<learn::Tensor> tensors = {{.name = "x", .first = 0, .rows = kSize, .columns = 1}};
  for (const char* text :
       {"top-k,keep=0.01", "int8,bucket=256", "qsgd", "terngrad", "sign", "fp16", "bf16", "e4m3fn"}) {
    const auto spec = learn::read_compressor(text);
    if (!spec) {
      fmt::print("{}\n", spec.error().to_string());
      return 1;
    }
    learn::Compressor by(*spec, tensors, 1);
    std::vector<std::byte> packed;
    print(fmt::format("{} encode", text), rate([&] { by.encode(x, 0, 0, packed); }));
    print(fmt::format("{} decode", text), rate([&] { by.decode(packed, 0, out); }));
    learn::Feedback feedback(learn::FeedbackKind::Error, kSize);
    print(fmt::format("{} feedback", text), rate([&] { feedback.compress(by, x, 1, 0, 0, out); }));
  }
}
