#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the schedules of this folder and what LogGOPSim answers on them.

    make_goldens.py FOLDER_WITH_LogGOPSim_AND_txt2bin

Made with spcl/LogGOPSim 76451de, both sorts of free operations in LogGOPSim.cpp replaced by std::stable_sort. Each line
of goldens.txt: schedule, L o g G O S in the schedule's unit (ns, bytes), then when each rank is done. The command is
    txt2bin -i NAME.goal -o x.bin; LogGOPSim -f x.bin -L L -o o -g g -G G -O O -S S
"""
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
NEVER = 2000000000


def text(ranks):
    """Schedule of lists (operation, [(label index, 'requires' or 'irequires')])."""
    out = [f"num_ranks {len(ranks)}"]
    for r, ops in enumerate(ranks):
        out.append(f"rank {r} {{")
        for i, (op, after) in enumerate(ops):
            out.append(f"l{i + 1}: {op}")
            out += [f"l{i + 1} {how} l{k + 1}" for k, how in after]
        out.append("}")
    return "\n".join(out) + "\n"


def after(*steps):
    return [(k, "requires") for k in steps]


def ring(p, n):
    ranks = []
    for r in range(p):
        ops, last = [], None
        for _ in range(2 * (p - 1)):
            wait = after() if last is None else after(last)
            ops.append((f"send {n // p}b to {(r + 1) % p} tag 0", wait))
            ops.append((f"recv {n // p}b from {(r - 1) % p} tag 0", wait))
            last = len(ops) - 1
        ranks.append(ops)
    return ranks


def doubling(ops, r, p, n, wait):
    m = 1
    while m < p:
        ops.append((f"send {n}b to {r ^ m} tag 0", after(*wait)))
        ops.append((f"recv {n}b from {r ^ m} tag 0", after(*wait)))
        wait = [len(ops) - 2, len(ops) - 1]
        m *= 2
    return wait


def recdoub(p, n):
    ranks = [[] for _ in range(p)]
    for r in range(p):
        doubling(ranks[r], r, p, n, [])
    return ranks


def bsp(p, n, steps, seed):
    draw = random.Random(seed)
    ranks = [[] for _ in range(p)]
    for r in range(p):
        wait = []
        for _ in range(steps):
            ranks[r].append((f"calc {max(0, int(draw.gauss(1000000, 50000)))}", after(*wait)))
            wait = doubling(ranks[r], r, p, n, [len(ranks[r]) - 1])
    return ranks


def broadcast(p, n):
    """Binomial tree from rank 0."""
    ranks = [[] for _ in range(p)]
    for r in range(p):
        wait, m = [], 1
        while m < p:
            if r < m and r + m < p:
                ranks[r].append((f"send {n}b to {r + m} tag {m}", after(*wait)))
            elif m <= r < 2 * m:
                ranks[r].append((f"recv {n}b from {r - m} tag {m}", after()))
                wait = [0]
            m *= 2
    return ranks


def incast(k, n, source_known):
    """A parameter server: k workers push to rank 0, which takes them as they come and pushes back."""
    server = []
    for w in range(1, k + 1):
        server.append((f"recv {n}b from {w if source_known else -1} tag 1", after()))
    server.append(("calc 5000", after(*range(k))))
    server += [(f"send {n}b to {w} tag 2", after(k)) for w in range(1, k + 1)]
    return [server] + [
        [
            (f"calc {777 * w % 4001}", after()),
            (f"send {n}b to 0 tag 1", after(0)),
            (f"recv {n}b from 0 tag 2", after(1)),
        ]
        for w in range(1, k + 1)
    ]


def preposted(p, n):
    """All-to-all with every receive posted at once."""
    return [
        [(f"recv {n}b from {q} tag {q}", after()) for q in range(p) if q != r]
        + [(f"send {n}b to {(r + d) % p} tag {r}", after()) for d in range(1, p)]
        for r in range(p)
    ]


def mixed(seed):
    """Anything that the language has."""
    draw = random.Random(seed)
    p, cpus, nics = draw.choice([2, 3, 5, 8, 13]), draw.choice([1, 1, 2, 3]), draw.choice([1, 1, 2])
    any_source, any_tag = draw.choice([0, 0, 0.2, 0.6]), draw.choice([0, 0, 0, 0.3])
    tags, chain = draw.choice([1, 3, 50]), draw.choice([0, 0.2, 0.6, 0.95])
    sizes = draw.choice([[1, 8, 64], [100, 4096, 65536, 65537], [1, 10, 1000, 70000, 200000]])
    plain = [[] for _ in range(p)]

    def place():
        cpu = f" cpu {draw.randrange(cpus)}" if cpus > 1 and draw.random() < 0.5 else ""
        return cpu + (f" nic {draw.randrange(nics)}" if nics > 1 and draw.random() < 0.5 else "")

    for _ in range(draw.choice([5, 20, 45])):
        a, b, t = draw.randrange(p), draw.randrange(p), draw.randrange(tags)
        n = sizes[t % len(sizes)]  # one size per tag, so that both ends agree on the protocol
        source = -1 if draw.random() < any_source else a
        tag = -1 if draw.random() < any_tag else t
        plain[a].append(f"send {n}b to {b} tag {t}" + place())
        plain[b].append(f"recv {n}b from {source} tag {tag}" + place())
        for x in (a, b):
            if draw.random() < 0.4:
                cpu = f" cpu {draw.randrange(cpus)}" if cpus > 1 else ""
                plain[x].append(f"calc {draw.choice([0, 1, 10, 1000, 50000, 123457])}" + cpu)
    ranks = []
    for ops in plain:
        ranks.append([])
        for i, op in enumerate(ops):
            near = sorted({max(0, i - 1 - int(draw.expovariate(0.7))) for _ in range(draw.choice([1, 1, 2]))})
            wait = []
            for k in near:
                if i and draw.random() < chain:
                    wait.append((k, "irequires" if draw.random() < 0.3 else "requires"))
            ranks[-1].append((op, wait))
    limits = [1, NEVER] if any_tag > 0 else [1, 64, 65536, NEVER]
    cost = [draw.choice(c) for c in ([0, 1000, 500000], [0, 1, 700, 1500], [0, 5, 1000], [0, 1, 6, 20], [0, 0, 3, 30])]
    return ranks, cost + [draw.choice(limits)]


def answer(folder, schedule, cost):
    """When each rank is done; None where it cannot finish."""
    with tempfile.TemporaryDirectory() as scratch:
        name = pathlib.Path(scratch) / "x"
        name.with_suffix(".goal").write_text(schedule)
        subprocess.run([folder / "txt2bin", "-i", f"{name}.goal", "-o", f"{name}.bin"], check=True)
        flags = [x for flag, value in zip("LogGOS", cost) for x in (f"-{flag}", str(value))]
        out = subprocess.run([folder / "LogGOPSim", "-f", f"{name}.bin", *flags], capture_output=True, text=True).stdout
    return [int(line.split(":")[1]) for line in out.splitlines() if line.startswith("Host")] or None


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    fixed = {
        "ring_16": (
            ring(16, 1 << 20),
            [[1000, 0, 0, 1, 0, NEVER], [1000, 300, 50, 2, 1, 1024], [1, 0, 0, 1, 0, 1 << 16]],
        ),
        "ring_7": (ring(7, 12345), [[1000, 0, 0, 20, 0, NEVER], [1000, 1500, 1000, 6, 0, 1]]),
        "recdoub_16": (
            recdoub(16, 8192),
            [[1000, 0, 0, 1, 0, NEVER], [2500, 1500, 1000, 6, 0, 65535], [1000, 10, 5, 2, 7, 1]],
        ),
        "bsp_16": (bsp(16, 8192, 4, 1), [[1000, 0, 0, 1, 0, NEVER], [1000, 100, 40, 2, 0, 100]]),
        "broadcast_13": (broadcast(13, 100000), [[1000, 200, 100, 3, 0, NEVER], [1000, 200, 100, 3, 1, 65536]]),
        "incast_15": (incast(15, 65536, False), [[1000, 0, 0, 1, 0, NEVER], [1000, 50, 20, 1, 0, 4096]]),
        "incast_15_known": (incast(15, 65536, True), [[1000, 0, 0, 1, 0, NEVER], [1000, 50, 20, 1, 2, 4096]]),
        "preposted_16": (preposted(16, 3000), [[1000, 0, 0, 1, 0, NEVER], [1000, 70, 30, 2, 1, 2999]]),
    }
    lines = []
    for name, (ranks, costs) in fixed.items():
        schedule = text(ranks)
        (HERE / f"{name}.goal").write_text(schedule)
        for cost in costs:
            done = answer(folder, schedule, cost)
            assert done, name
            lines.append(f"{name} {' '.join(map(str, cost))} {' '.join(map(str, done))}")
    seed, kept = 0, 0
    while kept < 40:
        seed += 1
        ranks, cost = mixed(seed)
        done = answer(folder, text(ranks), cost)
        if not done:
            continue
        kept += 1
        (HERE / f"mixed_{seed}.goal").write_text(text(ranks))
        lines.append(f"mixed_{seed} {' '.join(map(str, cost))} {' '.join(map(str, done))}")
    (HERE / "goldens.txt").write_text("\n".join(lines) + "\n")


main()
