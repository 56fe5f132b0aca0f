//! The tests of whole runs, as one program: forty would each compile and link the simulator again.
//!
//! A new file of tests is a line in the list below; `cargo test -p fairweir-sim cca_reno` runs one file.

#[macro_use]
mod common;

macro_rules! files {
    ($($name:ident)*) => {
        $(mod $name;)*
        const FILES: &[&str] = &[$(stringify!($name)),*];
    };
}

files! {
    cca_aimd_delay
    cca_bbr
    cca_bbr3
    cca_beliefs
    cca_contract
    cca_copa
    cca_cubic
    cca_dctcp
    cca_expo
    cca_fast
    cca_frcc
    cca_gcc
    cca_ledbat
    cca_pcc
    cca_pcc_proteus
    cca_poseidon
    cca_prague
    cca_reno
    cca_scream
    cca_sprout
    cca_swift
    cca_tfrc
    cca_tree
    cca_vegas
    cca_verus
    cca_waimd
    golden
    hosts
    packets
    properties
    quic_recovery
    quic_stacks
    retransmission_timer
    transport_autosizing
    transport_autotuning
    transport_handshake
    transport_idle_restart
    transport_loss_recovery
    transport_quick_acks
    transport_tail_loss_probe
    transport_undo
}

#[test]
fn every_file_is_in_the_list() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let names = std::fs::read_dir(folder).expect("the folder of this file").map(|entry| {
        let path = entry.expect("an entry").path();
        (path.extension().is_some_and(|kind| kind == "rs")).then(|| path.file_stem().unwrap().display().to_string())
    });
    let mut found: Vec<String> = names.flatten().filter(|name| name != "main").collect();
    found.sort();
    assert_eq!(found, FILES, "this file's list and the folder differ");
}
