"""The rules a method is made of, one file per rule: who takes part, how much each sends, how much it counts."""
