"""Beliefs about the buffer: solvers and random traces show that they are sound; tests of how tight they are."""

from __future__ import annotations

import pytest

from fairweir.errors import ConfigError
from fairweir.formal.beliefs import buffer, ccac
from fairweir.formal.beliefs.soundness import Bound, bounds_of
from fairweir.formal.encoding.buffers import Buffer
from fairweir.formal.encoding.grid import Grid
from fairweir.formal.encoding.senders import Sender
from fairweir.formal.encoding.trace import Trace
from fairweir.formal.lemmas.beliefs import settle
from fairweir.formal.lemmas.trial import make
from fairweir.formal.models import MODELS
from fairweir.formal.solving.solve import ProofOutcome

ALONE = (Sender.RATE,)


@pytest.mark.parametrize(
    "bound", [*bounds_of("buffer", Grid(6)), *bounds_of("buffer", Grid(7, per_r=2))], ids=lambda bound: bound.name
)
def test_no_trace_leaves_the_bounds(bound: Bound) -> None:
    assert settle(bound, 60.0).outcome is ProofOutcome.PROVED


def overflowing(model: str) -> list[Trace]:
    """Return traces with losses that the sender learns of within the trace."""
    traces = [make(model, Grid(7), Buffer.ARBITRARY, seed, ALONE) for seed in range(60)]
    return [trace for trace in traces if trace.flows[0].Ld[-1] > trace.flows[0].Ld[1]]


def test_without_jitter_the_first_loss_determines_the_buffer() -> None:
    traces = overflowing("ideal")
    assert len(traces) > 10
    for trace in traces:
        beliefs = trace.flows[0].beliefs
        assert beliefs["beta_L"][-1] == trace.beta == beliefs["beta_U"][-1]


@pytest.mark.parametrize("model", ["cbr-delay", "ccac"])
def test_with_jitter_a_loss_bounds_the_buffer_up_to_the_jitter(model: str) -> None:
    traces = overflowing(model)
    assert len(traces) > 10
    for trace in traces:
        assert trace.beta is not None
        assert trace.beta <= trace.flows[0].beliefs["beta_U"][-1] <= trace.beta + trace.grid.jitter


@pytest.mark.parametrize(
    ("senders", "size", "rates", "key"),
    [
        (ALONE, Buffer.INFINITE, True, "buffer"),
        ((Sender.WINDOW,), Buffer.SMALL, False, "sender"),
        (ALONE, Buffer.SMALL, False, "beliefs"),
    ],
)
def test_beliefs_that_make_no_sense_are_rejected(
    senders: tuple[Sender, ...], size: Buffer, rates: bool, key: str
) -> None:
    system = MODELS["ccac"].build(Grid(4), size, senders)
    if rates:
        ccac.attach(system)
    with pytest.raises(ConfigError) as caught:
        buffer.attach(system)
    assert caught.value.key == key
    assert "buffer" not in system.flows[0].attached
