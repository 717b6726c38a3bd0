#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torchrun over two hosts, `cox observe` on each of them: ranks, nodes and job id are right, and the two folders make
# one Run.
. "$(dirname "$0")/shell.sh"
. "$source_dir/tests/support/lab/lab.sh"
need torchrun python3
need_torch
lab_available || skip "$lab_reason"
/usr/bin/python3 -c 'from torch.distributed import TCPStore; TCPStore("127.0.0.1", 0, 1, True)' 2>/dev/null ||
  skip "torchrun does not start here: this PyTorch was built without the libuv that it asks for"
lab_up 2
cd "$work"
cat >train.py <<'PY'
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
value = torch.ones(4) * dist.get_rank()
for step in range(5):
    dist.all_reduce(value)
dist.barrier()
if dist.get_rank() == 0:
    print("ended", flush=True)
dist.destroy_process_group()
PY
# With a log folder: torchrun 1.13 and Python 3.11 do not get on without one.
agent() {  # agent HOST: the words of torchrun there
  echo "torchrun -r 2 -t 2 --log_dir $work/log-$1 --nnodes=2 --nproc_per_node=2 --node_rank=$1 --rdzv_id=job7" \
    "--rdzv_backend=static --master_addr=10.77.0.1 --master_port=29511 train.py"
}
for host in 0 1; do
  echo "GLOO_SOCKET_IFNAME=eth0" >"$LAB/env/cxh$host"
  echo "OMP_NUM_THREADS=1" >>"$LAB/env/cxh$host"
  timeout 100 "$LAB/rsh" "cxh$host" "cd $work && $cox observe -o of-$host -- $(agent $host)" >"out-$host" 2>"err-$host" &
  agents[host]=$!
done
for host in 0 1; do
  code=0
  wait "${agents[host]}" || code=$?
  cat "err-$host"
  equal "$code" 0 "exit status of the agent on cxh$host"
done
grep -q ended out-0 log-0/*/*/*/* || fail "the job did not end: $(cat out-0)"
equal "$(status "$cox" collect of-0 of-1 -o run)" 0 "exit status of collect"
"$build/list_processes" run >processes
for rank in 0 1 2 3; do
  echo "rank $rank of 4 local $((rank % 2)) of 2 host cxh$((rank / 2)) node $((rank / 2)) job job7 launcher torchrun attempt 0"
done >expected
diff processes expected || fail "processes"
equal "$(status "$cox" diagnose run --json)" 0 "exit status of diagnose"
cp out diagnosis.json
equal "$(json diagnosis.json 'r["coverage"]')" 1.0 "coverage"
