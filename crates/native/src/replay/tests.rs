use super::format::{Head, MAX_PARAMS, Sample};
use super::*;
use crate::{abi, builtin};
use serde_json::Value;
use std::mem::{offset_of, size_of};

unsafe extern "C" {
    static fairweir_record_layout: [usize; 17];
    static fairweir_record_layout_len: usize;
}

#[test]
fn records_are_laid_out_as_the_c_compiler_does() {
    let rust = [
        size_of::<Record>(),
        size_of::<Params>(),
        offset_of!(Record, local_ip4),
        offset_of!(Record, now_ns),
        offset_of!(Record, returned),
        offset_of!(Record, args),
        offset_of!(Record, sample),
        offset_of!(Record, sample.last_end_seq),
        offset_of!(Record, socket),
        offset_of!(Record, socket.rtt_min),
        offset_of!(Record, socket.reordering),
        offset_of!(Record, before),
        offset_of!(Record, before.icsk_ca_priv),
        offset_of!(Record, after),
        offset_of!(Params, values),
        Hook::Release as usize,
        13,
    ];
    // SAFETY: constants of layout.c.
    let (c, len) = unsafe { (fairweir_record_layout, fairweir_record_layout_len) };
    assert_eq!(len, rust.len());
    assert_eq!(c, rust);
}

fn bytes_of<T>(value: &T) -> Vec<u8> {
    // SAFETY: records have no padding.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast::<u8>(), size_of::<T>()) }.to_vec()
}

/// Returns records of a flow of `cca` whose "kernel" is the native build itself: parameters, init, then `acks` ACKs.
fn recording(cca: &str, acks: u64) -> Vec<Vec<u8>> {
    let native = builtin(cca).expect("it is in bpf/");
    let words = native.param_words(&Value::Null).expect("defaults are valid");
    let mut values = [0; MAX_PARAMS];
    values[..words.len()].copy_from_slice(&words);
    let params = Params { head: Head { kind: 13, flow: 7, seq: 0 }, words: words.len() as u64, values };
    let mut flow = Flow::new(&native);
    flow.take_params(&params).expect("as many as there are");
    let mut stream = vec![bytes_of(&params)];
    let mut before = Decision { snd_cwnd: 10, snd_ssthresh: abi::INFINITE_SSTHRESH, ..Decision::default() };
    for i in 0..=acks {
        let hook = if i == 0 { Hook::Init } else { Hook::CongControl };
        let now_ns = 5_000_000_000 + i * 700_000;
        let mut record = Record {
            head: Head { kind: hook as u32, flow: 7, seq: i + 1 },
            now_ns,
            wall_ns: now_ns,
            rand_state: i * 977,
            before,
            ..Record::default()
        };
        record.socket.tcp_mstamp = now_ns / 1_000;
        record.socket.mss_cache = 1_448;
        record.socket.snd_cwnd_clamp = u32::MAX;
        record.socket.snd_una = (i * 1_448) as u32;
        record.socket.snd_nxt = ((i + 40) * 1_448) as u32;
        record.socket.srtt_us = 30_000 * 8;
        record.sample = Sample {
            interval_us: 30_000,
            rtt_us: 30_000 + (i as i64 * 37) % 9_000,
            delivered: 10,
            acked_sacked: 1,
            last_end_seq: record.socket.snd_una,
            ..Sample::default()
        };
        flow.call(&native, hook, &record);
        record.after = Decision {
            sk_pacing_rate: flow.tp.icsk.sk.sk_pacing_rate,
            sk_pacing_status: flow.tp.icsk.sk.sk_pacing_status,
            snd_cwnd: flow.tp.snd_cwnd,
            snd_ssthresh: flow.tp.snd_ssthresh,
            icsk_ca_priv: flow.tp.icsk.icsk_ca_priv,
            ..before
        };
        before = record.after;
        stream.push(bytes_of(&record));
    }
    stream
}

fn replayed(cca: &str, stream: &[Vec<u8>]) -> Replay {
    let mut replay = Replay::new(builtin(cca).expect("it is in bpf/"));
    for record in stream {
        replay.feed(record).expect("a record");
    }
    replay
}

