"""Treatments of a configuration: no guard, the challenge's policy, or a user's policies."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from fairweir.errors import ConfigError
from fairweir.guard.challenges import CHALLENGES, FAIR_SHARE, Challenge, Deployment, Published
from fairweir.guard.configurations import Network, learnt
from fairweir.play.run import TcpWorld

WITHOUT: Final = "without"
PERFECT: Final = "perfect classifier"
"""Name of the classifier that knows the link's rate and the number of flows: an upper bound for trained classifiers."""
OWN: Final = "service policy"


@dataclass(frozen=True)
class Policy:
    """A policy file (TOML): its name, its text and its path."""

    name: str
    text: str
    file: Path | None = None

    @staticmethod
    def read(path: Path) -> Policy:
        """Read a policy file, as ``fairweir guard run --config`` does.

        Raises
        ------
        ConfigError : the file cannot be read, or is not TOML
        """
        try:
            text = path.read_text(encoding="utf-8")
            tomllib.loads(text)
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read the policies: {error}", source=str(path)) from None
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"not TOML: {error}", source=str(path)) from None
        return Policy(path.stem, text, path.resolve())

    @cached_property
    def forest(self) -> Path | None:
        """Path of the flow policy's forest, which the policy file names relative to its own folder;

        None without a forest.
        """
        flow = tomllib.loads(self.text).get("flow", {})
        model = flow.get("model") if isinstance(flow, dict) else None
        return self.file.parent / model if self.file is not None and isinstance(model, str) else None

    @cached_property
    def trees(self) -> str | None:
        """The forest (JSON); None without a forest.

        Raises
        ------
        ConfigError : the forest cannot be read
        """
        if self.forest is None:
            return None
        try:
            return self.forest.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            hint = "fairweir guard train --out FILE writes one"
            raise ConfigError(
                f"cannot read the forest: {error}", source=str(self.file), key="flow.model", hint=hint
            ) from None

    @cached_property
    def digest(self) -> str:
        """A hash of the policies and the forest."""
        return hashlib.sha256(json.dumps([self.text, self.trees]).encode()).hexdigest()

    def trained_on(self) -> frozenset[Network] | None:
        """Return the networks on which the forest was trained; None if its file has no record."""
        if self.trees is None:
            return frozenset()
        try:
            return learnt(json.loads(self.trees)["trained_on"])
        except (ValueError, KeyError, TypeError):
            return None


@dataclass(frozen=True)
class Treatment:
    """Policies and the flows to which they apply.

    Attributes
    ----------
    policy : None if there is no guard
    """

    policy: Policy | None = None
    deployment: Deployment = "all"

    @property
    def name(self) -> str:
        """Name in tables."""
        if self.policy is None:
            return WITHOUT
        return self.policy.name if self.deployment == "all" else f"{self.policy.name}, {self.deployment} only"

    @property
    def is_real(self) -> bool:
        """Whether the kernel world supports it: all receivers have guards, and these know only what they observe."""
        knows_fair_share = self.policy is not None and self.policy.text == FAIR_SHARE
        return self.deployment == "all" and not knows_fair_share

    def published(self, challenge: Challenge) -> Published:
        """Return the report's claim about this treatment."""
        return challenge.published[self.deployment]


def treatments(challenge: str, policies: Sequence[Policy], world: TcpWorld) -> list[Treatment]:
    """Return the treatments of `challenge`; the first has no guard.

    Parameters
    ----------
    policies : the user's policies, in addition to the challenge's policy

    Raises
    ------
    ConfigError : the kernel world supports none of the treatments
    """
    rules = CHALLENGES[challenge]
    own = Policy(PERFECT if rules.policy == FAIR_SHARE else OWN, rules.policy)
    held = [Treatment(policy, one) for policy in [own, *policies] for one in rules.published]
    if world == "kernel":
        held = [one for one in held if one.is_real]
    if not held:
        hint = 'use --policy FILE with [flow] and model = "FOREST.json" (fairweir guard train)'
        raise ConfigError(f"`{challenge}` has no default policy on the kernel", hint=hint)
    return [Treatment(), *held]
