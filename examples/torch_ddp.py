#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary DistributedDataParallel script: Gloo on loopback, one process per rank.

It knows nothing of Coxswain. Each rank trains on its own shard; one of them can be made slow.
"""
import argparse
import os
import socket
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch starts its thread pools
os.environ.setdefault("USE_LIBUV", "0")  # PyTorch 2 asks for libuv, also where it was built without

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

FEATURES, HIDDEN, CLASSES = 64, 256, 10
ROTATE_EVERY = 5  # steps


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch", type=int, default=384, help="samples per rank and step (384)")
    parser.add_argument("--slow-rank", default=None, metavar="R|none", help="who is made slow")
    parser.add_argument("--fault", default=None, choices=["none", "compute", "host", "transient", "rotating"])
    parser.add_argument("--extra-percent", type=int, default=300, help="extra work of a compute fault (300)")
    parser.add_argument("--host-wait-ms", type=int, default=25, help="wait of a host fault (25)")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.slow_rank == "none" or (args.slow_rank is None and args.fault is None):
        args.fault = "none"
    args.fault = args.fault or "compute"
    try:
        args.slow_rank = 3 if args.slow_rank in (None, "none") else int(args.slow_rank)
    except ValueError:
        parser.error(f"--slow-rank: got '{args.slow_rank}', expected a rank or none")
    if args.ranks < 1 or args.steps < 1:
        parser.error("--ranks and --steps: expected at least 1")
    if args.fault in ("compute", "host", "transient") and not 0 <= args.slow_rank < args.ranks:
        parser.error(f"--slow-rank: got {args.slow_rank}, expected a rank from 0 to {args.ranks - 1}")
    return args


def is_struck(args, rank, step):
    if args.fault == "rotating":
        return rank == (step // ROTATE_EVERY) % args.ranks
    if args.fault == "transient":
        return rank == args.slow_rank and args.steps // 3 <= step < 2 * args.steps // 3
    return args.fault != "none" and rank == args.slow_rank


def make_shard(seed, rank, samples=4096):
    """Ten classes of two clusters each; the clusters are the same on all ranks, the samples are not."""
    shared = torch.Generator().manual_seed(seed)
    centres = 0.45 * torch.randn(2 * CLASSES, FEATURES, generator=shared)
    own = torch.Generator().manual_seed(seed * 1_000_003 + rank + 1)
    cluster = torch.randint(2 * CLASSES, (samples,), generator=own)
    return centres[cluster] + torch.randn(samples, FEATURES, generator=own), cluster % CLASSES


def train(rank, args, port):
    torch.set_num_threads(1)
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), str(args.ranks)
    os.environ["LOCAL_RANK"], os.environ["LOCAL_WORLD_SIZE"] = str(rank), str(args.ranks)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", rank=rank, world_size=args.ranks)

    torch.manual_seed(args.seed)
    model = DistributedDataParallel(
        nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_function = nn.CrossEntropyLoss()
    inputs, labels = make_shard(args.seed, rank)

    losses = []
    position = 0
    for step in range(args.steps):
        samples = args.batch
        if is_struck(args, rank, step):
            if args.fault == "host":
                time.sleep(args.host_wait_ms / 1e3)
            else:
                samples += args.batch * args.extra_percent // 100
        chosen = torch.arange(position, position + samples) % len(labels)
        position = (position + samples) % len(labels)
        optimizer.zero_grad()
        loss = loss_function(model(inputs[chosen]), labels[chosen])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        every = max(1, args.steps // 10)
        if rank == 0 and step % every == every - 1:
            print(f"step {step + 1}: loss {losses[-1]:.4f}", flush=True)

    tenth = max(1, args.steps // 10)
    first, last = sum(losses[:tenth]) / tenth, sum(losses[-tenth:]) / tenth
    dist.barrier()
    print(f"rank {rank}: steps = {len(losses)}", flush=True)
    if rank == 0:
        print(f"loss: {first:.4f} -> {last:.4f}", flush=True)
    dist.destroy_process_group()
    if last >= first:
        sys.exit(f"rank {rank}: the loss did not fall")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    arguments = parse_arguments()
    # fork, not spawn: torch is imported once for all ranks; of CUDA and Gloo there is nothing yet to inherit
    mp.start_processes(train, args=(arguments, free_port()), nprocs=arguments.ranks, start_method="fork")
