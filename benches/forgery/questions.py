"""Random questions of all that the language has."""

from __future__ import annotations

import random
from collections.abc import Callable

_BOOLEANS, _REALS = ("p", "q", "b"), ("x", "y", "w")
NUMBERS = ("0", "1", "2", "3", "10", "0.5", "2.50", "0.125", "7.0")


class Writer:
    """Random questions of all that the language has."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.names = 0

    def question(self) -> str:
        """Return the text of a question."""
        chance = self.chance
        logic = "(set-logic QF_LRA)\n" if chance.random() < 0.5 else ""
        declared = "".join(f"(declare-fun {name} () Bool)\n" for name in _BOOLEANS)
        declared += "".join(f"(declare-fun {name} () Real)\n" for name in _REALS)
        size = chance.choice((1, 1, 1, 2, 2, 2, 3, 3, 5, 8))
        asserted = "".join(f"(assert {self.boolean(chance.choice((0, 1, 1, 1, 2, 2, 3)), {})})\n" for _ in range(size))
        values = "(get-value (p x))\n" if chance.random() < 0.2 else ""
        return f"{logic}{declared}{asserted}(check-sat)\n{values}"

    def boolean(self, depth: int, scope: dict[str, bool]) -> str:
        """Return a formula; `scope` maps each name that a `let` binds to whether it is a formula."""
        chance = self.chance
        if depth == 0 or chance.random() < 0.15:
            names = [name for name in _BOOLEANS if scope.get(name, True)] + [
                n for n, is_truth in scope.items() if is_truth
            ]
            if names and chance.random() < 0.4:
                return chance.choice(names)
            return self.compared(0, scope) if chance.random() < 0.9 else chance.choice(("true", "false"))
        kind = chance.choice(("not", "and", "or", "=>", "=", "xor", "distinct", "ite", "let", "compare", "compare"))
        if kind == "compare":
            return self.compared(depth - 1, scope)
        if kind == "let":
            return self.let(depth, scope, self.boolean)
        least, most = {"not": (1, 1), "ite": (3, 3), "distinct": (2, 2), "and": (1, 4), "or": (1, 4)}.get(kind, (2, 2))
        parts = (self.boolean(depth - 1, scope) for _ in range(chance.randint(least, most)))
        return f"({kind} {' '.join(parts)})"

    def compared(self, depth: int, scope: dict[str, bool]) -> str:
        """Return a comparison of linear terms."""
        chance = self.chance
        kind = chance.choice(("<", "<=", ">", ">=", "=", "distinct", "<=", ">="))
        return f"({kind} {self.number(depth, scope)} {self.number(depth, scope)})"

    def number(self, depth: int, scope: dict[str, bool]) -> str:
        """Return a linear term."""
        chance = self.chance
        if depth == 0 or chance.random() < 0.2:
            names = [name for name in _REALS if not scope.get(name, False)] + [
                n for n, is_truth in scope.items() if not is_truth
            ]
            return chance.choice(names) if names and chance.random() < 0.6 else chance.choice(NUMBERS)
        kind = chance.choice(("+", "-", "neg", "*", "/", "ite", "let", "+"))
        inner = [self.number(depth - 1, scope) for _ in range(2)]
        factor = chance.choice(NUMBERS[1:])
        match kind:
            case "+" | "-":
                return f"({kind} {inner[0]} {inner[1]})"
            case "neg":
                return f"(- {inner[0]})"
            case "*":
                return f"(* {factor} {inner[0]})" if chance.random() < 0.5 else f"(* {inner[0]} {factor} 2)"
            case "/":
                return f"(/ {inner[0]} {factor})"
            case "ite":
                return f"(ite {self.boolean(depth - 1, scope)} {inner[0]} {inner[1]})"
        return self.let(depth, scope, self.number)

    def let(self, depth: int, scope: dict[str, bool], body: Callable[[int, dict[str, bool]], str]) -> str:
        """Return a `let` that binds new names or rebinds existing names."""
        chance, inner, bindings = self.chance, dict(scope), list[str]()
        for _ in range(chance.randint(1, 2)):
            self.names += 1
            name = chance.choice((f"a!{self.names}", f"v{self.names}", *_BOOLEANS, *_REALS))
            if any(binding.startswith(f"({name} ") for binding in bindings):
                continue
            is_truth = chance.random() < 0.5
            bindings.append(f"({name} {(self.boolean if is_truth else self.number)(depth - 1, scope)})")
            inner[name] = is_truth
        return f"(let ({' '.join(bindings)}) {body(depth - 1, inner)})"
