"""Reading and writing a configuration."""

from heteroselect.settings.schema import Config, PaperRow, SimulateSettings, describe

__all__ = ["Config", "PaperRow", "SimulateSettings", "describe"]
