"""Claims about the traces of a network model, and the syntax of claims on the command line.

A trace is the value of each curve, such as bytes sent, at each sample point. A claim is a bound on a property, a
comparison of quantities at sample points, the synthesis invariant, or a combination of claims. The synthesis invariant
is the condition that each trace of a candidate algorithm must satisfy.
"""
