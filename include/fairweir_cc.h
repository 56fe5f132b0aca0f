/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * fairweir_cc.h: a congestion controller as a shared library, for `fairweir audit ./libmine.so`.
 *
 * A plug-in exports one function, fairweir_cc_v1(), which returns a table of functions. For each flow fairweir calls
 * create(), then the events of the connection in time order, then destroy(). After each event it calls decide() and
 * applies the result to the flow's transport.
 *
 * Units: bytes; nanoseconds since the start of the run; bytes per second. All packets of a flow have the same size
 * (mss) and are numbered from 0; a retransmission keeps the number of its packet.
 *
 * Rules. A run must be repeatable: read no clock, and draw random numbers only from a generator that is seeded with
 * fw_cc_start.seed. Keep the state of a flow in what create() returns: several flows run in turn in one thread.
 * Pointers that fairweir passes are valid during the call only. A plug-in runs in a process of its own: a crash or an
 * endless loop ends one run, with an error that names the plug-in.
 */
#ifndef FAIRWEIR_CC_H
#define FAIRWEIR_CC_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. A library for another version is rejected. */
#define FW_CC_ABI 1
/* A time, a duration or a packet number that does not exist. */
#define FW_CC_NONE UINT64_MAX

/* Units of a parameter, fw_cc_param.unit. In scenario files, times and rates are written with their unit ("10ms"). */
enum {
	FW_CC_NUMBER = 0,  /* any number */
	FW_CC_INTEGER = 1, /* a whole number, not negative */
	FW_CC_FLAG = 2,    /* 0 or 1 */
	FW_CC_TIME = 3,    /* ns */
	FW_CC_RATE = 4,    /* bytes per second */
};

struct fw_cc_param {
	const char *name; /* lower case with underscores */
	const char *doc;  /* one line */
	uint64_t unit;    /* FW_CC_NUMBER ... */
	double def;       /* default; min <= def <= max */
	double min;
	double max;
};

/* Facts known when a flow starts. */
struct fw_cc_start {
	uint64_t mss;           /* size of a packet */
	uint64_t initial_cwnd;
	uint64_t seed;          /* for random choices; differs between flows */
	uint64_t oracle_rtprop; /* the path's propagation delay if the scenario discloses it, or FW_CC_NONE */
	const double *params;   /* a value for each row of fw_cc.params, in its order */
};

/* States of loss recovery, fw_cc_conn.state, with the numbers of Linux (enum tcp_ca_state). */
enum { FW_CC_OPEN = 0, FW_CC_DISORDER = 1, FW_CC_CWR = 2, FW_CC_RECOVERY = 3, FW_CC_LOSS = 4 };

/* The state of the connection, after the transport has processed the event. */
struct fw_cc_conn {
	uint64_t now;
	uint64_t mss;
	uint64_t first_unacked;   /* number of the first packet that is not cumulatively acknowledged */
	uint64_t next_packet;     /* number of the next new packet */
	uint64_t inflight;        /* bytes sent that are neither delivered nor declared lost */
	uint64_t sacked;          /* bytes delivered above first_unacked */
	uint64_t lost_out;        /* bytes declared lost and not delivered since */
	uint64_t retrans_out;     /* bytes retransmitted and not yet acknowledged */
	uint64_t delivered;       /* bytes delivered since the start */
	uint64_t delivered_ce;    /* of these, bytes with an ECN mark (congestion experienced) */
	uint64_t lost;            /* bytes declared lost since the start */
	uint64_t srtt;            /* smoothed RTT (RFC 6298), 0 before the first sample */
	uint64_t rttvar;
	uint64_t min_rtt;         /* FW_CC_NONE before the first sample */
	uint32_t state;           /* FW_CC_OPEN ... */
	uint32_t cwnd_limited;    /* 1 if cwnd, not the application or pacing, limited the last round trip */
};

/* A packet was sent. */
struct fw_cc_sent {
	uint64_t packet;
	uint64_t retransmission; /* 1 if it was sent before */
};

/* A packet was delivered. Called for each packet of an ACK, before on_ack(). */
struct fw_cc_acked_packet {
	uint64_t packet;
	uint64_t sent_at;       /* time of its last transmission */
	uint64_t retransmitted; /* 1 if it was sent more than once: its RTT is ambiguous */
	uint64_t app_limited;   /* 1 if, just before this ACK, cwnd had room and the application had nothing to send */
};

/* A packet was declared lost. */
struct fw_cc_lost_packet {
	uint64_t packet;
	uint64_t sent_at; /* time of its last transmission */
};

