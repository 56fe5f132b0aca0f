//! The last observations of a sender: cumulative packets sent, delivered and lost, at up to six points one step (an
//! rtprop) apart.

/// Maximum number of points of a window (section 4.5 of the thesis and its artifact look six steps back).
pub const POINTS: usize = 6;

/// Observations at the points 0 to `len` - 1, one step apart, the latest last. Amounts are in packets since the
/// connection began.
///
/// `sent[t]` is the amount sent by one rtprop before the time of `delivered[t]`, so that a link without queue and
/// jitter delivers `delivered[t] == sent[t]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Number of points, 1 to [`POINTS`].
    pub len: usize,
    /// A: cumulative packets sent.
    pub sent: [f64; POINTS],
    /// S: cumulative packets delivered.
    pub delivered: [f64; POINTS],
    /// L: cumulative packets lost; known only for points below `visible`.
    pub lost: [f64; POINTS],
    /// Number of points whose losses are known. At such a point t, each packet sent by then was delivered or lost:
    /// S\[len-1\] >= A\[t\] - L\[t\].
    pub visible: usize,
    /// Losses known by the last point before the window; L\[0\] is at least this.
    pub lost_before: f64,
    /// Cumulative packets sent that reach the queue by the next point, i.e. the future A\[len\].
    pub sent_next: f64,
}

/// Observation at the next point. The *extended* window is the window with that point appended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    /// Cumulative packets delivered at the new point.
    pub delivered: f64,
    /// Number of points of the extended window whose losses are now known.
    pub visible: usize,
    /// Cumulative losses of the extended window, for points below `visible`.
    pub lost: [f64; POINTS + 1],
}

impl Window {
    /// Returns the window of an idle connection: nothing sent, delivered or lost at any point.
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

    /// Packets that the queue accepted by point `t` (N = A - L). The point's losses must be known.
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

    /// Whether packets were lost between the points `t - 1` and `t`, both of which must be visible.
    #[inline]
    pub fn has_loss_at(&self, t: usize) -> bool {
        debug_assert!(t > 0 && t < self.visible);
        self.lost[t] > self.lost[t - 1] + crate::EPS
    }

    /// Append the observed point and drop the oldest point of a full window. `rate` packets are sent in the step that
    /// begins now; they reach the queue one point later.
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

    /// Returns only the latest `len` points; `None` if the window has fewer points or `len` is 0.
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
