#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage_test.py SOURCE [--update]: studies/coverage.toml has a line for each statement of the source, every test, study and
verb that it names exists, and docs/studies/coverage.md is made of it. --update rewrites the page.

Where the digests of the source lie beside the project the ids are held against them; elsewhere against the numbers of
statements that the file itself gives. Exit status 1, with a line per mistake.
"""
import pathlib
import re
import sys
import tomllib

HEADER = """# Coverage of the source

Made by `tests/golden/coverage_test.py` from `studies/coverage.toml`; do not edit.

What the source of the studies ([sources](../reference/sources.md)) states, asks for or warns of, and what holds it here. *Held*:
a test was read that fails where the statement is false, or where what it asks for is gone. *In part*: the last column says what
nothing holds. *Not*: nothing does. Where the source is wrong, what is held is the corrected statement or its counterexample.
"""


# --- the source's ids -------------------------------------------------------------------------------------------------

def between(text, first, last):
    """What stands behind the line with `first`, up to a line that begins with `last`."""
    start = text.index("\n", text.index(first)) + 1
    end = re.search(rf"^{last}", text[start:], re.M)
    return text[start:start + end.start()] if end else text[start:]


def phrases(text):
    """Items of a list that are parted by semicolons and sentences, outside of parentheses."""
    out = []
    for item in re.split(r"^- ", text, flags=re.M)[1:]:
        depth, now = 0, ""
        for i, c in enumerate(item := " ".join(item.split()) + " "):
            depth += (c == "(") - (c == ")")
            sentence = c == "." and item[i + 1] == " " and "." not in now.rpartition(" ")[2]  # no "e.g."
            if depth == 0 and (c == ";" or sentence):
                out.append(now.strip())
                now = ""
            else:
                now += c
        out.append(now.strip())
    return [phrase for phrase in out if phrase]


def numbered(pattern, text):
    return {int(n) for n in re.findall(pattern, text, re.M)}


def counted(items):
    return set(range(1, len(items) + 1))


def ids_of(one, two, three):
    """Numbers of every kind, from the three digests."""
    everything = one + two + three
    slips = re.search(r"simulator itself\*.*?test\):(.*?)\n\n", three, re.S)[1]
    return {
        "definition": numbered(r"^- \*\*D(\d+) ", one),
        "theorem": numbered(r"^- \*\*T(\d+) ", one),
        "overview": numbered(r"^- \*\*W(\d+) ", one),
        "example": numbered(r"^- \*\*E(\d+) ", one),
        "A": numbered(r"\bA\.(\d+)\b", everything),
        "B": numbered(r"\bB\.(\d+)\b", everything),
        "C": numbered(r"\bC\.(\d+)\b", everything),
        "question": numbered(r"(?:^|\s)(\d+)\. [A-Z]", between(one, "### 4.1", "###")),
        "U": numbered(r"^- U(\d+) ", two),
        "need": numbered(r"^(\d+)\. ", between(three, "## 6.", "## ")),
        "failure": counted(phrases(between(one, "### 4.2", "###"))),
        "slip": counted(slips.split(";")),
        "trap": numbered(r"^- T(\d+) ", between(two, "### Traps", "##")),
        "misconception": counted(phrases(between(one, "### 4.3", "##"))
                                 + re.findall(r"^\d+\. ", between(three, "### 5.4", "###"), re.M)),
    }


# --- the file ---------------------------------------------------------------------------------------------------------

class Tree:
    """What may be named: files with their tests, studies, verbs."""

    def __init__(self, root):
        self.root = root

    def lacks_test(self, named):
        file, _, name = named.partition(" ")
        path = self.root / file
        if not name or not path.is_file():
            return f"no file {file}" if name else "no name of a test"
        suite, dot, case = name.partition(".")
        declared = rf"\b\w+\(\s*{re.escape(suite)},\s*{re.escape(case)}[,)]" if dot else rf"(?<!\w){re.escape(name)}(?!\w)"
        return "" if re.search(declared, path.read_text()) else f"{file} has no {name}"

    def lacks_study(self, name):
        return "" if (self.root / f"studies/{name}.toml").is_file() and name != "coverage" else f"no study {name}"

    def lacks_verb(self, name):
        return "" if (self.root / f"src/cli/verbs/{name}_command.cpp").is_file() else f"no verb {name}"


def status(entry):
    if "why_not" in entry:
        return "not"
    return "in part" if "lacks" in entry else "held"


def wrong_in(name, entry, tree):
    """Mistakes of one entry."""
    keys = set(entry)
    held_by = keys & {"test", "study", "verb"}
    if keys - {"says", "test", "study", "verb", "lacks", "why_not"}:
        yield f"{name}: unknown keys"
    if not entry.get("says"):
        yield f"{name}: says nothing"
    if "why_not" in keys and (held_by or "lacks" in keys):
        yield f"{name}: `why_not` stands alone"
    if status(entry) == "held" and "test" not in keys:
        yield f"{name}: held, and no test is named"
    if status(entry) == "in part" and not held_by:
        yield f"{name}: in part, and nothing is named"
    for key, lacks in (("test", tree.lacks_test), ("study", tree.lacks_study), ("verb", tree.lacks_verb)):
        for named in entry.get(key, []):
            if why := lacks(named):
                yield f"{name}: {why}"


def entries_of(kind):
    return {int(n): e for n, e in kind.items() if isinstance(e, dict)}


def wrong_ids(kinds, wanted):
    """Ids that are missing or nobody's."""
    for kind in sorted(set(kinds) | set(wanted)):
        have, want = set(entries_of(kinds.get(kind, {}))), wanted.get(kind, set())
        yield from (f"{kind}.{n} is missing" for n in sorted(want - have))
        yield from (f"{kind}.{n} is not of the source" for n in sorted(have - want))


