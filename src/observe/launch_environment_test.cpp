// SPDX-License-Identifier: Apache-2.0
#include "observe/launch_environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cox::observe {
namespace {

using Words = std::vector<std::string>;
constexpr const char* kOurs = "/opt/cox/libcox-preload.so";

TEST(PreloadChain, OursStandsBeforeOtherTools) {
  EXPECT_EQ(preload_chain("", kOurs), kOurs);
  EXPECT_EQ(preload_chain("/usr/lib/libdarshan.so", kOurs), std::string(kOurs) + ":/usr/lib/libdarshan.so");
  EXPECT_EQ(preload_chain("a.so b.so", kOurs), std::string(kOurs) + ":a.so b.so");
  EXPECT_EQ(preload_chain(":", kOurs), kOurs);
}

TEST(PreloadChain, SanitizerRuntimesStayFirst) {
  EXPECT_EQ(preload_chain("/usr/lib/libasan.so.8", kOurs), std::string("/usr/lib/libasan.so.8:") + kOurs);
  EXPECT_EQ(preload_chain("libtsan.so.2:tool.so", kOurs), std::string("libtsan.so.2:") + kOurs + ":tool.so");
  EXPECT_EQ(preload_chain("libasan.so.8 libubsan.so.1 tool.so", kOurs),
            std::string("libasan.so.8 libubsan.so.1:") + kOurs + " tool.so");
  EXPECT_EQ(preload_chain("/lib/libclang_rt.asan-x86_64.so: ", kOurs),
            std::string("/lib/libclang_rt.asan-x86_64.so:") + kOurs);
}

TEST(PreloadChain, OursIsThereOnce) {
  const std::string nested = "tool.so:/elsewhere/libcox-preload.so";
  EXPECT_EQ(preload_chain(nested, kOurs), nested);
}

TEST(SanitizerOptions, OnlyForProgramsThatNeedTheRuntime) {
  std::string dir = (std::filesystem::temp_directory_path() / "cox-asan-XXXXXX").string();
  ASSERT_NE(mkdtemp(dir.data()), nullptr);
  const auto put = [&](const char* name, const std::string& content) {
    std::ofstream(dir + "/" + name, std::ios::binary) << content;
    return dir + "/" + name;
  };
  const std::string with = put("with",
                               "\x7f"
                               "ELF....libasan.so.8....");
  const std::string without = put("without",
                                  "\x7f"
                                  "ELF....libc.so.6....");
  const std::string text = put("text", "needs libasan.so.8");
  EXPECT_EQ(sanitizer_options({"mpirun", "-n", "2", with}, {}), "verify_asan_link_order=0");
  EXPECT_EQ(sanitizer_options({with}, {{"ASAN_OPTIONS", "detect_leaks=0"}}),
            "detect_leaks=0:verify_asan_link_order=0");
  EXPECT_FALSE(sanitizer_options({with}, {{"ASAN_OPTIONS", "verify_asan_link_order=1"}})) << "the user's";
  EXPECT_FALSE(sanitizer_options({"mpirun", without, text, "/dev/zero", dir}, {}));
  std::filesystem::remove_all(dir);
}

const Words kNames = {"LD_PRELOAD", "COX_DIR"};

TEST(ForwardList, MpirunGetsTheNames) {
  EXPECT_EQ(forward_list({"mpirun", "-n", "4", "./prog"}, {}, "", kNames), "LD_PRELOAD;COX_DIR");
  EXPECT_EQ(forward_list({"timeout", "60", "/opt/ompi/bin/mpiexec", "./prog"}, {}, "", kNames),
            "LD_PRELOAD;COX_DIR");
}

TEST(ForwardList, TheUsersListIsKept) {
  EXPECT_EQ(forward_list({"mpirun", "./prog"}, {{"OMPI_MCA_mca_base_env_list", "A=1;COX_DIR"}}, "", kNames),
            "A=1;COX_DIR;LD_PRELOAD");
  EXPECT_EQ(forward_list({"mpirun", "./prog"}, {{"OMPI_MCA_mca_base_env_list", "LD_PRELOAD=/their.so"}}, "",
                         kNames),
            "LD_PRELOAD=/their.so;COX_DIR")
      << "their value, not ours";
  EXPECT_EQ(forward_list({"mpirun", "./prog"},
                         {{"OMPI_MCA_mca_base_env_list", "A"}, {"OMPI_MCA_mca_base_env_list_delimiter", ","}},
                         "", kNames),
            "A,LD_PRELOAD,COX_DIR");
}

TEST(ForwardList, NothingWhereItCouldDoHarm) {
  const auto none = [](const Words& command, std::string_view settings = "") {
    return !forward_list(command, {}, settings, kNames);
  };
  EXPECT_TRUE(none({"mpirun", "-x", "FOO", "./prog"})) << "Open MPI aborts a job that has both";
  EXPECT_TRUE(none({"mpirun", "--mca", "mca_base_env_list", "FOO", "./prog"}));
  EXPECT_TRUE(none({"mpirun", "--tune", "file", "./prog"})) << "the file may hold -x";
  EXPECT_TRUE(none({"mpirun", "./prog"}, "mca_base_env_list = FOO\n"));
  EXPECT_TRUE(none({"sh", "job.sh"})) << "the script may say mpirun -x";
  EXPECT_TRUE(none({"./prog"}));
  EXPECT_TRUE(none({"srun", "./prog"}));
}

TEST(ForwardingHint, OnlyWhereItHelps) {
  EXPECT_NE(forwarding_hint({"mpirun", "-x", "FOO", "./prog"}, {}), "");
  EXPECT_NE(forwarding_hint({"srun", "--export=NONE", "./prog"}, {}), "");
  EXPECT_NE(forwarding_hint({"srun", "./prog"}, {{"SLURM_EXPORT_ENV", "PATH"}}), "");
  EXPECT_EQ(forwarding_hint({"srun", "--export=ALL,A=1", "./prog"}, {}), "");
  EXPECT_EQ(forwarding_hint({"srun", "./prog"}, {}), "");
  EXPECT_EQ(forwarding_hint({"./prog"}, {}), "");
}

}  // namespace
}  // namespace cox::observe
