"""FRCC's theorems: maps over rounds, lemmas, fixed points (FRCC paper section 6, appendices C, D; thesis section 7.5).

Not on the network models of :mod:`fairweir.formal`: FRCC's analysis has its own state. A round takes the state

=========  ==========================================================================================
N_C        of a flow, the link rate by the flow's throughput: 1/N_C is its share of the link
N_T        queueing delay by theta: the flow count implied by the delay
N_G        how many flows there are
R          propagation delay (rtprop); theta: queueing delay a flow; both in the same unit of time
gamma      size of a probe: it adds gamma N_T throughput D packets; D: jitter it should stand, a time
gamma_R    largest multiplicative error of a throughput; Delta_R: largest error of a difference of RTTs
delta_H    clamp of an increase, delta_L of a decrease (as its inverse)
=========  ==========================================================================================

to that after every flow has updated its cwnd once.
"""
