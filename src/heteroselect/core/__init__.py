"""What everything stands on: how a part declares its settings, what it is given, and where randomness comes from."""
