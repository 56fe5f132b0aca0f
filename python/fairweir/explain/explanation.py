"""``fairweir.explain``: a capture explained, with its figures and its report."""

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
    document : dict, as ``fairweir explain --json`` prints it (:func:`fairweir.explain.read.explain_file`)
    """

    capture: Path
    document: dict[str, Any] = field(repr=False)

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flows that sent enough to be judged; the first delivered the most bytes."""
        return split_small(self.document["flows"])[0]

    @property
    def verdicts(self) -> list[str]:
        """The limit of each flow, one sentence each."""
        return [verdict(facts, self.document) for facts in self.flows]

    @property
    def remarks(self) -> list[str]:
        """Restrictions of the capture."""
        return list(remarks(self.document))

    def report(self, path: str | Path) -> Path:
        """Write a page with tables, findings and figures.

        Parameters
        ----------
        path : str or Path, of the HTML file

        Raises
        ------
        ConfigError : it cannot be written
        """
        from fairweir.explain.page import write_page

        return write_page(self.document, self.flows, self.capture, Path(path))

    def plot(self, directory: str | Path) -> list[Path]:
        """Draw each flow over time.

        Parameters
        ----------
        directory : str or Path; created; gets flow-N.png

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
        """Return a line per flow."""
        return "\n".join(f"flow {facts['flow']}: {text}" for facts, text in zip(self.flows, self.verdicts, strict=True))


def explain(capture: str | Path, *, on_progress: Callable[[int], object] | None = None) -> Explanation:
    """Explain the flows of a capture: what limited each, and what it shows of the path.

    Parameters
    ----------
    capture : str or Path of a pcap or pcapng file of TCP, or of a qlog
    on_progress : called with the number of frames read

    Returns
    -------
    Explanation

    Raises
    ------
    ConfigError : the file is missing, damaged or no capture, or has no flow with data and ACKs

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
