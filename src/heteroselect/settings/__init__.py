"""Reading and writing a configuration."""

from heteroselect.settings.schema import Config, PaperRow, Setting, SimulateSettings, allowed, describe

__all__ = ["Config", "PaperRow", "Setting", "SimulateSettings", "allowed", "describe"]
