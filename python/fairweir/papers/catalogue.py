"""The computed entries of ``fairweir reproduce``, without scenario."""

from __future__ import annotations

from typing import Final

from fairweir.reproduce.computed import Computed

_TABLE_1: Final = "the report's table 1, 30 configurations, 100 s, in the simulator; "
_TOLD: Final = f"{_TABLE_1}the classifier knows the link's rate and the number of flows: the most that one could do"
_VIDEO: Final = (
    "the numbers of table and figure are not at hand, nor which system each statement is about: delay is compared with "
    "WebRTC's GCC, SSIM with Salsify. Generated talking head, x264 tables of frames, metrics at the receiver for every "
    "system; `published` is the published tree once a step, `rules` decides at every frame"
)

COMPUTED: Final = (
    Computed(
        id="thesis-table-4.2",
        title="cc_probe_slow at rest on two paths that look alike to it",
        source="thesis table 4.2, section 4.2.2",
        published="a cycle of probe, drain, drain loses alpha on both paths, uses all of the slow one and T*/(T* + D) "
        "of the fast one",
        setup="R = D = T*, alpha = C_L,lambda R/100; exact fractions",
        home="fairweir.papers.thesis.probe_slow:two_paths",
    ),
    Computed(
        id="thesis-4.4",
        title="Loss buys convergence: F^-1, and cc_probe_slow_k compared with it",
        source="thesis figure 4.4, theorem 4.2.1, section 4.2.2.1",
        published="on a CBR-delay link with a buffer of at most C D no CCA finds the link's rate before F^-1(C) round "
        "trips: C - C_0 if it may lose a constant, log(C/C_0) if it may lose in proportion; cc_probe_slow shows that "
        "this is tight",
        setup="curves from 1 packet per R, beta_s = R; in the simulator R = D = 40 ms, beta_s = R/2, from a gate of 12 "
        "Mbps that opens at 20 s to a link of 24 to 192 Mbps; converged at 90 % of what it gets in the end; what a "
        "probe may lose is 2 f",
        home="fairweir.papers.thesis.frontier:tradeoff",
    ),
    Computed(
        id="thesis-6.2",
        title="Noise, intercepts and shifts: what shape makes of a contract",
        source="thesis figure 6.2, sections 6.2 and 6.3",
        published="by 1/s the same noise costs more the faster the link; by a linear contract the more the nearer the "
        "delay is to its intercept; a shift makes rates on the parking lot more unequal",
        setup="algebra, without units: as the figure, which has none",
        home="fairweir.papers.thesis.shapes:shapes",
    ),
    Computed(
        id="thesis-6.6",
        title="Robustness, unfairness and growth: contracts against packets",
        source="thesis figures 6.6 and C.1, section 6.5",
        published="packets match what contracts say; Swift is slightly worse than 1/s^2, Vegas the same as 1/s",
        setup="100 Gbps, rtprop 12 us, S_min 1.2 us, unlimited buffers, rtprop known; packets of 4 KB as published and "
        "of 256 B. Grey: the exact fixed points. 1/sqrt(s) goes half of each step; Vegas counts in us, and is played a "
        "thousand times slower. Noise, hops and flows are our choice: the figure has no table",
        home="fairweir.papers.thesis.against_packets:against_packets",
    ),
    Computed(
        id="thesis-table-6.1",
        title="Rates under notions of fairness on the parking lot",
        source="thesis table 6.1",
        published="two hops: r_0 is 0, 1/3, sqrt(2) - 1 and 1/2 for alpha 0, 1, 2 and infinity",
        setup="algebra; contracts s^(-1/alpha) as in figure 6.6, packets of 256 B; Vegas there; Reno at 50 Mbps and "
        "50 ms, RED at each hop",
        home="fairweir.papers.thesis.alpha_fair:table",
    ),
    Computed(
        id="thesis-7.4",
        title="A probe must be larger than what jitter hides",
        source="thesis figure 7.4, FRCC paper figure 7",
        published="a small range of excess delays is a large range of capacities; for C = 600 only the largest three "
        "probes create more than Delta R of excess delay",
        setup="Delta R = 1, probes of a quarter to eight times C Delta R (the figure's are not told)",
        home="fairweir.papers.thesis.probes:probe_sizes",
    ),
    Computed(
        id="thesis-7.6",
        title="Packet trains may not measure the link's capacity",
        source="thesis figure 7.6, FRCC paper figure 9",
        published="the immediate excess delay is more than the probe's transmission delay if another hop is passed "
        "first, and subsides when packets are ACK-clocked",
        setup="windows of 100 packets, a probe of 40; 12 Mbps, rtprop 40 ms; the other hop is as fast",
        home="fairweir.papers.thesis.probes:trains",
    ),
    Computed(
        id="thesis-7.7",
        title="Probes oscillate where rtprops differ",
        source="thesis figure 7.7, FRCC paper figure 10",
        published="RTTs swing after a probe and dampen over time; the excess delay without oscillations is not the "
        "probe's transmission delay",
        setup="as thesis-7.6, with rtprops of 20 and 100 ms; at rest windows W_i at rates W_i/(R_i + q) that sum to C",
        home="fairweir.papers.thesis.probes:oscillations",
    ),
    Computed(
        id="thesis-7.8",
        title="Paced probes oscillate less",
        source="thesis figure 7.8, FRCC paper figure 11",
        published="pacing a probe over an RTT reduces the oscillations, whether the short flow probes or the long one",
        setup="as thesis-7.7",
        home="fairweir.papers.thesis.probes:paced",
    ),
    Computed(
        id="thesis-7.9",
        title="Throughput over RTT-aligned intervals",
        source="thesis figure 7.9, FRCC paper figure 24",
        published="over intervals that are not aligned it is anything from 0 to C, over an RTT it is cwnd/RTT",
        setup="two flows of 100 packets whose first windows leave as bursts; 12 Mbps, rtprop 100 ms, no jitter",
        home="fairweir.papers.thesis.probes:aligned_intervals",
    ),
    Computed(
        id="thesis-table-6.2",
        title="CCAs in the space of trade-offs",
        source="thesis table 6.2",
        published="closed forms of robustness, unfairness, growth and generality for nine contracts",
        setup="s from 0.5 to 100 ms, noise 0.5 ms, 3 hops, 4 flows, decay 10 ms, intercepts at 100.1 ms; metrics by "
        "search from their definitions. AIMD on delay is figure 6.3",
        home="fairweir.papers.thesis.table_6_2:table",
    ),
    Computed(
        id="thesis-7.12",
        title="FRCC's phase portraits on the ideal link",
        source="thesis figure 7.12, FRCC paper figure 14",
        published="without collisions the state goes to N_C = N_T = 2; in every overlap N_T goes to 1, and a partial "
        "overlap moves the link from the flow that measures both probes to the other",
        setup="main cwnd update, R = 1, theta = 0.2, no clamps; grid of 24 x 24 states, N_C in (1, 4], N_T in [0.5, 4]",
        home="fairweir.papers.thesis.portraits:ideal_link",
    ),
    Computed(
        id="thesis-7.13",
        title="FRCC's region on the jittery link",
        source="thesis figure 7.13, FRCC paper figure 15",
        published="two flows go to N_C at most 6.6 and N_T in [0.15, 3.3], whatever jitter does, and stay there",
        setup="alternate cwnd update, gamma 4, clamps 0.8 and 1.3, gamma_R 2, theta = Delta_R, R < 2 theta; worst "
        "jitter at each state of a grid. gamma_R as proved (throughputs taken for more) and as stated (for less)",
        home="fairweir.papers.thesis.region:jittery_link",
    ),
    Computed(
        id="thesis-7.14",
        title="FRCC's colliding probes, packet by packet",
        source="thesis figure 7.14 and section 7.5.4, FRCC paper figure 16",
        published="a probe that measures another one's delay takes the link for slower than it is: N_T goes to 1, and "
        "the flow that meets more probes yields",
        setup="48 Mbps; two flows of 50 ms, 600 s; parking lot of 3 hops of 10 ms, 1200 s; slots of a round fixed",
        home="fairweir.papers.thesis.overlaps:overlaps",
    ),
    Computed(
        id="thesis-7.16",
        title="FRCC's throughput ratios with different RTTs and over several bottlenecks",
        source="thesis figure 7.16 and section D.4, FRCC paper figure 18",
        published="between 1 and the RTT ratio; between hops and hops squared; larger probes give smaller ratios",
        setup="the figure's equations, then rounds of the fluid model and 48 Mbps packet by packet with theta = 10 ms, "
        "gamma D = 40 ms. The figure's probe is N_T gamma D by RTT; its parking lot gives long and short flows one RTT",
        home="fairweir.papers.thesis.ratios:ratios",
    ),
    Computed(
        id="thesis-theorem-7.5.1",
        title="FRCC is fair on the ideal link",
        source="thesis theorem 7.5.1, FRCC paper theorem 6.1",
        published="every flow's rate goes to C/N_G, and its RTT to R + theta N_G",
        setup="derived by sympy from the cwnd update for any number of flows; inequalities by z3 and yices",
        home="fairweir.papers.thesis.theorems:theorem_7_5_1",
    ),
    Computed(
        id="thesis-theorem-7.5.2",
        title="FRCC bounds the throughput ratio of two flows on the jittery link",
        source="thesis theorem 7.5.2, FRCC paper theorem 6.2",
        published="at most 6.6 (alternate update, theta N_G > R)",
        setup="lemmas C.6 to C.8 by z3 and yices, each refutation played exactly; every step: fairweir prove frcc",
        home="fairweir.papers.thesis.theorems:theorem_7_5_2",
    ),
    Computed(
        id="starvation-figure-3",
        title="How CCAs map delay to rate",
        source="starvation paper, figure 3, section 5",
        published="one flow alone stays within [Rm + alpha/C, + 4 alpha/C] (Copa), [Rm, 1.25 Rm] (BBR, pacing), "
        "[Rm, 1.05 Rm] (Vivace), and at one delay (Vegas, FAST, BBR limited by cwnd)",
        setup="ideal links of 1 to 100 Mbps, Rm = 40 ms; the range of the last half of 100 s",
        home="fairweir.papers.starvation:figure_3",
    ),
    Computed(
        id="starvation-theorem-1",
        title="Delay-convergent CCAs starve: constructed, played, certified",
        source="starvation paper, theorem 1, appendix A",
        published="with jitter of any D above 2 delta_max some network gives one of two flows s times the other's "
        "throughput, whatever s",
        setup="s = 10, Rm = 40 ms, rates up to 100 Mbps; the shared queue empty (case 2) and standing (case 1)",
        home="fairweir.papers.starvation:theorem_1",
    ),
    Computed(
        id="starvation-theorem-2",
        title="Under-utilization without bound",
        source="starvation paper, theorem 2, section 6.1",
        published="a CCA whose delay on some ideal link stays below D can leave any faster link idle",
        setup="a link of 9 Mbps shown by jitter on links of 10, 100 and 1000 times the rate; D = 1.5 (d_max - Rm)",
        home="fairweir.papers.starvation:theorem_2",
    ),
    Computed(
        id="starvation-theorem-3",
        title="In the strong model no CCA that bounds delay escapes starvation",
        source="starvation paper, theorem 3, section 6.5, appendix B",
        published="of the traces with delays max(0, d - D) two consecutive ones differ in throughput by more than s",
        setup="s = 10, Rm = 40 ms; d_1 recorded on 10 Mbps, played on 1 Gbps; 40 s. aimd_delay does not "
        "converge. Appendix B calls d_1's largest D, and then needs one step; here D is jitter's",
        home="fairweir.papers.starvation:theorem_3",
    ),
    Computed(
        id="wcc-figure-3",
        title="Limit cycles of the weighted fluid models are stable",
        source="WCC paper, figure 3, lemma 1, theorem 1",
        published="the spectral radius of the Poincare map's matrix is always below 1",
        setup="weights 1 to 5, wbar = 5 as published, and 7, 10, 20; the matrix as published, and the exact derivative "
        "of the return map",
        home="fairweir.papers.wcc:spectral_radius",
    ),
    Computed(
        id="wcc-figure-4",
        title="Throughput ratio of two weighted flows in the fluid models",
        source="WCC paper, figure 4, observations 1 and 2",
        published="sqrt(a1/a2) at the threshold; for large wbar a1/a2 (WCC-AI) and 1 (WCC-MD)",
        setup="weights 2 and 1; a queue that never empties, and psi = 1, where it does",
        home="fairweir.papers.wcc:throughput_ratio",
    ),
    Computed(
        id="wcc-observations",
        title="Limits of weighted flows, fluid and packets at equal wbar",
        source="WCC paper, observations 1 to 4",
        published="for large wbar throughputs go to a1 : a2 : ... (WCC-AI), and to 1 (WCC-MD)",
        setup="weights 2 and 1, and 1 to 5; psi = 1; packets on the same link, ACKs delayed by up to one packet time "
        "(losses at the same instants) and four (a common loss rate); 3 runs",
        home="fairweir.papers.wcc:beside_packets",
    ),
    Computed(
        id="wcc-figure-5",
        title="Windows over time in the fluid model of WCC-AI",
        source="WCC paper, figure 5",
        published="a fixed point up to wbar = 2 + sqrt(2), a limit cycle beyond",
        setup="weights 2 and 1",
        home="fairweir.papers.wcc:windows_ai",
    ),
    Computed(
        id="wcc-figure-6",
        title="Windows over time in the fluid model of WCC-MD",
        source="WCC paper, figure 6",
        published="a fixed point up to wbar = 2/sqrt(3) + sqrt(2), a limit cycle beyond",
        setup="weights 2 and 1",
        home="fairweir.papers.wcc:windows_md",
    ),
    Computed(
        id="ratemon-figure-7",
        title="A service of many flows against one of one",
        source="cooperative rate control report, figure 7, section 6.1.1",
        published="ServicePolicy: median JFI between services +23.9 %, utilisation as it was at the median",
        setup=f"{_TABLE_1}policy `service`",
        home="fairweir.papers.ratemon:figure_7",
    ),
    Computed(
        id="ratemon-figure-8",
        title="Cubic among Reno flows",
        source="cooperative rate control report, figure 8, section 6.1.2",
        published="FlowPolicy: median JFI +32.7 %",
        setup=_TOLD,
        home="fairweir.papers.ratemon:figure_8",
    ),
    Computed(
        id="ratemon-figure-9",
        title="Cubic among Vegas flows",
        source="cooperative rate control report, figure 9, section 6.1.3",
        published="FlowPolicy: median JFI +220.8 %",
        setup=_TOLD,
        home="fairweir.papers.ratemon:figure_9",
    ),
    Computed(
        id="ratemon-figure-10",
        title="BBR among Cubic flows",
        source="cooperative rate control report, figure 10, section 6.2.1",
        published="FlowPolicy: median JFI 0.51 to 0.94; BBR's median part of the link 48.4 % to 12.9 %, 14.3 % is fair",
        setup=_TOLD,
        home="fairweir.papers.ratemon:figure_10",
    ),
    Computed(
        id="ratemon-figure-11",
        title="Many flows of each of Linux's CCAs against one of Cubic",
        source="cooperative rate control report, figure 11, section 6.2.2",
        published="JFI gains with all of them, also those that the model was not trained on",
        setup=_TOLD,
        home="fairweir.papers.ratemon:figure_11",
    ),
    Computed(
        id="ratemon-figure-12",
        title="HighSpeed among Cubic flows",
        source="cooperative rate control report, figure 12, section 6.2.2",
        published="HighSpeed claims less than Cubic; with FlowPolicy it has its fair share, 2.1 times what it had",
        setup=_TOLD,
        home="fairweir.papers.ratemon:figure_12",
    ),
    Computed(
        id="ratemon-table-2",
        title="Guards at some receivers only",
        source="cooperative rate control report, table 2, section 6.2.5",
        published="median JFI 0.68 without, 0.66 if incumbents alone are guarded, 0.84 if the newcomer is, 0.87 all",
        setup=_TOLD,
        home="fairweir.papers.ratemon:table_2",
    ),
    Computed(
        id="ratemon-6.2.4",
        title="Flows that applications limit",
        source="cooperative rate control report, section 6.2.4",
        published="no change if all are limited, JFI stays 0.93 if the newcomer is, 0.40 to 0.57 if the incumbents are",
        setup=_TOLD,
        home="fairweir.papers.ratemon:limited_flows",
    ),
    Computed(
        id="syntra-figure-beliefs",
        title="Belief sets by quantifier elimination",
        source="thesis section 4.5, insight 1 (Syntra)",
        published="the formulas of projections of belief sets are exponentially larger than the network model",
        setup="z3's qe2 on windows of 2 to 4 points whose losses are all visible; C and B of 1 to 200 packets; held to "
        "exact bounds in random windows. The published code is for up to 6 points, and not at hand",
        home="fairweir.game.elimination:figure",
    ),
    Computed(
        id="syntra-table-1",
        title="Video on a fixed, a varying, an aggregating and a shallow link",
        source="Syntra, table 1 (public abstract and artifact)",
        published="p95 of delay more than 6 times smaller, median SSIM more than 2 dB higher, frame rate higher",
        setup=f"{_VIDEO}; 3 minutes of each link",
        home="fairweir.video.published:table_1",
    ),
    Computed(
        id="syntra-figure-4",
        title="Video on cellular links",
        source="Syntra, figure 4 (public abstract and artifact)",
        published="p95 of delay more than 6 times smaller, median SSIM more than 2 dB higher, frame rate higher",
        setup=f"{_VIDEO}; 10 minutes of each link. FAIRWEIR_MAHIMAHI=DIR plays mahimahi's AT&T-LTE, T-Mobile-UMTS and "
        "Verizon-LTE traces of that directory; without it links with a random rate and outages stand in for them",
        home="fairweir.video.published:figure_4",
    ),
)
"""The computed entries, in the order of ``--list``."""
