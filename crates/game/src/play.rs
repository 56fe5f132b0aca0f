//! Sessions: a policy in closed loop with a link that satisfies the model, and statistics of the frames that the
//! receiver gets.

use crate::action::Action;
use crate::believe::BeliefSource;
use crate::controller::{Controller, Kind};
use crate::frames::{Batch, Counts};
use crate::held::HeldCapacity;
use crate::link::{Link, random_window};
use crate::model::Range;
use crate::query::Query;
use crate::state::{Situation, State, amounts};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// The delay with which served data is observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Jitter {
    /// No delay.
    None,
    /// A random delay within the limits of the model.
    Random,
    /// At random, either none or the maximum that the model allows.
    Extreme,
    /// Alternately none and the maximum: acknowledgements come in bursts.
    Alternating,
}

/// A session to run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Session {
    /// Capacity, packets per step.
    pub c: f64,
    /// Buffer, packets.
    pub b: f64,
    /// Number of steps.
    pub steps: u32,
    /// Jitter.
    pub jitter: Jitter,
    /// The step at which the capacity changes, if it does.
    #[serde(default)]
    pub change_at: Option<u32>,
    /// The capacity after the change, packets per step.
    #[serde(default)]
    pub changed_c: Option<f64>,
    /// Number of warm-up steps, which are not counted.
    #[serde(default)]
    pub warm_up: u32,
    /// Probability with which a random action of the query replaces the policy's.
    #[serde(default)]
    pub noise: f64,
    /// Whether the sizes of encoded batches deviate at random from their targets; otherwise they are exact.
    #[serde(default)]
    pub encoder_noise: bool,
    /// Seed of the random jitter, noise and encoder.
    pub seed: u64,
}

impl Session {
    /// Return a random session: the capacity varies over two orders of magnitude, the buffer from shallow to deep, with
    /// every kind of jitter, and a change of capacity in half of the sessions.
    pub fn random(query: &Query, seed: u64) -> Session {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let model = &query.model;
        // Capacities are powers from a table, because the last bit of `powf` may differ between machines.
        let octaves = (0..).take_while(|&i| model.c.min * f64::from(1 << i) < 0.45 * model.c.max).count().max(1);
        let octave = random.random_range(0..octaves) as u32;
        let c = model.c.min * f64::from(1u32 << octave) * (1.0 + random.random::<f64>());
        let deep = random.random::<f64>() < 0.4;
        let b = if deep { model.b.max } else { c * (0.3 + 4.0 * random.random::<f64>()) };
        let jitter = [Jitter::None, Jitter::Random, Jitter::Extreme, Jitter::Alternating][random.random_range(0..4)];
        let steps = 60 + random.random_range(0..40u32);
        let factor = [0.3, 0.5, 2.0, 3.0][random.random_range(0..4)];
        let changes = random.random::<bool>();
        Session {
            c,
            b: b.clamp(model.b.min, model.b.max),
            steps,
            jitter,
            change_at: changes.then_some(30 + random.random_range(0..20u32)),
            changed_c: changes.then_some((c * factor).clamp(model.c.min, 0.9 * model.c.max)),
            warm_up: 25,
            noise: 0.0,
            encoder_noise: true,
            seed,
        }
    }

    /// Check the numbers.
    ///
    /// # Errors
    /// Key and reason of the first error.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let positive = |x: f64| x.is_finite() && x > 0.0 && x <= 1e6;
        if !positive(self.c) {
            return Err(("c", format!("`{}` is not above 0 and at most 1000000 packets per step", self.c)));
        }
        if !positive(self.b) {
            return Err(("b", format!("`{}` is not above 0 and at most 1000000 packets", self.b)));
        }
        if let Some(c) = self.changed_c.filter(|&c| !positive(c)) {
            return Err(("changed_c", format!("`{c}` is not above 0 and at most 1000000 packets per step")));
        }
        if self.steps == 0 || self.steps > 1_000_000 {
            return Err(("steps", format!("`{}` is not between 1 and 1000000", self.steps)));
        }
        if !(0.0..=1.0).contains(&self.noise) {
            return Err(("noise", format!("`{}` is not between 0 and 1", self.noise)));
        }
        Ok(())
    }
}

/// The decision maker.
pub enum Policy<'a> {
    /// The search, which falls back to the query's first action if no link explains the observations.
    Search,
    /// A controller file.
    Tree(&'a Controller),
    /// A callback that returns an action; the shield is applied to it.
    Custom(&'a mut dyn FnMut(&Situation) -> Action),
}

/// A step of a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The controller's knowledge before the step.
    pub situation: Situation,
    /// Index of the template or leaf; `None` for noise and custom policies.
    pub chosen: Option<usize>,
    /// The action.
    pub action: Action,
    /// Queue of the link after the step, packets.
    pub queue: f64,
    /// Capacity of the link, packets per step.
    pub c: f64,
}

/// Results of a session without its warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Steps counted.
    pub steps: u32,
    /// Packets delivered divided by the packets that the link could carry.
    pub utilization: f64,
    /// Message packets of frames received in time divided by the packets that the link could carry.
    pub goodput: f64,
    /// Batches received in time, per step.
    pub frames_per_step: f64,
    /// Batches lost or late.
    pub late: u32,
    /// Batches never sent.
    pub dropped: u32,
    /// Mean queue divided by the capacity, steps.
    pub mean_queue: f64,
    /// 95th percentile of the queue divided by the capacity, steps.
    pub p95_queue: f64,
    /// Mean age of a batch when it was received, steps.
    pub mean_delay: f64,
    /// Packets lost.
    pub lost: f64,
    /// Steps in which no link of the model explained all points.
    pub unexplained: u32,
}

