// SPDX-License-Identifier: Apache-2.0
/// \file
/// What one member says of an operation, and whether two of them speak of the same one.
#pragma once

#include <cstdint>
#include <optional>

#include "cox/model/collective.hpp"
#include "cox/trace/run.hpp"

namespace cox::diagnose {

/// What one member said of an operation.
struct Said {
  model::Collective kind = model::Collective::Other;
  std::uint16_t flags = 0;
  std::uint32_t aux = 0;
  std::int64_t bytes = 0;
  bool known = false;

  bool operator==(const Said&) const = default;
  [[nodiscard]] bool sized() const {
    return (flags & trace::kVariable) == 0 && kind != model::Collective::Neighbor &&
           kind != model::Collective::Other;
  }
  [[nodiscard]] std::optional<std::uint32_t> root() const {
    return (flags & trace::kRooted) != 0 ? std::optional(aux) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint32_t> element() const {
    const bool has = (flags & trace::kElement) != 0 && (flags & trace::kRooted) == 0;
    return has ? std::optional(aux) : std::nullopt;
  }
};

/// A part of what is said, the weightiest first.
enum class SaidPart : std::uint8_t { Operation, Root, Count, TypeSize };

/// What they disagree on; the first that holds is what is told.
[[nodiscard]] inline std::optional<SaidPart> difference(const Said& a, const Said& b) {
  if (a.kind != b.kind) return SaidPart::Operation;
  if (a.root() && b.root() && a.root() != b.root()) return SaidPart::Root;
  if (a.sized() && b.sized() && a.bytes != b.bytes) return SaidPart::Count;
  if (a.sized() && b.sized() && a.element() && b.element() && a.element() != b.element())
    return SaidPart::TypeSize;
  return std::nullopt;
}

[[nodiscard]] inline Said said_by(const trace::EventColumns& e, std::size_t i) {
  return {e.collective(i), e.flags[i], e.aux[i], e.bytes[i].count(), true};
}

}  // namespace cox::diagnose
