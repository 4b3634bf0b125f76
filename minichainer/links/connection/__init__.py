"""Links that connect every input to outputs by weights."""
