"""The module ``scipy.misc``, without the names that are restored one by one."""
