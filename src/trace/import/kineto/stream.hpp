// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Chrome trace read forward: members of the outer object, and the list of events in batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cox/base/result.hpp"

#include "trace/import/bytes/byte_source.hpp"
#include "trace/import/kineto/event.hpp"

namespace cox::trace::kineto {

/// Finds where a JSON value ends without reading it; goes on from piece to piece. Brackets are counted, not
/// matched by kind, as EventParser does when it passes over.
class ValueEnd {
 public:
  static constexpr std::size_t kNotYet = static_cast<std::size_t>(-1);
  /// Bytes of `piece` that belong to the value, once its end is among them.
  /// A number ends before what follows.
  [[nodiscard]] std::size_t find(std::string_view piece);

 private:
  std::int64_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool scalar_ = false;
};

/// A moving window on the bytes of a source.
class Window {
 public:
  Window(ByteSource& source, std::size_t size);
  [[nodiscard]] std::string_view bytes() const { return {data(), filled_}; }
  /// The first of them; `kRoomBehind` more than there are may be read.
  [[nodiscard]] const char* data() const { return buffer_.data() + begin_; }
  void consume(std::size_t n) {
    begin_ += n;
    filled_ -= n;
    consumed_ += n;
  }
  /// Reads on behind the bytes that are left, in a larger window where they fill it; false at the end.
  Result<bool> more();
  /// Offset in the file of the first byte.
  [[nodiscard]] std::uint64_t position() const { return consumed_; }

 private:
  ByteSource& source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t consumed_ = 0;
  bool ended_ = false;
};

/// A member of the outer object that is not the list of events.
struct Member {
  std::string key;    ///< raw
  std::string value;  ///< raw JSON
};

/// What a walk through a file came to.
struct Walk {
  std::vector<Member> members;   ///< those asked for
  bool has_events = false;       ///< a list of events began
  bool whole = false;            ///< the outer value was closed
  std::uint64_t stopped_at = 0;  ///< byte where it stops to be JSON, or ends
  bool damaged = false;          ///< stopped before the end of the file
};

inline constexpr std::size_t kWindowBytes = std::size_t{256} << 10;

/// Walks through a trace: events go to `events`, members of the outer object named in `wanted` are kept.
/// The result does not depend on the size of the window.
///
/// Errors: of the source. Cost: one pass; memory of the window, or six times that of the
/// longest event up to 16 MiB.
/// Held by: src/trace/import/kineto/damage_test.cpp
[[nodiscard]] Result<Walk> walk_trace(ByteSource& source, std::size_t window_bytes,
                                      const std::vector<std::string_view>& wanted, EventParser& events);

/// Keys of the outer object that begin in `head`, or, of a list, those of its first object.
struct Outline {
  bool object = false;
  bool list = false;
  std::vector<std::string_view> keys;
  bool finished = false;  ///< the outer object (a list: its first object) is closed
};
[[nodiscard]] Outline outline_of(std::string_view head);

}  // namespace cox::trace::kineto
