//! Measures how often the held lower bound of the buffer exceeds the buffer after a link's capacity has changed, and
//! how often that causes losses, for the shipped trees and for random actions of their queries.
//!
//! ```text
//! cargo run --release -p fairweir-game --example held -- 1000 1
//! ```

use fairweir_game::controller::Controller;
use fairweir_game::play::{Policy, Row, Session, play};
use fairweir_game::query::Query;

/// Number of steps after a change from which on all points of the window are later than the change.
const WINDOW: u32 = 7;

fn read(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("a file of the repository")
}

fn query(name: &str) -> Query {
    let mut all: toml::Table = toml::from_str(&read(&format!("queries/game/{name}.toml"))).expect("TOML");
    all.remove("sampling");
    all.remove("tree");
    Query::from_json(&serde_json::to_string(&all).expect("JSON")).expect("a query")
}

/// Counts of steps that are at least `WINDOW` steps after a change.
#[derive(Default)]
struct Tally {
    steps: usize,
    held: usize,
    above: usize,
    /// Steps with too large a held bound in which the safe rate exceeds what the link can accept without loss.
    unsafe_rate: usize,
    /// Steps with too large a held bound in which the message exceeds what the link can accept without loss.
    harmful: usize,
}

impl Tally {
    fn count(&mut self, row: &Row, b: f64) {
        let situation = &row.situation;
        self.steps += 1;
        self.held += usize::from(situation.min_b.is_some());
        if situation.min_b.is_none_or(|min| min <= b + 1e-6) {
            return;
        }
        self.above += 1;
        let safe = row.c + b - row.queue;
        self.unsafe_rate += usize::from(situation.belief.bounds.safe_rate > safe + 1e-6);
        self.harmful += usize::from(row.action.message > safe + 1e-6);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse::<u64>().expect("a number"));
    let (sessions, seed) = (arguments.next().unwrap_or(1000), arguments.next().unwrap_or(1));
    for (name, noise) in [("bulk", 0.0), ("conference", 0.0), ("bulk", 1.0), ("conference", 1.0)] {
        let query = query(name);
        let tree = Controller::from_json(&read(&format!("controllers/{name}.json"))).expect("a controller");
        let mut tally = Tally::default();
        for n in 0..sessions {
            let mut session = Session::random(&query, seed.wrapping_mul(1_000_003).wrapping_add(n));
            let changed_at = *session.change_at.get_or_insert(30);
            session.changed_c.get_or_insert(session.c * if n % 2 == 0 { 0.4 } else { 2.5 });
            (session.steps, session.noise) = (120, noise);
            let mut step = 0;
            play(&query, &session, Policy::Tree(&tree), |row| {
                if step >= changed_at + WINDOW {
                    tally.count(row, session.b);
                }
                step += 1;
            });
        }
        let who = if noise > 0.0 { "random actions" } else { "tree" };
        let Tally { steps, held, above, unsafe_rate, harmful } = tally;
        println!(
            "{name}, {who}: {steps} steps, {held} with a held min B, {above} of them above the true one, \
             {unsafe_rate} with too large an R0, {harmful} with a message above what is safe"
        );
    }
}
