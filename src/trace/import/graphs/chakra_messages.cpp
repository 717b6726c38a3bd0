// SPDX-License-Identifier: Apache-2.0
#include "trace/import/graphs/chakra_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include <protozero/pbf_reader.hpp>

namespace cox::trace {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr std::size_t kPieceBytes = std::size_t{128} << 10;

bool is(const pbf_reader& field, std::uint32_t tag, pbf_wire_type type) {
  return field.tag() == tag && field.wire_type() == type;
}

std::string_view text_of(pbf_reader& field) {
  const protozero::data_view view = field.get_view();
  return {view.data(), view.size()};
}

/// An attribute: its name and the one value that counts here.
struct Attribute {
  std::string_view name;
  std::optional<std::int64_t> number{};
  std::string_view text{};
  bool some_not_all = false;  ///< a list of flags of which some are set and some are not
};

/// A varint by the encoding of its field: 15 and 17 are zigzag (sint32, sint64).
std::int64_t number_of(std::uint32_t tag, std::uint64_t raw) {
  if (tag == 15 || tag == 17) return protozero::decode_zigzag64(raw);
  return static_cast<std::int64_t>(raw);
}

bool some_not_all(pbf_reader list) {
  bool some = false;
  bool all = true;
  const auto take = [&](bool value) {
    some = some || value;
    all = all && value;
  };
  while (list.next()) {
    if (is(list, 1, pbf_wire_type::length_delimited)) {
      for (const char c : text_of(list)) take(c != 0);
    } else if (is(list, 1, pbf_wire_type::varint)) {
      take(list.get_uint64() != 0);
    } else {
      list.skip();
    }
  }
  return some && !all;
}

Attribute parse_attribute(pbf_reader field) {
  Attribute a;
  while (field.next()) {
    const std::uint32_t tag = field.tag();
    switch (field.wire_type()) {
      case pbf_wire_type::varint:
        a.number = number_of(tag, field.get_uint64());
        break;
      case pbf_wire_type::fixed32:
        if (tag == 5) {
          field.skip();  // a float: nothing that is used here is one
        } else {
          a.number = field.get_fixed32();
        }
        break;
      case pbf_wire_type::fixed64:
        if (tag == 3) {
          field.skip();
        } else {
          a.number = static_cast<std::int64_t>(field.get_fixed64());
        }
        break;
      case pbf_wire_type::length_delimited:
        if (tag == 1) {
          a.name = text_of(field);
        } else if (tag == 29) {
          a.text = text_of(field);
        } else if (tag == 28) {
          a.some_not_all = some_not_all(field.get_message());
        } else {
          field.skip();
        }
        break;
      default:
        field.skip();
    }
  }
  return a;
}

void apply(const Attribute& a, ChakraNode& node) {
  if (a.name == "comm_type") {
    node.comm_type = a.number;
  } else if (a.name == "comm_size") {
    node.comm_size = a.number;
  } else if (a.name == "comm_src") {
    node.source = a.number;
  } else if (a.name == "comm_dst") {
    node.destination = a.number;
  } else if (a.name == "comm_tag") {
    node.tag = a.number;
  } else if (a.name == "tensor_size") {
    node.tensor_size = a.number;
  } else if (a.name == "pg_name") {
    node.group = a.text;
  } else if (a.name == "involved_dim") {
    node.part_of_dimensions = a.some_not_all;
  }
}

void apply(const Attribute& a, ChakraMetadata& metadata) {
  if (a.name == "schema") {
    metadata.schema = a.text;
  } else if (a.name == "rank" || a.name == "npu_id") {
    metadata.rank = a.number;
  } else if (a.name == "world_size" || a.name == "num_npus") {
    metadata.world_size = a.number;
  }
}

/// Repeated ids, packed or one by one.
void take_ids(pbf_reader& field, std::vector<std::uint64_t>& ids) {
  if (field.wire_type() == pbf_wire_type::varint) {
    ids.push_back(field.get_uint64());
    return;
  }
  for (const std::uint64_t id : field.get_packed_uint64()) ids.push_back(id);
}

ChakraNode read_node(pbf_reader field) {
  ChakraNode node;
  while (field.next()) {
    switch (field.tag()) {
      case 1:
        node.id = field.get_uint64();
        break;
      case 2:
        node.name = text_of(field);
        break;
      case 3:
        node.type = field.get_uint64();
        break;
      case 4:
        take_ids(field, node.control);
        break;
      case 5:
        take_ids(field, node.data);
        break;
      case 6:
        node.start_us = field.get_uint64();
        break;
      case 7:
        node.duration_us = field.get_uint64();
        break;
      case 10:
        apply(parse_attribute(field.get_message()), node);
        break;
      default:
        field.skip();
    }
  }
  return node;
}

/// Whether the fields have the wire types that Node's have: what is read without
/// looking must have been looked at.
bool looks_like_node(pbf_reader field) {
  bool named = false;
  bool typed = false;
  while (field.next()) {
    const pbf_wire_type type = field.wire_type();
    const bool number = type == pbf_wire_type::varint;
    const bool bytes = type == pbf_wire_type::length_delimited;
    switch (field.tag()) {
      case 3:
        typed = true;
        [[fallthrough]];
      case 1:
      case 6:
      case 7:
        if (!number) return false;
        break;
      case 4:
      case 5:
        if (!number && !bytes) return false;
        break;
      case 2:
        named = true;
        [[fallthrough]];
      case 8:
      case 9:
      case 10:
      case 11:
        if (!bytes) return false;
        break;
      default:
        if (field.tag() > 64) return false;
    }
    field.skip();
  }
  return named && typed;
}

}  // namespace