#[test]
fn equal_builds_agree_on_every_hook() {
    for cca in ["frcc", "copa", "expo"] {
        let replay = replayed(cca, &recording(cca, 5_000));
        assert_eq!(replay.difference(), None);
        assert_eq!(*replay.tally(), Tally { flows: 1, hooks: 5_001, acks: 5_000, ..Tally::default() }, "{cca}");
    }
}

#[test]
fn the_first_difference_is_named_and_ends_the_flows_comparison() {
    let mut stream = recording("frcc", 100);
    let at = offset_of!(Record, after.snd_cwnd);
    let kernel = u32::from_ne_bytes(stream[50][at..at + 4].try_into().expect("four bytes")) + 1;
    stream[50][at..at + 4].copy_from_slice(&kernel.to_ne_bytes());
    let replay = replayed("frcc", &stream);
    let difference = replay.difference().expect("one decision was changed");
    assert_eq!(
        difference.to_string(),
        format!("flow 7, record 50, cong_control: snd_cwnd is {kernel} in the kernel, {} natively", kernel - 1)
    );
    assert_eq!((replay.tally().hooks, replay.tally().skipped), (49, 51));
}

#[test]
fn another_state_behind_the_same_decision_is_a_difference() {
    let mut stream = recording("frcc", 10);
    stream[3][offset_of!(Record, after.icsk_ca_priv)] ^= 1;
    let replay = replayed("frcc", &stream);
    assert_eq!(replay.difference().map(|d| d.field.as_str()), Some("icsk_ca_priv[0]"));
}

#[test]
fn nothing_is_claimed_of_what_follows_a_lost_record() {
    let mut stream = recording("expo", 100);
    stream.drain(31..33);
    let replay = replayed("expo", &stream);
    assert_eq!(replay.difference(), None);
    assert_eq!(*replay.tally(), Tally { flows: 1, hooks: 30, acks: 29, lost: 2, skipped: 69, outside: 0 });
}

#[test]
fn calls_before_init_or_after_the_end_are_not_compared() {
    let mut stream = recording("frcc", 100);
    let mut early = stream[2].clone();
    early[offset_of!(Record, head.seq)..][..8].copy_from_slice(&0_u64.to_ne_bytes());
    early[offset_of!(Record, after.snd_cwnd)] ^= 1;
    for record in &mut stream {
        let seq = &mut record[offset_of!(Record, head.seq)..][..8];
        let later = u64::from_ne_bytes((&*seq).try_into().expect("eight bytes")) + 1;
        seq.copy_from_slice(&later.to_ne_bytes());
    }
    let mut late = stream[101].clone();
    late[offset_of!(Record, head.seq)..][..8].copy_from_slice(&103_u64.to_ne_bytes());
    for state in [offset_of!(Record, before.icsk_ca_priv), offset_of!(Record, after.icsk_ca_priv)] {
        late[state..state + 104].fill(0);
    }
    stream.insert(0, early);
    stream.push(late);
    let replay = replayed("frcc", &stream);
    assert_eq!(replay.difference(), None);
    assert_eq!(*replay.tally(), Tally { flows: 1, hooks: 101, acks: 100, outside: 2, ..Tally::default() });
}

#[test]
fn parameters_are_those_of_the_record() {
    let mut stream = recording("expo", 100);
    let rmax = offset_of!(Params, values) + 3 * 8;
    stream[0][rmax..rmax + 8].copy_from_slice(&50_000_u64.to_ne_bytes());
    let replay = replayed("expo", &stream);
    assert_eq!(replay.difference().map(|d| (d.seq, d.hook)), Some((1, Hook::Init)), "its window depends on rmax");
}

#[test]
fn an_invalid_record_is_rejected() {
    let mut replay = Replay::new(builtin("frcc").expect("it is in bpf/"));
    let stream = recording("frcc", 1);
    for bytes in [&stream[1][..stream[1].len() - 1], &[], &[99, 0, 0, 0], &stream[0][..100]] {
        assert!(replay.feed(bytes).is_err());
    }
    assert_eq!(*replay.tally(), Tally::default());
    let foreign = replay.feed(&recording("copa", 1)[0]).unwrap_err().to_string();
    assert!(
        foreign.starts_with("not a record of a hook: ") && foreign.ends_with("of an algorithm that has 15"),
        "{foreign}"
    );
}
