# SPDX-License-Identifier: Apache-2.0
"""Newer ways to train in parallel, each with one rank that is slow: `torch_parallel.py WAY SLOW_RANK PORT`.

fsdp      fully_shard over all ranks, micro-batches without synchronisation, evaluation
mesh      a DeviceMesh of 2 x 2: tensors sharded along one dimension, DDP along the other
compiled  torch.compile of a DDP model
no_sync   DDP with gradients accumulated over three micro-batches

Each rank prints `rank R: steps = S` and what else Coxswain should find; `SKIP: why` where this PyTorch lacks it.
"""
import contextlib
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

RANKS, STEPS, LATE_S = 4, 30, 0.012


def model_of(layers=2, width=32):
    torch.manual_seed(1)
    parts = []
    for _ in range(layers):
        parts += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*parts)


class Late(nn.Module):
    """The slow rank's own work, within the forward pass."""

    def __init__(self, is_slow):
        super().__init__()
        self.is_slow = is_slow

    def forward(self, x):
        if self.is_slow:
            time.sleep(LATE_S)
        return x


def train_fsdp(rank, is_slow):
    from torch.distributed.fsdp import fully_shard
    model = nn.Sequential(Late(is_slow), *model_of())
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    said = dict(steps=0, forward=0, backward=0, no_sync=0, evaluation=0, optimizer=0)
    for _ in range(STEPS):
        optimizer.zero_grad()
        for last in (False, True):
            model.set_requires_gradient_sync(last)
            model(torch.ones(8, 32)).sum().backward()
            said["forward"] += 1
            said["backward"] += 1
            said["no_sync"] += not last
        optimizer.step()
        said["optimizer"] += 2
        said["steps"] += 1
    with torch.no_grad():
        for _ in range(3):
            model(torch.ones(8, 32))
            said["evaluation"] += 1
    return said


def train_mesh(rank, is_slow):
    from torch.distributed.device_mesh import init_device_mesh
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("data", "tensor"))
    model = DistributedDataParallel(nn.Sequential(Late(is_slow), *model_of()), process_group=mesh.get_group("data"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        y = model(torch.ones(8, 32))
        y.sum().backward()
        dist.all_reduce(y.detach().clone(), group=mesh.get_group("tensor"))
        optimizer.step()
    return dict(steps=STEPS, groups="0.2/1.3/0.1/2.3")


def train_compiled(rank, is_slow):
    model = torch.compile(DistributedDataParallel(model_of()), backend=os.environ["COMPILER"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    said = dict(steps=0, forward=0, backward=0, optimizer=0)
    for _ in range(STEPS):
        if is_slow:
            time.sleep(LATE_S)
        optimizer.zero_grad()
        model(torch.ones(8, 32)).sum().backward()
        optimizer.step()
        said["optimizer"] += 2
        for kind in ("steps", "forward", "backward"):
            said[kind] += 1
    return said


def train_no_sync(rank, is_slow):
    model = DistributedDataParallel(nn.Sequential(Late(is_slow), *model_of()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    said = dict(steps=0, forward=0, backward=0, no_sync=0, optimizer=0)
    for _ in range(STEPS):
        optimizer.zero_grad()
        for i in range(3):
            with contextlib.nullcontext() if i == 2 else model.no_sync():
                model(torch.ones(8, 32)).sum().backward()
            said["forward"] += 1
            said["backward"] += 1
            said["no_sync"] += i != 2
        optimizer.step()
        said["optimizer"] += 2
        said["steps"] += 1
    return said


def run(rank, way, slow_rank, port):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    said = globals()["train_" + way](rank, rank == slow_rank)
    dist.barrier()
    sys.stdout.write(f"rank {rank}: " + ", ".join(f"{key} = {value}" for key, value in said.items()) + "\n")
    sys.stdout.flush()
    dist.destroy_process_group()


def compiler():
    """Inductor, or what works without a C++ compiler and Python's setuptools."""
    try:
        torch.compile(torch.cos)(torch.ones(2))
        return "inductor"
    except Exception:  # whatever it lacks
        return "aot_eager"


def missing(way):
    try:
        if way == "fsdp":
            from torch.distributed.fsdp import fully_shard
            torch.cpu.Stream().record_event()  # asked of a CPU, too; 2.6 has it for accelerators only
        if way == "mesh":
            from torch.distributed.device_mesh import init_device_mesh
        if way == "compiled":
            torch.compile(torch.sin, backend="aot_eager")(torch.ones(2))
            os.environ["COMPILER"] = compiler()
    except Exception as error:  # whatever it lacks
        return f"PyTorch {torch.__version__} has no {way} here: {str(error).splitlines()[0]}"
    return None


if __name__ == "__main__":
    chosen = sys.argv[1]
    if chosen not in ("fsdp", "mesh", "compiled", "no_sync"):
        sys.exit(f"torch_parallel.py: got '{chosen}', expected fsdp, mesh, compiled or no_sync")
    if why := missing(chosen):
        print("SKIP:", why)
        sys.exit(77)
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        os.environ.pop(name, None)
    # fork: torch is imported once for all ranks; but a compiler that has run keeps threads
    mp.start_processes(run, args=(chosen, int(sys.argv[2]), int(sys.argv[3])), nprocs=RANKS,
                       start_method="spawn" if chosen == "compiled" else "fork")
