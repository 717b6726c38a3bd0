// SPDX-License-Identifier: Apache-2.0
// A library that offers a few of the functions of PyTorch and Gloo that Coxswain knows, as another version
// might: process groups can be made, an all-reduce runs, DDP waits for gradients. It does nothing.
#define ALIAS(text) __asm__(text) __attribute__((visibility("default")))

extern "C" {
void make_group(void* self, const void* const* store, int rank, int size, void* options) ALIAS(
    "_ZN4c10d16ProcessGroupGlooC1ERKN3c1013intrusive_ptrINS_5StoreENS1_6detail34intrusive_target_default_null_typeIS3_EEEEiiNS2_INS0_7OptionsENS5_ISA_EEEE");
void allreduce(const void* options) ALIAS("_ZN4gloo9allreduceERKNS_16AllreduceOptionsE");
void finalize_backward(void* self) ALIAS("_ZN4c10d7Reducer17finalize_backwardEv");
}

#ifdef ODD_TORCH_LIBRARY
void make_group(void*, const void* const*, int, int, void*) {}
void allreduce(const void*) {}
void finalize_backward(void*) {}
#else
#include "guest/gloo/abi.hpp"

int main() {
  namespace abi = cox::guest::gloo_abi;
  const void* store[4] = {store};  // its first word is no table of a PrefixStore
  const void* pointer = store;
  long group = 0;
  make_group(&group, &pointer, 0, 1, nullptr);
  make_group(&group, &pointer, 0, 1, nullptr);
  const abi::ContextNumbers context{.rank = 0, .size = 1};  // without a table of virtual functions
  abi::AllreduceOptions options{};
  options.context.get = &context;
  options.elements = 16;
  options.element_size = 4;
  for (options.tag = 0; options.tag < 5; ++options.tag) {
    allreduce(&options);
    finalize_backward(&group);
  }
}
#endif
