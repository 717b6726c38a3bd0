#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpi4py: Python opens the MPI library privately, so no symbol of it is visible to the process.
. "$(dirname "$0")/shell.sh"
need mpirun.openmpi /usr/bin/python3
/usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip "/usr/bin/python3 has no mpi4py (package python3-mpi4py)"
cat >"$work/job.py" <<'PY'
from mpi4py import MPI
world = MPI.COMM_WORLD
a, b = bytearray(400), bytearray(400)
for _ in range(7):
    world.Allreduce([a, MPI.INT], [b, MPI.INT])
world.Barrier()
half = world.Split(world.rank % 2, world.rank)
half.Iallreduce([a, MPI.INT], [b, MPI.INT]).Wait()
if world.rank == 0:
    print("communicator world: 4 ranks, 8 collectives, 2800 bytes")
    print("communicator half-0: 2 ranks, 1 collectives, 400 bytes")
    print("communicator half-1: 2 ranks, 1 collectives, 400 bytes")
PY
code=$(status timeout 100 "$cox" observe -o "$work/r1" -- mpirun.openmpi --oversubscribe --mca mpi_yield_when_idle 1 \
  -n 4 /usr/bin/python3 "$work/job.py")
cat "$work/err"
equal "$code" 0 "exit status"
cp "$work/out" "$work/plain"
equal "$(status "$cox" diagnose "$work/r1" --json)" 0 "exit status of diagnose"
/usr/bin/python3 "$source_dir/tests/e2e/mpi_counts.py" "$work/out" "$work/plain" 4
