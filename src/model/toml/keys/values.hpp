// SPDX-License-Identifier: Apache-2.0
/// \file
/// One value of a file into its field, and back into text.
#pragma once

#include <filesystem>
#include <string>

#include "cox/model/document.hpp"

#include "model/toml/keys/draft_notes.hpp"
#include "model/toml/keys/keys.hpp"

namespace cox::model {

/// Puts `node` where `key` says. `full` is the key as the file spells it. Errors: scenario-003.
template <class T>
[[nodiscard]] Status store(const Key<T>& key, T& target, const DocumentNode& node, const std::string& full,
                           const Notes& notes, const std::filesystem::path& folder);

/// The value as a file would spell it, without the quotes of a string; reads back exactly.
template <class T>
[[nodiscard]] std::string text_of(const Key<T>& key, T& target);

/// Whether TOML wants quotes around it.
template <class T>
[[nodiscard]] bool is_quoted(const Field<T>& field);

}  // namespace cox::model
