"""Methods whose rules follow from abstracts, with formulas of our own: not counted as published ones."""
