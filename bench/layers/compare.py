"""Prints what runs look like beside each other: bytes and rows of their pages, and what to change.

    inductorscope capture --name WAY bench/layers/programs/llama.py WAY
    inductorscope serve
    python -m bench.layers.compare [--server http://127.0.0.1:8765] WAY=RUN …

WAY is one of the four ways that the program knows.
"""

import argparse
import gzip
import re

import httpx

PAGES = ("", "/explorer", "/kernels", "/time", "/memory", "/compile")
TITLES = ("overview", "explorer", "kernels", "time", "memory", "compiling")
CAUSE = re.compile(r"^\d+\. \[?\*\*(.+?)\*\*", re.MULTILINE)
FACT = re.compile(r"^- \*\*(compile time|recompiles|generated kernels)\*\*: (.+)$", re.MULTILINE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", default="http://127.0.0.1:8765")
    parser.add_argument("runs", nargs="+", metavar="WAY=RUN")
    args = parser.parse_args()
    said: list[str] = []
    print(f"| | {' | '.join(TITLES)} |\n|{'---|' * (len(TITLES) + 1)}")
    with httpx.Client(base_url=args.server, timeout=60, follow_redirects=True) as client:
        for way, _, run in (given.partition("=") for given in args.runs):
            cells = []
            for page in PAGES:
                html = client.get(f"/runs/{run}{page}").raise_for_status().text
                size = len(gzip.compress(html.encode(), 6)) / 1024
                cells.append(f"{size:.1f} KiB, {html.count('<tr')} rows")
            print(f"| `{way}` | {' | '.join(cells)} |")
            text = client.get(f"/runs/{run}.md").raise_for_status().text
            facts = ", ".join(f"{name} {value}" for name, value in FACT.findall(text))
            said += [f"\n`{way}`: {facts}", *(f"- {cause}" for cause in CAUSE.findall(text))]
    print("\n".join(said))


if __name__ == "__main__":
    main()
