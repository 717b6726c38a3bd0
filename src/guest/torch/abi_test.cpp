// SPDX-License-Identifier: Apache-2.0
// Our declarations of what is passed to and from PyTorch against PyTorch's own headers: byte for byte.
#include "guest/torch/abi.hpp"

#include <ATen/record_function.h>
#include <gtest/gtest.h>
#include <torch/csrc/api/include/torch/version.h>

#include <cstring>
#include <string>
#include <type_traits>

#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include "guest/torch/version.hpp"

namespace {

namespace abi = cox::guest::c10d_abi;

std::unique_ptr<at::ObserverContext> their_start(const at::RecordFunction&) {
  return nullptr;
}
void their_end(const at::RecordFunction&, at::ObserverContext*) {}

// Layouts of a PyTorch that the guest leaves alone may differ.
class C10dAbi : public testing::Test {
 protected:
  void SetUp() override {
    const std::string file =
        "libtorch_cpu.so." + std::to_string(TORCH_VERSION_MAJOR) + "." + std::to_string(TORCH_VERSION_MINOR);
    if (!cox::guest::torch::knows_ranges(file.c_str())) GTEST_SKIP() << file << " is not used by its layout";
  }
};

TEST_F(C10dAbi, RangeCallbackIsPassedAlike) {
  using Theirs = at::RecordFunctionCallback;
  // Passed by value in memory, as a plain struct of that size is.
  static_assert(std::is_trivially_copyable_v<Theirs> && std::is_trivially_destructible_v<Theirs>);
  static_assert(sizeof(Theirs) == sizeof(abi::RangeCallback));
  static_assert(alignof(Theirs) == alignof(abi::RangeCallback));
  Theirs theirs(their_start, their_end);
  theirs.scopes({at::RecordScope::USER_SCOPE});
  const abi::RangeCallback ours =
      abi::range_callback(reinterpret_cast<void* (*)(void**, const void*)>(&their_start),
                          reinterpret_cast<void (*)(const void*, void*)>(&their_end));
  constexpr std::size_t kUsed = offsetof(abi::RangeCallback, needs_ids) + sizeof(bool);
  EXPECT_EQ(std::memcmp(&theirs, &ours, kUsed), 0);
}

TEST_F(C10dAbi, ContextComesBackThroughAHiddenPointer) {
  static_assert(!std::is_trivially_copyable_v<std::unique_ptr<at::ObserverContext>>);
  static_assert(sizeof(std::unique_ptr<at::ObserverContext>) == sizeof(void*));
  EXPECT_EQ(static_cast<std::uint8_t>(at::RecordScope::USER_SCOPE), abi::kUserScope);
  EXPECT_EQ(static_cast<std::uint8_t>(at::RecordScope::FUNCTION), abi::kOperatorScope);
  static_assert(sizeof(at::RecordScope) == sizeof abi::kUserScope);
  EXPECT_EQ(static_cast<std::size_t>(at::RecordScope::NUM_SCOPES), sizeof abi::RangeCallback::scopes);
}

TEST_F(C10dAbi, PointersAndStrings) {
  using StorePointer = c10::intrusive_ptr<c10d::Store>;
  using WorkPointer = c10::intrusive_ptr<c10d::Work>;
  static_assert(sizeof(StorePointer) == sizeof(abi::StorePointer));
  static_assert(sizeof(WorkPointer) == sizeof(abi::WorkPointer));
  static_assert(!std::is_trivially_copyable_v<StorePointer> && !std::is_trivially_copyable_v<WorkPointer>);
  for (const std::string& text : {std::string("default_pg"), std::string(100, 'x')}) {
    abi::String ours{};
    // NOLINTNEXTLINE(bugprone-undefined-memory-manipulation)
    std::memcpy(&ours, static_cast<const void*>(&text), sizeof ours);
    EXPECT_EQ(ours.data, text.data());
    EXPECT_EQ(ours.size, text.size());
  }
}

}  // namespace
