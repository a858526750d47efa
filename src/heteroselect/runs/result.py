"""What a run gives back in Python."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from heteroselect.core.measure import Measure
from heteroselect.runs.display.curves import AXES, curve
from heteroselect.runs.display.frame import frame, plot
from heteroselect.runs.display.html import chart, table
from heteroselect.settings import Config

Line = dict[str, Any]


@dataclass(frozen=True, repr=False, eq=False)
class Result:
    """A run: its settings, what came of it, every round, and the trained model.

    In a notebook it shows itself as a table and a curve. The figures of `summary` are fields, too:

    >>> import heteroselect
    >>> small = {"clients": 20, "selected": 4, "method.solver.steps": 5}
    >>> result = heteroselect.run("mnist", rounds=2, settings=small)
    >>> result.method, result.rounds_run, result.final_accuracy == result.summary["final_accuracy"]
    ('heteroselect', 2, True)
    """

    config: Config
    """every setting, those of the method included"""
    summary: dict[str, Any]
    """what is in summary.json"""
    rounds: list[Line]
    """what is in rounds.jsonl: who took part in each round, how much each sent and counted, and what came
    of it"""
    model: dict[str, Tensor]
    """the trained model, for `module.load_state_dict`"""
    folder: Path | None
    """where the run is kept, if it is"""

    method: str = field(init=False)
    dataset: str = field(init=False)
    seed: int = field(init=False)
    status: str = field(init=False)
    """finished, stopped at target, or interrupted"""
    rounds_run: int = field(init=False)
    target: float = field(init=False)
    final_accuracy: float | None = field(init=False)
    """the last evaluation, by whatever the metric of the run is"""
    peak_accuracy: float | None = field(init=False)
    """the best evaluation"""
    rounds_to_target: int | None = field(init=False)
    """None where the target was not reached; so are the next two"""
    seconds_to_target: float | None = field(init=False)
    """by the simulated clock"""
    wire_megabytes_to_target: float | None = field(init=False)
    """sent by clients, in real bytes"""
    total_seconds: float = field(init=False)
    total_wire_megabytes: float = field(init=False)
    wall_seconds: float = field(init=False)
    """what the run took on this machine"""
    parameters: int = field(init=False)
    model_sha256: str = field(init=False)
    """the same settings give the same model, to the bit"""

    def __post_init__(self) -> None:
        for name, one in self.__dataclass_fields__.items():
            if not one.init:  # None where a run is older than the figure
                object.__setattr__(self, name, self.summary.get(name))

    if not TYPE_CHECKING:  # a type checker knows the fields above, and finds what is misspelt

        def __getattr__(self, name: str) -> Any:
            """All other figures of the summary."""
            try:
                return self.__dict__["summary"][name]
            except KeyError:
                raise AttributeError(f"a Result has no {name!r}") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.summary})

    def __repr__(self) -> str:
        peak, where = self.summary["peak_accuracy"], f" in {self.folder}" if self.folder else ""
        best = f"{self.measure.peak} {'none' if peak is None else self.measure.text(peak)}"
        return f"<Result of {self.summary['method']}: {len(self.rounds)} rounds, {best}{where}>"

    @property
    def measure(self) -> Measure:
        """What the model was evaluated by: the name of the metric, which way is better, and its unit."""
        return Measure.of(self.summary)

    def _repr_html_(self) -> str:
        return table(("", f"{self.summary['method']} on {self.summary['dataset']}"), self._figures()) + chart(
            [curve(self.rounds, "rounds")], AXES["rounds"], self.measure, self.summary["target"]
        )

    def _figures(self) -> list[tuple[str, str]]:
        """The figures that a notebook shows."""
        found, measure = self.summary, self.measure

        def shown(value: float | None, unit: str) -> str:
            if value is None:
                return "not reached"
            return (f"{value:,.0f}" if value >= 1000 else f"{value:.4g}") + f" {unit}"

        final, peak = (
            "—" if value is None else measure.text(value) for value in (found["final_accuracy"], found["peak_accuracy"])
        )
        rows = [
            ("seed", str(found["seed"])),
            ("rounds", f"{len(self.rounds):,}" + ("" if self.status == "finished" else f" ({self.status})")),
            (f"final {measure.name}", final),
            (measure.peak, peak),
            (f"rounds to {measure.short(found['target'])}", shown(found["rounds_to_target"], "").strip()),
            ("… simulated seconds", shown(found["seconds_to_target"], "s")),
            ("… sent by clients", shown(found["wire_megabytes_to_target"], "MB")),
            ("simulated seconds in all", shown(found["total_seconds"], "s")),
            ("sent by clients in all", shown(found["total_wire_megabytes"], "MB")),
        ]
        return rows if self.folder is None else [*rows, ("folder", str(self.folder))]

    def to_frame(self) -> Any:
        """A pandas.DataFrame with a line per round and the fields of rounds.jsonl as columns (needs pandas)."""
        return frame(self.rounds, ["round"])

    def plot(self, axis: str = "rounds", *, ax: Any = None, label: str = "") -> Any:
        """Draw the metric against "rounds", simulated "seconds" or "megabytes" sent, on new axes or on `ax` of
        Matplotlib, which are returned; the dashed line is the target.

        Runs can share axes: `one.plot("seconds", ax=other.plot("seconds"))`.
        """
        return plot([curve(self.rounds, axis, label)], AXES.get(axis, axis), self.measure, self.summary["target"], ax)


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after the run's folder was closed: `result` is the run as far as it came."""

    def __init__(self, result: Result) -> None:
        super().__init__()
        self.result = result
