// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include "support/test_data.hpp"
#include "trace/import/reader.hpp"
namespace cox::trace { namespace {
TEST(Chakra, X) {
  COX_NEED_DATA(dir, "traces/chakra-et");
  for (auto [r,f] : {std::pair{&kChakraProtobufReader,"chakra.0.et"},{&kChakraJsonReader,"chakra.0.json.gz"},{&kChakraJsonReader,"small_chakra.0.json"}}) {
    auto run = r->read(dir / f, {});
    ASSERT_TRUE(run) << run.error().to_string();
    printf("%s %zu %zu rank %d\n", f, run->operations.size(), run->operations.before.size(), run->ranks[0].rank.value());
    for (auto& n : run->notes) printf("  %s\n", n.text.c_str());
  }
}
}}
namespace cox::trace { namespace {
TEST(PytorchEt, X) {
  COX_NEED_DATA(dir, "traces");
  for (auto f : {"chakra-et/pytorch-et-1.0.2-chakra.0.0.4.json","pytorch-et/dlrm_eg_0.json.gz","pytorch-et/resnet_2gpu_et-1.1.0.json.gz"}) {
    auto run = kPytorchEtReader.read(dir / f, {});
    ASSERT_TRUE(run) << run.error().to_string();
    auto&o=run->operations;
    printf("%s %zu %zu rank %d world %d\n", f, o.size(), o.before.size(), run->ranks[0].rank.value(), run->world_size);
    for (auto& n : run->notes) printf("  %s\n", n.text.c_str());
    for (auto& c : run->communicators) printf("  comm %s size %d members %zu\n", c.name.c_str(),c.size,c.ranks.size());
    for (size_t i=0;i<o.size();++i) if (o.kind[i]==OperationKind::Collective) printf(" %s:%ld:%d", run->names[o.name[i]].c_str(), o.bytes[i].count(),o.comm[i].value());
    puts("");
  }
}
}}
