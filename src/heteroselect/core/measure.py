"""What the number that a run is judged by is called, which way is better, and how it is written."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Measure:
    """A name, a direction and a unit; a number in % is kept as a fraction and written as a percentage."""

    name: str = "accuracy"
    higher: bool = True
    unit: str = "%"

    @classmethod
    def of(cls, summary: Mapping[str, Any]) -> Self:
        """That of a run, from its summary."""
        return cls(**summary.get("metric", {}))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def title(self) -> str:
        return self.name[:1].upper() + self.name[1:]

    @property
    def peak(self) -> str:
        """What the best of all evaluations is called."""
        return f"{'peak' if self.higher else 'lowest'} {self.name}"

    @property
    def axis(self) -> str:
        """What an axis is called; of a percentage the ticks have the unit."""
        return self.name if self.unit in ("", "%") else f"{self.name}, {self.unit}"

    def best(self, values: Iterable[float]) -> float | None:
        return (max if self.higher else min)(values, default=None)

    def reached(self, value: float, target: float) -> bool:
        return value >= target if self.higher else value <= target

    def text(self, value: float) -> str:
        """The number with its unit.

        >>> Measure().text(0.9194), Measure("MSE", False, "").text(369.2941), Measure("error", False, "m").text(12345)
        ('91.94%', '369.3', '12,345 m')
        """
        if self.unit == "%":
            return f"{value:.2%}"
        number = f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:,.4g}"
        return f"{number} {self.unit}".rstrip()

    def short(self, value: float) -> str:
        """A target, with no more digits than it has.

        >>> Measure().short(0.9), Measure().short(0.925)
        ('90%', '92.5%')
        """
        return f"{100 * value:g}%" if self.unit == "%" else self.text(value)


ACCURACY = Measure()
