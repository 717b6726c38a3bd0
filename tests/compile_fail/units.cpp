// SPDX-License-Identifier: Apache-2.0
// Compiles as it stands. With one of the macros it must not, and the compiler
// must say why; see CMakeLists.txt.
#include "cox/base/units.hpp"

#include "cox/base/units_text.hpp"

using namespace cox;
using namespace cox::literals;

void send(Bytes);
void wait_for(Duration);
void limit(Bandwidth);

void units() {
  const Bytes size = 25_MB;
  const Duration time = 10us;
  const Bandwidth rate = Bandwidth::gbit_per_s(400);
  const TimePerByte gap = rate.time_per_byte();
  send(size);
  wait_for(time + 5ns);
  wait_for(size / rate);
  wait_for(size * gap);
  send(rate * time);
  limit(size / time);
  const auto read = parse_bytes("25MB");
  (void)read;

#if defined(ADD_BYTES_TO_DURATION)
  (void)(time + size);
#elif defined(COMPARE_BYTES_WITH_DURATION)
  (void)(size < time);
#elif defined(INT_AS_BYTES)
  send(4096);
#elif defined(INT_AS_DURATION)
  wait_for(10);
#elif defined(DOUBLE_AS_BANDWIDTH)
  limit(12.5e9);
#elif defined(BYTES_AS_INT)
  const std::int64_t count = size;
  (void)count;
#elif defined(BANDWIDTH_TIMES_BYTES)
  (void)(rate * size);
#elif defined(BYTES_TIMES_BYTES)
  (void)(size * size);
#elif defined(ADD_NUMBER_TO_BYTES)
  (void)(size + 1);
#elif defined(TIME_PER_BYTE_AS_BANDWIDTH)
  limit(gap);
#elif defined(FRACTION_AS_DURATION)
  wait_for(std::chrono::duration<double>(0.5));
#elif defined(BANDWIDTH_OVER_DURATION)
  (void)(rate / time);
#elif defined(IGNORED_RESULT)
  parse_bytes("25MB");
#elif defined(RESULT_AS_VALUE)
  send(parse_bytes("25MB"));
#endif
}
