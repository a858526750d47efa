"""The registry: each published system by name. A method file is its parts and its paper."""

from heteroselect.errors import HeteroSelectError
from heteroselect.method import Method
from heteroselect.methods import (
    adasample,
    aji,
    clustered_sampling,
    delta,
    dgc,
    divfl,
    drive,
    ef21,
    fedacg,
    fedadam,
    fedavg,
    fedavgm,
    fedcg,
    fedcs,
    feddyn,
    fednova,
    fedpaq,
    fedprox,
    fedsol,
    fedyogi,
    flexcom,
    heteroselect,
    lean,
    oort,
    optimal_client_sampling,
    optrate,
    power_of_choice,
    random_k,
    scaffold,
    signsgd_majority,
    stc,
    terngrad,
    wangni,
)
from heteroselect.methods.entry import Entry

_ENTRIES = (
    *heteroselect.ENTRIES,
    fedavg.ENTRY,
    fedprox.ENTRY,
    optrate.ENTRY,
    flexcom.ENTRY,
    adasample.ENTRY,
    fedcg.ENTRY,
    power_of_choice.ENTRY,
    oort.ENTRY,
    fedcs.ENTRY,
    optimal_client_sampling.ENTRY,
    clustered_sampling.ENTRY,
    divfl.ENTRY,
    delta.ENTRY,
    fedpaq.ENTRY,
    stc.ENTRY,
    dgc.ENTRY,
    aji.ENTRY,
    random_k.ENTRY,
    wangni.ENTRY,
    terngrad.ENTRY,
    signsgd_majority.ENTRY,
    ef21.ENTRY,
    drive.ENTRY,
    scaffold.ENTRY,
    feddyn.ENTRY,
    fedsol.ENTRY,
    fednova.ENTRY,
    fedadam.ENTRY,
    fedyogi.ENTRY,
    fedavgm.ENTRY,
    fedacg.ENTRY,
    lean.ENTRY,
)

REGISTRY: dict[str, Entry] = {entry.method.name: entry for entry in _ENTRIES}


def get(name: str) -> Method:
    """A method by name."""
    if name not in REGISTRY:
        raise HeteroSelectError(
            f"method: no method {name!r}; allowed are {', '.join(REGISTRY)}, or your own as FILE.py:NAME."
        )
    return REGISTRY[name].method
