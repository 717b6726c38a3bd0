// SPDX-License-Identifier: Apache-2.0
/// \file
/// What each value of a draft came to.
#pragma once

#include <vector>

#include "cox/model/toml.hpp"

#include "model/toml/keys/draft_notes.hpp"
#include "model/toml/keys/keys.hpp"

namespace cox::model {

[[nodiscard]] std::vector<Explained> explain(Draft& draft, const Notes& notes);

}  // namespace cox::model
