"""``fairweir.verify``: prove or refute a claim about a CCA; CCA and claim are texts, as on the command line.

Symbols: R, round-trip propagation delay; D, maximum jitter. A trace lists the quantities of a link and its flows at
equally spaced points in time, the sample points. Beliefs are bounds on the network's parameters that a flow computes
from what the flow observed.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from fairweir.documents.arguments import count, text
from fairweir.documents.suggestions import did_you_mean
from fairweir.errors import ConfigError
from fairweir.formal.beliefs import Expiry, Start
from fairweir.formal.claims.syntax import parse_assumption, parse_claim, parse_number
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.models.user import find_model
from fairweir.formal.solving.solvers import Budget
from fairweir.formal.verdicts.subjects import find_subject
from fairweir.formal.verdicts.verify import Case, Verification
from fairweir.formal.verdicts.verify import verify as verify_case


def case_of(
    cca: str,
    claim: str,
    *,
    model: str = "ccac",
    points: int = 6,
    per_r: int = 1,
    jitter: str | int | Fraction = "1",
    buffer: str = "infinite",
    flows: int = 1,
    beliefs: str = "consistent",
    timeouts: bool = False,
    given: str | Iterable[str] = (),
) -> Case:
    """Return the parameters of a verification from texts and numbers.

    Parameters
    ----------
    cca : str; name of a shipped rule or of a hand-encoded CCA, or path of a rule file
    claim : str, such as ``utilization>=0.5`` or ``bq@end <= bq@0 or queue<=4``
    model : str, name of a network model, or a user's model as ``file.py:Class``
    points, per_r : int; number of sample points in a trace, number of steps between points per R
    jitter : D in units of R, a whole number of steps, such as "1/2"
    buffer : "infinite", "small", "arbitrary" or "large"
    flows : int, number of flows that share the link
    beliefs : "consistent": at the start of a trace, the true network satisfies the beliefs; "any": it need not
    timeouts : bool, whether beliefs are computed again from this trace only at the end of a trace
    given : one or several assumptions, such as ``queue@1<=2``

    Raises
    ------
    ConfigError : a name is unknown or a text is invalid; the error names the option
    """
    for name, value in (("cca", cca), ("claim", claim), ("model", model)):
        text(value, name)
    for name, number in (("points", points), ("per_r", per_r), ("flows", flows)):
        count(number, name)
    network = find_model(model)
    if network.source and not network.has_jitter and str(jitter) != "1":
        raise ConfigError(f"--jitter has no effect with --model {model}", key="--jitter", hint="its link has no jitter")
    start = Start(_one_of(beliefs, [*Start], "start of beliefs", "--beliefs"))
    size = Buffer(_one_of(buffer, [*Buffer], "buffer", "--buffer"))
    subject = find_subject(cca, start, Expiry.AT_END if timeouts else Expiry.NEVER)
    grid = Grid(points, per_r, parse_number(str(jitter), str(jitter), "--jitter"))
    assumptions = tuple(parse_assumption(text(one, "given")) for one in ([given] if isinstance(given, str) else given))
    name = network.name if network.source else model
    return Case(subject, name, parse_claim(claim), grid, size, flows, assumptions)


def _one_of(value: str, known: list[str], what: str, key: str) -> str:
    if value not in known:
        raise ConfigError(f"no such {what}: `{value}`", key=key, hint=did_you_mean(value, known))
    return value


def verify(
    cca: str,
    claim: str,
    *,
    model: str = "ccac",
    points: int = 6,
    per_r: int = 1,
    jitter: str | int | Fraction = "1",
    buffer: str = "infinite",
    flows: int = 1,
    beliefs: str = "consistent",
    timeouts: bool = False,
    given: str | Iterable[str] = (),
    budget_s: float = 120.0,
) -> Verification:
    """Prove or refute that all traces of a CCA on a network model satisfy a claim.

    Parameters
    ----------
    cca, claim, model, points, per_r, jitter, buffer, flows, beliefs, timeouts, given : as for :func:`case_of`
    budget_s : float, CPU seconds per solver and query

    Returns
    -------
    Verification ; ``outcome`` is proved, refuted, vacuous or unknown; a refutation has a ``trace``

    Raises
    ------
    ConfigError : a name is unknown or a text is invalid
    SolverError : a solver is missing, or two contradict each other

    Examples
    --------
    >>> import fairweir as fw
    >>> fw.verify("cc_qdel", "queue<=100", points=4, given=["queue<=2"]).outcome.value
    'proved'
    """
    case = case_of(
        cca, claim, model=model, points=points, per_r=per_r, jitter=jitter, buffer=buffer, flows=flows,
        beliefs=beliefs, timeouts=timeouts, given=given,
    )  # fmt: skip
    return verify_case(case, Budget(budget_s))
