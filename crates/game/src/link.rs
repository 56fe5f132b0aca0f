//! A simulated link that satisfies the model, for property tests and for closed-loop runs of a controller.

use rand::{Rng, RngExt};

use crate::model::{EPS, LinkModel};
use crate::window::{Observation, POINTS, Window};

/// A link of constant capacity with jitter and a finite buffer. Packets arrive once per step.
#[derive(Clone, Debug)]
pub struct Link {
    /// Capacity, in packets per step.
    pub c: f64,
    /// Buffer, in packets.
    pub b: f64,
    accepted: f64,
    served: f64,
    /// (sent, lost) at each point since the link was idle.
    points: Vec<(f64, f64)>,
    /// Points whose losses are known to the sender.
    visible: usize,
    delivered: f64,
}

impl Link {
    /// Creates an idle link.
    pub fn new(c: f64, b: f64) -> Link {
        Link { c, b, accepted: 0.0, served: 0.0, points: vec![(0.0, 0.0)], visible: 1, delivered: 0.0 }
    }

    /// Returns a random link of the model: C log-uniform between c.min and c.min (c.max / c.min)^0.6; B uniform between
    /// 0.2 and 4.2 steps of C, clamped to the model's range.
    pub fn random<R: Rng>(model: &LinkModel, random: &mut R) -> Link {
        let widest = (model.c.max / model.c.min).powf(0.6);
        let c = model.c.min * widest.powf(random.random::<f64>());
        let b = c * (0.2 + 4.0 * random.random::<f64>());
        Link::new(c, b.clamp(model.b.min, model.b.max))
    }

    /// Returns the number of packets in the queue.
    pub fn queue(&self) -> f64 {
        self.accepted - self.served
    }

    /// Returns the cumulative packets delivered.
    pub fn delivered(&self) -> f64 {
        self.delivered
    }

    /// Returns the cumulative packets lost, including losses that the sender does not know yet.
    pub fn lost(&self) -> f64 {
        self.points.last().expect("an idle link has a point").1
    }

    /// Simulate one step, in which `rate` packets arrive. `haste` (0 to 1) is the fraction delivered in this step of
    /// the packets that may be delivered: 1 delivers all served packets, 0 only those that the model's jitter bound
    /// forces.
    pub fn step(&mut self, rate: f64, haste: f64) {
        let (sent, lost) = *self.points.last().expect("an idle link has a point");
        let before = self.served;
        let offered = self.accepted + rate;
        let room = before + self.c + self.b;
        let dropped = if offered > room { offered - room } else { 0.0 };
        self.accepted = offered.min(room);
        self.served = (before + self.c).min(self.accepted);
        let earliest = before.max(self.delivered);
        self.delivered = if haste >= 1.0 { self.served } else { earliest + (self.served - earliest) * haste };
        self.points.push((sent + rate, lost + dropped));
        while self.points.get(self.visible).is_some_and(|(a, l)| self.delivered >= a - l - EPS) {
            self.visible += 1;
        }
    }

    /// Returns a sender's observation at the newest point. `w` is the sender's window: all points of this link except
    /// the newest.
    pub fn observe(&self, w: &Window) -> Observation {
        // Before the first point the link was idle.
        let seen = self.points.len() + POINTS;
        let first = seen - (w.len + 1);
        let mut new = Observation { delivered: self.delivered, visible: 0, lost: [0.0; POINTS + 1] };
        for t in 0..=w.len {
            let at = (first + t).checked_sub(POINTS);
            if at.is_some_and(|at| at >= self.visible) {
                break;
            }
            new.lost[t] = at.map_or(0.0, |at| self.points[at].1);
            new.visible = t + 1;
        }
        new
    }
}

/// Number of ways in which random windows send data, and number of kinds of jitter.
const STYLES: u32 = 4;

/// Returns a random link of the model, and the window of a sender that has sent over it for 6 to 25 steps: steadily, at
/// random, in bursts, or filling up the queue; with no, random, alternating or extreme jitter. `link` is at the
/// window's last point.
pub fn random_window<R: Rng>(model: &LinkModel, random: &mut R) -> (Link, Window) {
    let mut link = Link::random(model, random);
    let mut window = Window::fresh();
    let steps = 6 + random.random_range(0..20);
    let (style, jitter) = (random.random_range(0..STYLES), random.random_range(0..STYLES));
    let base = link.c * (0.3 + 1.2 * random.random::<f64>());
    let mut next = 0.0;
    for t in 0..=steps {
        let arriving = next;
        next = match style {
            0 => base,
            1 => base * 2.0 * random.random::<f64>(),
            2 if random.random::<f64>() < 0.3 => base * 3.0,
            2 => base * 0.5,
            _ => (link.c - link.queue()).max(0.0) + 0.4 * random.random::<f64>(),
        };
        let haste = match jitter {
            0 => 1.0,
            1 => random.random(),
            2 => f64::from(random.random::<bool>()),
            _ => f64::from(t % 2),
        };
        link.step(arriving, haste);
        let seen = link.observe(&window);
        window.slide(&seen, next);
    }
    (link, window)
}
