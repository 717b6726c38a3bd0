// SPDX-License-Identifier: Apache-2.0
#include "cox/simulate/goal.hpp"

#include "simulate/event/goal_image.hpp"
#include "simulate/event/goal_reader.hpp"

namespace cox::simulate {
namespace {

bool is_binary(std::span<const std::byte> bytes) {
  if (bytes.size() < 8) return false;
  const auto magic = load_as<std::uint64_t>(bytes.data());
  return magic == kGoalMagic || magic == kGoalSpent;
}

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Result<EventOutcome> run_binary(std::string_view binary, const std::string& name, const LogGops& cost) {
  COX_TRY(const GoalImage image, GoalImage::check(std::as_bytes(std::span(binary)), name));
  return run_image(image, cost);
}

}  // namespace

Result<EventOutcome> simulate_goal(std::span<const std::byte> bytes, const std::string& name,
                                   const LogGops& cost) {
  if (is_binary(bytes)) return run_binary(as_text(bytes), name, cost);
  COX_TRY(const std::string binary, read_goal_text(as_text(bytes), name));
  return run_binary(binary, name, cost);
}

Result<EventOutcome> simulate_goal(const std::filesystem::path& file, const LogGops& cost) {
  COX_TRY(const MappedFile mapped, MappedFile::open(file));
  return simulate_goal(mapped.bytes(), file.string(), cost);
}

Result<std::string> goal_binary(std::string_view text, const std::string& name) {
  return read_goal_text(text, name);
}

Status convert_goal(const std::filesystem::path& text, const std::filesystem::path& binary,
                    IfExists if_exists) {
  COX_TRY(const MappedFile mapped, MappedFile::open(text));
  COX_TRY(const std::string bytes, read_goal_text(as_text(mapped.bytes()), text.string()));
  return write_file_atomically(binary, bytes, if_exists);
}

}  // namespace cox::simulate
