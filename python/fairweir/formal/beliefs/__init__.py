"""Beliefs for solvers: the bounds on the network that a sender infers from what it observes (thesis section 4.1.1).

A family is a group of beliefs that are computed together; each family has one file. A family's ``attach`` creates a
variable for each of a flow's beliefs at each sample point, adds constraints between these variables and the flow's
curves (such as bytes sent and served), and adds the variables to ``flow.beliefs``. A belief is sound on a network model
if the bound is true in each trace of the model; :mod:`fairweir.formal.beliefs.soundness` checks this.

A trace is the behavior of a network and its flows: the value of each curve at each sample point.
"""

from fairweir.formal.beliefs.choices import Expiry, Resolution, Start, Terms

__all__ = ["Expiry", "Resolution", "Start", "Terms"]
