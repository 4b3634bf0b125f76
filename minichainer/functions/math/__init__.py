"""Mathematical functions and reductions."""
