"""Problems that draft export skipped: each would fail an export, and is shown as a failure."""

from inductorscope.analyze.compile.model import Story, SymbolGuard
from inductorscope.analyze.failures.environment import Fix
from inductorscope.analyze.failures.shown import Shown
from inductorscope.analyze.failures.text import COMPONENTS
from inductorscope.formats.log.record import Frame

COMPONENT = "export"
_TITLES = {
    "real tensors": "Export would fail: {} depends on data",
    "missing fake kernel": "Export would fail: {} has no fake kernel",
    "mismatched fake kernel": "Export would fail: the fake kernel of {} gives a different result",
}
_REMEDIES = {
    "real tensors": "State the condition with torch._check(…) before this line.",
    "missing fake kernel": "Register a fake implementation with torch.library.register_fake.",
    "mismatched fake kernel": "Make the fake implementation return the same as the real one.",
}


def skipped_problems(story: Story) -> list[tuple[SymbolGuard, Shown]]:
    """The skipped problems, in the order of the log."""
    return [(guard, _shown(story, guard)) for guard in story.symbol_guards if guard.kind in _TITLES]


def _shown(story: Story, each: SymbolGuard) -> Shown:
    sentences = []
    if each.kind == "real tensors" and each.value:
        sentences.append(f"Draft export continued with {each.value}, the value in its call.")
    if each.locals:
        held = ", ".join(f"{name} = {value}" for name, value in list(each.locals.items())[:8])
        sentences.append(f"Local variables: {held}.")
    inside = each.frame is not None and 0 <= each.frame < len(story.frames)
    at = story.frames[each.frame] if inside and each.frame is not None else None
    return Shown(
        component=COMPONENT, component_title=COMPONENTS[COMPONENT],
        title=_TITLES[each.kind].format(each.text[:300]), sentences=sentences, kinds=[each.kind],
        message=each.reason or each.text, fix=Fix("", _REMEDIES[each.kind]), fault="unsupported",
        command="", errors=[], unplaced=[], nodes=[],
        user=None if at is None else Frame(at.file, at.line, at.function, at.code),
        cause="", sure=False,
    )  # fmt: skip
