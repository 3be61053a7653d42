"""Settings in which two captured programs differ, and versions of one program."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from msgspec.structs import replace

from inductorscope.capturing.measure.processes import Arm, at_revision, git, repository
from inductorscope.capturing.spec import CaptureSpec

OPTIONS = ("args", "mode", "dynamic", "dtype", "backend", "device")
"""Options of a capture that are changed alone, as are the keys of its `config`."""


@dataclass(frozen=True)
class Setting:
    """A difference between two programs."""

    name: str
    a: str | None
    b: str | None
    given: Callable[[Arm], Arm]
    """The arm with B's value."""


@dataclass(frozen=True)
class Version:
    """A program with another torch, or from another revision."""

    kind: Literal["Python", "revision"]
    value: str

    def of(self, arm: Arm) -> Arm:
        """Returns the program in this version. Raises SpecError."""
        label = f"{arm.label} with {self.kind} {self.value}"
        if self.kind == "Python":
            return replace(arm, label=label, python=self.value)
        sources = at_revision(arm.spec, self.value)
        return replace(arm, label=label, sources=sources, root=repository(arm.spec))


def revisions_between(spec: CaptureSpec, first: str, last: str) -> list[Version]:
    """Returns the revisions from the first to the last. Raises SpecError."""
    listed = git(spec, "rev-list", "--reverse", "--end-of-options", f"{first}..{last}").decode()
    return [Version("revision", revision) for revision in (first, *listed.split())]


def settings_between(one: Arm, other: Arm) -> list[Setting]:
    a, b = ({name: getattr(arm.spec, name) for name in OPTIONS} for arm in (one, other))
    found = [
        *_of_each(a, b, _with_option),
        *_of_each(one.spec.config, other.spec.config, _with_key),
        *_of_each(one.environment, other.environment, _with_variable),
    ]
    if one.sources != other.sources:
        sources = other.sources
        found.append(Setting("source", None, "of B", lambda arm: replace(arm, sources=sources)))
    return found


def _of_each(
    a: Mapping[str, object], b: Mapping[str, object], given: Callable[..., Arm]
) -> Iterator[Setting]:
    for name in sorted({*a, *b}):
        was, now = a.get(name), b.get(name)
        if was != now:
            yield Setting(name, _word(was), _word(now), partial(given, name=name, value=now))


def _word(value: object) -> str | None:
    return None if value is None else str(value)


def _with_option(arm: Arm, name: str, value: object) -> Arm:
    return replace(arm, spec=replace(arm.spec, **{name: value}))


def _with_key(arm: Arm, name: str, value: str | None) -> Arm:
    config = {key: was for key, was in arm.spec.config.items() if key != name}
    return _with_option(arm, "config", config if value is None else config | {name: value})


def _with_variable(arm: Arm, name: str, value: str | None) -> Arm:
    return replace(arm, environment={**arm.environment, name: value})
