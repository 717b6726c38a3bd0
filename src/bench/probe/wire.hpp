// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the probe needs of a communication library, and the probe itself.
///
/// The probe is a program of its own per library, so that `cox` links to none of them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cox::bench::probe {

/// Ranks that can talk. One thread per rank.
class Wire {
 public:
  Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  virtual ~Wire() = default;

  [[nodiscard]] virtual std::string library() const = 0;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  /// Begins a message; `finish_send` returns once the buffer may be used again.
  virtual void begin_send(int to, std::span<std::byte> data) = 0;
  virtual void finish_send() = 0;
  virtual void receive(int from, std::span<std::byte> data) = 0;
  /// In place, summed.
  virtual void all_reduce(std::span<float> values) = 0;
  /// The largest of all ranks' values, on all ranks.
  [[nodiscard]] virtual double largest(double value) = 0;

  void send(int to, std::span<std::byte> data) {
    begin_send(to, data);
    finish_send();
  }
};

/// What the probe was asked for on its command line.
struct Request {
  bool all_reduce = false;         ///< `allreduce BYTES...` instead of messages between pairs
  std::vector<std::size_t> sizes;  ///< bytes
  int repetitions = 0;             ///< 0 = by size
  double pause_s = 0.05;           ///< between two all-reduces: what the network still holds is gone by then
};
/// Reads `pairs [BYTES...]` or `allreduce BYTES...`, with `--repetitions N` and `--pause SECONDS` before
/// them. Empty on a bad word, after saying so.
[[nodiscard]] bool read_request(std::span<char*> words, Request& request);

/// Measures and prints the table (format: docs/reference/bench.md). Returns the exit status.
[[nodiscard]] int run(Wire& wire, const Request& request);

}  // namespace cox::bench::probe
