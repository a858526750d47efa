"""Runs that are killed at random moments, on disks that fill up, with checkpoints whose bits flip: each must end as the
undisturbed run does, in the same model, the same simulated seconds and the same bytes. `make kills MINUTES=60` keeps
what came of it in benchmarks/results/kills.md and kills.json.

Each life is a run of its own folder, begun and resumed in processes of their own. A process ends by SIGKILL after a
random time, or because its disk is full (a small file system, where one can be mounted, and a limit on the length of
files elsewhere), or at the end. Between two processes a bit of a file of the newest checkpoint may flip. A run is lost
where it cannot be resumed, or ends in anything else than the undisturbed one; a fault about which no sentence is said
counts as a traceback.
"""

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from machine import description, markdown

import heteroselect
from heteroselect import HeteroSelectError

RESULTS = Path(__file__).parent / "results"
COMPARED = ("model_sha256", "total_seconds", "bytes_up", "bytes_down", "bytes_scoring", "rounds_run", "rounds_sha256")
SMALL = {"clients": 20, "selected": 4, "rounds": 24, "method.solver.steps": 3, "method.solver.batch": 8}
STEPS = {"rounds": 40, "method.async_mode.size": 2}
KINDS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "rounds": ("heteroselect", {"simulate.checkpoint_rounds": 1}),
    "rounds, store on disk": ("heteroselect", {"simulate.checkpoint_rounds": 3, "simulate.store": "disk"}),
    "rounds, clients missing": ("scaffold", {"simulate.checkpoint_rounds": 2, "world.faults.missing": 0.2}),
    "steps": ("fedbuff", {**STEPS, "simulate.checkpoint_rounds": 1}),
    "steps, with memories": (
        "fedbuff",
        {
            **STEPS,
            "method.compress.kind": "stc",
            "method.error_feedback.kind": "error",
            "simulate.checkpoint_rounds": 3,
        },
    ),
}
DONE, SAID, RAISED = 0, 3, 4
MOST = 12
"""Disturbances of one run; then it is left to end."""


@dataclass
class Tally:
    """What was done to the runs, and what came of it."""

    runs: int = 0
    kills: int = 0
    resumes: int = 0
    begun_again: int = 0
    full_disks: int = 0
    flipped_bits: int = 0
    tracebacks: int = 0
    lost: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    trouble: list[str] = field(default_factory=list)


def start(kind: str, out: Path) -> None:
    """Begin a run of this kind, or go on with it where there is one."""
    if (out / "config.toml").exists():
        heteroselect.resume(out, threads=1)
    else:
        method, settings = KINDS[kind]
        heteroselect.run("mnist", method=method, settings={**SMALL, **settings}, out=out, threads=1)


