"""OptRate: one density for all, adapted round by round to where it loses least.

Cui, Su, Zhou, Liu, "Optimal rate adaption in federated learning with compressed communications", INFOCOM 2022. The
rule is reconstructed from the abstract (arXiv 2112.06694): reverse water-filling of a budget of traffic over the
rounds. Top-κ without a memory, as the comparison in the HeteRo-Select paper has it.
"""

from dataclasses import replace
from typing import Any

from heteroselect.allocate.optrate import OptRate
from heteroselect.method import Method
from heteroselect.methods import parts
from heteroselect.select.uniform import Uniform
from heteroselect.settings import MethodSettings

SETTINGS: dict[str, Any] = dict(parts.SPARSE)


def build(settings: MethodSettings) -> Method:
    return replace(
        parts.assemble(settings),
        select=Uniform(),
        allocate=parts.tuned(
            OptRate(settings.allocate.average, settings.allocate.minimum), settings, ("average", "minimum")
        ),
    )
