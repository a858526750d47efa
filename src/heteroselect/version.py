"""The version, as installed."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("heteroselect")
except PackageNotFoundError:  # run from the sources without an install
    __version__ = "0+source"
