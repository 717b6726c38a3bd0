// SPDX-License-Identifier: Apache-2.0
#include "report/markup.hpp"

#include <cstddef>
#include <cstdint>

namespace cox::report {
namespace {

/// Length of the well-formed UTF-8 sequence at the head of `s`; 0 where there is none
/// (RFC 3629, table 3-7 of Unicode).
std::size_t utf8_length(std::string_view s) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < s.size() && at(i) >= low && at(i) <= high;
  };
  const unsigned c = at(0);
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) return tail(1) ? 2 : 0;
  if (c >= 0xE0 && c <= 0xEF) {
    const unsigned low = c == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = c == 0xED ? 0x9F : 0xBF;
    return tail(1, low, high) && tail(2) ? 3 : 0;
  }
  if (c >= 0xF0 && c <= 0xF4) {
    const unsigned low = c == 0xF0 ? 0x90 : 0x80;
    const unsigned high = c == 0xF4 ? 0x8F : 0xBF;
    return tail(1, low, high) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

/// C1 controls, and the marks that reorder text: U+202A..202E, U+2066..2069 (Unicode TR 9).
bool is_hidden_control(std::string_view sequence) {
  if (sequence.size() == 2) return sequence[0] == '\xC2' && static_cast<unsigned char>(sequence[1]) < 0xA0;
  if (sequence.size() != 3 || sequence[0] != '\xE2') return false;
  const auto third = static_cast<unsigned char>(sequence[2]);
  if (sequence[1] == '\x80') return third >= 0xAA && third <= 0xAE;
  return sequence[1] == '\x81' && third >= 0xA6 && third <= 0xA9;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

}  // namespace

std::string html(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = utf8_length(text.substr(i));
    const std::string_view sequence = text.substr(i, n == 0 ? 1 : n);
    i += sequence.size();
    if (n == 0 || is_hidden_control(sequence)) {
      out += kReplacement;
      continue;
    }
    if (n > 1) {
      out += sequence;
      continue;
    }
    switch (const char c = sequence[0]; c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\n':
      case '\t':
        out += ' ';
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
          out += kReplacement;
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string script_json(const Json& value) {
  const std::string plain = json_inside(value, JsonLetters::Ascii);
  std::string out;
  out.reserve(plain.size());
  for (const char c : plain) {  // these three occur only inside strings, where an escape means the same
    switch (c) {
      case '<':
        out += "\\u003c";
        break;
      case '>':
        out += "\\u003e";
        break;
      case '&':
        out += "\\u0026";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string terminal_text(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = utf8_length(text.substr(i));
    const std::string_view sequence = text.substr(i, n == 0 ? 1 : n);
    i += sequence.size();
    if (sequence == "\n" || sequence == "\t") {
      out += ' ';
    } else if (n == 0 || is_hidden_control(sequence) ||
               (n == 1 && (static_cast<unsigned char>(sequence[0]) < 0x20 || sequence[0] == 0x7F))) {
      out += '?';
    } else {
      out += sequence;
    }
  }
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  const auto byte = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) : 0U;
  };
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    out += kDigits[group >> 18 & 63];
    out += kDigits[group >> 12 & 63];
    out += i + 1 < bytes.size() ? kDigits[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? kDigits[group & 63] : '=';
  }
  return out;
}

}  // namespace cox::report
