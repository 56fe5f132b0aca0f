"""The compiled part of fairweir. Names contain units; functions raise the errors of `fairweir.errors`."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, final

__all__ = [
    "Ack",
    "AckedPacket",
    "GameController",
    "GameQuery",
    "GameState",
    "Loss",
    "LostPacket",
    "Sent",
    "Start",
    "__version__",
    "algorithms",
    "capture_examples",
    "check_certificate",
    "explain",
    "fec_recover",
    "fec_repair",
    "format_bytes",
    "format_rate",
    "format_time",
    "frcc_attractor",
    "game_believe",
    "game_bounds",
    "game_decide",
    "game_explain",
    "game_feature_rows",
    "game_features",
    "game_play",
    "game_random_states",
    "game_values",
    "guard_examples",
    "guard_features",
    "guard_scores",
    "parse_bytes",
    "parse_rate",
    "parse_size",
    "parse_time",
    "parse_trace",
    "part_keys",
    "play_video",
    "play_video_live",
    "replay_guarded",
    "resolve_size",
    "run",
    "run_guarded",
    "student_t_quantile",
    "video_senders",
]

__version__: str

@final
class Start:
    """Information for a controller when its flow starts."""

    @property
    def mss_bytes(self) -> int: ...
    @property
    def initial_cwnd_bytes(self) -> int: ...
    @property
    def oracle_rtprop_ms(self) -> float | None:
        """Round-trip propagation delay; None unless the scenario has `oracle_rtprop`."""

    @property
    def seed(self) -> int: ...

class _Event:
    @property
    def now_ns(self) -> int: ...
    @property
    def now_ms(self) -> float: ...
    @property
    def mss_bytes(self) -> int: ...
    @property
    def snd_una(self) -> int:
        """First packet not cumulatively acknowledged."""

    @property
    def snd_nxt(self) -> int:
        """Next new packet to send."""

    @property
    def inflight(self) -> int:
        """Packets sent and neither acknowledged nor declared lost, after the event."""

    @property
    def delivered(self) -> int:
        """Packets delivered since the start; each packet counts once."""

    @property
    def total_lost(self) -> int:
        """Packets declared lost since the start."""

    @property
    def srtt_ms(self) -> float | None: ...
    @property
    def min_rtt_ms(self) -> float | None: ...
    @property
    def is_cwnd_limited(self) -> bool: ...
    @property
    def in_recovery(self) -> bool: ...

@final
class Ack(_Event):
    """An ACK arrived. Counts are packets."""

    @property
    def acked(self) -> int:
        """Packets newly acknowledged, cumulatively or by SACK; each packet counts once."""

    @property
    def cum_acked(self) -> int: ...
    @property
    def lost(self) -> int:
        """Packets newly declared lost."""

    @property
    def marked(self) -> int:
        """Packets newly acknowledged with a congestion-experienced mark."""

    @property
    def prior_inflight(self) -> int: ...
    @property
    def newest(self) -> int | None:
        """Number of the newest packet that this ACK newly acknowledges."""

    @property
    def rtt_ms(self) -> float | None:
        """RTT of the packet `newest`; None if it was sent more than once."""

    @property
    def delivery_rate_mbps(self) -> float | None:
        """Delivery rate as defined in Linux's `net/ipv4/tcp_rate.c`; None without a sample."""

    @property
    def prior_delivered(self) -> int:
        """`delivered` when the packet `newest` was sent.

        A round ends when it exceeds `delivered` at the last round's end.
        """

    @property
    def is_app_limited(self) -> bool: ...

@final
class Loss(_Event):
    """A loss episode starts."""

    @property
    def cause(self) -> Literal["dupack", "ecn", "timeout", "persistent_congestion"]: ...
    @property
    def prior_inflight(self) -> int: ...
    @property
    def is_repeated(self) -> bool: ...

@final
class Sent(_Event):
    """A packet left the sender."""

    @property
    def seq(self) -> int: ...
    @property
    def is_retransmit(self) -> bool: ...

@final
class AckedPacket:
    """A packet was delivered: cumulatively acknowledged or SACKed."""

    @property
    def now_ns(self) -> int: ...
    @property
    def seq(self) -> int: ...
    @property
    def sent_ns(self) -> int: ...
    @property
    def was_retransmitted(self) -> bool: ...
    @property
    def is_app_limited(self) -> bool: ...

@final
class LostPacket:
    """A packet was declared lost."""

    @property
    def now_ns(self) -> int: ...
    @property
    def seq(self) -> int: ...
    @property
    def sent_ns(self) -> int: ...

