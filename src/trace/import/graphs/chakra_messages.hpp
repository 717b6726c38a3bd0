// SPDX-License-Identifier: Apache-2.0
/// \file
/// A Chakra protobuf file message by message: each is preceded by its length as a varint.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cox/base/result.hpp"

#include "trace/import/bytes/byte_source.hpp"
#include "trace/import/graphs/chakra_nodes.hpp"

namespace cox::trace {

/// Longest message that is believed; a node with the tensors of a big model has some kilobytes.
inline constexpr std::uint64_t kMostMessageBytes = std::uint64_t{64} << 20;

/// Reads messages forward. Memory: one message and one piece of the file.
class ChakraMessages {
 public:
  explicit ChakraMessages(ByteSource source) : source_(std::move(source)) {}

  /// The next message, valid until the next call; nothing at the end, or where the file stops inside one.
  [[nodiscard]] Result<std::optional<std::string_view>> next();
  /// Why reading ended before the end of the file; empty where it did not.
  [[nodiscard]] const std::string& stopped() const { return stopped_; }

 private:
  [[nodiscard]] Result<bool> fill(std::size_t bytes);

  ByteSource source_;
  std::string buffer_;
  std::size_t used_ = 0;
  std::uint64_t position_ = 0;
  std::string stopped_;
};

/// A length in front of a message, from the front of `bytes`.
struct MessageLength {
  std::uint64_t value = 0;
  std::size_t bytes = 0;  ///< that it takes
};
[[nodiscard]] std::optional<MessageLength> parse_length(std::string_view bytes);

/// What the first message of a file tells.
struct ChakraMetadata {
  std::string schema;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
};

/// The message as a GlobalMetadata or as a Node; nothing where it is none (wrong wire types, cut).
/// Errors: none; nothing is thrown.
[[nodiscard]] std::optional<ChakraMetadata> parse_metadata(std::string_view message);
[[nodiscard]] std::optional<ChakraNode> parse_node(std::string_view message);

}  // namespace cox::trace