/// Run `session`; `each` is called for every step.
pub fn play(query: &Query, session: &Session, mut policy: Policy<'_>, mut each: impl FnMut(&Row)) -> Summary {
    let mut random = ChaCha8Rng::seed_from_u64(session.seed);
    let mut link = Link::new(session.c, session.b);
    let mut state = State::fresh();
    let mut held = HeldCapacity::new(query.probe_period);
    let deadlines = query.deadlines();
    let mut tally = Tally::default();
    for t in 0..session.steps {
        if session.change_at == Some(t) {
            link.c = session.changed_c.unwrap_or(link.c);
        }
        if t == session.warm_up {
            tally = Tally::begin(&state.frames.counts, &link);
        }
        let situation = Situation::new(state, &query.model, query.points, &mut held);
        let (mut chosen, mut action) = decide(query, &mut policy, &situation);
        // Every policy draws the same random numbers, so that all run on the same link.
        let (is_noise, pick, haste, batch) = (
            random.random::<f64>() < session.noise,
            random.random::<f64>(),
            random.random::<f64>(),
            random.random::<f64>(),
        );
        if is_noise {
            let bounds = amounts(&situation.belief.bounds);
            let choices = query.actions.choices(&query.shield, &bounds, &state.frames.sizes(), true);
            (chosen, action) = (None, choices[(pick * choices.len() as f64) as usize % choices.len()].action);
        }
        let encoder = &query.encoder;
        let factor = if session.encoder_noise { encoder.min + batch * encoder.width() } else { 1.0 };
        let arriving = state.last_rate();
        state.frames.act(&action, factor, deadlines);
        let haste = match session.jitter {
            Jitter::None => 1.0,
            Jitter::Random => haste,
            Jitter::Extreme => f64::from(u8::from(haste < 0.5)),
            Jitter::Alternating => f64::from(t % 2),
        };
        link.step(arriving, haste);
        let seen = link.observe(&state.window);
        state.frames.observe(&state.window, &seen, deadlines);
        state.window.slide(&seen, action.rate);
        tally.step(&situation, &link);
        each(&Row { situation, chosen, action, queue: link.queue(), c: link.c });
    }
    tally.summary(&state.frames.counts, &link)
}

fn decide(query: &Query, policy: &mut Policy<'_>, s: &Situation) -> (Option<usize>, Action) {
    let (bounds, waiting) = (amounts(&s.belief.bounds), s.state.frames.sizes());
    match policy {
        Policy::Search => match s.search(query) {
            Some(mut search) => {
                let d = search.decide();
                (Some(d.template), d.action)
            }
            None => {
                let first = query.actions.choices(&query.shield, &bounds, &waiting, true)[0];
                (Some(first.template), first.action)
            }
        },
        Policy::Tree(tree) => {
            let d = tree.decide(&s.view());
            (Some(d.leaf), d.action)
        }
        Policy::Custom(f) => (None, query.shield.apply(f(s), &bounds, &waiting)),
    }
}

#[derive(Default)]
struct Tally {
    steps: u32,
    capacity: f64,
    queues: Vec<f64>,
    unexplained: u32,
    counts: Counts,
    delivered: f64,
    lost: f64,
}

impl Tally {
    fn begin(counts: &Counts, link: &Link) -> Tally {
        Tally { counts: *counts, delivered: link.delivered(), lost: link.lost(), ..Tally::default() }
    }

    fn step(&mut self, situation: &Situation, link: &Link) {
        self.steps += 1;
        self.capacity += link.c;
        self.queues.push(link.queue() / link.c);
        self.unexplained += u32::from(situation.belief.from != BeliefSource::Window);
    }

    fn summary(mut self, counts: &Counts, link: &Link) -> Summary {
        let n = f64::from(self.steps.max(1));
        let received = counts.received - self.counts.received;
        self.queues.sort_unstable_by(f64::total_cmp);
        Summary {
            steps: self.steps,
            utilization: (link.delivered() - self.delivered) / self.capacity.max(f64::MIN_POSITIVE),
            goodput: (counts.message - self.counts.message) / self.capacity.max(f64::MIN_POSITIVE),
            frames_per_step: f64::from(received) / n,
            late: counts.late - self.counts.late,
            dropped: counts.dropped - self.counts.dropped,
            mean_queue: self.queues.iter().sum::<f64>() / n,
            p95_queue: self.queues.get((self.queues.len() * 19).div_ceil(20).saturating_sub(1)).copied().unwrap_or(0.0),
            mean_delay: (counts.delay - self.counts.delay) / f64::from(received.max(1)),
            lost: link.lost() - self.lost,
            unexplained: self.unexplained,
        }
    }
}

/// Return `n` situations of random senders on random links, with random batches. Some of their beliefs cannot be
/// reached by any policy.
pub fn random_situations(query: &Query, n: usize, seed: u64) -> Vec<Situation> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let deadlines = query.deadlines();
    let mut all = Vec::with_capacity(n);
    while all.len() < n {
        let (link, window) = random_window(&query.model, &mut random);
        let mut state = State { window, ..State::fresh() };
        if query.kind == Kind::Video {
            for age in (1..=random.random_range(0..4u32)).rev() {
                let size = link.c * 1.5 * random.random::<f64>();
                state.frames.push(Batch { size, age: age.min(deadlines.stale) });
            }
            state.frames.encoding =
                if random.random::<f64>() < 0.1 { 0.0 } else { link.c * (0.3 + random.random::<f64>()) };
        }
        let mut held = HeldCapacity::new(query.probe_period);
        // In half of the situations, max C is held from earlier points.
        if random.random::<bool>() {
            let c = Range::new(query.model.c.min, link.c * (1.0 + random.random::<f64>()));
            held.hold_capacity(c, &query.model, 1.0);
        }
        all.push(Situation::new(state, &query.model, query.points, &mut held));
    }
    all
}
