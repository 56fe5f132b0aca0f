"""FRCC's theorems: maps over rounds, lemmas, fixed points (FRCC paper section 6, appendices C, D; thesis section 7.5).

FRCC's analysis has a state of its own and does not use the network models of :mod:`fairweir.formal`. The state is

=========  ==========================================================================================
N_C        link rate divided by a flow's throughput; 1/N_C is the flow's share of the link
N_T        queueing delay divided by theta: the number of flows that the delay implies
N_G        true number of flows
R          propagation delay (rtprop); theta: queueing delay per flow; both in the same unit of time
gamma      size of a probe: it adds gamma N_T throughput D packets; D: tolerated jitter, a time
gamma_R    largest multiplicative error of a throughput; Delta_R: largest error of a difference of RTTs
delta_H    clamp of an increase, delta_L of a decrease (as its inverse)
=========  ==========================================================================================

In one round every flow updates its cwnd once.
"""
