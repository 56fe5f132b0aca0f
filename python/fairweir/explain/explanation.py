"""``fairweir.explain``: find out from a packet capture what limited its flows, and write figures and a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from fairweir import extras
from fairweir.errors import ConfigError
from fairweir.explain.findings import rate_mbps
from fairweir.explain.read import explain_file
from fairweir.explain.table import remarks, split_small
from fairweir.explain.verdict import verdict

if TYPE_CHECKING:
    from fairweir.show.notebook import Image


@dataclass(frozen=True)
class Explanation:
    """The result of explaining the flows of a capture.

    Attributes
    ----------
    capture : Path
    document : dict; the output of ``fairweir explain --json`` (:func:`fairweir.explain.read.explain_file`)
    """

    capture: Path
    document: dict[str, Any] = field(repr=False)

    @property
    def flows(self) -> list[dict[str, Any]]:
        """The flows that are large enough to be reported individually, starting with the flow that delivered the most
        bytes.
        """
        return split_small(self.document["flows"])[0]

    @property
    def verdicts(self) -> list[str]:
        """One sentence per flow, which states what limited the flow."""
        return [verdict(facts, self.document) for facts in self.flows]

    @property
    def remarks(self) -> list[str]:
        """Sentences about parts of the capture that were left out, and about other restrictions of the result."""
        return list(remarks(self.document))

    def report(self, path: str | Path) -> Path:
        """Write an HTML page with tables, findings and figures.

        Parameters
        ----------
        path : str or Path of the file to write

        Raises
        ------
        ConfigError : the file cannot be written
        """
        from fairweir.explain.page import write_page

        return write_page(self.document, self.flows, self.capture, Path(path))

    @overload
    def plot(self, directory: str | Path) -> list[Path]: ...

    @overload
    def plot(self, directory: None = None) -> list[Image]: ...

    def plot(self, directory: str | Path | None = None) -> list[Path] | list[Image]:
        """Draw a figure over time for each flow: as PNG files, or in a notebook.

        Parameters
        ----------
        directory : str or Path of the directory for the files flow-N.png; created if it does not exist. Without it, the
            images are returned for a notebook.

        Returns
        -------
        list with one element per flow of :attr:`flows`: the files, or the images

        Raises
        ------
        MissingExtraError : Matplotlib is not installed
        """
        extras.require("matplotlib", "a plot of flows")
        from fairweir.explain.plots import flow_figure, save_flow_plot
        from fairweir.explain.view import flow_view
        from fairweir.show.plots import image_of

        if directory is None:
            return [image_of(flow_figure(flow_view(facts)), f"flow {facts['flow']}") for facts in self.flows]
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(save_flow_plot(flow_view(facts), folder)) for facts in self.flows]

    def _repr_html_(self) -> str:
        """Return a table with the verdict and the rate of each flow, and the remarks, for a notebook."""
        from fairweir.play.table import Table

        rows = [
            {
                "flow": facts["flow"],
                "from": facts["src"],
                "to": facts["dst"],
                "Mbit/s": rate_mbps(facts),
                "verdict": text,
            }
            for facts, text in zip(self.flows, self.verdicts, strict=True)
        ]
        return Table.from_rows(rows).to_html(len(rows)) + "".join(f"<p>{escape(text)}</p>" for text in self.remarks)

    def __str__(self) -> str:
        """Return the verdicts, one line per flow."""
        return "\n".join(f"flow {facts['flow']}: {text}" for facts, text in zip(self.flows, self.verdicts, strict=True))


def explain(capture: str | Path, *, on_progress: Callable[[int], object] | None = None) -> Explanation:
    """Find out what limited each flow of a capture, and what the capture shows about each flow's path.

    Parameters
    ----------
    capture : str or Path of a pcap or pcapng file of TCP, or of a qlog
    on_progress : function that is called with the number of frames read so far

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