/* An ACK. Also for an ACK that delivers nothing but lets packets be declared lost. */
struct fw_cc_ack {
	uint64_t acked;          /* bytes newly delivered */
	uint64_t cum_acked;      /* bytes by which the cumulative acknowledgement advanced */
	uint64_t lost;           /* bytes newly declared lost */
	uint64_t marked;         /* bytes newly delivered with an ECN mark */
	uint64_t prior_inflight; /* bytes in flight before this ACK */
	uint64_t rtt;            /* RTT of the newest packet acknowledged, or FW_CC_NONE if it was retransmitted */
	uint64_t newest_packet;  /* the newest packet newly acknowledged, or FW_CC_NONE */
	uint64_t newest_sent_at;
	/* A sample of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation), if FW_CC_WANTS_RATE. */
	uint64_t rate_delivered;       /* bytes delivered in rate_interval; 0: no sample */
	uint64_t rate_interval;        /* ns; 0: no sample */
	uint64_t rate_prior_delivered; /* fw_cc_conn.delivered when the newest acknowledged packet was sent */
	uint64_t rate_app_limited;     /* 1 if the sample was taken while the application limited the sender */
};

/* Causes of a congestion event. */
enum {
	FW_CC_LOST = 0,       /* packets declared lost */
	FW_CC_MARKED = 1,     /* an ECN mark */
	FW_CC_TIMEOUT = 2,    /* TCP's retransmission timeout */
	FW_CC_PERSISTENT = 3, /* persistent congestion (RFC 9002, section 7.6), with FW_CC_WANTS_QUIC */
};

/* A congestion event: once for each recovery episode, and at most once per round trip for marks. With FW_CC_WANTS_QUIC it
 * follows each batch of losses and each ACK that reports marks; the controller decides which belong to one episode. */
struct fw_cc_congestion {
	uint64_t cause;          /* FW_CC_LOST ... */
	uint64_t prior_inflight; /* bytes in flight before the loss was declared */
	uint64_t repeated;       /* 1 for a timeout that leaves ssthresh: it has been reduced for these losses */
};

struct fw_cc_decision {
	uint64_t cwnd;        /* not 0; less than a packet counts as one packet */
	uint64_t pacing_rate; /* 0: packets leave as soon as cwnd permits */
	uint64_t ssthresh;    /* slow-start threshold, which FW_CC_WANTS_PRR aims at, or FW_CC_NONE */
};

/* Optional calls and services, fw_cc.wants: each costs time when it is on. */
enum {
	FW_CC_WANTS_SENT = 1 << 0,   /* on_sent */
	FW_CC_WANTS_ACKED = 1 << 1,  /* on_packet_acked */
	FW_CC_WANTS_LOST = 1 << 2,   /* on_packet_lost */
	FW_CC_WANTS_RATE = 1 << 3,   /* fw_cc_ack.rate_... */
	FW_CC_WANTS_MARKS = 1 << 4,  /* the controller reacts to fw_cc_ack.marked itself: no FW_CC_MARKED events */
	FW_CC_WANTS_PRR = 1 << 5,    /* the transport sends by proportional rate reduction (RFC 6937) in recovery */
	FW_CC_WANTS_QUIC = 1 << 6,   /* QUIC's loss recovery (RFC 9002) in place of TCP's: no FW_CC_TIMEOUT */
	FW_CC_WANTS_EXACT_MARKS = 1 << 7, /* the receiver acknowledges each change of marks at once (RFC 8257, section 3.2) */
	FW_CC_WANTS_L4S = 1 << 8,    /* data packets of a flow with ECN carry ECT(1) (RFC 9331, section 4) */
};

struct fw_cc {
	uint32_t abi;        /* FW_CC_ABI */
	uint32_t size;       /* sizeof(struct fw_cc) */
	const char *name;    /* for reports, such as "mine" */
	const char *version; /* for reports, such as "1.2.0" */
	const struct fw_cc_param *params;
	uint64_t param_count;
	uint64_t wants; /* FW_CC_WANTS_... */

	/* Required. create() returns the state of a flow; NULL ends the run with an error. */
	void *(*create)(const struct fw_cc_start *start);
	void (*destroy)(void *flow);
	void (*on_ack)(void *flow, const struct fw_cc_conn *conn, const struct fw_cc_ack *ack);
	void (*on_congestion)(void *flow, const struct fw_cc_conn *conn, const struct fw_cc_congestion *event);
	void (*decide)(const void *flow, struct fw_cc_decision *decision);

	/* NULL where fw_cc.wants does not ask for the call. */
	void (*on_sent)(void *flow, const struct fw_cc_conn *conn, const struct fw_cc_sent *sent);
	void (*on_packet_acked)(void *flow, const struct fw_cc_conn *conn, const struct fw_cc_acked_packet *acked);
	void (*on_packet_lost)(void *flow, const struct fw_cc_conn *conn, const struct fw_cc_lost_packet *lost);

	/* Optional, may be NULL. */
	void (*on_recovered)(void *flow, const struct fw_cc_conn *conn); /* all that was sent before the event is acknowledged */
	/* A message that ends the run as an error, or NULL. Called after each event. */
	const char *(*fault)(const void *flow);
	/* Named internal variables for time series: names, each a valid C string, then their values. */
	const char *const *telemetry_names;
	uint64_t telemetry_count;
	void (*telemetry)(const void *flow, double *values);
};

/* Exported by the plug-in. The table and all it points to must stay valid until the process ends. */
const struct fw_cc *fairweir_cc_v1(void);

#ifdef __cplusplus
}
#endif
#endif
