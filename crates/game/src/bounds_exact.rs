//! Exact bounds of C, B, the queue q and the safe rate (minimum of C + B - q) over all links that explain a window.
//! They are used at roots of the search, for claims and for the shield.
//!
//! A\[t\], S\[t\], N\[t\] and I\[t\] are the cumulative packets sent, delivered, accepted by the queue, and served, by
//! point t; K = C + B. A point whose losses are known is *visible*, otherwise *hidden*. At each visible point the queue
//! is either empty or not; a choice for all visible points is a *regime*. In a regime all observations are linear
//! constraints on C, I\[0\] and K. Each constraint on K is a lower or an upper bound that is linear in (C, I\[0\]), and
//! a K exists if no lower bound exceeds an upper bound. A regime is therefore a convex polygon in (C, I\[0\]). The
//! queue and C + B - q increase with K, so the extremes lie at vertices, with K at its largest lower bound or its
//! smallest upper bound (docs/formal/game.md contains the proof).

use serde::Serialize;

use crate::binding::{Binding, Fact};
use crate::bounds::Bounds;
use crate::model::{EPS, LinkModel, Range};
use crate::polygon::{Form, Polygon};
use crate::window::{POINTS, Window};

/// Tight bounds: every link of the belief is within them, and each bound is attained by some link of the belief.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ExactBounds {
    /// The bounds. If the possible capacities have a gap, C's bounds are the smallest and the largest possible
    /// capacity.
    #[serde(flatten)]
    pub bounds: Bounds,
    /// Constraints that bound C from below.
    pub c_min: Binding,
    /// Constraints that bound C from above.
    pub c_max: Binding,
    /// The widest gap between possible capacities, if they are not a single interval.
    pub gap: Option<Range>,
}

/// Minimum width of a gap; narrower gaps are rounding errors.
const GAP: f64 = 1e-4;

/// Returns exact bounds; `None` if no link of the model explains the window.
pub fn exact_bounds(w: &Window, model: &LinkModel) -> Option<ExactBounds> {
    explore(w, model, true)?.exact(model.slack)
}

/// Returns the exact range of C; `None` if no link of the model explains the window.
pub fn exact_c(w: &Window, model: &LinkModel) -> Option<Range> {
    let found = explore(w, model, false)?;
    (found.regimes > 0).then_some(found.c)
}

fn explore(w: &Window, model: &LinkModel, all: bool) -> Option<Found> {
    let mut explorer = Explorer::new(w, model, all)?;
    let mut start = explorer.start()?;
    explorer.point(1, &mut start);
    Some(explorer.found)
}

/// Enumerates the regimes. Amounts are relative to the amount delivered at the first point, so that long connections
/// lose no digits.
struct Explorer<'a> {
    w: &'a Window,
    model: &'a LinkModel,
    /// N\[t\], if known.
    accepted: [f64; POINTS],
    delivered: [f64; POINTS],
    /// A\[t\] - A\[t-1\], for all points up to the one after the window.
    arrived: [f64; POINTS + 1],
    /// A\[0\] minus the losses known before the window: an upper bound on N\[0\].
    first_at_most: f64,
    /// Whether to compute also B, the queue and the safe rate.
    all: bool,
    found: Found,
}

/// Results over all regimes.
#[derive(Clone, Copy)]
struct Found {
    bounds: Bounds,
    c: Range,
    c_min: Binding,
    c_max: Binding,
    /// C's interval in each regime.
    intervals: [Range; MAX_REGIMES],
    regimes: usize,
}

/// At each point after the first, the queue is either empty or not.
const MAX_REGIMES: usize = 1 << (POINTS - 1);

/// A regime, with the constraints up to some point.
#[derive(Clone, Copy)]
struct Regime {
    polygon: Polygon,
    /// I at the previous point.
    served: Form,
    /// I at the last visible point.
    served_visible: Form,
    empty_at: Option<u8>,
    lower: Forms,
    upper: Forms,
}

/// Bounds of K, each with the point that causes it (0: the model, or the first point).
#[derive(Clone, Copy)]
struct Forms {
    forms: [Form; POINTS + 1],
    points: [u8; POINTS + 1],
    len: usize,
}

impl Forms {
    fn of(form: Form) -> Forms {
        Forms { forms: [form; POINTS + 1], points: [0; POINTS + 1], len: 1 }
    }

