//! The last observations of a sender: packets sent, delivered and lost, cumulative, at up to six points a step apart.

/// Points of a window (thesis 4.5 and its artifact look six steps back).
pub const POINTS: usize = 6;

/// Observations at the points 0 to `len` - 1, a step apart, the latest last; amounts in packets since the connection
/// began.
///
/// `sent[t]` belongs to `delivered[t]`: it is what had been sent one RTprop before the time of `delivered[t]`, so that
/// a link without queue and jitter delivers `delivered[t] == sent[t]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Number of points, 1 to [`POINTS`].
    pub len: usize,
    /// A: cumulative packets sent.
    pub sent: [f64; POINTS],
    /// S: cumulative packets delivered.
    pub delivered: [f64; POINTS],
    /// L: cumulative packets lost; known for points below `visible` only.
    pub lost: [f64; POINTS],
    /// Points whose losses are known: all packets sent by then were delivered or are lost. That is S\[len-1\] >= A\[t\]
    /// - L\[t\].
    pub visible: usize,
    /// Losses known at or before the point before the window: L\[0\] is at least this.
    pub lost_before: f64,
    /// Cumulative packets sent that reach the queue by the next point (what A\[len\] will be).
    pub sent_next: f64,
}

/// Observations at the next point: the losses of the window extended by that point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Cumulative packets delivered at the new point.
    pub delivered: f64,
    /// Points of the extended window whose losses are known now.
    pub visible: usize,
    /// Cumulative losses of the extended window, for points below `visible`.
    pub lost: [f64; POINTS + 1],
}

impl Window {
    /// The window of a connection that has been idle: nothing sent, delivered or lost at all points.
    pub const fn fresh() -> Window {
        let none = [0.0; POINTS];
        Window {
            len: POINTS,
            sent: none,
            delivered: none,
            lost: none,
            visible: POINTS,
            lost_before: 0.0,
            sent_next: 0.0,
        }
    }

    /// Packets that the queue accepted by point `t` (N = A - L), for a point whose losses are known.
    #[inline]
    pub fn accepted(&self, t: usize) -> f64 {
        debug_assert!(t < self.visible);
        self.sent[t] - self.lost[t]
    }

    /// Cumulative packets delivered at the last point.
    #[inline]
    pub fn delivered_last(&self) -> f64 {
        self.delivered[self.len - 1]
    }

    /// Cumulative losses known at the last visible point.
    #[inline]
    pub fn lost_known(&self) -> f64 {
        if self.visible > 0 { self.lost[self.visible - 1] } else { self.lost_before }
    }

    /// True if packets were lost between the points `t - 1` and `t`, both of them visible.
    #[inline]
    pub fn has_loss_at(&self, t: usize) -> bool {
        debug_assert!(t > 0 && t < self.visible);
        self.lost[t] > self.lost[t - 1] + crate::EPS
    }

    /// Append the observed point and drop the oldest of a full window. `rate` packets are sent in the step that begins
    /// now, and reach the queue one point later.
    pub fn slide(&mut self, new: &Observation, rate: f64) {
        let extended = self.len + 1;
        debug_assert!(new.visible >= self.visible && new.visible <= extended);
        let drop = usize::from(self.len == POINTS);
        if drop == 1 {
            if new.visible > 0 {
                self.lost_before = new.lost[0];
            }
            self.sent.copy_within(1.., 0);
            self.delivered.copy_within(1.., 0);
        }
        let last = extended - drop - 1;
        self.sent[last] = self.sent_next;
        self.delivered[last] = new.delivered;
        self.lost = [0.0; POINTS];
        self.visible = new.visible.saturating_sub(drop);
        self.lost[..self.visible].copy_from_slice(&new.lost[drop..drop + self.visible]);
        self.len = extended - drop;
        self.sent_next += rate;
    }

    /// The latest `len` points only; `None` if the window has fewer, or `len` is 0.
    pub fn latest(&self, len: usize) -> Option<Window> {
        let drop = self.len.checked_sub(len)?;
        if len == 0 {
            return None;
        }
        let mut cut = Window { len, ..Window::fresh() };
        cut.sent[..len].copy_from_slice(&self.sent[drop..self.len]);
        cut.delivered[..len].copy_from_slice(&self.delivered[drop..self.len]);
        cut.visible = self.visible.saturating_sub(drop);
        cut.lost[..cut.visible].copy_from_slice(&self.lost[drop..drop + cut.visible]);
        cut.lost_before = match drop.min(self.visible) {
            0 => self.lost_before,
            known => self.lost[known - 1],
        };
        cut.sent_next = self.sent_next;
        Some(cut)
    }
}
