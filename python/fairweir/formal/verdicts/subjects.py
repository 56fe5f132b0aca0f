"""The subject of a verification: a CCA, as constraints for solvers, and as a definition that judges traces.

A trace lists the quantities of a link and its flows at equally spaced points in time. A rule is a CCA whose rate
depends on beliefs. Beliefs are bounds on the network's parameters that a flow computes from what the flow observed; a
belief times out if it is computed again from recent observations only. A hand-encoded CCA has no beliefs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from fairweir.ccas.lookup import algorithms
from fairweir.ccas.rule import Rule, find_rule
from fairweir.documents import shipped
from fairweir.documents.arguments import words_for_enums
from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError
from fairweir.formal.beliefs import Expiry, Start, Terms
from fairweir.formal.beliefs.families import FAMILIES
from fairweir.formal.encoding.encode import attach
from fairweir.formal.encoding.system import Sender, System
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.exact import Violation
from fairweir.formal.exact.senders import decisions
from fairweir.formal.hand_encoded import HAND_ENCODED, HandEncodedCca
from fairweir.formal.models import MODELS


@dataclass(frozen=True)
class Subject:
    """A CCA that can be verified.

    Attributes
    ----------
    name, summary : str, name and description of the CCA
    sender : Sender, whether a rate, cwnd, or both limit the sender
    encode : function that adds the constraints of the CCA and of its beliefs to one flow of a system of constraints
    violations : function that yields the points at which a flow of a trace deviates from the CCA's definition; the
        function does not use the constraints
    assumes : str, assumptions about the CCA's state at the start of a trace
    """

    name: str
    summary: str
    sender: Sender
    encode: Callable[[System, int], None]
    violations: Callable[[Trace, int], Iterator[Violation]]
    assumes: str


@words_for_enums
def of_rule(rule: Rule, start: Start, expiry: Expiry) -> Subject:
    """Return a rule as a subject.

    Parameters
    ----------
    rule : Rule
    start : Start, the beliefs that are possible at the first point of a trace
    expiry : Expiry, whether beliefs time out at the last point of a trace
    """

    def encode(system: System, flow: int) -> None:
        family = FAMILIES[rule.beliefs.name]
        if not family.is_sound_on(system.network, system.buffer):
            made_for = [name for name, model in MODELS.items() if model.beliefs == family.name]
            raise ConfigError(
                f"the beliefs of `{rule.name}` are not sound on {system.model}",
                key="--model",
                hint=f"use --model {made_for[0]}" if made_for else None,
            )
        family.attach(system, flow=flow, terms=Terms(start, expiry))
        attach(rule, system, flow)

    words = {
        Start.CONSISTENT: "beliefs admit the network when the trace begins",
        Start.ANY: "beliefs may be stale when the trace begins",
    }
    ends = {Expiry.NEVER: "and never time out", Expiry.AT_END: "and time out at its end"}

    def judged(trace: Trace, flow: int) -> Iterator[Violation]:
        return decisions(trace, flow, rule.decide)

    return Subject(rule.name, rule.summary, Sender.RATE, encode, judged, f"{words[start]}, {ends[expiry]}")


def of_hand_encoded(cca: HandEncodedCca) -> Subject:
    """Return a hand-encoded CCA as a subject."""

    def encode(system: System, flow: int) -> None:
        cca.encode(system, flow)

    assumes = "its initial state is any that a past may have left"
    return Subject(cca.name, cca.source, cca.sender, encode, cca.violations, assumes)


@words_for_enums
def find_subject(name: str, start: Start = Start.CONSISTENT, expiry: Expiry = Expiry.NEVER) -> Subject:
    """Return the CCA with this name: a shipped rule, a hand-encoded CCA, or a rule file.

    Parameters
    ----------
    name : str, the name, or the path of a rule file
    start, expiry : as in :func:`of_rule`; for a hand-encoded CCA, both must have their defaults

    Raises
    ------
    ConfigError : the CCA is unknown, or the file is not a rule
    """
    if name in HAND_ENCODED:
        if start is not Start.CONSISTENT or expiry is not Expiry.NEVER:
            raise ConfigError(f"`{name}` has no beliefs, so none can be stale", key="--beliefs")
        return of_hand_encoded(HAND_ENCODED[name])
    if not name.endswith(".toml") and name not in rule_names():
        raise ConfigError(f"no such CCA to verify: `{name}`", hint=f"{_meant(name)}; or write the path of a rule file")
    return of_rule(Rule.load(find_rule(name)), start, expiry)


#: For each CCA that cannot be verified: the hand-encoded CCA with the most similar behavior.
STANDS_FOR = {
    "reno": "aimd",
    "newreno": "aimd",
    "tcp": "aimd",
    "copa": "copa_like",
    "bbr": "bbr_like",
    "bbr2": "bbr_like",
    "bbr3": "bbr_like",
    "vegas": "vegas_like",
}


def _meant(name: str) -> str:
    """Return a hint for an unknown name: the similar hand-encoded CCA, a name with similar spelling, or all names."""
    stand_in = STANDS_FOR.get(re.sub(r"[^a-z0-9]", "", name.lower()))
    if stand_in is not None:
        return f"use `{stand_in}` in its place: {HAND_ENCODED[stand_in].source}"
    known = [*rule_names(), *HAND_ENCODED]
    if name in algorithms():
        return f"it can be simulated, but only rules and hand-encoded CCAs can be verified: {', '.join(known)}"
    return did_you_mean(name, known)


def rule_names() -> list[str]:
    """Return the names of the rules that are part of fairweir."""
    return list(shipped.by_name("rules"))
