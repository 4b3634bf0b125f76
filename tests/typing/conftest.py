"""What type checkers judge is no test and is never run."""

collect_ignore = ['cases']
