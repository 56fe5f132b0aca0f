"""Checks of FRCC's theorems by algebra and by solvers (FRCC paper section 6, appendices C, D; thesis section 7.5).

FRCC is a CCA whose flows share a link fairly although jitter disturbs their measurements. In one round, every flow
sends a probe (packets that lengthen the queue for a short time), estimates N_C and N_T, and updates its cwnd once. The
analysis does not use the network models of :mod:`fairweir.formal`. Its symbols are:

=========  ==========================================================================================
N_C        link rate divided by a flow's throughput; 1/N_C is the flow's share of the link
N_T        queueing delay divided by theta: the number of flows that the delay implies
N_G        true number of flows
R          round-trip propagation delay (rtprop)
theta      queueing delay that each flow adds if the link is shared fairly
D          jitter that FRCC is configured to tolerate, a time
gamma      size of a probe: a probe adds gamma times N_T times throughput times D to the bytes in flight
gamma_R    maximum factor by which a measured throughput is wrong
Delta_R    maximum error of a difference of two RTTs
delta_H    maximum of new cwnd divided by old cwnd in one round
delta_L    maximum of old cwnd divided by new cwnd in one round
=========  ==========================================================================================
"""
