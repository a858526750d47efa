"""The authors' logs: recomputed with our parts (`replay`), and put beside a run (`compare_log`)."""
