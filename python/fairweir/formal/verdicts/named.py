"""``fairweir.verify``: verify a claim on a CCA, both given as text as on the command line."""

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
    """Return the case that the arguments describe.

    Parameters
    ----------
    cca : str; a shipped rule, a rule file, or a hand-encoded CCA
    claim : str, such as ``utilization>=0.5`` or ``bq@end <= bq@0 or queue<=4``
    model : str, network model, or a user's own as ``file.py:Class``
    points, per_r : int; sample points per trace, steps per R
    jitter : D in units of R, a whole number of steps, such as "1/2"
    buffer : "infinite", "small", "arbitrary" or "large"
    flows : int, number of flows that share the link
    beliefs : "consistent" or "any", the beliefs at the start of a trace
    timeouts : bool, whether beliefs time out at the end of a trace
    given : one or several assumptions, such as ``queue@1<=2``

    Raises
    ------
    ConfigError : an unknown name or an invalid text; the error names the option
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
    """Prove or refute a claim on a CCA over every behavior of a network model.

    Parameters
    ----------
    cca, claim, model, points, per_r, jitter, buffer, flows, beliefs, timeouts, given : as for :func:`case_of`
    budget_s : float, CPU seconds per solver and query

    Returns
    -------
    Verification ; its ``outcome`` is proved, refuted, vacuous or unknown; a refutation has a ``trace``

    Raises
    ------
    ConfigError : an unknown name or an invalid text
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
