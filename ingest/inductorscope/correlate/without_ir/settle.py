"""Assigns lines to operations once all statements of a block are read.

Lines of aliases go to their user, loads and literals to their first user, and the steps of an
operation written in several steps to its last step.
"""

from bisect import bisect_left

import msgspec
from msgspec.structs import replace

from inductorscope.correlate.kernels.statements import Statement
from inductorscope.correlate.nodes.body import LEAVES
from inductorscope.correlate.without_ir.records import RaisedBlock, RaisedOp

_MOST_ALIASES = 32
_NEAR = 16
"""How many operations of the same value to look at on each side."""


class Settling(msgspec.Struct):
    result: RaisedBlock
    alias: dict[str, str]
    """Alias → the value it repeats."""
    pending: dict[str, list[int]]
    """Lines of unused aliases."""
    checks: list[Statement]

    def settle(self) -> RaisedBlock:
        self._inside_masks()
        self._resolve()
        return self.result

    def _inside_masks(self) -> None:
        """Turns a load under a mask into a step of a longer body under that mask, if there is
        one."""
        ops = self.result.ops
        masks = {
            op.uses[1]
            for op in ops.values()
            if op.op == "masked_subblock" and len(op.uses) == 2 and not op.uses[0].endswith(".load")
        }
        for name in [name for name in ops if name.endswith(".load")]:
            outer = name.removesuffix(".load")
            if len(ops[outer].uses) == 2 and ops[outer].uses[1] in masks:
                load = ops.pop(name)
                load.name = outer
                ops[outer] = load

    # -- aliases ---------------------------------------------------------------------------------

    def _target(self, name: str, lines: list[int] | None = None) -> str:
        """The value behind aliases, whose lines are added to `lines`: those of its user."""
        for _ in range(_MOST_ALIASES):
            if lines is not None:
                lines += self.pending.pop(name, [])
            if name in self.result.ops or name not in self.alias:
                break
            name = self.alias[name]
        return name

    def _resolve(self) -> None:
        ops, rank = self.result.ops, self.result.rank
        ordered = sorted(ops.values(), key=self._rank)
        for raised in ordered:
            for names in (raised.uses, raised.picks):
                names[:] = [self._target(name, raised.lines) for name in names]
        takers: dict[str, list[RaisedOp]] = {}
        for raised in ordered:
            for name in raised.uses:
                takers.setdefault(name, []).append(raised)
        stores = self.result.stores
        for store in stores:
            store.value = self._target(store.value, store.lines)
            store.picks = [self._target(name) for name in store.picks]
        stores[:] = [store for store in stores if store.value in ops]
        stores.sort(key=lambda s: (rank.get(s.value, 0.0), s.lines[0]))
        for raised in ordered:
            self._several_steps(raised)
        for picks in [raised.picks for raised in ordered] + [store.picks for store in stores]:
            for name in picks:
                self._wrapped(name)
        self._checks()
        self._unclaimed(ordered)
        self._unused(ordered, takers)

    def _checks(self) -> None:
        for check in self.checks:
            for name in check.uses:
                chosen = self.result.ops.get(self._target(name))
                if chosen is not None and chosen.op == "set_indirect":
                    chosen.lines += check.lines
                    break

    def _unclaimed(self, ordered: list[RaisedOp]) -> None:
        """Assigns the lines of unused aliases to the operation after them."""
        for name, lines in self.pending.items():
            number = float(name[3:]) if name[3:].isdecimal() else -1.0
            for raised in ordered:
                if self.result.rank.get(raised.name, 0.0) > number:
                    raised.lines += lines
                    break

    def _unused(self, ordered: list[RaisedOp], takers: dict[str, list[RaisedOp]]) -> None:
        """Assigns the lines of what nothing uses to what took it, or to the nearest operation of
        the same value: of the comparisons that choose a part of a concatenation, the first and
        the last are not used. `takers`: value → what took it before steps were joined."""
        home = {name: self.result.ops[name] for name in self._own_leaves()}
        for raised in reversed(ordered):
            if raised.name in home or not raised.lines:
                continue
            number = self._rank(raised)
            for names in ([raised.name], raised.uses):
                alike: list[RaisedOp] = []
                for taking in (takers.get(name, []) for name in names):
                    at = bisect_left(taking, number, key=self._rank)
                    alike += taking[max(0, at - _NEAR) : at + _NEAR]
                alike = [op for op in alike if op.name in home]
                if alike:
                    nearest = min(alike, key=lambda op: abs(self._rank(op) - number))
                    home[raised.name] = home[nearest.name]
                    home[raised.name].lines += raised.lines
                    break

    def _rank(self, raised: RaisedOp) -> float:
        return self.result.rank.get(raised.name, 0.0)

    def _own_leaves(self) -> set[str]:
        """Gives each user its own loads and literals; the lines belong to the first user. Returns
        what is used.

        Users are ordered by evaluation: operands first, left to right.
        """
        seen: set[str] = set()
        rank = self.result.rank
        bodies = [
            (rank.get(raised.name, 0.0), [raised.name])
            for raised in self.result.ops.values()
            if raised.op in ("reduction", "scan")  # separate bodies, before their users
        ]
        bodies += [(rank.get(s.value, 0.0), [*s.picks, s.value]) for s in self.result.stores]
        for _, names in sorted(bodies, key=lambda body: body[0]):
            stack = [iter([(name, "", 0) for name in names])]
            while stack:
                step = next(stack[-1], None)
                if step is None:
                    stack.pop()
                    continue
                name, user, position = step
                raised = self.result.ops.get(name)
                if raised is None:
                    continue
                if user and raised.op in LEAVES and not raised.picks:
                    self.result.ops[user].uses[position] = self._copy(raised, user)
                elif name not in seen:
                    seen.add(name)
                    needed = [(pick, "", 0) for pick in raised.picks]
                    needed += [(use, name, place) for place, use in enumerate(raised.uses)]
                    stack.append(iter(needed))
        return seen

    def _copy(self, leaf: RaisedOp, user: str) -> str:
        own = f"{leaf.name}@{user}"
        if own not in self.result.ops:
            self.result.ops[own] = replace(leaf, name=own)
            leaf.lines = []
        return own

    def _several_steps(self, raised: RaisedOp) -> None:
        """Merges the steps of remainders and signs into the last one."""
        ops = self.result.ops
        made = [ops[use] for use in raised.uses if use in ops]
        if raised.op == "where" and len(made) == 3:
            _, moved, rest = made
            if rest.op == "mod" and moved.op == "add" and rest.name in moved.uses:
                raised.op, raised.uses = "remainder", list(rest.uses)
        elif raised.op == "sub" and len(made) == 2 and all(op.op == "to_dtype" for op in made):
            tests = [ops[op.uses[0]] for op in made if op.uses and op.uses[0] in ops]
            if len(tests) == 2 and all(op.op == "lt" for op in tests):
                value = [use for use in tests[0].uses if ops[use].op != "constant"]
                if len(value) == 1 and value[0] in tests[1].uses:
                    raised.op, raised.uses = "sign", value

    def _wrapped(self, name: str) -> None:
        """`where(x < 0, x + size, x)`: an index that can count from the end."""
        ops = self.result.ops
        chosen = ops.get(name)
        if chosen is None or chosen.op != "where" or len(chosen.uses) != 3:
            return
        test, moved, plain = (ops.get(use) for use in chosen.uses)
        if test is None or moved is None or plain is None:
            return
        if test.op != "lt" or moved.op != "add" or plain.name not in moved.uses:
            return
        chosen.op, chosen.uses = "set_indirect", [plain.name]
