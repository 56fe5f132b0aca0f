// SPDX-License-Identifier: (GPL-2.0-only OR MIT)
/*
 * The owners of this network namespace's TCP connections: for each open file that is one, its flow, its process, and
 * the process' control group (v2) with its path, as one record of what is read from the iterator.
 *
 * /proc shows the same, but only to a process with CAP_SYS_PTRACE. Processes are in the order of their ids; if several
 * share a socket, each is reported.
 */
#include "socket.h"

#define COMM_BYTES 16 /* TASK_COMM_LEN */
#define NAME_BYTES 256 /* of a control group, with the final 0 */
#define MAX_DEPTH 16 /* of control groups; higher ones are omitted */

struct net;

struct nsproxy {
	struct net *net_ns;
} CC_CORE;

/* Since Linux 6.15; `parent` before. */
struct kernfs_node {
	struct kernfs_node *__parent;
	const char *name;
} CC_CORE;

struct kernfs_node___old {
	struct kernfs_node *parent;
} CC_CORE;

struct cgroup {
	struct kernfs_node *kn;
} CC_CORE;

struct css_set {
	struct cgroup *dfl_cgrp;
} CC_CORE;

struct task_struct {
	int tgid;
	char comm[COMM_BYTES];
	struct task_struct *group_leader;
	struct nsproxy *nsproxy;
	struct css_set *cgroups;
} CC_CORE;

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common___owned {
	possible_net_t skc_net;
	u8 skc_state;
} CC_CORE;

#define TCP_LISTEN 10

struct socket {
	struct sock *sk;
} CC_CORE;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} CC_CORE;

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	u32 fd;
	struct file *file;
};

/*
 * It is followed by the names of the control group and of those above it, each with its final 0, and then one 0 more.
 */
struct guard_owner {
	struct guard_flow flow;
	u32 pid; /* of the process, not the thread */
	char comm[COMM_BYTES];
	u32 unused;
};
_Static_assert(sizeof(struct guard_owner) == 64, "the record has no holes");
EXPORT_LAYOUT(guard_owner);

static __always_inline struct kernfs_node *above(struct kernfs_node *node)
{
	struct kernfs_node___old *old = (void *)node;

	return bpf_core_field_exists(node->__parent) ? BPF_CORE_READ(node, __parent) : BPF_CORE_READ(old, parent);
}

static __always_inline void tell_names(struct seq_file *seq, struct task_struct *task)
{
	struct kernfs_node *node = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn), *parent;
	char name[NAME_BYTES];
	int i;

	/* The root has no name. */
	for (i = 0; i < MAX_DEPTH && node && (parent = above(node)); i++) {
		long length = bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(node, name));

		if (length > 1 && length <= NAME_BYTES)
			bpf_seq_write(seq, name, length);
		node = parent;
	}
	name[0] = 0;
	bpf_seq_write(seq, name, 1);
}

SEC("iter/task_file")
int guard_owners(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct guard_owner owner = {};
	struct sock_common___owned *owned;
	struct tcp_sock *tp;
	struct socket *socket;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	tp = socket && socket->sk ? bpf_skc_to_tcp_sock(socket->sk) : 0;
	owned = (void *)tp;
	if (!tp || owned->skc_state == TCP_LISTEN)
		return 0;
	if (owned->skc_net.net != BPF_CORE_READ(bpf_get_current_task_btf(), nsproxy, net_ns))
		return 0;
	if (!name_socket((struct sock_common *)tp, &owner.flow))
		return 0;
	owner.pid = task->tgid;
	BPF_CORE_READ_STR_INTO(&owner.comm, task, group_leader, comm);
	bpf_seq_write(ctx->meta->seq, &owner, sizeof(owner));
	tell_names(ctx->meta->seq, task);
	return 0;
}

CC_LICENSE("Dual MIT/GPL");
