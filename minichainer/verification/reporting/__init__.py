"""The result of a check: ``report`` and its exceptions; ``message``, the same in words, made of the parts in
``explanation``; ``page`` and ``picture``, as HTML and drawn; ``hints`` for mistakes in the use of the checker.
"""
