"""What a sender can know of the network, computed from what it sees: one file a family (thesis section 4.1.1).

Each family's ``attach`` makes a flow's beliefs at every point, binds them to its curves, and puts them into
``flow.beliefs``. A belief is sound when no trace of the model leaves it; that is asked in
:mod:`fairweir.formal.beliefs.soundness`.
"""

from fairweir.formal.beliefs.choices import Expiry, Family, Resolution, Start, Terms

__all__ = ["Expiry", "Family", "Resolution", "Start", "Terms"]