# --- the page ---------------------------------------------------------------------------------------------------------

def row(name, entry):
    by = [f"`{t.partition(' ')[2] if '.' in t.partition(' ')[2] else t}`" for t in entry.get("test", [])]
    by += [f"[{s}]({s}.md)" for s in entry.get("study", [])]
    by += [f"`cox {v}`" for v in entry.get("verb", [])]
    lacks = entry.get("lacks") or entry.get("why_not") or ""
    return f"| {name} | {entry['says']} | {status(entry)} | {', '.join(by) or '-'} | {lacks or '-'} |"


def page_of(kinds):
    counts = {k: [sum(status(e) == s for e in entries_of(v).values()) for s in ("held", "in part", "not")]
              for k, v in kinds.items()}
    lines = [HEADER, "| kind | statements | held | in part | not |", "|---|---:|---:|---:|---:|"]
    lines += [f"| {kinds[k]['title']} | {sum(c)} | {c[0]} | {c[1]} | {c[2]} |" for k, c in counts.items()]
    total = [sum(c[i] for c in counts.values()) for i in range(3)]
    lines += [f"| together | {sum(total)} | {total[0]} | {total[1]} | {total[2]} |"]
    for kind, table in kinds.items():
        lines += ["", f"## {table['title']}", "", "| id | in words of ours | | held by | lacks |", "|---|---|---|---|---|"]
        lines += [row(f"{kind}.{n}", e) for n, e in sorted(entries_of(table).items())]
    return "\n".join(lines) + "\n"


# --- the test itself --------------------------------------------------------------------------------------------------

def check_itself(tree):
    """Each mistake that can be planted is found."""
    good = "tests/golden/coverage_test.py check_itself"
    for planted, why in (({"says": "x", "test": ["tests/golden/nowhere.py y"]}, "no file"),
                         ({"says": "x", "test": ["tests/golden/coverage_test.py No.Such"]}, "has no No.Such"),
                         ({"says": "x", "test": ["tests/golden/coverage_test.py"]}, "no name"),
                         ({"says": "x", "study": ["nothing"], "lacks": "y"}, "no study nothing"),
                         ({"says": "x", "verb": ["nothing"], "lacks": "y"}, "no verb nothing"),
                         ({"says": "x", "verb": ["study"]}, "no test is named"),
                         ({"says": "x", "lacks": "y"}, "nothing is named"),
                         ({"says": "x", "why_not": "y", "test": [good]}, "stands alone"),
                         ({"test": [good]}, "says nothing"),
                         ({"says": "x", "tests": [good], "test": [good]}, "unknown keys")):
        found = list(wrong_in("planted", planted, tree))
        assert len(found) == 1 and why in found[0], (planted, found)
    assert not list(wrong_in("planted", {"says": "x", "test": [good], "verb": ["study"]}, tree))
    kinds = {"trap": {"title": "t", "1": {}, "3": {}}}
    assert list(wrong_ids(kinds, {"trap": {1, 2}})) == ["trap.2 is missing", "trap.3 is not of the source"]
    assert phrases("- a (b; c. d)\n  and e.g. f; g. h\n- i\n") == ["a (b; c. d) and e.g. f", "g", "h", "i"]


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    tree = Tree(source)
    check_itself(tree)
    try:
        kinds = tomllib.loads((source / "studies/coverage.toml").read_text())
    except tomllib.TOMLDecodeError as problem:  # an id twice, too
        sys.exit(f"studies/coverage.toml: {problem}")
    wrong = [w for k, table in kinds.items() for n, e in entries_of(table).items() for w in wrong_in(f"{k}.{n}", e, tree)]
    wrong += wrong_ids(kinds, {k: set(range(1, table["many"] + 1)) for k, table in kinds.items()})
    digests = [source.parent / f"shared/requirements/chapter-part{i}.md" for i in (1, 2, 3)]
    beside = all(d.is_file() for d in digests)
    if beside:
        texts = [d.read_text() for d in digests]
        wanted = ids_of(*texts)
        assert sum(len(v) for v in wanted.values()) > 300, "the digests are not understood"
        wrong += wrong_ids(kinds, wanted)
        plain = " ".join(" ".join(texts).lower().split())
        wrong += [f"{k}.{n}: in the digest's own words" for k, table in kinds.items() for n, e in entries_of(table).items()
                  if len(e["says"].split()) > 4 and e["says"].lower() in plain]
    page = source / "docs/studies/coverage.md"
    made = page_of(kinds)
    if "--update" in sys.argv[2:]:
        page.write_text(made)
    elif not page.is_file() or page.read_text() != made:
        wrong += ["docs/studies/coverage.md is not what studies/coverage.toml says; run: ninja golden_update"]
    print("\n".join(dict.fromkeys(wrong)) or f"{sum(len(entries_of(t)) for t in kinds.values())} statements, held against "
          + ("the digests" if beside else "the file's own numbers"))
    sys.exit(1 if wrong else 0)


main()
