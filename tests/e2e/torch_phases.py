# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel with gradient accumulation, evaluation and data-loader workers, counting what it does.

Each rank prints `rank R: steps = S, forwards = F, ...` with what Coxswain should find.

usage: torch_phases.py PORT [THREADS]
With THREADS, each rank trains so many models at once, each in a thread and over a group of its own.
"""
import contextlib
import os
import sys
import threading

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

RANKS, BATCHES, BATCH = 2, 6, 8
THREAD_STEPS = 200


def run(rank, port):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    model = DistributedDataParallel(module)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    samples = TensorDataset(torch.randn(BATCHES * BATCH, 16), torch.randint(4, (BATCHES * BATCH,)))
    loss_of = nn.CrossEntropyLoss()
    n = dict(steps=0, forward=0, backward=0, no_sync=0, evaluation=0, optimizer=0, data=0)

    for accumulate in (3, 1):
        model.train()
        for i, (x, y) in enumerate(DataLoader(samples, batch_size=BATCH, num_workers=1)):
            last = i % accumulate == accumulate - 1
            if i % accumulate == 0:
                optimizer.zero_grad()
                n["optimizer"] += 1
            with contextlib.nullcontext() if last else model.no_sync():
                loss_of(model(x), y).backward()
            n["forward"] += 1
            n["backward"] += 1
            n["no_sync"] += not last
            if last:
                with contextlib.suppress(RuntimeError, ValueError):  # refused on the spot
                    dist.all_reduce(torch.eye(2).to_sparse(), op=dist.ReduceOp.MAX)
                optimizer.step()
                n["optimizer"] += 1
                n["steps"] += 1
        model.eval()
        with torch.no_grad():
            for x, y in DataLoader(samples, batch_size=BATCH):
                loss_of(model(x), y)
                n["evaluation"] += 1
        n["data"] += 2 * (BATCHES + 1)  # the last request of each pass finds no more
        model(x)  # an evaluation that leaves gradients on
        loss = loss_of(model(x), y)
        n["evaluation"] += 2
    dist.barrier()
    gradients = sum(p.numel() for p in module.parameters()) * 4
    counts = ", ".join(f"{key} = {value}" for key, value in n.items())
    sys.stdout.write(f"rank {rank}: {counts}, gradient bytes = {gradients}, loss = {loss.item():.6f}\n")
    sys.stdout.flush()
    dist.destroy_process_group()


def train_in_thread(rank, number, group, losses):
    generator = torch.Generator().manual_seed(number)
    module = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.randn(p.shape, generator=generator) / 8)
    model = DistributedDataParallel(module, process_group=group)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    x = torch.randn(BATCH, 16, generator=generator) + rank
    for step in range(THREAD_STEPS):
        optimizer.zero_grad()
        with model.no_sync() if step % 4 == 1 else contextlib.nullcontext():
            loss = model(x).square().mean()
            loss.backward()
        optimizer.step()
    losses[number] = loss.item()


def run_threads(rank, port, count):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    groups, losses = [dist.new_group(list(range(RANKS)), backend="gloo") for _ in range(count)], [None] * count
    threads = [threading.Thread(target=train_in_thread, args=(rank, i, groups[i], losses)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    dist.barrier()
    steps = sum(step % 4 != 1 for step in range(THREAD_STEPS))
    sys.stdout.write(f"rank {rank}: steps of each = {steps}, losses = {losses}\n")
    sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        os.environ.pop(name, None)
    if len(sys.argv) > 2:
        mp.spawn(run_threads, args=(int(sys.argv[1]), int(sys.argv[2])), nprocs=RANKS)
    else:
        mp.spawn(run, args=(int(sys.argv[1]),), nprocs=RANKS)
