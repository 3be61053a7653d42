"""Rules for runs: in words, and checked before one more run comes."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from inductorscope.jobs.errors import TooManyRunsError
from inductorscope.store.runs.rules import exceeded
from inductorscope.store.tables.rules import Rule
from inductorscope.units import count, plural, size_in_bytes


def whose(rule: Rule) -> str:
    """The runs that a rule is about, in words."""
    parts = [f"with the tag {rule.tag}"] if rule.tag else []
    if rule.name:
        start = rule.name.removesuffix("*")
        parts.append(f"named {start}" + ("" if start == rule.name else "…"))
    if rule.project:
        parts.append(f"in the project {rule.project}")
    return f"Runs {' '.join(parts)}" if parts else "All runs"


def in_words(rule: Rule) -> str:
    """A rule as a sentence."""
    limits = []
    if rule.days is not None:
        limits.append(f"kept for {plural(rule.days, 'day')}")
    if rule.most_runs is not None:
        limits.append(f"at most {count(rule.most_runs)}")
    if rule.most_bytes is not None:
        limits.append(f"at most {size_in_bytes(rule.most_bytes)}, shared contents counted once")
    return f"{whose(rule)}: {'; '.join(limits)}."


def check_rules(session: Session, name: str, tags: Sequence[str], project: int | None) -> None:
    """Raises TooManyRunsError if a rule does not admit one more run like this."""
    broken = exceeded(session, name, tags, project)
    if broken is None:
        return
    rule, runs, size = broken
    there = plural(runs, "run")
    if rule.most_bytes:
        there += f" of {size_in_bytes(size)}"
    raise TooManyRunsError(
        f"{in_words(rule)} There {'is' if runs == 1 else 'are'} {there} already.",
        "Delete some, or change the rule with `inductorscope rules`.",
    )
