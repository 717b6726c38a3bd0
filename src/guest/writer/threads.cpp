// SPDX-License-Identifier: Apache-2.0
// Guest code: libc only.
#include "guest/writer/threads.hpp"

#include <dlfcn.h>

namespace cox::guest {
namespace {

template <class F>
bool find(F*& function, const char* name) noexcept {
  function = reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

}  // namespace

const Threads* find_threads() noexcept {
  static constinit Threads found;  // callers that come together write the same
  const bool all = find(found.create, "pthread_create") && find(found.join, "pthread_join") &&
                   find(found.set_stack_size, "pthread_attr_setstacksize") &&
                   find(found.make_key, "pthread_key_create") &&
                   find(found.set_specific, "pthread_setspecific");
  return all ? &found : nullptr;
}

}  // namespace cox::guest
