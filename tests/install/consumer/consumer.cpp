// SPDX-License-Identifier: Apache-2.0
// Uses the installed libraries: a quantity printed, and a Run that is not there.
#include <cstdio>

#include "cox/base/units_text.hpp"
#include "cox/trace/read.hpp"

int main() {
  const auto size = cox::parse_bytes("25MB");
  const auto rate = cox::parse_bandwidth("400Gbps");
  if (!size || !rate) return 1;
  std::printf("%s in %s\n", cox::to_string(*size).c_str(), cox::to_string(*size / *rate).c_str());

  const auto run = cox::trace::open_run("no-such-run");
  return !run && run.error().id == "trace-001" ? 0 : 2;
}
