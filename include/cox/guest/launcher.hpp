// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a launcher's environment variables say about this process: rank, world, node, job, and whose MPI it
/// speaks. The one table of launchers: read by the guest, by `cox observe` (was it started as a rank itself?)
/// and by `cox bench` (which library's probe fits?). Needs libc only.
/// Held by: src/guest/seam/launcher_test.cpp, which also holds docs/concepts/launching.md to the table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace cox::guest {

/// Whose MPI the ranks of a launcher speak.
enum class LaunchedMpi : std::uint8_t {
  None,  ///< its processes are no ranks of MPI
  Any,   ///< the launcher serves several libraries
  OpenMpi,
  Mpich,
};

/// One launcher: how it is recognized and where it says what. Null = it does not say.
struct Launcher {
  const char* name = nullptr;
  const char* sign[2] = {};  ///< all must be set
  const char* rank = nullptr;
  const char* world_size = nullptr;
  const char* local_rank = nullptr;
  const char* local_size = nullptr;
  const char* tasks_per_node = nullptr;  ///< Slurm's list, `2(x3),1`, where there is no `local_size`
  const char* node = nullptr;
  const char* attempt = nullptr;
  const char* launch = nullptr;  ///< tells launches of one batch job apart
  LaunchedMpi mpi = LaunchedMpi::Any;
};

/// In the order of trust: the first one whose signs are set is believed. A torchrun worker inside
/// sbatch sees both, and ranks that mpirun started under Slurm inherit the SLURM_PROCID
/// of its daemon; hence Slurm comes late.
inline constexpr Launcher kLaunchers[] = {
    {.name = "torchrun",
     .sign = {"TORCHELASTIC_RUN_ID", "RANK"},
     .rank = "RANK",
     .world_size = "WORLD_SIZE",
     .local_rank = "LOCAL_RANK",
     .local_size = "LOCAL_WORLD_SIZE",
     .node = "GROUP_RANK",
     .attempt = "TORCHELASTIC_RESTART_COUNT",
     .launch = "TORCHELASTIC_RUN_ID",
     .mpi = LaunchedMpi::None},
    {.name = "env",
     .sign = {"RANK", "WORLD_SIZE"},
     .rank = "RANK",
     .world_size = "WORLD_SIZE",
     .local_rank = "LOCAL_RANK",
     .local_size = "LOCAL_WORLD_SIZE",
     .mpi = LaunchedMpi::None},
    {.name = "openmpi",
     .sign = {"OMPI_COMM_WORLD_RANK"},
     .rank = "OMPI_COMM_WORLD_RANK",
     .world_size = "OMPI_COMM_WORLD_SIZE",
     .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
     .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
     .node = "PBS_NODENUM",
     .launch = "PMIX_NAMESPACE",
     .mpi = LaunchedMpi::OpenMpi},
    // Hydra before PMIx: under Slurm its proxies, and so its ranks, may inherit a PMIX_RANK that is the
    // proxy's.
    {.name = "mpich",
     .sign = {"PMI_RANK", "MPI_LOCALRANKID"},
     .rank = "PMI_RANK",
     .world_size = "PMI_SIZE",
     .local_rank = "MPI_LOCALRANKID",
     .local_size = "MPI_LOCALNRANKS",
     .node = "PBS_NODENUM",
     .mpi = LaunchedMpi::Mpich},
    {.name = "slurm",
     .sign = {"PMIX_RANK", "SLURM_STEP_ID"},
     .rank = "PMIX_RANK",
     .world_size = "SLURM_NTASKS",
     .local_rank = "SLURM_LOCALID",
     .tasks_per_node = "SLURM_TASKS_PER_NODE",
     .node = "SLURM_NODEID",
     .launch = "SLURM_STEP_ID"},
    {.name = "pmix", .sign = {"PMIX_RANK"}, .rank = "PMIX_RANK", .launch = "PMIX_NAMESPACE"},
    {.name = "flux",
     .sign = {"FLUX_TASK_RANK"},
     .rank = "FLUX_TASK_RANK",
     .world_size = "FLUX_JOB_SIZE",
     .local_rank = "FLUX_TASK_LOCAL_ID",
     .launch = "FLUX_JOB_ID"},
    {.name = "slurm",
     .sign = {"PMI_RANK", "SLURM_STEP_ID"},
     .rank = "PMI_RANK",
     .world_size = "PMI_SIZE",
     .local_rank = "SLURM_LOCALID",
     .tasks_per_node = "SLURM_TASKS_PER_NODE",
     .node = "SLURM_NODEID",
     .launch = "SLURM_STEP_ID"},
    {.name = "pmi",
     .sign = {"PMI_RANK"},
     .rank = "PMI_RANK",
     .world_size = "PMI_SIZE",
     .launch = "PMI_JOBID"},
    {.name = "slurm",
     .sign = {"SLURM_PROCID", "SLURM_STEP_ID"},
     .rank = "SLURM_PROCID",
     .world_size = "SLURM_NTASKS",
     .local_rank = "SLURM_LOCALID",
     .tasks_per_node = "SLURM_TASKS_PER_NODE",
     .node = "SLURM_NODEID",
     .launch = "SLURM_STEP_ID"},
};

