"""Numbers per client that survive clients coming and going."""

import numpy as np

from heteroselect.parts.select.by_client import recalled


def test_everybody_keeps_its_own_numbers():
    state = {"clients": np.array([2, 5, 9]), "queue": np.array([1.0, 2.0, 3.0]), "rows": np.arange(6.0).reshape(2, 3)}
    clients, kept = recalled(state, np.array([1, 5, 9, 12]), queue=-1.0, rows=[7.0, 8.0])
    assert clients.tolist() == [1, 2, 5, 9, 12]
    assert kept["queue"].tolist() == [-1, 1, 2, 3, -1]
    assert kept["rows"].tolist() == [[7, 0, 1, 2, 7], [8, 3, 4, 5, 8]]
    assert state["queue"].tolist() == [1, 2, 3]
