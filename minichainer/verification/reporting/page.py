"""A report as HTML: for notebooks, and as pages."""

from __future__ import annotations

import hashlib
import io
import platform
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from minichainer._runtime_info import installed
from minichainer._version import __version__
from minichainer.verification.reporting.explanation import Explanation, Section
from minichainer.verification.reporting.picture import plot_section

#: The most gradients, and the most elements in a table.
_SECTIONS, _ROWS = 12, 16
#: A colour that stands for the colour of the text around the picture.
_INK = '#010203'

_STYLE = """
.gradcheck { font: 14px/1.45 system-ui, sans-serif; max-width: 1100px }
.gradcheck h3 { font-size: 1em; margin: 1.2em 0 0.2em }
.gradcheck p { margin: 0.3em 0 }
.gradcheck table { border-collapse: collapse; margin: 0.5em 0; font-variant-numeric: tabular-nums }
.gradcheck td, .gradcheck th { padding: 0.1em 0.9em; text-align: right; border-bottom: 1px solid #8885 }
.gradcheck .verdict { display: inline-block; padding: 0 0.6em; border-radius: 0.3em }
.gradcheck .verdict { color: white; background: #9a5b00 }
.gradcheck .verdict.pass { background: #2e7d32 }
.gradcheck .verdict.fail { background: #b3261e }
.gradcheck figure { margin: 1em 0; overflow-x: auto }
.gradcheck figure svg { width: 100%; height: auto; max-width: 1100px }
.gradcheck pre { white-space: pre-wrap; padding: 0.5em; border: 1px solid #8885; border-radius: 0.3em }
"""


def fragment(verdict: str, explanation: Explanation) -> str:
    """A report as a piece of HTML that needs nothing else."""
    kind = escape(verdict)
    parts = [
        f'<div class="gradcheck"><style>{_STYLE}</style>',
        f'<p><span class="verdict {kind}">{kind}</span> <b>{escape(explanation.headline)}</b></p>',
        *map(_section, explanation.sections[:_SECTIONS]),
        _paragraph(explanation.left_out(_SECTIONS)),
        *map(_paragraph, explanation.remarks),
        f'{_paragraph(explanation.cost)}<pre>{escape(explanation.replay)}</pre></div>',
    ]
    return '\n'.join(part for part in parts if part)


def _section(section: Section) -> str:
    """One pair of output and input, with its table and its picture."""
    lines = [f'<h3>{escape(section.where)}</h3>', _paragraph(section.cause)]
    if section.rows:
        rows = ''.join(_row('td', row) for row in section.rows[:_ROWS])
        lines.append(f'<table><thead>{_row("th", section.header)}</thead><tbody>{rows}</tbody></table>')
    lines += [_paragraph(section.more), _paragraph(section.hidden(_ROWS)), _picture(section)]
    return '\n'.join(line for line in lines if line)


def _paragraph(text: str) -> str:
    return f'<p>{escape(text)}</p>' if text else ''


def _row(kind: str, cells: Iterable[str]) -> str:
    return '<tr>' + ''.join(f'<{kind}>{escape(cell)}</{kind}>' for cell in cells) + '</tr>'


def _picture(section: Section) -> str:
    """The picture as SVG in the colour of the text around it; empty without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        return ''
    figure = plot_section(section, _INK)
    if figure is None:
        return ''
    file = io.StringIO()
    # The salt makes the names inside the picture repeatable, and different from those of other pictures.
    salt = hashlib.sha256('\n'.join(section.lines(_ROWS)).encode()).hexdigest()
    with matplotlib.rc_context({'svg.fonttype': 'none', 'svg.hashsalt': salt}):
        figure.savefig(file, format='svg', metadata={'Date': None, 'Creator': None})
    svg = file.getvalue()
    svg = re.sub(r'<style.*?</style>|<metadata>.*?</metadata>', '', svg[svg.index('<svg') :], flags=re.DOTALL)
    return f'<figure>{svg.replace(_INK, "currentColor")}</figure>'


def write_page(path: Path, title: str, report: Any, replay: str = '') -> None:
    """Writes a report as a page.

    Args:
        path: The file.
        title: The name of the test.
        report: A report.
        replay: How to run the test again.
    """
    body = fragment(report.verdict, report.explanation)
    body = f'<h1>{escape(title)}</h1>\n{body}\n{f"<pre>{escape(replay)}</pre>" if replay else ""}'
    path.write_text(_shell(title, body), encoding='utf-8')


def write_index(path: Path, pages: Sequence[Sequence[str]]) -> None:
    """Writes the list of pages.

    Args:
        path: The file.
        pages: For each the name of the test, the name of the page's file, file and line of the failure, the headline
            of the report, the cause, and the error divided by the tolerance, empty if no element is known.
    """
    rows = ''.join(
        f'<tr><td><a href="{escape(file)}">{escape(name)}</a><br>{escape(headline)}</td>'
        f'<td>{escape(place)}</td><td>{escape(cause)}</td><td>{escape(ratio)}</td></tr>'
        for name, file, place, headline, cause, ratio in pages
    )
    header = _row('th', ['test', 'place', 'cause', 'error / tolerance'])
    table = f'<table><thead>{header}</thead><tbody>{rows}</tbody></table>'
    body = table if pages else '<p>No gradient check has failed.</p>'
    path.write_text(_shell('Gradient checks', f'<h1>Gradient checks that failed</h1>{body}'), encoding='utf-8')


def _shell(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f'<title>{escape(title)}</title>'
        '<style>body { font-family: system-ui, sans-serif; margin: 2em; line-height: 1.5 } h1 { font-size: 1.3em } '
        'body > table td, body > table th { padding: 0.3em 1.2em 0.3em 0; text-align: left; vertical-align: top }'
        f'</style></head>\n<body>\n{body}\n<p><small>{escape(versions())}</small></p>\n</body></html>\n'
    )


def versions() -> str:
    """The versions of what computes a check."""
    libraries = f'minichainer {__version__}, NumPy {np.__version__}'
    return f'{libraries}, Python {platform.python_version()}, mpmath {installed("mpmath")}'
