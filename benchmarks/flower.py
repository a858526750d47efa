"""What the same run costs in the simulator, on Flower's simulation and deployed. Run it with `make bench-flower`."""

import json
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

from machine import description, markdown

RESULTS = Path(__file__).resolve().parent / "results"
PAIRS = {
    "flower simulate mnist --clients 100 --rounds 5": "run mnist --rounds 5",
    "flower deploy mnist --nodes 3 --tls --rounds 3": "run mnist --set clients=3 --set selected=3 --rounds 3",
}


def timed(words: str, place: Path) -> dict[str, Any]:
    """The summary of a run, the seconds of the whole command, and how many messages went to clients."""
    out = place / words.replace(" ", "_")
    began = time.perf_counter()
    command = [sys.executable, "-m", "heteroselect", *words.split(), "--json", "--quiet", "--out", str(out)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    lines = [json.loads(line) for line in (out / "rounds.jsonl").read_text().splitlines()]
    clients = int(tomllib.loads((out / "config.toml").read_text())["clients"])
    messages = clients + sum(clients + len(line["selected"]) for line in lines)  # hello, losses, orders
    return {**json.loads(done.stdout), "command_seconds": seconds, "messages": messages}


def main() -> None:
    machine, found = description(), {}
    with tempfile.TemporaryDirectory() as place:
        for ours, plain in PAIRS.items():
            for words in (plain, ours):
                print(f"heteroselect {words} …", flush=True)
                found[words] = timed(words, Path(place))
    rows = []
    for ours, plain in PAIRS.items():
        for words in (plain, ours):
            one = found[words]
            each, same = "", ""
            if words == ours:
                each = f"{1000 * one['wall_seconds'] / one['messages']:,.0f} ms, {one['messages']} messages"
                same = "yes" if one["model_sha256"] == found[plain]["model_sha256"] else "NO"
            seconds = [f"{one[name]:.1f} s" for name in ("command_seconds", "wall_seconds")]
            rows.append(f"| {' | '.join([f'`heteroselect {words}`', *seconds, each, same])} |")
    page = [
        "# What Flower costs",
        "",
        "Written by `make bench-flower`. “Its rounds” is the summary's `wall_seconds`; a message is a question or an "
        "order to a client, with its answer; “same bits” is whether the model is that of the line above.",
        "",
        markdown(machine) + ".",
        "",
        "| command | in all | its rounds | a message | same bits |",
        "|---|---:|---:|---:|---|",
        *rows,
    ]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "flower.md").write_text("\n".join(page) + "\n", encoding="utf-8")
    (RESULTS / "flower.json").write_text(json.dumps({"machine": machine, "runs": found}, indent=2) + "\n")
    print("\n".join(page[6:]))


if __name__ == "__main__":
    main()
