"""Where Flower is not installed, nothing that needs it is collected for its doctests."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("flwr") else ["src/heteroselect/flower/*"]
