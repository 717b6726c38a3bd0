// SPDX-License-Identifier: Apache-2.0
/// \file
/// TCP between the hosts 10.77.0.1 (near) and 10.77.0.2 (far).
#pragma once

#include <cstddef>
#include <cstdint>

namespace cox::bench::worker {

/// A listening socket, or -1.
[[nodiscard]] int listen_on(std::uint16_t port);
/// Its first connection, or -1.
[[nodiscard]] int accept_one(int listener);
/// A connection to host 1 or 2; tries for ten seconds. -1 where there is none.
[[nodiscard]] int connect_to(int host, std::uint16_t port);
/// All of it, or false.
[[nodiscard]] bool send_all(int socket, const void* data, std::size_t size);
[[nodiscard]] bool receive_all(int socket, void* data, std::size_t size);

}  // namespace cox::bench::worker
