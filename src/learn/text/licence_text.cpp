// SPDX-License-Identifier: Apache-2.0
#include "learn/text/licence_text.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "cox/base/file.hpp"
#include "cox/base/hash.hpp"

namespace cox::learn {
namespace {

struct Licence {
  std::string_view name;
  std::size_t bytes;
  std::uint64_t hash;  ///< FNV-1a
  bool held_out;
};

constexpr std::array<Licence, 14> kLicences = {{
    {"Apache-2.0", 11358, 0x2eb9294a0308d938, false},
    {"Artistic", 6111, 0xf240e4ab4a9d9a8c, true},
    {"BSD", 1499, 0xd39726c1a97a4764, false},
    {"CC0-1.0", 7048, 0xf92ec4039367c961, true},
    {"GFDL-1.2", 20432, 0x0f59ac5ee5448c2e, false},
    {"GFDL-1.3", 22955, 0x146728fec95c64b3, false},
    {"GPL-1", 12632, 0x900ee7cfa8f450a6, false},
    {"GPL-2", 18092, 0xa36465b10012a32e, false},
    {"GPL-3", 35149, 0x3a7b2fcbc1b66470, false},
    {"LGPL-2", 25381, 0xf220dbb646ee2ddd, false},
    {"LGPL-2.1", 26530, 0x0f3fd96ec19d27dc, false},
    {"LGPL-3", 7652, 0x8489a15f634d5275, false},
    {"MPL-1.1", 25755, 0x82b3ce0dda6568a2, false},
    {"MPL-2.0", 16726, 0xaf50002dc83cc3c9, true},
}};

tl::unexpected<Error> other_text(std::string message) {
  return fail(
      {.code = Errc::InvalidInput,
       .id = "learn-003",
       .message = std::move(message),
       .hint = "it takes the licences of Debian 12 (package base-files); learn another problem, like mlp",
       .where = std::nullopt});
}

Result<std::string> read_licence(const std::filesystem::path& folder, const Licence& licence) {
  const std::filesystem::path path = folder / licence.name;
  auto text = read_file(path, 1 << 20);
  if (!text) return other_text(fmt::format("{} cannot be read, and text is learned from it", path.string()));
  if (text->size() == licence.bytes && fnv1a(*text) == licence.hash) return *std::move(text);
  return other_text(fmt::format("{} has {} bytes with the hash {:016x}, expected {} with {:016x}",
                                path.string(), text->size(), fnv1a(*text), licence.bytes, licence.hash));
}

}  // namespace

Result<SymbolTexts> read_licences(const std::filesystem::path& folder) {
  std::array<std::string, kLicences.size()> texts;
  std::array<bool, 256> occurs{};
  for (std::size_t i = 0; i < kLicences.size(); ++i) {
    COX_TRY(texts[i], read_licence(folder, kLicences[i]));
    for (const char c : texts[i]) occurs[static_cast<unsigned char>(c)] = true;
  }
  SymbolTexts out;
  std::array<std::uint8_t, 256> symbol{};
  for (std::size_t byte = 0; byte < occurs.size(); ++byte)
    if (occurs[byte]) symbol[byte] = static_cast<std::uint8_t>(out.symbols++);
  for (std::size_t i = 0; i < kLicences.size(); ++i) {
    auto& to = kLicences[i].held_out ? out.held_out : out.trained;
    to.emplace_back();
    for (const char c : texts[i]) to.back().push_back(symbol[static_cast<unsigned char>(c)]);
  }
  return out;
}

}  // namespace cox::learn
