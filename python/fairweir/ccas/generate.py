"""Generate kernel C from a rule: the decision, and a complete controller that contains it.

The decision uses exact integer arithmetic. Sums over a common denominator are compared before any division, and the
result is the rule's rate, rounded down to a byte per second. The inputs are integers: C_L, C_U, C_L_lambda and alpha
in bytes/s, qdel_L and R in us, q_U and MSS in bytes. Data divided by R are rounded down first.

bpf/beliefs.h (CCAC) and bpf/probes.h (CBR-delay) compute the beliefs; bpf/rule.h has the arithmetic.
"""

from __future__ import annotations

import hashlib
import os
import textwrap
from collections.abc import Mapping, Sequence
from math import lcm
from pathlib import Path
from typing import Final

from fairweir.ccas.beliefs import Kernel
from fairweir.ccas.linear import Atom, LinearForm
from fairweir.ccas.rule import Comparison, Condition, Rule
from fairweir.documents import shipped
from fairweir.documents.atomic_write import write_text
from fairweir.errors import ConfigError

#: Maximum sum of a form's integer coefficients: in bpf/rule.h, quantities are below 2^48 and sums below 2^63.
MAX_WEIGHT: Final = 1 << 15
#: Maximum line length of C, where a tab counts as 8 columns.
WIDTH: Final = 120


def controller(rule: Rule) -> str:
    """Return the text of a ``.bpf.c`` file that implements the rule.

    Raises
    ------
    ConfigError : the coefficients are too large for 64-bit arithmetic, or kernel C cannot compute the beliefs
    """
    _kernel(rule)
    words = {
        "@name@": rule.name,
        "@NAME@": rule.name.upper(),
        "@jitter@": f"{rule.jitter:g}",
        "@header@": _header(rule),
        "@decision@": decision(rule).rstrip("\n"),
    }
    text = shipped.skeleton(f"rule-{rule.beliefs.name}.bpf.c.in")
    for placeholder, word in words.items():
        text = text.replace(placeholder, word)
    return text


def write_controller(rule: Rule) -> Path:
    """Write the rule's C to the user's cache, in a directory named after a hash of the content, and return the path.

    Raises
    ------
    ConfigError : the coefficients are too large, or the cache cannot be written
    """
    text = controller(rule)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "fairweir" / "rules" / hashlib.sha256(text.encode()).hexdigest()[:16]
    file = folder / f"{rule.name}.bpf.c"
    if file.is_file():
        return file
    try:
        # Other processes may write the same file concurrently; it is written completely or not at all.
        write_text(file, text)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        hint = "set XDG_CACHE_HOME to use another directory"
        raise ConfigError(f"generated C cannot be written: {reason}", source=str(folder), hint=hint) from None
    return file


def decision(rule: Rule) -> str:
    """Return the C function ``NAME_rate``, which returns the rule's sending rate, bytes/s.

    Raises
    ------
    ConfigError : coefficients that are too large for 64-bit arithmetic
    """
    kernel = _kernel(rule)
    atoms = kernel.atoms
    used = {atom for form in _forms(rule) for atom, _ in form.terms}
    variables = [f"\ts64 {name} = {value};" for atom, (name, value) in atoms.items() if atom in used]
    lines = [
        "/* Sending rate of the rule, bytes/s. */",
        f"static __always_inline u64 {rule.name}_rate({kernel.arguments})",
        "{",
        *variables,
        f"\tu64 least = {kernel.floor};",
        "",
    ]
    for branch in rule.branches:
        if branch.conditions:
            holds = " && ".join(_condition(rule, condition, atoms) for condition in branch.conditions)
            lines += _wrapped(f"\tif ({holds})", "\t    ")
            lines.append(f"\t\treturn {_rate(rule, branch.rate, atoms)};")
        else:
            lines.append(f"\treturn {_rate(rule, branch.rate, atoms)};")
    return "\n".join([*lines, "}", ""])


def decision_header(rule: Rule) -> str:
    """Return the decision as a header, for CCAs that use this rule in one of their phases."""
    guard = f"FAIRWEIR_{rule.name.upper()}_RATE_H"
    return (
        "/* SPDX-License-Identifier: (GPL-2.0-only OR MIT) */\n"
        f"/* The decision of rules/{rule.name}.toml, for CCAs that are {rule.name} for a while. "
        "Written by `fairweir rule`. */\n"
        f"#ifndef {guard}\n#define {guard}\n\n"
        f'#include "{_kernel(rule).header}"\n#include "rule.h"\n\n'
        f"{decision(rule)}\n#endif\n"
    )


