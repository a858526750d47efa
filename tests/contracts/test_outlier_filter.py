"""What every outlier filter promises: honest updates pass, what no model could take does not, and little is kept."""

import numpy as np

from contracts.found import bits, each
from heteroselect.core.update import Update

EACH = each("outlier_filter")


def sent(*lengths):
    return {client: Update.whole(np.array([0, length], np.float32)) for client, length in enumerate(lengths)}


@EACH
def test_whom_it_refuses_does_not_depend_on_the_order_and_nothing_given_is_changed(part):
    updates, history = sent(1, 2, 3, 1e30, 0), np.array([1.0, 2.0, 3.0])
    before = bits([updates, history])
    found = part.refused(updates, history)
    assert found == {3}, "equal clients would overflow with it"
    assert part.refused(dict(reversed(updates.items())), history) == found
    assert part.refused(sent(1, 2, 3, 2, 1), None) == part.refused({}, None) == set()
    part.remember(history, updates)
    assert bits([updates, history]) == before
    assert part.bound >= 0
    assert part.claims >= 0


@EACH
def test_what_it_remembers_is_finite_and_bounded(part):
    history = None
    for length in range(1, 60):
        history = part.remember(history, sent(length, 2 * length))
        assert part.refused(sent(length, length), history) == set(), "two that are as long as those before"
    assert np.isfinite(history).all()
    assert history.nbytes <= 1000