    fn push(&mut self, form: Form, point: usize) {
        self.forms[self.len] = form;
        self.points[self.len] = point as u8;
        self.len += 1;
    }

    fn iter(&self) -> impl Iterator<Item = (Form, u8)> {
        self.forms[..self.len].iter().copied().zip(self.points)
    }
}

const NOTHING: Range = Range { min: f64::INFINITY, max: f64::NEG_INFINITY };

fn widen(range: &mut Range, by: Range) {
    range.min = range.min.min(by.min);
    range.max = range.max.max(by.max);
}

/// Returns the fact that relates a lower bound of K (from packets accepted by point `lower`) to an upper bound (from a
/// loss at point `upper`). An `upper` of 0 is the model's bound; so is a `lower` of 0 if `lower_is_model`.
fn fact_of_buffer(lower: u8, lower_is_model: bool, upper: u8) -> Fact {
    match (lower_is_model, upper) {
        (true, 0) => Fact::ModelB,
        (false, 0) => Fact::Room { point: lower },
        (true, loss_at) => Fact::Loss { loss_at, point: None },
        (false, loss_at) => Fact::Loss { loss_at, point: Some(lower) },
    }
}

impl<'a> Explorer<'a> {
    /// Returns `None` if the window is inconsistent: more was delivered than accepted, or a point is hidden although
    /// all packets that it can have accepted were delivered.
    fn new(w: &'a Window, model: &'a LinkModel, all: bool) -> Option<Explorer<'a>> {
        let base = w.delivered[0];
        let mut accepted = [0.0; POINTS];
        let mut delivered = [0.0; POINTS];
        let mut arrived = [0.0; POINTS + 1];
        for t in 0..w.len {
            delivered[t] = w.delivered[t] - base;
            if t < w.visible {
                accepted[t] = w.accepted(t) - base;
            }
            arrived[t + 1] = if t + 1 < w.len { w.sent[t + 1] } else { w.sent_next } - w.sent[t];
        }
        let first_at_most = w.sent[0] - w.lost_before - base;
        let end = delivered[w.len - 1];
        let hidden_at_most = match w.visible {
            0 => first_at_most,
            v if v < w.len => accepted[v - 1] + arrived[v],
            _ => end,
        };
        if hidden_at_most < end - EPS {
            return None;
        }
        let found = Found {
            bounds: Bounds {
                c: NOTHING,
                b: NOTHING,
                q: NOTHING,
                safe_rate: f64::INFINITY,
                min_c_plus_b: f64::INFINITY,
            },
            c: NOTHING,
            c_min: Binding { facts: [None; 2] },
            c_max: Binding { facts: [None; 2] },
            intervals: [NOTHING; MAX_REGIMES],
            regimes: 0,
        };
        Some(Explorer { w, model, accepted, delivered, arrived, first_at_most, all, found })
    }

    fn end(&self) -> f64 {
        self.delivered[self.w.len - 1]
    }

    /// N\[t\], or a lower bound on it for a hidden point.
    fn accepted_at_least(&self, t: usize) -> f64 {
        if t < self.w.visible { self.accepted[t] } else { self.end() }
    }

    /// Returns the regime of the first point.
    fn start(&self) -> Option<Regime> {
        let (w, model) = (self.w, self.model);
        let at_most = if w.visible > 0 { self.accepted[0] } else { self.first_at_most };
        if at_most < -EPS {
            return None;
        }
        let delivered = Fact::Delivered { point: 0, empty_at: None };
        let accepted = Fact::Accepted { point: 0 };
        let mut polygon =
            Polygon::rectangle(model.c, Range::new(0.0, at_most.max(0.0)), Fact::ModelC, delivered, accepted);
        // By point k, the link had delivered all that it had served by k - jitter, so I[0] <= S[k] + C (jitter - k).
        // All of these k - jitter but the last precede the window.
        for (k, &by) in self.delivered[..w.len].iter().take(model.jitter + 1).enumerate() {
            let cap = Form::constant(by) + Form::C * (model.jitter - k) as f64;
            if !polygon.keep(cap - Form::SERVED, Fact::JitterEnds { point: k as u8, empty_at: None }) {
                return None;
            }
        }
        let mut regime = Regime {
            polygon,
            served: Form::SERVED,
            served_visible: Form::SERVED,
            empty_at: None,
            lower: Forms::of(Form::C + Form::constant(model.b.min)),
            upper: Forms::of(Form::C + Form::constant(model.b.max)),
        };
        let in_queue = Form::C + Form::constant(self.accepted_at_least(0)) - Form::SERVED;
        self.bound_below(&mut regime, in_queue, 0).then_some(regime)
    }

    /// Adds the constraint that K is at least `form`.
    fn bound_below(&self, regime: &mut Regime, form: Form, point: usize) -> bool {
        for (upper, loss_at) in regime.upper.iter() {
            if !regime.polygon.keep(upper - form, fact_of_buffer(point as u8, false, loss_at)) {
                return false;
            }
        }
        regime.lower.push(form, point);
        true
    }

    /// Adds the constraint that K is at most `form`.
    fn bound_above(&self, regime: &mut Regime, form: Form, loss_at: usize) -> bool {
        for (i, (lower, point)) in regime.lower.iter().enumerate() {
            if !regime.polygon.keep(form - lower, fact_of_buffer(point, i == 0, loss_at as u8)) {
                return false;
            }
        }
        regime.upper.push(form, loss_at);
        true
    }

    /// Adds point `t`: explores an empty and a non-empty queue if both are possible.
    fn point(&mut self, t: usize, regime: &mut Regime) {
        let w = self.w;
        if t == w.len {
            return self.leaf(regime);
        }
        let before = regime.served;
        if t <= w.visible && w.visible > 0 {
            let need = Form::constant(self.accepted_at_least(t)) - before;
            if !self.bound_below(regime, need, t) {
                return;
            }
            if t < w.visible && w.has_loss_at(t) {
                let full = Form::constant(self.accepted[t] + self.model.slack) - before;
                if !self.bound_above(regime, full, t) {
                    return;
                }
            }
        }
        let busy = before + Form::C;
        let delivered = Fact::Delivered { point: t as u8, empty_at: regime.empty_at };
        if !regime.polygon.keep(busy - Form::constant(self.delivered[t]), delivered) {
            return;
        }
        if t < w.visible {
            self.visible_point(t, regime, busy);
        } else {
            // A hidden point accepted more than was delivered by the end: N[t] > S[end]. If the queue were empty, I[t]
            // would be N[t]. This is impossible if t + jitter is in the window, because then I[t] <= S[end]. If it is
            // not, only the queue depends on I[t], and the queue is computed separately. The link is therefore assumed
            // to be busy.
            regime.served = busy;
            self.served(t, regime);
        }
    }

    /// Adds a visible point: either the queue was empty, or the link was busy since the previous point.
    fn visible_point(&mut self, t: usize, regime: &mut Regime, busy: Form) {
        let accepted = Form::constant(self.accepted[t]);
        let fact = Fact::Accepted { point: t as u8 };
        if self.accepted[t] >= self.delivered[t] - EPS
            && let Some(polygon) = regime.polygon.part(busy - accepted, fact)
        {
            let mut empty = Regime { polygon, served: accepted, empty_at: Some(t as u8), ..*regime };
            self.served(t, &mut empty);
        }
        if regime.polygon.keep(accepted - busy, fact) {
            regime.served = busy;
            self.served(t, regime);
        }
    }

    /// Adds the constraint that I\[t\], which is `regime.served`, had been delivered by point t + jitter.
    fn served(&mut self, t: usize, regime: &mut Regime) {
        if t < self.w.visible {
            regime.served_visible = regime.served;
        }
        let seen = t + self.model.jitter;
        if seen < self.w.len {
            let fact = Fact::JitterEnds { point: seen as u8, empty_at: regime.empty_at };
            if !regime.polygon.keep(Form::constant(self.delivered[seen]) - regime.served, fact) {
                return;
            }
        }
        self.point(t + 1, regime);
    }

    /// Evaluate the regime after the last point.
    fn leaf(&mut self, regime: &Regime) {
        let c = regime.polygon.range(Form::C);
        let found = &mut self.found;
        if self.all {
            if c.min < found.c.min {
                found.c_min.facts = regime.polygon.facts_of_c(true);
            }
            if c.max > found.c.max {
                found.c_max.facts = regime.polygon.facts_of_c(false);
            }
        }
        widen(&mut found.c, c);
        found.intervals[found.regimes] = c;
        found.regimes += 1;
        if self.all {
            self.smallest_buffers(regime);
            self.largest_buffers(regime);
        }
    }

    /// Sets K to its largest lower bound to compute the minimum of B, of the queue, and of C + B - q.
    fn smallest_buffers(&mut self, regime: &Regime) {
        for (i, (k, _)) in regime.lower.iter().enumerate() {
            let mut polygon = regime.polygon;
            let others = regime.lower.iter().enumerate().filter(|(j, _)| *j != i);
            if !others.map(|(_, (other, _))| k - other).all(|least| polygon.keep(least, Fact::ModelB)) {
                continue;
            }
            let b = polygon.range(k - Form::C);
            self.found.bounds.b.min = self.found.bounds.b.min.min(b.min);
            self.found.bounds.min_c_plus_b = self.found.bounds.min_c_plus_b.min(polygon.range(k).min);
            if self.w.visible > 0 {
                let queue = Form::constant(self.accepted[self.w.visible - 1]) - regime.served_visible;
                self.queue(self.w.visible, polygon, k, queue, Side::SmallestBuffer);
            }
        }
        if self.w.visible == 0 {
            self.first_hidden(regime);
        }
    }

    /// Sets K to its smallest upper bound to compute the maximum of B and of the queue.
    fn largest_buffers(&mut self, regime: &Regime) {
        for (i, (k, _)) in regime.upper.iter().enumerate() {
            let mut polygon = regime.polygon;
            let others = regime.upper.iter().enumerate().filter(|(j, _)| *j != i);
            if !others.map(|(_, (other, _))| other - k).all(|most| polygon.keep(most, Fact::ModelB)) {
                continue;
            }
            let b = polygon.range(k - Form::C);
            self.found.bounds.b.max = self.found.bounds.b.max.max(b.max);
            if self.w.visible > 0 {
                let queue = Form::constant(self.accepted[self.w.visible - 1]) - regime.served_visible;
                self.queue(self.w.visible, polygon, k, queue, Side::LargestBuffer);
            }
        }
    }

    /// If the first point is hidden too, N\[0\] is at least the packets delivered and the packets served, and at most
    /// the packets sent. The queue increases with N\[0\] and with B. C + B - q decreases with N\[0\] until B has to
    /// increase with it.
    fn first_hidden(&mut self, regime: &Regime) {
        let Range { min: b_min, max: b_max } = self.model.b;
        let (end, sent) = (Form::constant(self.end()), Form::constant(self.first_at_most));
        let start = regime.polygon;
        // The minimum N[0] with the minimum B.
        for (accepted, polygon) in larger(end, Form::SERVED, start) {
            let waiting = accepted - Form::SERVED;
            for (b, polygon) in larger(waiting, Form::constant(b_min), polygon) {
                self.queue(1, polygon, b + Form::C, waiting, Side::SmallestQueue);
            }
            // If the sender can have sent enough packets, they fill a buffer of minimum size.
            for (most, polygon) in smaller(sent, Form::SERVED + Form::constant(b_min), polygon) {
                for (accepted, polygon) in larger(accepted, most, polygon) {
                    let waiting = accepted - Form::SERVED;
                    for (b, polygon) in larger(waiting, Form::constant(b_min), polygon) {
                        self.queue(1, polygon, b + Form::C, waiting, Side::SmallestRoom);
                    }
                }
            }
        }
        let most = Form::constant(b_max);
        for (accepted, polygon) in smaller(sent, Form::SERVED + most, start) {
            self.queue(1, polygon, most + Form::C, accepted - Form::SERVED, Side::LargestBuffer);
        }
    }

    /// Computes the queue from point `t` to the point after the window, from its value `before` at point t - 1: q\[t\]
    /// = min(B, max(0, q\[t-1\] + arrived - C)).
    fn queue(&mut self, t: usize, polygon: Polygon, k: Form, before: Form, side: Side) {
        let b = k - Form::C;
        let slack = self.model.slack;
        if slack == 0.0 {
            return self.queue_up_to(t, polygon, k, before, b, side);
        }
        // A loss before the buffer is full leaves a queue that is shorter by up to `slack`.
        if matches!(side, Side::SmallestBuffer | Side::SmallestQueue) {
            for (most, polygon) in larger(b - Form::constant(slack), Form::constant(0.0), polygon) {
                self.queue_up_to(t, polygon, k, before, most, Side::SmallestQueue);
            }
        }
        match side {
            Side::SmallestQueue => {}
            Side::SmallestBuffer => self.queue_up_to(t, polygon, k, before, b, Side::SmallestRoom),
            Side::SmallestRoom | Side::LargestBuffer => self.queue_up_to(t, polygon, k, before, b, side),
        }
    }

    /// Computes the queue at point `t`, limited to `most`, and continues with the next point.
    fn queue_up_to(&mut self, t: usize, polygon: Polygon, k: Form, before: Form, most: Form, side: Side) {
        let after = before + Form::constant(self.arrived[t]) - Form::C;
        if let Some(overflowing) = polygon.part(after - most, Fact::ModelB) {
            self.queue_after(t, overflowing, k, most, side);
        }
        if let Some(fitting) = polygon.part(most - after, Fact::ModelB) {
            if let Some(waiting) = fitting.part(after, Fact::ModelB) {
                self.queue_after(t, waiting, k, after, side);
            }
            if let Some(empty) = fitting.part(Form::constant(0.0) - after, Fact::ModelB) {
                self.queue_after(t, empty, k, Form::constant(0.0), side);
            }
        }
    }

    fn queue_after(&mut self, t: usize, polygon: Polygon, k: Form, queue: Form, side: Side) {
        if t < self.w.len {
            return self.queue(t + 1, polygon, k, queue, side);
        }
        let q = polygon.range(queue);
        let bounds = &mut self.found.bounds;
        match side {
            Side::LargestBuffer => bounds.q.max = bounds.q.max.max(q.max.max(0.0)),
            Side::SmallestQueue => bounds.q.min = bounds.q.min.min(q.min.max(0.0)),
            Side::SmallestRoom => bounds.safe_rate = bounds.safe_rate.min(polygon.range(k - queue).min),
            Side::SmallestBuffer => {
                bounds.q.min = bounds.q.min.min(q.min.max(0.0));
                bounds.safe_rate = bounds.safe_rate.min(polygon.range(k - queue).min);
            }
        }
    }
}

