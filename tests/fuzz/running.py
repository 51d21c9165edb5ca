"""Runs targets in engines side by side, each for its share of the time; at the end, what came of it.

What a run finds on its way, inputs that reach something new, stays in build/fuzz/found/ for the next one, and so does
the sum of all executions (`sums`); `keep` takes what is worth it into the corpus of the tree. A finding is saved in
build/fuzz/findings/, under the name of its target.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.fuzz.building import BUILD, ROOT, compiled, engine, library
from tests.fuzz.corpus import packed, read_corpus, unpack, write_corpus
from tests.fuzz.targets import Target

FOUND: Final = BUILD / "found"
FINDINGS: Final = BUILD / "findings"
# Part of a target's time in each build; a second in the plain one makes many more executions.
_PARTS: Final = {"asan": 0.5, "plain": 0.5}
_LEAST_S: Final = 2
_KNOWN_PART: Final = 0.3
"""Of a target's time, what it may take at most to run what earlier runs have found: clients in real time find something
new each second time, and would come to nothing else after some nights."""
_LEAST_KNOWN: Final = 20
_HANG_S: Final = 30
# Beyond these, an input must not replace what another one says; about 1 MB for all targets.
_KEPT_BYTES: Final = 24 << 10
_COVERED: Final = re.compile(r"cov: (\d+)")


@dataclass(frozen=True)
class Result:
    """What came of one target in one build."""

    target: str
    kind: str
    seconds: float
    executions: int
    edges: int
    slowest_s: float
    slowest_size: int
    most_memory: int
    finding: Path | None

    @property
    def row(self) -> tuple[str, ...]:
        speed = f"{self.executions / max(self.seconds, 1):,.0f}"
        slowest = f"{self.slowest_s * 1000:.1f} ms ({self.slowest_size} B)"
        memory = f"{self.most_memory / 1024:,.0f} KiB" if self.most_memory else ""
        found = self.finding.name if self.finding else ""
        return self.target, self.kind, f"{self.executions:,}", speed, f"{self.edges:,}", slowest, memory, found


HEAD: Final = ("target", "build", "executions", "per second", "edges", "slowest input", "most memory", "finding")


def run_all(targets: Iterable[Target], kinds: Iterable[str], seconds: float, processes: int) -> list[Result]:
    """Divides `seconds` of so many processes among the targets by their shares, and shows each result."""
    chosen = [(target, kind) for target in targets for kind in kinds]
    whole = sum(target.share * _PARTS[kind] for target, kind in chosen)
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        waiting = [
            pool.submit(run, target, kind, seconds * processes * target.share * _PARTS[kind] / whole)
            for target, kind in chosen
        ]
        results = []
        for each in concurrent.futures.as_completed(waiting):
            results.append(each.result())
            _add_up(results[-1])
            print("  ".join(filter(None, results[-1].row)), flush=True)
    return results


def run(target: Target, kind: str, seconds: float) -> Result:
    """One target in one build, from its seeds, its corpus and what earlier runs have found."""
    work = BUILD / "work" / f"{target.name}.{kind}"
    shutil.rmtree(work, ignore_errors=True)
    new = work / "new"
    new.mkdir(parents=True)
    unpack([*target.seeds(), *read_corpus(target.name), *_some_found(target, kind, seconds)], work / "known")
    (work / "words").write_text("".join(f'"{_escaped(word)}"\n' for word in target.words))
    begun = time.monotonic()
    done = _engine(
        target, kind, work, f"-max_total_time={max(round(seconds), _LEAST_S)}", f"-max_len={target.max_len}",
        *([f"-dict={work / 'words'}"] if target.words else []), f"-timeout={_HANG_S}",
        "-rss_limit_mb=6000", "-print_final_stats=1", "-len_control=20", "-reload=0",
        f"-artifact_prefix={work}/", str(new), str(work / "known"),
    )  # fmt: skip
    unpack(packed(new), FOUND / target.name)
    return _result(target, kind, work, time.monotonic() - begun, done)


def _some_found(target: Target, kind: str, seconds: float) -> list[bytes]:
    """As many of the inputs that earlier runs have found as there is time for, drawn anew for each run."""
    found = packed(FOUND / target.name)
    executions, passed = sums().get(f"{target.name} {kind}", (0, 0.0))
    if not passed:
        return found
    most = max(round(executions / passed * seconds * _KNOWN_PART), _LEAST_KNOWN)
    return random.sample(found, min(most, len(found)))


def sums() -> dict[str, tuple[int, float]]:
    """Of each target in each build, how many executions all runs have made, and in how many seconds."""
    path = FOUND / "sums.json"
    return json.loads(path.read_text()) if path.exists() else {}


def _add_up(result: Result) -> None:
    known = sums()
    of = f"{result.target} {result.kind}"
    executions, seconds = known.get(of, (0, 0.0))
    known[of] = executions + result.executions, round(seconds + result.seconds, 1)
    FOUND.mkdir(parents=True, exist_ok=True)
    written = FOUND / "sums.json.new"  # which others may read meanwhile
    written.write_text(json.dumps(known, indent=0))
    written.replace(FOUND / "sums.json")


def told_sums() -> str:
    """What all runs have come to, in a line."""
    known = sums()
    of_kinds = [sum(count for of, (count, _) in known.items() if of.endswith(f" {kind}")) for kind in _PARTS]
    each = ", ".join(f"{count:,} {kind}" for count, kind in zip(of_kinds, _PARTS, strict=True))
    return f"{sum(of_kinds):,} executions in all runs: {each}"


def reproduce(target: Target, path: Path, kind: str) -> int:
    """Feeds one input to the target, with all that the sanitizer says on the terminal."""
    return subprocess.run(
        [str(engine(kind)), "-runs=1", f"-timeout={_HANG_S}", str(path.resolve())],
        env=_environment(target, kind),
        check=False,
    ).returncode


def keep(target: Target) -> int:
    """The corpus of the tree becomes the fewest and shortest inputs that reach what all known ones reach."""
    work = BUILD / "work" / f"{target.name}.keep"
    shutil.rmtree(work, ignore_errors=True)
    unpack([*target.seeds(), *read_corpus(target.name), *packed(FOUND / target.name)], work / "known")
    merged = work / "merged"
    merged.mkdir()
    done = _engine(
        target, "plain", work, "-merge=1", "-use_counters=0", f"-max_len={target.max_len}", f"-timeout={_HANG_S}",
        "-rss_limit_mb=6000", str(merged), str(work / "known"),
    )  # fmt: skip
    if done:
        sys.exit(f"{(work / 'log').read_text()[-3000:]}\ntests.fuzz: {target.name}: the merge failed")
    kept: list[bytes] = []
    left = _KEPT_BYTES
    for data in sorted(packed(merged), key=len):
        left -= len(data) * 4 // 3 + 4
        if left < 0:
            break
        kept.append(data)
    write_corpus(target.name, kept)
    return len(kept)


def table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _engine(target: Target, kind: str, work: Path, *options: str) -> int:
    work.mkdir(parents=True, exist_ok=True)
    with (work / "log").open("wb") as log:
        return subprocess.run(
            ["nice", "-n", "10", str(engine(kind)), *options],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=work,
            env=_environment(target, kind) | {"KWIRE_FUZZ_NUMBERS": str(work / "numbers")},
            check=False,
        ).returncode


def _environment(target: Target, kind: str) -> dict[str, str]:
    kwire = f"{compiled(kind)}:{ROOT / 'src'}" if target.is_compiled else library(kind)
    return os.environ | {
        "PYTHONPATH": f"{kwire}:{ROOT}",
        "PYTHONHASHSEED": "0",
        "KWIRE_FUZZ_PYTHON": sys.executable,
        "KWIRE_FUZZ_TARGET": target.path,
        "KWIRE_FUZZ_TRACED": target.traced or "",
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:handle_abort=0",
        "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
        **({"PYTHONMALLOC": "malloc"} if kind == "asan" else {}),
    }


def _result(target: Target, kind: str, work: Path, seconds: float, code: int) -> Result:
    log = (work / "log").read_text(errors="replace")
    numbers = work / "numbers"
    said = json.loads(numbers.read_text()) if numbers.exists() else {}
    covered = _COVERED.findall(log)
    executions = said.get("executions") or int((re.findall(r"executed_units: (\d+)", log) or ["0"])[-1])
    finding = None
    if code:
        inputs = [path for path in work.iterdir() if path.name.startswith(("crash-", "timeout-", "oom-"))]
        FINDINGS.mkdir(parents=True, exist_ok=True)
        finding = FINDINGS / f"{target.name}.{inputs[0].name if inputs else 'no-input'}"
        shutil.copy(inputs[0], finding) if inputs else finding.write_bytes(b"")
        finding.with_name(f"{finding.name}.log").write_text(log)
    return Result(
        target.name, kind, seconds, executions, int(covered[-1]) if covered else 0, said.get("slowest_s", 0.0),
        said.get("slowest_size", 0), said.get("most_memory", 0), finding,
    )  # fmt: skip


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02X}" for byte in word)
