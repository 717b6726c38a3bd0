# SPDX-License-Identifier: Apache-2.0
"""Collectives on several process groups, counted by the program itself; ranks without launcher variables.

Each rank prints, for every group it is in, `group NAME (ranks 0,1): 5 collectives, 640 bytes`, as Coxswain counts
bytes: the buffer for all-reduce, broadcast and reduce, the whole array for gathers and scatters, what one rank
sends for all-to-all.
"""
import io
import pickle
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

RANKS = 4


class Counted:
    """A group, and what was done on it."""

    def __init__(self, name, ranks, group):
        self.name, self.ranks, self.group = name, ranks, group
        self.collectives = self.bytes = 0

    def count(self, nbytes, collectives=1):
        self.collectives += collectives
        self.bytes += nbytes


def pickled_size(thing):
    out = io.BytesIO()
    pickle.Pickler(out).dump(thing)
    return len(out.getvalue())


def exercise(counted, rank, rounds):
    n, group, root = len(counted.ranks), counted.group, counted.ranks[-1]
    for i in range(rounds):
        x = torch.full((64,), float(rank))
        dist.all_reduce(x, group=group)
        counted.count(256)
        work = dist.all_reduce(x.double(), group=group, async_op=True)
        other = dist.broadcast(torch.zeros(16), src=root, group=group, async_op=True)
        other.wait()
        work.wait()
        counted.count(512)
        counted.count(64)
        dist.reduce(torch.ones(8), dst=root, group=group)
        counted.count(32)
        dist.all_gather([torch.empty(4) for _ in range(n)], torch.ones(4), group=group)
        counted.count(16 * n)
        dist.gather(torch.ones(2), [torch.empty(2) for _ in range(n)] if rank == root else None, dst=root, group=group)
        counted.count(8 * n)
        dist.scatter(torch.empty(2), [torch.ones(2) for _ in range(n)] if rank == root else None, src=root, group=group)
        counted.count(8 * n)
        dist.all_to_all_single(torch.empty(4 * n), torch.ones(4 * n), group=group)
        counted.count(16 * n)
        dist.all_reduce_coalesced([torch.ones(3), torch.ones(5)], group=group)
        counted.count(32)
        dist.barrier(group=group)
        counted.count(0)
        dist.all_gather_object([None] * n, {"round": "same size everywhere"}, group=group)
        counted.count(8 * n)  # the sizes
        counted.count(n * pickled_size({"round": "same size everywhere"}))
    # Three all-gathers under one number: 9 words about each, then as many indices and values as each has.
    sparse = torch.sparse_coo_tensor(torch.tensor([[0, 1, 2]]), torch.ones(3), (8,))
    dist.all_reduce(sparse, group=group)
    counted.count(9 * 8 * n + 3 * 8 * n + 3 * 4 * n)


def run(rank, port):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    groups = [Counted("world", list(range(RANKS)), dist.group.WORLD)]
    for name, ranks in (("low", [0, 1]), ("high", [2, 3]), ("odd", [1, 3]), ("all", [0, 1, 2, 3])):
        groups.append(Counted(name, ranks, dist.new_group(ranks)))
    # What new_subgroups_by_enumeration does, which PyTorch 1.13 refuses without CUDA.
    for name, ranks in (("outer", [0, 3]), ("inner", [1, 2])):
        groups.append(Counted(name, ranks, dist.new_group(ranks)))
    for i, counted in enumerate(groups):
        if rank in counted.ranks:
            exercise(counted, rank, rounds=i + 1)
    dist.barrier()
    groups[0].count(0)
    dist.monitored_barrier()  # two numbers, each a barrier
    groups[0].count(0, collectives=2)
    for counted in groups:
        if rank == counted.ranks[0]:
            sys.stdout.write(f"group {counted.name} (ranks {','.join(map(str, counted.ranks))}): "
                             f"{counted.collectives} collectives, {counted.bytes} bytes\n")
    sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(run, args=(int(sys.argv[1]),), nprocs=RANKS)
