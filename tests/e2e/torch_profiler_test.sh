#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch's own profilers see the same events with us as without: per thread (torch.profiler) and for all threads.
. "$(dirname "$0")/shell.sh"
need_torch
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
cat >"$work/profiled.py" <<'PY'
import collections, json, os, sys
import torch, torch.distributed as dist
from torch.profiler import ProfilerActivity, profile
try:
    from torch.profiler import ExecutionTraceObserver as Observer
except ImportError:  # before 2.0
    from torch.profiler import ExecutionGraphObserver as Observer

graph = sys.argv[2]
torch.set_num_threads(1)
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{sys.argv[1]}", rank=0, world_size=1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def step():
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    dist.all_reduce(torch.ones(4))

step()
with profile(activities=[ProfilerActivity.CPU]) as p:
    step()
    with torch.profiler.record_function("mine"):
        dist.broadcast(torch.ones(4), src=0)
names = collections.Counter(e.name for e in p.events())
print("per thread:", sorted(names.items()))
step()
observer = Observer()  # listens for all threads
observer.register_callback(graph)
observer.start()
step()
observer.stop()
observer.unregister_callback()
print("all threads:", sorted(collections.Counter(n["name"] for n in json.load(open(graph))["nodes"]).items()))
step()
dist.destroy_process_group()
PY
job=(timeout 150 /usr/bin/python3 "$work/profiled.py")
# What the profiler counts differs now and then by one operator from run to run, with nothing preloaded: the pair is
# run again, and only a difference in each of three pairs is ours.
same=no
for _ in 1 2 3; do
    equal "$(status "${job[@]}" "$(free_port)" "$work/graph")" 0 "exit status without cox"
    cp "$work/out" "$work/plain"
    equal "$(status "$cox" observe -f -o "$work/run" -- "${job[@]}" "$(free_port)" "$work/graph")" 0 "exit status under cox"
    if diff "$work/plain" "$work/out"; then same=yes; break; fi
done
equal "$same" yes "a profiler sees what it sees without cox"
grep -q "('gloo:all_reduce', " <(grep "per thread" "$work/plain") || fail "the profiler sees no operation of Gloo"
grep -q "('gloo:all_reduce', " <(grep "all threads" "$work/plain") || fail "the observer sees no operation of Gloo"
printf 'events of both profilers as without cox\n'
