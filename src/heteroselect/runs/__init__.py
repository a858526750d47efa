"""What makes a run of rounds: the experiment, the loop, the folder with its checkpoints, and grids of runs."""
