"""``fairweir.explain``: explain a capture, and draw figures and a report of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairweir.errors import ConfigError
from fairweir.explain.read import explain_file
from fairweir.explain.table import remarks, split_small
from fairweir.explain.verdict import verdict


@dataclass(frozen=True)
class Explanation:
    """Explanation of a capture's flows.

    Attributes
    ----------
    capture : Path
    document : dict; what ``fairweir explain --json`` prints (:func:`fairweir.explain.read.explain_file`)
    """

    capture: Path
    document: dict[str, Any] = field(repr=False)

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flows that are large enough to be reported; the first delivered the most bytes."""
        return split_small(self.document["flows"])[0]

    @property
    def verdicts(self) -> list[str]:
        """One sentence per flow: what limited it."""
        return [verdict(facts, self.document) for facts in self.flows]

    @property
    def remarks(self) -> list[str]:
        """The parts of the capture that were left out, and other restrictions."""
        return list(remarks(self.document))

    def report(self, path: str | Path) -> Path:
        """Write a page with tables, findings and figures.

        Parameters
        ----------
        path : str or Path of the HTML file

        Raises
        ------
        ConfigError : the file cannot be written
        """
        from fairweir.explain.page import write_page

        return write_page(self.document, self.flows, self.capture, Path(path))

    def plot(self, directory: str | Path) -> list[Path]:
        """Draw each flow over time.

        Parameters
        ----------
        directory : str or Path of the directory for the files flow-N.png; created if it does not exist

        Raises
        ------
        MissingExtraError : Matplotlib is not installed
        """
        from fairweir.explain.plots import save_flow_plot
        from fairweir.explain.view import flow_view

        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(save_flow_plot(flow_view(facts), folder)) for facts in self.flows]

    def __str__(self) -> str:
        """Return one line per flow."""
        return "\n".join(f"flow {facts['flow']}: {text}" for facts, text in zip(self.flows, self.verdicts, strict=True))


def explain(capture: str | Path, *, on_progress: Callable[[int], object] | None = None) -> Explanation:
    """Explain the flows of a capture: what limited each flow, and what the capture shows about its path.

    Parameters
    ----------
    capture : str or Path of a pcap or pcapng file of TCP, or of a qlog
    on_progress : called with the number of frames read

    Returns
    -------
    Explanation

    Raises
    ------
    ConfigError : the file is missing, is damaged, is not a capture, or has no flow with data and ACKs

    Examples
    --------
    >>> import fairweir as fw
    >>> from tempfile import mkdtemp
    >>> file = Path(mkdtemp()) / "reno.pcap"
    >>> pair = fw.dumbbell(["reno"], rate="12Mbps", rtprop="20ms", buffer="4bdp", duration="10s")
    >>> record = fw.run(pair, capture=fw.Capture(file))
    >>> len(fw.explain(file).flows)
    1
    """
    if not isinstance(capture, (str, Path)):
        raise ConfigError(f"capture must be a path: `{capture!r:.60}`", key="capture")
    path = Path(capture)
    return Explanation(path, explain_file(path, on_progress))
