"""What programs use of ``cgi``: ``escape``."""

from __future__ import annotations

import html


def escape(s: str, quote: bool = False) -> str:
    """Text for HTML.

    Args:
        s: the text.
        quote: whether quotation marks are replaced too.
    """
    return html.escape(s, quote)
