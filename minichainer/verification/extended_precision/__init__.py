"""Numbers of 50 digits: ``arrays`` of them, the ``number``, its ``functions``, and mpmath's ``raw`` tuples below."""
