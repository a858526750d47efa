"""One round of a method: `round.py` is the paper's Algorithm 1, `step.py` a step of a server that does not wait."""
