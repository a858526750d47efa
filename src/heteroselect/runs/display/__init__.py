"""What people see of runs in Python: tables and curves in a notebook, data frames, pictures, and progress."""
