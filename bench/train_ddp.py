#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A step of `cox train` beside one of PyTorch's DistributedDataParallel: the same network, samples and threads, Gloo over loopback.

usage: train_ddp.py BUILD [--procs N] [--pairs N] [--steps N] [--blas FOLDER] [--layout NAME]

Processes of one worker each; mlp of 256 features, three layers of 640 with ReLU, two classes, Adam, 8 samples a worker drawn in each
step. Runs alternate; what is told is the median of the pairs' ratios with the least and the largest, of wall time a step (the first
tenth of the steps is left out under DDP; `cox train` tells the mean without scores).
--procs   2
--pairs   5
--steps   300
--blas    a folder with a libblas.so.3 that PyTorch is to use: Debian's runs on the reference one else
--layout  data-parallel, zero-1, zero-2, zero-3
Exit 0: the median ratio is at most 1. 1: not. 77: cannot run here.
"""
import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

FEATURES, HIDDEN, LAYERS, SAMPLES = 256, 640, 3, 8


def worker(rank, procs, port, steps):
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=procs)
    widths = [FEATURES] + [HIDDEN] * LAYERS
    parts = []
    for before, after in zip(widths, widths[1:]):
        parts += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*parts, torch.nn.Linear(HIDDEN, 2)))
    adam = torch.optim.Adam(model.parameters(), lr=1e-3)
    left_out = max(steps // 10, 1)
    for step in range(steps):
        if step == left_out:
            dist.barrier()
            began = time.perf_counter()
        inputs, labels = torch.randn(SAMPLES, FEATURES), torch.randint(0, 2, (SAMPLES,))
        adam.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        adam.step()
    dist.barrier()
    if rank == 0:
        print((time.perf_counter() - began) / (steps - left_out))
    dist.destroy_process_group()


def ddp(procs, steps, blas):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    if blas:
        env["LD_LIBRARY_PATH"] = blas
    ranks = [subprocess.Popen([sys.executable, __file__, "--worker", str(r), str(procs), str(port), str(steps)], env=env,
                              stdout=subprocess.PIPE, text=True) for r in range(procs)]
    said = [rank.communicate(timeout=600)[0] for rank in ranks]
    assert all(rank.returncode == 0 for rank in ranks), [rank.returncode for rank in ranks]
    return float(said[0])


SCENARIO = """name = "ddp"
[cluster]
preset = "cloud-100g"
nodes = {procs}
[job]
workload = "training"
steps = 1
[job.layers]
count = 1
forward = "1ms"
backward = "1ms"
gradients = "4MB"
"""


def cox(build, job, procs, steps, layout):
    said = subprocess.run([os.path.join(build, "cox"), "train", job, "--procs", str(procs), "--transport", "gloo", "--steps", str(steps),
                           "--problem", f"mlp,dimension={FEATURES},hidden={HIDDEN},layers={LAYERS},held-out=10", "--optimizer",
                           "adam,rate=0.001", "--batch", str(SAMPLES), "--layout", layout, "--json"],
                          capture_output=True, text=True, timeout=600)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)["result"]["step_mean_s"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--procs", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--blas", default="")
    parser.add_argument("--layout", default="data-parallel")
    asked = parser.parse_args()
    probe = subprocess.run([sys.executable, "-c", "import torch.distributed as d; assert d.is_gloo_available()"], capture_output=True)
    if probe.returncode != 0 or not os.access(os.path.join(asked.build, "cox-train-gloo"), os.X_OK):
        print("train_ddp: needs PyTorch with Gloo, and cox-train-gloo")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        job = os.path.join(folder, "ddp.toml")
        with open(job, "w") as f:
            f.write(SCENARIO.format(procs=asked.procs))
        ratios = []
        for _ in range(asked.pairs):
            ours, theirs = cox(asked.build, job, asked.procs, asked.steps, asked.layout), ddp(asked.procs, asked.steps, asked.blas)
            ratios.append(ours / theirs)
            print(f"cox train {1e3 * ours:.2f} ms, DDP {1e3 * theirs:.2f} ms: {ours / theirs:.2f}", flush=True)
    median = statistics.median(ratios)
    print(f"median {median:.2f} ({min(ratios):.2f} to {max(ratios):.2f}), bar 1")
    return 0 if median <= 1 else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*map(int, sys.argv[2:6]))
    else:
        sys.exit(main())
