"""The page that a notebook shows for an explanation."""

from __future__ import annotations

from collections import defaultdict
from textwrap import dedent

from jinja2 import Environment

from inductorscope.answers.compile.rows import BreakRow
from inductorscope.answers.explorer.graph_texts import KernelLine

MOST_LINKS = 300
TURN = 47
"""Degrees between the hues of two source lines."""
PAGE = """\
<div id="{{ id }}"><style>
#{{ id }} section { display: flex; flex-wrap: wrap; gap: 1em }
#{{ id }} a { color: inherit }
#{{ id }} article { flex: 1 1 24em; min-width: 0; overflow-x: auto; font: 12px/1.5 monospace }
#{{ id }} article + article { flex-grow: 2 }
#{{ id }} article div { width: max-content; min-width: 100%; box-sizing: border-box;
  white-space: pre; border-left: 4px solid; padding-left: 4px }
#{{ id }} i { display: inline-block; width: 4ch; margin-right: 1ch; text-align: right; opacity: .7 }
{%- for name in places.values() %}
#{{ id }} .{{ name }} { border-color: hsl({{ loop.index0 * turn % 360 }} 70% 50%) }
#{{ id }}:has(.{{ name }}:is(:hover, :focus)) .{{ name }} {
  background: hsl({{ loop.index0 * turn % 360 }} 70% 50% / .3) }
{%- endfor %}
</style>
<p><b>{{ title }}</b> <a href="{{ url }}">Open the run</a></p>
{% for one in breaks -%}
<p>Graph break at {{ one.name }} ({{ one.short }}): {{ one.title }}</p>{% endfor %}
<section>
{%- for texts in panes %}<article>
{%- for name, lines in texts.items() %}<b>{{ name }}</b>
{%- for number, text, names in lines %}
<div tabindex="0" class="{{ names | join(" ") }}"><i>{{ number }}</i>{{ text }}</div>
{%- endfor %}{% endfor %}</article>
{%- endfor %}
</section>
{% if not places %}<p>No line of a kernel is linked to a line of yours.</p>{% endif %}
{% if more > 0 %}<p>{{ more }} more links of lines are left out here.</p>{% endif %}
</div>
"""


def page(title: str, run: str, url: str, breaks: list[BreakRow], links: list[KernelLine]) -> str:
    """Returns HTML: source lines next to the lines of kernels that compute them.

    Pointing at a line marks those linked to it, without a script. Colours suit light and dark.
    """
    rows = links[:MOST_LINKS]
    ordered = sorted({(row.path, row.source_line) for row in rows})
    places = {place: f"line-{number}" for number, place in enumerate(ordered)}
    sources: Texts = defaultdict(dict)
    kernels: Texts = defaultdict(dict)
    for row in rows:
        name = places[row.path, row.source_line]
        sources[row.path][row.source_line] = row.source, [name]
        lines = kernels[f"{row.kernel}, {row.graph}"]
        lines.setdefault(row.line, (row.text, []))[1].append(name)
    template = Environment(autoescape=True).from_string(PAGE)
    return template.render(
        id=f"inductorscope-{run}", title=title, url=url, breaks=breaks, places=places, turn=TURN,
        panes=[_shown(sources), _shown(kernels)], more=len(links) - len(rows),
    )  # fmt: skip


def _shown(texts: Texts) -> dict[str, list[tuple[int, str, list[str]]]]:
    """Returns lines in order, without the indentation that all lines of a text share."""
    shown = {}
    for title, lines in texts.items():
        numbers = sorted(lines)
        dedented = dedent("\n".join(lines[number][0] for number in numbers)).split("\n")
        shown[title] = [
            (number, text, lines[number][1]) for number, text in zip(numbers, dedented, strict=True)
        ]
    return shown


Texts = dict[str, dict[int, tuple[str, list[str]]]]
"""Title → line → its text, and the names of the source lines that it is linked to."""