/// The extreme values for which a queue is computed.
#[derive(Clone, Copy)]
enum Side {
    /// Min of q and of C + B - q.
    SmallestBuffer,
    /// Max of q.
    LargestBuffer,
    /// Min of q.
    SmallestQueue,
    /// Min of C + B - q.
    SmallestRoom,
}

/// Splits the polygon into the parts in which `one` or `two` is larger, and returns the larger form with each part.
fn larger(one: Form, two: Form, polygon: Polygon) -> impl Iterator<Item = (Form, Polygon)> {
    let parts = [(one, polygon.part(one - two, Fact::ModelB)), (two, polygon.part(two - one, Fact::ModelB))];
    parts.into_iter().filter_map(|(form, part)| Some((form, part?)))
}

/// Splits the polygon into the parts in which `one` or `two` is smaller, and returns the smaller form with each part.
fn smaller(one: Form, two: Form, polygon: Polygon) -> impl Iterator<Item = (Form, Polygon)> {
    let parts = [(one, polygon.part(two - one, Fact::ModelB)), (two, polygon.part(one - two, Fact::ModelB))];
    parts.into_iter().filter_map(|(form, part)| Some((form, part?)))
}

impl Found {
    fn exact(mut self, slack: f64) -> Option<ExactBounds> {
        if self.regimes == 0 {
            return None;
        }
        let bounds = Bounds { c: self.c, safe_rate: self.bounds.safe_rate - slack, ..self.bounds };
        let gap = self.gap();
        Some(ExactBounds { bounds, c_min: self.c_min, c_max: self.c_max, gap })
    }

    /// Returns the widest gap between the regimes' intervals of C.
    fn gap(&mut self) -> Option<Range> {
        let intervals = &mut self.intervals[..self.regimes];
        intervals.sort_unstable_by(|one, two| one.min.total_cmp(&two.min));
        let mut reached = intervals[0].max;
        let mut widest: Option<Range> = None;
        for interval in &intervals[1..] {
            let gap = Range::new(reached, interval.min);
            if gap.width() > widest.map_or(GAP, |range| range.width()) {
                widest = Some(gap);
            }
            reached = reached.max(interval.max);
        }
        widest
    }
}
