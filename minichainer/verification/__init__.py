"""The gradient checker's engine; :mod:`minichainer.gradient_check` is its public face.

In order of work: ``arguments`` and ``options`` (what the user passes), ``leaves`` and ``subject`` (the function
under test as a function of a flat list of arrays), ``state`` (what is restored afterwards), ``engine`` (the sequence
of checks), ``point`` (one order of derivatives), ``exact`` with ``linearity`` and ``additivity`` (checks without
tolerance), ``screen`` with ``together``, ``quick``, ``ladder``, ``directions`` and ``verdict`` (measured slopes),
``native`` (the dtype that was given), ``jacobian`` (every entry), ``locate`` with ``bisection``, ``repair``,
``causes`` and ``diagnosis`` (which elements are wrong, and why), ``report`` and ``message``.
"""
