"""The audit: run a CCA in families of scenarios and judge claims about it."""

from typing import TYPE_CHECKING

from fairweir.audit.exhibits.family import Depth
from fairweir.audit.results import AuditResults
from fairweir.callable import make_callable

if TYPE_CHECKING:
    from fairweir.audit.runner import run_audit

__all__ = ["AuditResults", "Depth", "run_audit"]

make_callable(__name__, "fairweir.audit.runner", "run_audit")


def __getattr__(name: str) -> object:
    """Load the module that runs audits on first use only, because the workers of a pool import this package too."""
    if name == "run_audit":
        from fairweir.audit.runner import run_audit

        return run_audit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