def parse_time(text: str) -> int:
    """Nanoseconds."""

def student_t_quantile(degrees: float, probability: float) -> float:
    """Return a quantile of Student's t-distribution; ConfigError unless `degrees` > 0 and 0 < `probability` < 1."""

def parse_rate(text: str) -> int:
    """Bytes per second."""

def parse_bytes(text: str) -> int:
    """Bytes."""

def parse_size(text: str) -> tuple[Literal["bytes", "packets", "bdp", "infinite"], float]:
    """Return dimension and number of a size."""

def resolve_size(text: str, packet_bytes: int, bdp_bytes: int) -> int | None:
    """Return a size in bytes; None if it is unlimited."""

def format_time(ns: int) -> str: ...
def format_rate(bytes_per_s: int) -> str: ...
def format_bytes(n: int) -> str: ...
def parse_trace(text: str) -> list[int]:
    """Return the delivery opportunities of a mahimahi trace, ns since the start."""

def part_keys() -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Return the kinds of elements, queues and links, each with its keys in base units."""

def algorithms() -> list[tuple[str, str, str, str | None]]:
    """Return name, summary, default parameters as JSON, and the version of the QUIC stack, if it is one's."""

def run(
    config: str,
    classes: dict[str, type[Any]] | None = None,
    on_progress: Callable[[int], object] | None = None,
    max_packets: int | None = None,
    capture: tuple[str, str] | None = None,
) -> tuple[str, tuple[dict[str, bytes], dict[str, bytes]] | None, tuple[dict[str, bytes], dict[str, bytes]] | None]:
    """Run a configuration (JSON).

    Returns the summary as JSON; the columns of flows and links, if the configuration has an interval; and the columns
    of data packets and ACKs, if `max_packets` is given. A run with more data packets than `max_packets` raises a
    ConfigError. `capture` is the path of a pcap file and the position of the capture, "sender" or "receiver".
    """

def frcc_attractor(
    question: str, on_progress: Callable[[int], object] | None = None
) -> tuple[str, tuple[list[float], list[float], bytes] | None]:
    """Answer a question (JSON) about FRCC's main update.

    Returns the answer as JSON, and the borders of the cells' odds and of their N_T with each cell's rank as native u32.
    If there is no answer, returns the reason as text, and None.
    """

def check_certificate(question: str, certificate: str) -> int:
    """Check a certificate against its question (docs/formal/certificates.md); return the number of its steps.

    Raises
    ------
    fairweir.formal.certificates.checker.RejectedError : the certificate does not prove that the question is
        unsatisfiable
    """

def play_video(config: str, table: str) -> str:
    """Play a video session with an encoder's table, both as JSON; return the outcome as JSON (crates/video).

    Raises
    ------
    ConfigError : the configuration or the table is invalid
    """

def play_video_live(
    config: str,
    encode: Callable[[int, int | None, float], tuple[float, float, float]],
    frozen: Callable[[int, int | None], float],
) -> str:
    """Play a video session with a live encoder; return the outcome as JSON.

    Parameters
    ----------
    config : JSON
    encode : function of a frame, its reference and a target size in bytes; returns size in bytes, SSIM and quantizer
    frozen : function of a frame and of the older frame displayed instead (None if no frame was displayed); returns the
        SSIM

    Raises
    ------
    ConfigError : the configuration is invalid
    FairweirError : the sender requested an operation that a live encoder does not support
    """

def video_senders() -> list[tuple[str, str]]:
    """Return name and summary of each video sender."""

def fec_repair(data: list[bytes], total: int) -> list[bytes]:
    """Return the repair packets of a systematic Reed-Solomon code (RFC 5510, GF(256)) of `total` packets.

    Parameters
    ----------
    data : packets of equal length
    total : number of data and repair packets, at most 255

    Raises
    ------
    ConfigError : no code has these numbers of packets, or the packets have different lengths
    """

def fec_recover(message: int, total: int, received: dict[int, bytes]) -> list[bytes]:
    """Return the data packets from any `message` of `total` packets, given by their numbers (data first, from 0).

    Raises
    ------
    ConfigError : no code has these numbers of packets, there are too few packets, or they have different lengths
    """

def explain(path: str, on_progress: Callable[[int], object] | None = None) -> str:
    """Return the beliefs about the paths of a capture's flows, as JSON;

    `on_progress` is called with the number of frames read.
    """

