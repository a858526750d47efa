"""CIFAR-10 as we would do it, with and without the paper's score. Run it with `make lean` (an hour or more).

Needs the data set (`heteroselect data cifar10`). Plays into runs/lean (what is there already is not played again, and a
run that was stopped goes on), and leaves the table, the page and two of its figures in docs/results/lean.
"""

from compare_methods import keep

if __name__ == "__main__":
    keep("lean", "cifar10-lean", "lean,studies/scored_lean.py:scored", "42")
