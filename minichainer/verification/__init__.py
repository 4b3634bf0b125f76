"""The gradient checker's engine; :mod:`minichainer.gradient_check` is its public face.

In the order of work: ``arguments`` and ``options`` (what a user passes), ``leaves`` and ``subject`` (the function as
one of a flat list of arrays), ``state`` (what has to be restored), ``engine`` (the order of work), ``point`` (one
order of derivatives), ``exact`` with ``linearity`` (checks without tolerance), ``screen`` with ``quick``, ``ladder``,
``directions`` and ``verdict`` (measured slopes), ``native`` (the dtype that was given), ``jacobian`` (entry by
entry), ``locate`` with ``bisection``, ``repair``, ``causes`` and ``diagnosis`` (where and why), ``report`` and
``message``.
"""
