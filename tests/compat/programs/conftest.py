"""The programs are data: pytest neither imports them nor looks for doctests in them."""

collect_ignore_glob = ['v[1-7]_*.py']
