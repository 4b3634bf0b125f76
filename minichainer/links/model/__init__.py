"""Links that are whole models or go around one."""
