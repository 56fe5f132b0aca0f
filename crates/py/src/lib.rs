//! The module `fairweir._core`: only conversions between Python and the crates.
//!
//! Signatures and units for Python readers are in `python/fairweir/_core.pyi`.

mod certificate;
mod controller;
mod error;
mod events;
mod explain;
mod fec;
mod game;
mod game_search;
mod guard;
mod observers;
mod parts;
mod reach;
mod rehearse;
mod replay;
mod run;
mod statistics;
mod units;
mod video;
mod watch;

use pyo3::prelude::*;

/// The compiled part of fairweir.
#[pymodule]
#[pyo3(name = "_core")]
fn core_module(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<events::Start>()?;
    m.add_class::<events::Ack>()?;
    m.add_class::<events::Loss>()?;
    m.add_class::<events::AckedPacket>()?;
    m.add_class::<events::LostPacket>()?;
    m.add_class::<events::Sent>()?;
    m.add_function(wrap_pyfunction!(units::parse_time, m)?)?;
    m.add_function(wrap_pyfunction!(units::parse_rate, m)?)?;
    m.add_function(wrap_pyfunction!(units::parse_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(units::parse_size, m)?)?;
    m.add_function(wrap_pyfunction!(units::resolve_size, m)?)?;
    m.add_function(wrap_pyfunction!(units::format_time, m)?)?;
    m.add_function(wrap_pyfunction!(units::format_rate, m)?)?;
    m.add_function(wrap_pyfunction!(units::format_bytes, m)?)?;
    m.add_function(wrap_pyfunction!(units::parse_trace, m)?)?;
    m.add_function(wrap_pyfunction!(statistics::student_t_quantile, m)?)?;
    m.add_function(wrap_pyfunction!(parts::part_keys, m)?)?;
    m.add_function(wrap_pyfunction!(run::algorithms, m)?)?;
    m.add_function(wrap_pyfunction!(run::run, m)?)?;
    m.add_class::<game_search::GameQuery>()?;
    m.add_class::<game_search::GameController>()?;
    m.add_class::<game_search::GameState>()?;
    m.add_function(wrap_pyfunction!(game_search::game_features, m)?)?;
    m.add_function(wrap_pyfunction!(game_search::game_feature_rows, m)?)?;
    m.add_function(wrap_pyfunction!(game_search::game_values, m)?)?;
    m.add_function(wrap_pyfunction!(game_search::game_decide, m)?)?;
    m.add_function(wrap_pyfunction!(game_search::game_explain, m)?)?;
    m.add_function(wrap_pyfunction!(game_search::game_play, m)?)?;
    m.add_function(wrap_pyfunction!(game_search::game_random_states, m)?)?;
    m.add_function(wrap_pyfunction!(game::game_bounds, m)?)?;
    m.add_function(wrap_pyfunction!(game::game_believe, m)?)?;
    m.add_function(wrap_pyfunction!(guard::guard_features, m)?)?;
    m.add_function(wrap_pyfunction!(guard::guard_examples, m)?)?;
    m.add_function(wrap_pyfunction!(guard::capture_examples, m)?)?;
    m.add_function(wrap_pyfunction!(guard::guard_scores, m)?)?;
    m.add_function(wrap_pyfunction!(reach::frcc_attractor, m)?)?;
    m.add_function(wrap_pyfunction!(certificate::check_certificate, m)?)?;
    m.add_function(wrap_pyfunction!(explain::explain, m)?)?;
    m.add_function(wrap_pyfunction!(fec::fec_repair, m)?)?;
    m.add_function(wrap_pyfunction!(fec::fec_recover, m)?)?;
    m.add_function(wrap_pyfunction!(video::play_video, m)?)?;
    m.add_function(wrap_pyfunction!(video::play_video_live, m)?)?;
    m.add_function(wrap_pyfunction!(video::video_senders, m)?)?;
    m.add_function(wrap_pyfunction!(rehearse::run_guarded, m)?)?;
    m.add_function(wrap_pyfunction!(replay::replay_guarded, m)?)?;
    Ok(())
}
