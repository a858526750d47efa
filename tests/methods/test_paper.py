"""Every system that the paper names is here by a name of its own."""

import re
import unicodedata

import pytest

from heteroselect import methods
from heteroselect.parts.kinds import KINDS

SYSTEMS = {
    "mcmahan2017communication": "fedavg",
    "nishio2019client": "fedcs",
    "cho2020power": "power-of-choice",
    "lai2021oort": "oort",
    "chen2020optimal": "optimal-client-sampling",
    "fraboni2021clustered": "clustered-sampling",
    "zhan2022reinforced": "rl",
    "balakrishnan2022diverse": "divfl",
    "tang2022fedcor": "fedcor",
    "luo2022adasample": "adasample",
    "wang2023delta": "delta",
    "jimenez2026fedlecc": "fedlecc",
    "li2024longfed": "longfed",
    "shi2023fairfedcs": "fairfedcs",
    "slessor2024fedstas": "fedstas",
    "huang2021fairness": "rbcs-f",
    "alistarh2017qsgd": "qsgd",
    "wen2017terngrad": "terngrad",
    "bernstein2018signsgd": "signsgd-majority",
    "reisizadeh2020fedpaq": "fedpaq",
    "aji2017sparse": "aji",
    "lin2018dgc": "dgc",
    "wangni2018gradient": "wangni",
    "stich2018sparsified": "mem-sgd",
    "richtarik2021ef21": "ef21",
    "sattler2019robust": "stc",
    "jiang2023fedcg": "fedcg",
    "lee2024fedsol": "fedsol",
    "li2020federated": "fedprox",
    "karimireddy2020scaffold": "scaffold",
    "acar2021feddyn": "feddyn",
    "wang2020fednova": "fednova",
    "reddi2021fedadam": "fedadam",
}
"""What the paper cites, and the method that it is here."""

NOT_SYSTEMS = {
    "konecny2016federated": "cited for uniform selection, which is fedavg's",
    "li2020convergence": "an analysis of FedAvg",
    "haseeb2025mechanistic": "an observation",
    "seol2023performance": "an observation",
    "kairouz2021advances": "a survey",
    "elgabli2024survey": "a survey",
    "li2020challenges": "a survey",
    "bekas2007estimator": "the estimator of the diagonal, which is the kind curvature's",
    "yao2020pyhessian": "the estimator of the diagonal, which is the kind curvature's",
    "nutini2015gauss": "an analysis of coordinate descent",
    "loshchilov2017sgdr": "the cosine schedule",
    "yurochkin2019bayesian": "a partition of data",
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_system_is_a_method_that_cites_it(system):
    entry = methods.REGISTRY[SYSTEMS[system]]
    author = re.match("[a-z]+", system).group()
    letters = unicodedata.normalize("NFKD", entry.paper.lower())
    assert author in "".join(letter for letter in letters if not unicodedata.combining(letter))


def test_the_table_rows_of_the_paper_are_methods_too():
    """Table I has two that only their results are cited of."""
    assert {"optrate", "flexcom", "heteroselect", "heteroselect-as-run"} <= set(methods.REGISTRY)
    assert "curvature" in KINDS["compress"]


def test_nothing_that_the_paper_cites_is_forgotten(shared):
    text = (shared / "paper" / "heteroselect.tex").read_text(encoding="utf-8")
    cited = {key.strip() for group in re.findall(r"\\cite\{([^}]*)\}", text) for key in group.split(",")}
    assert cited == SYSTEMS.keys() | NOT_SYSTEMS.keys()
