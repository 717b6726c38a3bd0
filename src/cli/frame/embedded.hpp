// SPDX-License-Identifier: Apache-2.0
/// \file
/// Text files of the tree that are part of the program; the build makes the definitions (embed_text.cmake).
#pragma once

#include <span>
#include <string_view>

namespace cox::cli {

extern const std::string_view kErrorReferenceText;  ///< docs/reference/errors.md
extern const std::string_view kBashCompletionText;  ///< completion/cox.bash
extern const std::string_view kZshCompletionText;   ///< completion/_cox
extern const std::string_view kFishCompletionText;  ///< completion/cox.fish

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};
/// studies/*.toml, by name (embed_studies.cmake).
[[nodiscard]] std::span<const EmbeddedFile> embedded_studies();

}  // namespace cox::cli