def replay_guarded(
    path: str,
    policies: str,
    managed: list[str],
    *,
    forest: str | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> str:
    """Return the decisions of a guard with policies (TOML) for a capture, as JSON.

    `fairweir.guard.replay` describes the document.

    Parameters
    ----------
    managed : addresses of the guarded hosts; if empty, the host that receives the most payload
    forest : JSON of ``fairweir guard train``
    on_progress : called with the number of frames read

    Raises
    ------
    ConfigError : the capture cannot be read
    ValueError : policies or addresses are invalid
    """

def run_guarded(
    config: str,
    policies: str,
    senders: Sequence[str | None],
    fair_share: int | None = None,
    forest: str | None = None,
) -> str:
    """Run a configuration (JSON) with a receiver that applies policies (TOML); return the summary (JSON).

    Parameters
    ----------
    senders : IPv4 address of each flow's sender; None if the flow's receiver has no guard
    fair_share : bytes per second; the link's rate for the classifier named ``fair-share``
    forest : JSON of ``fairweir guard train``; the classifier with any other name

    Raises
    ------
    ValueError : policies or senders are invalid
    """

@final
class GameQuery:
    """A query of the game of a sender against a link (docs/formal/game.md): links, actions, shield, objective, horizon.

    Parameters
    ----------
    json : the query as JSON, without its tables ``sampling`` and ``tree``

    Raises
    ------
    ConfigError : the value of a key is invalid; the error's ``key`` names it
    """

    def __new__(cls, json: str) -> GameQuery: ...
    @property
    def name(self) -> str: ...
    @property
    def actions(self) -> list[str]:
        """Names of the action templates, simplest first; the index in this list identifies a template."""

    def leaves(self) -> str:
        """Return the templates as leaves of controller files: a JSON list, in the order of `actions`."""

    def components(self, converged: bool) -> list[str]:
        """Return the names of the objective's components in a phase, most important first."""

    def with_depth(self, depth: int) -> GameQuery:
        """Return the query with another horizon, steps.

        Raises
        ------
        ConfigError : `depth` is not 1 to 8
        """

    def to_json(self) -> str: ...
    def random_session(self, seed: int) -> str:
        """Return a random session for `game_play` (JSON): link, jitter, change of the link."""

@final
class GameController:
    """A controller file: tree, shield, provenance, proofs.

    Parameters
    ----------
    json : text of the file

    Raises
    ------
    ConfigError : the value of a key is invalid; the error's ``key`` names it
    """

    def __new__(cls, json: str) -> GameController: ...
    def to_json(self) -> str:
        """Return the file's text; parsing it gives the same numbers, to the last bit."""

    def decide(self, state: GameState) -> tuple[int, str, float, float, float]:
        """Return the index of the leaf's node and the action: batches, message, rate, next target size (packets)."""

    def leaves(self, rows: bytes) -> bytes:
        """Evaluate the tree on rows of features (f64, in the order of `game_features`).

        Returns
        -------
        u32 for each row: index of the leaf's node

        Raises
        ------
        ValueError : `rows` is not a whole number of rows
        """

@final
class GameState:
    """A situation: observations, frames, belief, held max C."""

    def features(self) -> list[float]:
        """Return the features in the order of `game_features`."""

    @property
    def converged(self) -> bool: ...
    @property
    def belief_source(self) -> str:
        """Source of the belief:

        ``window``, ``fewer-points``, ``packet-slack``, ``larger-jitter``, ``delivered-rate``.
        """

    @property
    def min_b(self) -> float | None:
        """The held min B (packets) on which the belief is based; None if no min B is held."""

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """M (packets per step), Q (packets), R0 and max C (packets per step)."""

def game_features() -> list[tuple[str, str, str]]:
    """Return name, unit and meaning of each feature of a state, in the order of rows."""

def game_feature_rows(states: list[GameState]) -> bytes:
    """Return the features of all states, row after row, f64."""

def game_values(query: GameQuery, states: list[GameState], *, threads: int = 1) -> bytes:
    """Search the game at each state and compute the value of every action; the GIL is released.

    Returns
    -------
    i32 of shape states x actions x 8: components of the objective in multiples of their quantum, compared in order,
    smaller is better; unused ones are 0; all are 2**31 - 1 where no link explains the state
    """

def game_decide(query: GameQuery, state: GameState) -> int | None:
    """Return the index of the action that the search takes; None if no link explains the state."""

def game_explain(query: GameQuery, state: GameState, controller: GameController | None = None) -> str:
    """Explain a decision of the search, and of `controller` if it is given.

    Returns
    -------
    JSON: ``phase``, ``belief``, ``binding`` (the observations that hold min C and max C), ``features``, ``leaf`` (of
    `controller`: its path in words, what it asks for, what the shield makes of it), ``actions`` (value, what each costs
    against the best, the network's best reply), ``best`` (index in ``actions``), ``line`` (how both sides go on)
    """

def game_play(
    query: GameQuery,
    session: str,
    policy: GameController | Callable[[list[float]], int] | None = None,
    *,
    rows: bool = False,
) -> tuple[str, dict[str, list[Any]] | None]:
    """Run a policy on a link that satisfies the model.

    Parameters
    ----------
    session : JSON of ``{"c", "b", "steps", "jitter": "none|random|extreme|alternating", "seed"}``, optionally
        ``change_at`` (step), ``changed_c``, ``warm_up`` (steps that do not count), ``noise`` (share of random actions),
        ``encoder_noise``
    policy : None for the search, a controller, or a function of the features that returns the index of an action
    rows : also return every step

    Returns
    -------
    summary : JSON: ``utilization``, ``goodput`` (of C), ``frames_per_step``, ``late``, ``dropped``, ``mean_queue`` and
        ``p95_queue`` (steps), ``mean_delay`` (steps), ``lost`` (packets), ``unexplained`` (steps)
    rows : columns ``state`` (before the action), ``chosen`` (action or leaf), ``send``, ``message``, ``rate``,
        ``encode``, ``queue``, ``c``, and the counts ``received``, ``late``, ``dropped`` before the step

    Raises
    ------
    ConfigError : the session is invalid
    ValueError : the policy returned an index without an action
    """

def game_random_states(query: GameQuery, n: int, seed: int) -> list[GameState]:
    """Return states of random senders on random links with random batches; no policy would reach most of them."""

def game_bounds(windows: str, model: str = "{}", *, exact: bool = True) -> str:
    """Compute the bounds that observations imply for a link with jitter and a finite buffer (thesis 4.5;
    docs/formal/game.md).

    Parameters
    ----------
    windows : JSON list of ``{"sent": [..], "delivered": [..], "lost": [..], "lost_before": 0, "sent_next": x}``:
        cumulative packets at 1 to 6 points a step of one RTprop apart; ``sent[t]`` is what had been sent one RTprop
        before ``delivered[t]`` was seen; ``lost`` has the points whose losses are known
    model : JSON of ``{"c": [min, max], "b": [min, max], "jitter": steps, "slack": packets}``, in packets (a step)
    exact : bounds fit for claims; else those of the corners, for searches (the queue and the buffer may be outside)

    Returns
    -------
    JSON list: ``{"c", "b", "q": [min, max], "safe_rate", "min_c_plus_b"}`` (q and safe_rate at the next point), with
    ``c_min``, ``c_max`` (``{"facts", "points"}``: what holds that end) and ``gap`` if exact; null: no link explains it

    Raises
    ------
    ConfigError : the windows or the model are invalid
    """

def game_believe(windows: str, model: str = "{}") -> str:
    """Compute beliefs about the links of windows, even if no link of the model explains a window; formats as
    `game_bounds`.

    Returns
    -------
    JSON list: ``{"bounds", "exact", "from", "points", "slack", "jitter"}``; ``exact``: claims may rest on the bounds

    Raises
    ------
    ConfigError : the windows or the model are invalid
    """

def guard_features() -> list[str]:
    """Return the names of the receiver's features, in the order of rows."""

def guard_examples(config: str, from_ns: int, one_in: int, seed: int, *, forest: str | None = None) -> dict[str, bytes]:
    """Run a configuration (JSON); return examples of its receiver's observations.

    Columns: values (f64, all features of row after row, NaN where unknown), flow (u32), t_ns (u64), mbps (f64, the
    flow's throughput over 8 minimum RTTs), active (u32, flows that had any). One arrival in `one_in` from `from_ns` on
    is an example. If a `forest` (JSON) is given, a flow policy with it limits the flows during the run.
    """

def capture_examples(path: str, receivers: list[str], from_ns: int, one_in: int, seed: int) -> dict[str, bytes]:
    """Return examples of a capture, as `guard_examples` does; `receivers` has the address of each flow's receiver."""

def guard_scores(forest: str, values: bytes) -> tuple[bytes, bytes]:
    """Return a forest's three scores (f64) and class (u8: below, near, above) for each row of `values` (f64)."""
