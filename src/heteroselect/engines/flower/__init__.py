"""Carries the round's messages to clients on Flower and back."""