def child(work: Callable[[], None], log: Path, most_bytes: int | None = None) -> int:
    """The id of a process that does the work, and ends with what became of it. A fork has all modules loaded, so that
    kills hit the run and not its imports."""
    process = os.fork()
    if process:
        return process
    code = RAISED
    try:
        with log.open("w") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        if most_bytes is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, resource.RLIM_INFINITY))
        work()
        code = DONE
    except HeteroSelectError as error:
        print(error, file=sys.stderr, flush=True)
        code = SAID
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def waited(process: int, seconds: float | None = None) -> int | None:
    """How a process ended: its code, or None where it was killed, after so many seconds at the latest."""
    if seconds is not None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            done, status = os.waitpid(process, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return None if code == -signal.SIGKILL else code


def flip(out: Path, rng: random.Random) -> bool:
    """Flip a bit of one file of the checkpoint; False where there is none. The newest checkpoint alone is damaged: the
    one before it is what a run falls back to."""
    manifests = sorted((out / "checkpoint").glob("manifest-*.json"))
    if len(manifests) < 2:
        return False
    newest = manifests[-1].stem.removeprefix("manifest-")
    target = rng.choice([manifests[-1], *sorted((out / "checkpoint").glob(f"*-{newest}.safetensors"))])
    data = bytearray(target.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    target.write_bytes(data)
    return True


def mounted(where: Path, megabytes: int = 24) -> bool:
    """Whether a small file system could be put there."""
    where.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(where)]
    return shutil.which("mount") is not None and subprocess.run(command, capture_output=True).returncode == 0


def filled(disk: Path, rng: random.Random) -> Path:
    """A file that takes all of the disk but some kilobytes."""
    ballast = disk / "ballast"
    free = shutil.disk_usage(disk).free - rng.randrange(0, 300_000)
    with ballast.open("wb") as file:
        for _ in range(max(0, free) // 4096):
            file.write(b"\0" * 4096)
    return ballast


def life(kind: str, place: Path, whole: Mapping[str, Any], pace: float, rng: random.Random, tally: Tally) -> None:
    """One run of this kind from its beginning to its end, disturbed on the way."""
    disk, log = place / "disk", place / "log"
    small = mounted(disk)
    out = disk / "run"
    try:
        for turn in range(100):
            quiet, what = turn >= MOST, rng.random()
            begun = (out / "config.toml").exists()
            tally.resumes, tally.begun_again = tally.resumes + begun, tally.begun_again + (turn > 0 and not begun)
            if not quiet and begun and rng.random() < 0.4:
                tally.flipped_bits += flip(out, rng)
            full = not quiet and what < 0.2
            ballast = filled(disk, rng) if full and small else None
            limit = rng.randrange(1000, 60_000) if full and not small else None
            process = child(lambda: start(kind, out), log, limit)
            code = waited(process, None if quiet else rng.expovariate(1 / pace))
            if ballast:
                ballast.unlink()
            tally.kills += code is None
            tally.full_disks += full and code == SAID
            if code == DONE:
                break
            if code == RAISED or (code == SAID and not full):
                tally.tracebacks += code == RAISED
                tally.trouble.append(f"{kind}: {log.read_text()[-1500:]}")
                if not full:
                    break
        tally.runs += 1
        tally.by_kind[kind] = tally.by_kind.get(kind, 0) + 1
        ended = figures(out)
        if ended != whole:
            tally.lost += 1
            tally.trouble.append(f"{kind}: ended as {ended} instead of {dict(whole)}")
    finally:
        if small:
            subprocess.run(["umount", str(disk)], check=True)


def figures(out: Path) -> dict[str, Any] | None:
    """What a finished run is compared by; None where it is not finished."""
    if not (out / "summary.json").exists():
        return None
    summary = json.loads((out / "summary.json").read_text())
    return {key: summary[key] for key in COMPARED} if summary["status"] == "finished" else None


def undisturbed(kind: str, place: Path) -> tuple[dict[str, Any], float]:
    """What a run of this kind ends in, and how many seconds it takes."""
    began = time.monotonic()
    if waited(child(lambda: start(kind, place / "run"), place / "log")) != DONE:
        raise SystemExit(f"{kind}: {(place / 'log').read_text()}")
    found = figures(place / "run")
    assert found is not None
    return found, time.monotonic() - began


def page(found: Mapping[str, Any]) -> str:
    """The results as Markdown."""
    words = {
        "kills": "processes killed by SIGKILL",
        "resumes": "times a run went on",
        "begun_again": "times there was nothing yet to go on with",
        "full_disks": "disks that were full, said in one sentence",
        "flipped_bits": "bits flipped in the newest checkpoint",
        "tracebacks": "tracebacks",
        "lost": "runs lost, or ended in anything else",
    }
    kinds = "".join(f"| runs: {kind} | {count} |\n" for kind, count in found["by_kind"].items())
    lines = "".join(f"| {text} | {found[key]:,} |\n" for key, text in words.items())
    return f"""# Runs that are killed

Written by `make kills`: {found["minutes"]:.0f} minutes, seed {found["seed"]}. Each run is compared with the undisturbed
one by its model, its simulated seconds, its bytes and the digest of its rounds. Disks are {found["disks"]}.

{markdown(found["machine"])}.

| | |
|---|---:|
{kinds}{lines}"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    rng, tally, machine, began = random.Random(arguments.seed), Tally(), description(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        place = Path(folder)
        small = mounted(place / "try")
        if small:
            subprocess.run(["umount", str(place / "try")], check=True)
        whole = {}
        for number, kind in enumerate(KINDS):
            (place / f"whole-{number}").mkdir()
            whole[kind] = undisturbed(kind, place / f"whole-{number}")
        while time.monotonic() - began < 60 * arguments.minutes:
            kind = list(KINDS)[tally.runs % len(KINDS)]
            here = place / f"life-{tally.runs}"
            life(kind, here, *whole[kind], rng, tally)
            shutil.rmtree(here)
            print(f"{(time.monotonic() - began) / 60:.1f} min: {asdict(tally)}", file=sys.stderr, flush=True)
    minutes = (time.monotonic() - began) / 60
    disks = "small file systems in memory" if small else "files of limited length"
    about = {"machine": machine, "minutes": minutes, "seed": arguments.seed, "disks": disks}
    found = {**about, **asdict(tally)}
    print(page(found))
    (arguments.out / "kills.md").write_text(page(found), encoding="utf-8")
    (arguments.out / "kills.json").write_text(json.dumps(found, indent=2) + "\n")
    return int(bool(tally.lost or tally.tracebacks))


if __name__ == "__main__":
    sys.exit(main())
