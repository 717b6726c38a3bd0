// SPDX-License-Identifier: Apache-2.0
// Our declarations of Gloo's option objects against Gloo's own headers: every field that the guest reads.
#include "guest/gloo/abi.hpp"

#include <gloo/allgather.h>
#include <gloo/allgatherv.h>
#include <gloo/allreduce.h>
#include <gloo/alltoall.h>
#include <gloo/alltoallv.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/gather.h>
#include <gloo/reduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/scatter.h>
#include <gtest/gtest.h>

#include <type_traits>

namespace {

namespace abi = cox::guest::gloo_abi;

/// Byte offset of a member pointer, without an object of the class.
template <class Class, class Member>
std::size_t offset(Member Class::*member) {
  alignas(Class) static std::byte storage[sizeof(Class)];
  const auto* object = reinterpret_cast<const Class*>(storage);
  return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&(object->*member)) - storage);
}

// Gloo keeps the fields protected; a derived class may name them.
#define OPEN(Type, ...)      \
  struct Type : gloo::Type { \
    using Base = gloo::Type; \
    __VA_ARGS__              \
  }
OPEN(BroadcastOptions, using Base::context; using Base::elements; using Base::elementSize; using Base::root;
     using Base::tag;);
OPEN(AllgatherOptions, using Base::context; using Base::out; using Base::elementSize; using Base::tag;);
OPEN(AllgathervOptions, using Base::context; using Base::elements; using Base::elementSize; using Base::tag;);
OPEN(BarrierOptions, using Base::context; using Base::tag;);
OPEN(ReduceOptions, using Base::context; using Base::elements; using Base::elementSize; using Base::root;
     using Base::tag;);
OPEN(GatherOptions, using Base::context; using Base::in; using Base::root; using Base::tag;);
OPEN(ScatterOptions, using Base::context; using Base::out; using Base::root; using Base::tag;);
OPEN(AlltoallOptions, using Base::context; using Base::in; using Base::tag;);
OPEN(AlltoallvOptions, using Base::context; using Base::inLengthPerRank; using Base::elementSize;
     using Base::tag;);

#define SAME(Type, theirs, ours) \
  EXPECT_EQ(offset(&Type::theirs), offsetof(abi::Type, ours)) << #Type "." #theirs

TEST(GlooAbi, ContextAndBuffer) {
  // In a context behind its table of virtual functions, where it has one; from the outermost object alike.
  constexpr bool kHasTable = std::is_polymorphic_v<gloo::Context>;
  const std::size_t numbers = kHasTable ? sizeof(void*) : 0;
  EXPECT_EQ(offset(&gloo::Context::rank), numbers + offsetof(abi::ContextNumbers, rank));
  EXPECT_EQ(offset(&gloo::Context::size), numbers + offsetof(abi::ContextNumbers, size));
  static_assert(std::is_polymorphic_v<gloo::rendezvous::Context>);
  alignas(gloo::rendezvous::Context) static std::byte storage[sizeof(gloo::rendezvous::Context)];
  const auto* base = static_cast<gloo::Context*>(reinterpret_cast<gloo::rendezvous::Context*>(storage));
  EXPECT_EQ(static_cast<std::size_t>(reinterpret_cast<const std::byte*>(base) - storage) + numbers,
            abi::kNumbersInRendezvous);
  EXPECT_EQ(offset(&gloo::transport::UnboundBuffer::size), offsetof(abi::UnboundBuffer, size));
}

TEST(GlooAbi, AllreduceOptions) {
  using Impl = gloo::detail::AllreduceOptionsImpl;
  EXPECT_EQ(offset(&Impl::context), offsetof(abi::AllreduceOptions, context));
  EXPECT_EQ(offset(&Impl::elements), offsetof(abi::AllreduceOptions, elements));
  EXPECT_EQ(offset(&Impl::elementSize), offsetof(abi::AllreduceOptions, element_size));
  EXPECT_EQ(offset(&Impl::tag), offsetof(abi::AllreduceOptions, tag));
  EXPECT_EQ(sizeof(Impl), sizeof(gloo::AllreduceOptions))
      << "the options hold their implementation and nothing else";
}

TEST(GlooAbi, OtherOptions) {
  SAME(BroadcastOptions, context, context);
  SAME(BroadcastOptions, elements, elements);
  SAME(BroadcastOptions, elementSize, element_size);
  SAME(BroadcastOptions, root, root);
  SAME(BroadcastOptions, tag, tag);
  SAME(AllgatherOptions, context, context);
  SAME(AllgatherOptions, out, out);
  SAME(AllgatherOptions, tag, tag);
  SAME(AllgathervOptions, context, context);
  SAME(AllgathervOptions, elements, elements);
  SAME(AllgathervOptions, elementSize, element_size);
  SAME(AllgathervOptions, tag, tag);
  SAME(BarrierOptions, context, context);
  SAME(BarrierOptions, tag, tag);
  SAME(ReduceOptions, context, context);
  SAME(ReduceOptions, elements, elements);
  SAME(ReduceOptions, elementSize, element_size);
  SAME(ReduceOptions, root, root);
  SAME(ReduceOptions, tag, tag);
  SAME(GatherOptions, context, context);
  SAME(GatherOptions, in, in);
  SAME(GatherOptions, root, root);
  SAME(GatherOptions, tag, tag);
  SAME(ScatterOptions, context, context);
  SAME(ScatterOptions, out, out);
  SAME(ScatterOptions, root, root);
  SAME(ScatterOptions, tag, tag);
  SAME(AlltoallOptions, context, context);
  SAME(AlltoallOptions, in, in);
  SAME(AlltoallOptions, tag, tag);
  SAME(AlltoallvOptions, context, context);
  SAME(AlltoallvOptions, inLengthPerRank, in_length);
  SAME(AlltoallvOptions, elementSize, element_size);
  SAME(AlltoallvOptions, tag, tag);
}

}  // namespace
