#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An ordinary DistributedDataParallel script: Gloo on loopback, one process per rank.

It knows nothing of Coxswain. Each rank trains on its own shard; one of them can be made slow.
"""
import argparse
import gc
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
PAUSE_EVERY = 10


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch", type=int, default=384, help="samples per rank and step (384)")
    parser.add_argument("--slow-rank", default=None, metavar="R|none", help="who is made slow")
    parser.add_argument("--fault", default=None, choices=["none", "compute", "host", "transient", "rotating", "alternate", "pause", "gc", "raise"])
    parser.add_argument("--extra-percent", type=int, default=300, help="extra work of a compute fault (300)")
    parser.add_argument("--host-wait-ms", type=int, default=25, help="wait of a host fault, of a pause, of one at a bucket (25)")
    parser.add_argument("--buckets", type=int, default=1, help="all-reduces per step: one per layer (1: as DDP does by itself)")
    parser.add_argument("--fault-bucket", type=int, default=None, metavar="B",
                        help="the victim waits before this one only, from 0, instead of its fault")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.slow_rank == "none" or (args.slow_rank is None and args.fault is None):
        args.fault = "none"
    args.fault = args.fault or "compute"
    try:
        args.slow_rank = 3 if args.slow_rank in (None, "none") else int(args.slow_rank)
    except ValueError:
        parser.error(f"--slow-rank: got '{args.slow_rank}', expected a rank or none")
    if args.buckets < 1 or not 0 <= (args.fault_bucket or 0) < args.buckets:
        parser.error("--fault-bucket: expected less than --buckets")
    if args.ranks < 1 or args.steps < 1:
        parser.error("--ranks and --steps: expected at least 1")
    if args.fault in ("compute", "host", "transient", "alternate", "pause", "gc", "raise") and not 0 <= args.slow_rank < args.ranks:
        parser.error(f"--slow-rank: got {args.slow_rank}, expected a rank from 0 to {args.ranks - 1}")
    return args


def is_struck(args, rank, step):
    if args.fault == "rotating":
        return rank == (step // ROTATE_EVERY) % args.ranks
    if args.fault == "transient":
        return rank == args.slow_rank and args.steps // 3 <= step < 2 * args.steps // 3
    if args.fault == "alternate":
        return rank == (args.slow_rank + step % 2 * (args.ranks // 2)) % args.ranks
    if args.fault in ("pause", "gc"):
        return rank == args.slow_rank and step % PAUSE_EVERY == PAUSE_EVERY - 1
    if args.fault == "raise":
        return rank == args.slow_rank and step == args.steps // 2
    return args.fault != "none" and rank == args.slow_rank


def make_model(buckets):
    """One layer per bucket."""
    if buckets == 1:
        return nn.Sequential(nn.Linear(FEATURES, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, CLASSES))
    sizes = [FEATURES] + [HIDDEN] * (buckets - 1) + [CLASSES]
    layers = [m for a, b in zip(sizes, sizes[1:]) for m in (nn.Linear(a, b, bias=False), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


def wait_before(model, bucket, is_due, seconds):
    """The gradient of the layer whose all-reduce is number `bucket` is late: the last layer's is the first."""
    layer = [m for m in model if isinstance(m, nn.Linear)][-1 - bucket]

    def wait(gradient):
        if is_due():
            time.sleep(seconds)

    def watch(module, given, out):
        out.register_hook(wait)
    layer.register_forward_hook(watch)


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
    plain = make_model(args.buckets)
    if args.buckets > 1:
        dist._DEFAULT_FIRST_BUCKET_BYTES = 1
    model = DistributedDataParallel(plain, **({"bucket_cap_mb": 1e-6} if args.buckets > 1 else {}))
    struck = False
    if args.fault_bucket is not None:
        wait_before(plain, args.fault_bucket, lambda: struck, args.host_wait_ms / 1e3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_function = nn.CrossEntropyLoss()
    inputs, labels = make_shard(args.seed, rank)

    # what a collection goes through
    kept = [[i] for i in range(2_000_000)] if args.fault == "gc" and rank == args.slow_rank else []
    losses = []
    position = 0
    for step in range(args.steps):
        samples = args.batch
        struck = is_struck(args, rank, step)
        if struck and args.fault_bucket is None:
            if args.fault == "gc":
                gc.collect()
            elif args.fault == "raise":
                raise RuntimeError("a fault was asked for")
            elif args.fault in ("host", "pause"):
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