/// One batch system: the variables that hold ids.
struct BatchSystem {
  const char* job = nullptr;
  const char* whole = nullptr;  ///< of a job of several parts, the id that they share; null = it has no such
  bool per_launch = false;      ///< every launch has an id of its own
};

/// In the order in which they are asked. JOB_ID (Grid Engine's) last: it is the one name that others may use for
/// something else.
inline constexpr BatchSystem kBatchSystems[] = {
    {.job = "SLURM_JOB_ID", .whole = "SLURM_HET_JOB_ID"}, {.job = "PBS_JOBID"}, {.job = "LSB_JOBID"},
    {.job = "FLUX_JOB_ID", .per_launch = true},           {.job = "JOB_ID"},
};

/// The value of a variable; null where it is not set or empty.
inline const char* variable(const char* name) {
  const char* value = name == nullptr ? nullptr : getenv(name);
  return value != nullptr && *value != 0 ? value : nullptr;
}

/// Whether the variables by which a launcher is recognized are set.
inline bool is_recognized(const Launcher& l) {
  return variable(l.sign[0]) != nullptr && (l.sign[1] == nullptr || variable(l.sign[1]) != nullptr);
}

/// The launcher that is to be believed; null where none started this process.
inline const Launcher* find_launcher() {
  for (const Launcher& l : kLaunchers)
    if (is_recognized(l)) return &l;
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
struct LauncherPlace {
  const char* launcher = nullptr;  ///< null where no launcher started this process
  std::int32_t rank = -1;
  std::int32_t world_size = -1;
  std::int32_t local_rank = -1;
  std::int32_t local_size = -1;
  std::int32_t node = -1;
  std::int32_t attempt = 0;
};

inline LauncherPlace place_of(const Launcher* l) {
  LauncherPlace p;
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
  for (const BatchSystem& b : kBatchSystems)
    if (const char* id = variable(b.job)) return id;
  return nullptr;
}

/// The batch job that owns everything below it: what `cox observe` keeps in COX_BATCH_JOB. Empty outside of
/// one. Of a heterogeneous job of Slurm the id that its parts share. An id that every launch has for itself would
/// tell nothing.
inline const char* owning_batch_job() {
  for (const BatchSystem& b : kBatchSystems) {
    if (b.per_launch) continue;
    if (const char* id = variable(b.whole)) return id;
    if (const char* id = variable(b.job)) return id;
  }
  return "";
}

/// Whether this process was submitted from within an observed batch job, and is not part of it. A process
/// that knows of no batch system is: launchers do not hand its variables to every host.
inline bool is_of_another_job() {
  const char* owner = variable("COX_BATCH_JOB");
  const char* own = owning_batch_job();
  if (owner == nullptr || *own == 0) return false;
  while (*owner != 0 && *owner == *own) {
    ++owner;
    ++own;
  }
  return *owner != *own;
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

}  // namespace cox::guest
