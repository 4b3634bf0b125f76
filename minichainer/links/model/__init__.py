"""Links that are whole models or wrap one."""