def _kernel(rule: Rule) -> Kernel:
    if rule.beliefs.kernel is None:
        hint = "rules that read these beliefs can be verified but not run"
        raise ConfigError(f"kernel C cannot compute {rule.beliefs.name} beliefs", source=rule.name, hint=hint)
    return rule.beliefs.kernel


def _forms(rule: Rule) -> list[LinearForm]:
    conditions = [condition.difference for branch in rule.branches for condition in branch.conditions]
    return conditions + [branch.rate for branch in rule.branches]


def _condition(rule: Rule, condition: Condition, atoms: Mapping[tuple[str, int], tuple[str, str]]) -> str:
    scaled, _ = _whole(rule, condition.difference)
    larger = _sum([(atom, factor) for atom, factor in scaled if factor > 0], atoms)
    smaller = _sum([(atom, -factor) for atom, factor in scaled if factor < 0], atoms)
    sign = ">" if condition.comparison is Comparison.ABOVE else ">="
    return f"{larger} {sign} {smaller}"


def _rate(rule: Rule, form: LinearForm, atoms: Mapping[tuple[str, int], tuple[str, str]]) -> str:
    scaled, parts = _whole(rule, form)
    return f"max(rule_share({_sum(scaled, atoms)}, {parts}), least)"


def _whole(rule: Rule, form: LinearForm) -> tuple[list[tuple[Atom, int]], int]:
    """Return the form multiplied by its common denominator, and the denominator.

    Raises
    ------
    ConfigError : sums would not fit in 64 bits
    """
    parts = lcm(*(factor.denominator for _, factor in form.terms))
    scaled = [(atom, int(factor * parts)) for atom, factor in form.terms]
    if parts > MAX_WEIGHT or sum(abs(factor) for _, factor in scaled) > MAX_WEIGHT:
        raise ConfigError(
            f"coefficients are too large for 64-bit arithmetic: `{form}`",
            source=rule.name,
            hint=f"over a common denominator, their absolute values must add up to at most {MAX_WEIGHT}",
        )
    return scaled, parts


def _sum(terms: Sequence[tuple[Atom, int]], atoms: Mapping[tuple[str, int], tuple[str, str]]) -> str:
    if not terms:
        return "0"
    text = ""
    # Positive terms come first, so that the sum does not begin with a minus sign.
    for atom, factor in sorted(terms, key=lambda term: term[1] < 0):
        name = atoms[atom][0]
        size = name if abs(factor) == 1 else f"{abs(factor)} * {name}"
        sign = " - " if factor < 0 else " + "
        text = f"{text}{sign}{size}" if text else f"{'-' if factor < 0 else ''}{size}"
    return text


def _header(rule: Rule) -> str:
    """Return the lines of the file's header comment: summary, rule and description."""
    lines = [*textwrap.wrap(f"{rule.name}: {rule.summary or 'a rule over beliefs'}", WIDTH - 3), ""]
    for branch in rule.branches:
        word = "if" if branch is rule.branches[0] else "else if"
        if branch.conditions:
            lines.append(f"\t{word} {' and '.join(condition.text for condition in branch.conditions)}: {branch.rate}")
        else:
            lines.append(f"\t{'else' if len(rule.branches) > 1 else 'always'}: {branch.rate}")
    lines += ["", "at least a packet in R (thesis listing 4.1, line 7). Written by `fairweir rule`."]
    for part in (rule.description.strip(), f"Source: {rule.source}." if rule.source else ""):
        if part:
            paragraphs = [" ".join(paragraph.split()) for paragraph in part.split("\n\n")]
            lines += [line for paragraph in paragraphs for line in ["", *textwrap.wrap(paragraph, WIDTH - 3)]]
    return "\n".join(f" * {line}".rstrip() if not line.startswith("\t") else f" *{line}" for line in lines)


def _wrapped(line: str, indent: str) -> list[str]:
    """Split a line of C at each `&&` if it is longer than :data:`WIDTH`."""
    if len(line.expandtabs(8)) <= WIDTH:
        return [line]
    first, *rest = line.split(" && ")
    return [f"{first} &&", *(f"{indent}{part} &&" for part in rest[:-1]), f"{indent}{rest[-1]}"]
