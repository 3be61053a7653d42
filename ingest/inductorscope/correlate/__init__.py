"""Records → links between lines. Pure: no database, no network, no torch."""

from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.texts import GraphTexts

__all__ = ["GraphTexts", "graph_links"]
