#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torchrun starts its workers anew after one failed: the Run is the last attempt, and the earlier one is named.
. "$(dirname "$0")/shell.sh"
need torchrun python3
need_torch
cd "$work"
cat >train.py <<'PY'
import os, sys
import torch
import torch.distributed as dist
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/store-{attempt}", rank=int(os.environ["RANK"]),
                        world_size=int(os.environ["WORLD_SIZE"]))
value = torch.ones(4)
for step in range(5):
    dist.all_reduce(value)
if attempt == "0" and dist.get_rank() == 1:
    sys.exit(3)
dist.barrier()
PY
export OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=lo
# Files to meet in: the agent's own store asks for libuv, which Debian's PyTorch 2 is built without.
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
code=$(status timeout 150 "$cox" observe -o run -- torchrun -r 2 -t 2 --log_dir "$work/log" \
  --rdzv_backend=c10d --rdzv_endpoint="$work/store" --rdzv_conf=store_type=file --rdzv_id=job --nproc_per_node=2 --max_restarts=1 --monitor_interval=0.2 train.py)
cat err
equal "$code" 0 "exit status"
"$build/list_processes" run | sed -E 's/.*(rank [01] of 2 local [01] of 2).* (launcher.*)/\1 \2/' | sort >processes
diff processes - <<'TEXT' || fail "processes"
rank 0 of 2 local 0 of 2 launcher torchrun attempt 0
rank 0 of 2 local 0 of 2 launcher torchrun attempt 1
rank 1 of 2 local 1 of 2 launcher torchrun attempt 0
rank 1 of 2 local 1 of 2 launcher torchrun attempt 1
TEXT
equal "$(status "$cox" diagnose run --json)" 0 "exit status of diagnose"
cp out diagnosis.json
equal "$(json diagnosis.json 'r["coverage"]')" 1.0 "coverage"
equal "$(json diagnosis.json 'sum("an earlier attempt of rank" in w for w in d["warnings"])')" 2 "earlier attempts in the warnings"
