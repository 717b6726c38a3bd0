// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a launcher's environment variables say about this process: rank, world, node, job. Read by the guest
/// and, to learn whether it was itself started as a rank, by `cox observe`. Needs libc only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace cox::observe::guest {

/// One launcher: how it is recognized and where it says what. Null = it does not say.
struct Launcher {
  const char* name;
  const char* sign[2];  ///< all must be set
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* local_size;
  const char* tasks_per_node;  ///< Slurm's list, `2(x3),1`, where there is no `local_size`
  const char* node;
  const char* attempt;
  const char* launch;  ///< tells launches of one batch job apart
};

/// In the order of trust: the first one whose signs are set is believed. A torchrun worker inside
/// sbatch sees both, and ranks that mpirun started under Slurm inherit the SLURM_PROCID
/// of its daemon; hence Slurm comes late.
inline constexpr Launcher kLaunchers[] = {
    {"torchrun",
     {"TORCHELASTIC_RUN_ID", "RANK"},
     "RANK",
     "WORLD_SIZE",
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE",
     nullptr,
     "GROUP_RANK",
     "TORCHELASTIC_RESTART_COUNT",
     "TORCHELASTIC_RUN_ID"},
    {"env",
     {"RANK", "WORLD_SIZE"},
     "RANK",
     "WORLD_SIZE",
     "LOCAL_RANK",
     "LOCAL_WORLD_SIZE",
     nullptr,
     nullptr,
     nullptr,
     nullptr},
    {"openmpi",
     {"OMPI_COMM_WORLD_RANK", nullptr},
     "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE",
     nullptr,
     "PBS_NODENUM",
     nullptr,
     "PMIX_NAMESPACE"},
    // Hydra before PMIx: under Slurm its proxies, and so its ranks, may inherit
    // a PMIX_RANK that is the proxy's.
    {"mpich",
     {"PMI_RANK", "MPI_LOCALRANKID"},
     "PMI_RANK",
     "PMI_SIZE",
     "MPI_LOCALRANKID",
     "MPI_LOCALNRANKS",
     nullptr,
     "PBS_NODENUM",
     nullptr,
     nullptr},
    {"slurm",
     {"PMIX_RANK", "SLURM_STEP_ID"},
     "PMIX_RANK",
     "SLURM_NTASKS",
     "SLURM_LOCALID",
     nullptr,
     "SLURM_TASKS_PER_NODE",
     "SLURM_NODEID",
     nullptr,
     "SLURM_STEP_ID"},
    {"pmix",
     {"PMIX_RANK", nullptr},
     "PMIX_RANK",
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     "PMIX_NAMESPACE"},
    {"flux",
     {"FLUX_TASK_RANK", nullptr},
     "FLUX_TASK_RANK",
     "FLUX_JOB_SIZE",
     "FLUX_TASK_LOCAL_ID",
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     "FLUX_JOB_ID"},
    {"slurm",
     {"PMI_RANK", "SLURM_STEP_ID"},
     "PMI_RANK",
     "PMI_SIZE",
     "SLURM_LOCALID",
     nullptr,
     "SLURM_TASKS_PER_NODE",
     "SLURM_NODEID",
     nullptr,
     "SLURM_STEP_ID"},
    {"pmi",
     {"PMI_RANK", nullptr},
     "PMI_RANK",
     "PMI_SIZE",
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     nullptr,
     "PMI_JOBID"},
    {"slurm",
     {"SLURM_PROCID", "SLURM_STEP_ID"},
     "SLURM_PROCID",
     "SLURM_NTASKS",
     "SLURM_LOCALID",
     nullptr,
     "SLURM_TASKS_PER_NODE",
     "SLURM_NODEID",
     nullptr,
     "SLURM_STEP_ID"},
};

/// Batch systems, by the variable that holds the job's id.
inline constexpr const char* kBatchJobs[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID"};

/// The value of a variable; null where it is not set or empty.
inline const char* variable(const char* name) {
  const char* value = name == nullptr ? nullptr : getenv(name);
  return value != nullptr && *value != 0 ? value : nullptr;
}

/// The launcher that is to be believed; null where none started this process.
inline const Launcher* find_launcher() {
  for (const Launcher& l : kLaunchers)
    if (variable(l.sign[0]) != nullptr && (l.sign[1] == nullptr || variable(l.sign[1]) != nullptr)) return &l;
  return nullptr;
}

/// A number that is not negative; `otherwise` where the text is anything else.
inline std::int32_t number_or(const char* text, std::int32_t otherwise) {
  if (text == nullptr || *text < '0' || *text > '9') return otherwise;
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  return *end == 0 && value < 0x7fffffff ? static_cast<std::int32_t>(value) : otherwise;
}

/// How many tasks the node of that number has in Slurm's list `2(x3),1`; -1 where the list does not tell.
inline std::int32_t tasks_of_node(const char* list, std::int32_t node) {
  if (list == nullptr || node < 0) return -1;
  for (std::int64_t before = 0; *list >= '0' && *list <= '9';) {
    char* end = nullptr;
    const long tasks = strtol(list, &end, 10);
    long times = 1;
    if (end[0] == '(' && end[1] == 'x') {
      times = strtol(end + 2, &end, 10);
      if (*end != ')') return -1;
      ++end;
    }
    if (tasks < 0 || tasks >= 0x7fffffff || times < 1 || times >= 0x7fffffff) return -1;
    before += times;
    if (node < before) return static_cast<std::int32_t>(tasks);
    if (*end != ',') return -1;
    list = end + 1;
  }
  return -1;
}

/// What the launcher says; -1 = it does not.
struct Place {
  const char* launcher = nullptr;  ///< null where no launcher started this process
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  std::int32_t local_rank = -1;
  std::int32_t local_size = -1;
  std::int32_t node = -1;
  std::int32_t attempt = 0;
};

inline Place place_of(const Launcher* l) {
  Place p;
  if (l == nullptr) return p;
  p.launcher = l->name;
  p.rank = number_or(variable(l->rank), -1);
  p.world_size = number_or(variable(l->world_size), -1);
  p.local_rank = number_or(variable(l->local_rank), -1);
  p.node = number_or(variable(l->node), -1);
  p.local_size = number_or(variable(l->local_size), tasks_of_node(variable(l->tasks_per_node), p.node));
  p.attempt = number_or(variable(l->attempt), 0);
  return p;
}

/// The id of the batch system; null where there is none.
inline const char* batch_job() {
  for (const char* name : kBatchJobs)
    if (const char* id = variable(name)) return id;
  return nullptr;
}

/// Writes the job's name: `BATCH.LAUNCH`, or the one of the two that is known, else the one that was chosen
/// for it (COX_JOB). Equal for all processes of one launch. Cut at `size`, always ended by a zero.
inline void write_job(const Launcher* l, char* out, std::size_t size) {
  const char* parts[2] = {batch_job(), l == nullptr ? nullptr : variable(l->launch)};
  if (parts[0] == nullptr && parts[1] == nullptr) parts[0] = variable("COX_JOB");
  if (parts[0] == parts[1]) parts[1] = nullptr;  // the launcher is the batch system
  std::size_t used = 0;
  for (const char* part : parts) {
    if (part == nullptr) continue;
    if (used > 0 && used + 1 < size) out[used++] = '.';
    while (*part != 0 && used + 1 < size) out[used++] = *part++;
  }
  out[used] = 0;
}

}  // namespace cox::observe::guest
