"""The two sides of a comparison: a controller, and the world in which it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, get_args

from fairweir.agree.matrix import AS_IN_KERNEL
from fairweir.ccas import lookup
from fairweir.ccas.cca_spec import require, table_of
from fairweir.errors import CcaError
from fairweir.play.run import World

#: The worlds, as prefixes of a controller: ``kernel:cubic``.
WORLDS: Final = get_args(World)


@dataclass(frozen=True)
class Side:
    """A controller in a world.

    Attributes
    ----------
    cca : str, such as ``cubic{beta=0.5}``
    world : "sim", "kernel" or "quic"
    """

    cca: str
    world: World = "sim"

    @classmethod
    def of(cls, text: str) -> Side:
        """Parse ``cubic``, ``kernel:cubic`` or ``quic:quinn/cubic``, and check that the controller exists.

        Raises
        ------
        CcaError : there is no such controller, or the world cannot run it
        ConfigError : the controller's file is invalid
        """
        prefix, colon, rest = text.partition(":")
        world: World = next((one for one in WORLDS if one == prefix and colon), "sim")
        side = cls(rest if colon and prefix in WORLDS else text, world)
        require(side.cca)
        side._check_world(text)
        return side

    def _check_world(self, text: str) -> None:
        name = table_of(self.cca)["name"]
        if self.world == "quic" and not lookup.is_stack(name):
            raise CcaError(
                f"not the controller of a whole QUIC stack: `{text}`",
                hint=f"without `quic:`, `{self.cca}` runs in the simulator's transport",
                cca=text,
            )
        if self.world == "kernel":
            refusal = lookup.why_not_on_the_kernel(name)
            if refusal is None and "/" in name and name in lookup.algorithms():
                refusal = "the controller of a QUIC stack", f"without `kernel:`, `{self.cca}` runs in the simulator"
            if refusal is not None:
                what, hint = refusal
                raise CcaError(f"the kernel cannot run {what}: `{text}`", hint=hint, cca=text)

    @property
    def label(self) -> str:
        """The side as typed: ``kernel:cubic``."""
        return self.cca if self.world == "sim" else f"{self.world}:{self.cca}"

    @property
    def version(self) -> str:
        """The version of the QUIC stack or of Linux; empty for a controller of fairweir."""
        if self.world == "kernel":
            import platform

            return f"Linux {platform.release()}"
        return lookup.stack_version(table_of(self.cca)["name"]) or ""

    def competitor(self, reference: Side) -> str | dict[str, Any]:
        """Return the controller of the competing flow, in this side's world: the reference's, if the world has it.

        The simulator has a model of the kernel's controllers, with parameters that differ from our defaults. In the
        world of whole QUIC stacks there are no other controllers, so the flow competes with its own kind.
        """
        if self.world == reference.world:
            return reference.cca
        if self.world == "sim":
            return AS_IN_KERNEL.get(reference.cca, reference.cca)
        name = table_of(reference.cca)["name"]
        if self.world == "kernel" and "/" not in name and lookup.why_not_on_the_kernel(name) is None:
            return reference.cca
        return self.cca
