"""Reading and writing a configuration."""

from heteroselect.settings.schema import Config, PaperRow, Setting, SimulateSettings, describe

__all__ = ["Config", "PaperRow", "Setting", "SimulateSettings", "describe"]
