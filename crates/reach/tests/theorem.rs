//! Small instances of the theorem, with cells coarse enough for a debug build.

use fairweir_reach::assumptions::Assumptions;
use fairweir_reach::attract::{Attraction, NoAttraction};
use fairweir_reach::axis::Axis;
use fairweir_reach::bits::Bits;
use fairweir_reach::cells::Cells;
use fairweir_reach::exact::Ratio;
use fairweir_reach::map::Synchronous;
use fairweir_reach::schedule::Schedule;
use fairweir_reach::theorem::{Answer, Certificate, Question, Refusal};
use std::ops::ControlFlow;

const COARSE: Question = Question {
    assumptions: Assumptions::THESIS,
    schedule: Schedule::Synchronous,
    flows: 2,
    rtprop: (Ratio::new(1, 1), Ratio::new(11, 10)),
    odds_step: Ratio::new(1, 20),
    nt_step: Ratio::new(1, 20),
};

fn answer(question: &Question) -> Result<(Answer, Certificate), Refusal> {
    question.answer(&mut |_| ControlFlow::Continue(()))
}

/// Returns whether the certificate proves its attractor also for the map under other assumptions.
fn holds_under(certificate: &Certificate, assumptions: Assumptions) -> bool {
    let cells = Cells::<1> { odds: Axis::new(certificate.odds.clone()), nt: Axis::new(certificate.nt.clone()) };
    let rtprop = COARSE.rtprop.0.interval().hull(COARSE.rtprop.1.interval());
    let map = Synchronous { cells, assumed: assumptions.enclosed(), rtprop };
    let mut attractor = Bits::empty(certificate.rank.len());
    certificate.rank.iter().enumerate().filter(|(_, rank)| **rank == 0).for_each(|(cell, _)| attractor.set(cell));
    Attraction { rank: certificate.rank.clone() }.holds(&map, &attractor)
}

#[test]
fn two_flows_stay_within_a_factor_of_six() {
    let (found, certificate) = answer(&COARSE).expect("an attractor");
    assert!(found.worst_ratio < 6.0 && found.worst_ratio > 4.0, "{found:?}");
    assert!(found.hand_worst_ratio > found.worst_ratio);
    assert!(found.rounds > 0 && found.attractor_cells < found.region_cells);
    assert!(holds_under(&certificate, Assumptions::THESIS));
}

#[test]
fn smaller_errors_give_a_smaller_ratio_which_larger_errors_break() {
    let exact_rates = Assumptions { rate_under: Ratio::new(1, 1), ..Assumptions::THESIS };
    let (found, certificate) = answer(&Question { assumptions: exact_rates, ..COARSE }).expect("an attractor");
    assert!(found.worst_ratio < 3.0, "{found:?}");
    assert!(holds_under(&certificate, exact_rates));
    assert!(!holds_under(&certificate, Assumptions::THESIS));
}

#[test]
fn one_after_another_is_bounded_too() {
    let (found, _) = answer(&Question { schedule: Schedule::Sequential, ..COARSE }).expect("an attractor");
    assert!(found.worst_ratio < 8.0, "{found:?}");
}

#[test]
fn cells_too_coarse_prove_nothing() {
    let coarser = Question { odds_step: Ratio::new(1, 1), nt_step: Ratio::new(1, 1), ..COARSE };
    assert!(matches!(answer(&coarser), Err(Refusal::NoAttraction(NoAttraction::Unbounded { .. }))));
}

#[test]
fn an_invalid_question_is_rejected_with_its_key() {
    let refused = |question: Question| match answer(&question) {
        Err(Refusal::BadQuestion { key, reason }) => format!("{key} {reason}"),
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(Question { flows: 4, ..COARSE }), "flows must be 2 or 3: `4`");
    let backwards = (Ratio::new(2, 1), Ratio::new(1, 1));
    assert_eq!(refused(Question { rtprop: backwards, ..COARSE }), "rtprop must not end before it starts: `1`");
    let clamped = Assumptions { fastest: Ratio::new(1, 1), ..Assumptions::THESIS };
    assert_eq!(refused(Question { assumptions: clamped, ..COARSE }), "fastest must be above 1: `1`");
}

#[test]
fn questions_are_json() {
    let text = serde_json::to_string(&COARSE).expect("JSON");
    assert!(text.contains(r#""rtprop":["1","11/10"]"#), "{text}");
    assert_eq!(serde_json::from_str::<Question>(&text).expect("a question"), COARSE);
    let unknown = text.replace("\"flows\"", "\"streams\"");
    assert!(serde_json::from_str::<Question>(&unknown).is_err());
}
