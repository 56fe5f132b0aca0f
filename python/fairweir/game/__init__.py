"""Decision synthesis (Syntra, thesis section 4.5): find the decision tree of a sender, and prove claims about the tree.

A sender's *belief set* is the set of all links that can explain the sender's observations. A search finds good actions
against the worst link of the belief set. A small decision tree is fitted to the search's decisions. Then claims about
the tree are proved.
"""
