"""Beliefs: what a sender can infer about the network from its observations; one file per family (thesis section 4.1.1).

Each family's ``attach`` creates a flow's beliefs at every point, constrains them by its curves, and adds them to
``flow.beliefs``. A belief is sound if no trace of the model violates it;
:mod:`fairweir.formal.beliefs.soundness` checks this.
"""

from fairweir.formal.beliefs.choices import Expiry, Resolution, Start, Terms

__all__ = ["Expiry", "Resolution", "Start", "Terms"]
