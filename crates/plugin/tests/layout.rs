//! The structs of `abi` and `endpoint` are those of `include/fairweir_cc.h` and `include/fairweir_endpoint.h`: a program in C
//! prints sizes, offsets and constants.

use fairweir_plugin::{abi, endpoint};
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Expressions in C, and their values in Rust.
struct Facts {
    c: Vec<String>,
    rust: Vec<u64>,
}

macro_rules! structs {
    ($facts:ident, $module:ident, $($rust:ident = $c:literal { $($field:ident),* })*) => {$(
        $facts.add(format!("sizeof(struct {})", $c), size_of::<$module::$rust>() as u64);
        $($facts.add(
            format!("offsetof(struct {}, {})", $c, stringify!($field)),
            offset_of!($module::$rust, $field) as u64,
        );)*
    )*};
}

macro_rules! constants {
    ($facts:ident, $($rust:expr => $c:literal,)*) => {$($facts.add($c.to_owned(), u64::from($rust));)*};
}

impl Facts {
    fn add(&mut self, c: String, rust: u64) {
        self.c.push(c);
        self.rust.push(rust);
    }

    fn of_controllers() -> Facts {
        let mut facts = Facts { c: Vec::new(), rust: Vec::new() };
        structs! { facts, abi,
            Param = "fw_cc_param" { name, doc, unit, def, min, max }
            Start = "fw_cc_start" { mss, initial_cwnd, seed, oracle_rtprop, params }
            Conn = "fw_cc_conn" {
                now, mss, first_unacked, next_packet, inflight, sacked, lost_out, retrans_out, delivered, delivered_ce,
                lost, srtt, rttvar, min_rtt, state, cwnd_limited
            }
            Sent = "fw_cc_sent" { packet, retransmission }
            AckedPacket = "fw_cc_acked_packet" { packet, sent_at, retransmitted, app_limited }
            LostPacket = "fw_cc_lost_packet" { packet, sent_at }
            Ack = "fw_cc_ack" {
                acked, cum_acked, lost, marked, prior_inflight, rtt, newest_packet, newest_sent_at, rate_delivered,
                rate_interval, rate_prior_delivered, rate_app_limited
            }
            Congestion = "fw_cc_congestion" { cause, prior_inflight }
            Decision = "fw_cc_decision" { cwnd, pacing_rate, ssthresh }
            Cc = "fw_cc" {
                abi, size, name, version, params, param_count, wants, create, destroy, on_ack, on_congestion, decide,
                on_sent, on_packet_acked, on_packet_lost, on_recovered, fault, telemetry_names, telemetry_count,
                telemetry
            }
        }
        constants! { facts,
            abi::ABI => "FW_CC_ABI", abi::NONE => "FW_CC_NONE",
            abi::unit::NUMBER => "FW_CC_NUMBER", abi::unit::INTEGER => "FW_CC_INTEGER", abi::unit::FLAG => "FW_CC_FLAG",
            abi::unit::TIME => "FW_CC_TIME", abi::unit::RATE => "FW_CC_RATE",
            abi::cause::LOST => "FW_CC_LOST", abi::cause::MARKED => "FW_CC_MARKED",
            abi::cause::TIMEOUT => "FW_CC_TIMEOUT", abi::cause::PERSISTENT => "FW_CC_PERSISTENT",
            abi::wants::SENT => "FW_CC_WANTS_SENT", abi::wants::ACKED => "FW_CC_WANTS_ACKED",
            abi::wants::LOST => "FW_CC_WANTS_LOST", abi::wants::RATE => "FW_CC_WANTS_RATE",
            abi::wants::MARKS => "FW_CC_WANTS_MARKS", abi::wants::PRR => "FW_CC_WANTS_PRR",
            abi::wants::QUIC => "FW_CC_WANTS_QUIC", abi::wants::EXACT_MARKS => "FW_CC_WANTS_EXACT_MARKS",
            abi::wants::L4S => "FW_CC_WANTS_L4S",
            fairweir_plugin::CaState::Open as u32 => "FW_CC_OPEN",
            fairweir_plugin::CaState::Disorder as u32 => "FW_CC_DISORDER",
            fairweir_plugin::CaState::Cwr as u32 => "FW_CC_CWR",
            fairweir_plugin::CaState::Recovery as u32 => "FW_CC_RECOVERY",
            fairweir_plugin::CaState::Loss as u32 => "FW_CC_LOSS",
        }
        facts
    }

    fn of_endpoints() -> Facts {
        let mut facts = Facts { c: Vec::new(), rust: Vec::new() };
        structs! { facts, endpoint,
            Start = "fw_endpoint_start" { role, seed, max_payload, initial_cwnd, recv_window, ack_every }
            Datagram = "fw_endpoint_datagram" { payload, capacity, length, ecn, depart_at }
            State = "fw_endpoint_state" {
                cwnd, inflight, pacing_rate, lost, timeouts, sent_bytes, acked_bytes, read_bytes, established
            }
            Endpoint = "fw_endpoint" {
                abi, size, name, version, create, destroy, offer, receive, timeout, send, deadline, state, fault
            }
        }
        constants! { facts,
            endpoint::ABI => "FW_ENDPOINT_ABI", endpoint::NONE => "FW_ENDPOINT_NONE",
            endpoint::role::SENDER => "FW_ENDPOINT_SENDER", endpoint::role::RECEIVER => "FW_ENDPOINT_RECEIVER",
            endpoint::ecn::NOT_ECT => "FW_ENDPOINT_NOT_ECT", endpoint::ecn::ECT => "FW_ENDPOINT_ECT",
            endpoint::ecn::CE => "FW_ENDPOINT_CE",
        }
        facts
    }
}

#[test]
fn the_structs_of_controllers_are_those_of_the_header() {
    compare("fairweir_cc.h", &Facts::of_controllers());
}

#[test]
fn the_structs_of_endpoints_are_those_of_the_header() {
    compare("fairweir_endpoint.h", &Facts::of_endpoints());
}

fn compare(header: &str, facts: &Facts) {
    let folder = tempfile::tempdir().expect("a folder");
    let (source, program) = (folder.path().join("layout.c"), folder.path().join("layout"));
    let lines: String =
        facts.c.iter().map(|fact| format!("printf(\"%llu\\n\", (unsigned long long)({fact}));\n")).collect();
    let text = format!("#include <{header}>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {{\n{lines}}}\n");
    fs::write(&source, text).expect("the folder is writable");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include");
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-I"];
    let compiled = Command::new(compiler).args(strict).arg(include).arg(&source).arg("-o").arg(&program).status();
    assert!(compiled.expect("a C compiler").success());
    let printed = Command::new(&program).output().expect("it runs").stdout;
    let printed: Vec<u64> = String::from_utf8_lossy(&printed).lines().map(|l| l.parse().expect("a number")).collect();
    for ((fact, ours), its) in facts.c.iter().zip(&facts.rust).zip(&printed) {
        assert_eq!(ours, its, "{fact}");
    }
    assert_eq!(printed.len(), facts.rust.len());
}
