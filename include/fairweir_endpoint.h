/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * fairweir_endpoint.h: a whole transport stack as a shared library, for `fairweir run SCENARIO --on quic` with
 * `cca = "./libmine.so"`.
 *
 * A plug-in exports one function, fairweir_endpoint_v1(), which returns a table of functions. For each flow fairweir calls
 * create() twice, for the sender and for the receiver, then the events of each end in time order, then destroy(). The two
 * ends exchange UDP payloads of any content over the scenario's path. They run in virtual time: the stack gets the time with
 * every call and must not read a clock.
 *
 * After receive() and timeout() fairweir calls send() until it writes no datagram, then deadline().
 *
 * Units: bytes; nanoseconds since the start of the run; bytes per second.
 *
 * Rules. A run must be repeatable: draw random numbers only from a generator that is seeded with
 * fw_endpoint_start.seed. Keep the state of an end in what create() returns: all ends of a run are in one thread. Pointers that
 * fairweir passes are valid during the call only. The plug-in runs in a process of its own: a crash or an endless loop ends one
 * run with an error.
 */
#ifndef FAIRWEIR_ENDPOINT_H
#define FAIRWEIR_ENDPOINT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this interface. A library for another version is rejected. */
#define FW_ENDPOINT_ABI 1
/* A time, a rate or a limit that does not exist. */
#define FW_ENDPOINT_NONE UINT64_MAX

/* Roles of an end, fw_endpoint_start.role. */
enum { FW_ENDPOINT_SENDER = 0, FW_ENDPOINT_RECEIVER = 1 };

/* The ECN field of a datagram. Packets are ECN-capable only in flows with `ecn = true`. */
enum { FW_ENDPOINT_NOT_ECT = 0, FW_ENDPOINT_ECT = 1, FW_ENDPOINT_CE = 2 };

/* Facts known when an end is created. */
struct fw_endpoint_start {
	uint64_t role;         /* FW_ENDPOINT_SENDER ... */
	uint64_t seed;         /* for random choices; differs between ends */
	uint64_t max_payload;  /* largest UDP payload */
	uint64_t initial_cwnd;
	uint64_t recv_window;  /* the receiver's flow-control limit, or FW_ENDPOINT_NONE */
	uint64_t ack_every;    /* data packets per ACK that the scenario asks for; 1: the stack's own rule */
};

/* A datagram that send() writes. */
struct fw_endpoint_datagram {
	uint8_t *payload;   /* room for `capacity` bytes */
	uint64_t capacity;  /* max_payload */
	uint64_t length;    /* set by send(): bytes written */
	uint64_t ecn;       /* set by send(): FW_ENDPOINT_NOT_ECT (default) or FW_ENDPOINT_ECT */
	uint64_t depart_at; /* set by send(): time at which it leaves the host; at once if that has passed (default) */
};

/* Numbers that only the stack has. */
struct fw_endpoint_state {
	uint64_t cwnd;
	uint64_t inflight;    /* bytes in flight, as congestion control counts them */
	uint64_t pacing_rate; /* FW_ENDPOINT_NONE: not paced */
	uint64_t lost;        /* packets declared lost */
	uint64_t timeouts;    /* times that all packets in flight were declared lost */
	uint64_t sent_bytes;  /* sender: new application data that was sent, without retransmissions */
	uint64_t acked_bytes; /* sender: application data that was acknowledged */
	uint64_t read_bytes;  /* receiver: application data that arrived, in order */
	uint64_t established; /* 1 after the handshake, if there is one */
};

struct fw_endpoint {
	uint32_t abi;  /* FW_ENDPOINT_ABI */
	uint32_t size; /* sizeof(struct fw_endpoint) */
	const char *name;
	const char *version;
	/* Returns the end's state; NULL is an error. */
	void *(*create)(const struct fw_endpoint_start *start);
	void (*destroy)(void *end);
	/* The application has provided `bytes` in total since the start (FW_ENDPOINT_NONE: without limit); the stack sends no
	 * data beyond. Called for the sender, before send(), when the number has changed. */
	void (*offer)(void *end, uint64_t now, uint64_t bytes);
	/* A datagram has arrived. */
	void (*receive)(void *end, uint64_t now, const uint8_t *payload, uint64_t length, uint64_t ecn);
	/* The deadline has been reached; for the sender also at the start of the flow. */
	void (*timeout)(void *end, uint64_t now);
	/* Writes the next datagram and returns 1, or returns 0 if there is nothing to send now. */
	uint64_t (*send)(void *end, uint64_t now, struct fw_endpoint_datagram *datagram);
	/* Returns the time at which timeout() is to be called, or FW_ENDPOINT_NONE if only a datagram wakes the stack. */
	uint64_t (*deadline)(void *end, uint64_t now);
	void (*state)(void *end, struct fw_endpoint_state *state);
	/* Returns NULL, or a message that ends the run. May be NULL. */
	const char *(*fault)(void *end);
};

const struct fw_endpoint *fairweir_endpoint_v1(void);

#ifdef __cplusplus
}
#endif

#endif
