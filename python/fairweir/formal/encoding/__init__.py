"""Questions about senders and a network as constraints for solvers.

A system is one question: variables for what each flow sends and what the network serves, loses and delays at each
sample point, and constraints on these variables. A trace is an answer: a value of each variable. The modules define the
sample points, systems, traces, properties of traces, and rules (congestion control algorithms).
"""