std::optional<MessageLength> parse_length(std::string_view bytes) {
  MessageLength length;
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 10); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    length.value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      length.bytes = i + 1;
      return length;
    }
  }
  return std::nullopt;
}

std::optional<ChakraMetadata> parse_metadata(std::string_view message) {
  try {
    ChakraMetadata metadata;
    pbf_reader field(message.data(), message.size());
    while (field.next()) {
      if (field.wire_type() != pbf_wire_type::length_delimited || field.tag() > 2) return std::nullopt;
      const std::string_view bytes = text_of(field);
      // A version begins with a digit; an attribute with the tag of its name, which is a line feed.
      if (field.tag() == 1 && !bytes.starts_with('\n')) {
        metadata.schema = bytes;
        continue;
      }
      apply(parse_attribute(pbf_reader(bytes.data(), bytes.size())), metadata);
    }
    return metadata;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<ChakraNode> parse_node(std::string_view message) {
  try {
    const pbf_reader field(message.data(), message.size());
    if (!looks_like_node(field)) return std::nullopt;
    return read_node(field);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

Result<bool> ChakraMessages::fill(std::size_t bytes) {
  while (buffer_.size() - used_ < bytes) {
    buffer_.erase(0, used_);
    used_ = 0;
    const std::size_t have = buffer_.size();
    buffer_.resize(have + kPieceBytes);
    COX_TRY(const std::size_t n, source_.read(std::span(buffer_).subspan(have)));
    buffer_.resize(have + n);
    if (n == 0) return false;
  }
  return true;
}

Result<std::optional<std::string_view>> ChakraMessages::next() {
  constexpr std::size_t kLongestLength = 10;
  const auto stop = [&](std::string why) {
    stopped_ = std::move(why);
    return std::optional<std::string_view>();
  };
  COX_TRY(const bool whole, fill(kLongestLength));
  const std::string_view rest = std::string_view(buffer_).substr(used_);
  if (!whole && rest.empty())
    return source_.cut() ? stop(fmt::format("the file's compression stops early, after byte {}", position_))
                         : std::optional<std::string_view>();
  const std::optional<MessageLength> length = parse_length(rest);
  if (!length)
    return stop(fmt::format("no length of a message at byte {}: what follows is not used", position_));
  if (length->value > kMostMessageBytes)
    return stop(fmt::format("a message of {} bytes at byte {}, expected at most {}: what follows is not used",
                            length->value, position_, kMostMessageBytes));
  used_ += length->bytes;
  position_ += length->bytes;
  COX_TRY(const bool there, fill(length->value));
  if (!there)
    return stop(
        fmt::format("the file ends inside a message of {} bytes at byte {}", length->value, position_));
  const auto message = std::string_view(buffer_).substr(used_, length->value);
  used_ += length->value;
  position_ += length->value;
  return std::optional(message);
}

}  // namespace cox::trace
