"""Many runs beside each other, from Python and from the command line: methods and seeds under one clock, or the rows of
a study; the table of their differences, and the page of all runs."""
