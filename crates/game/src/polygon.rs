//! Convex polygons in the plane of capacity C and I\[0\], the amount served by a window's first point. They are cut by
//! linear constraints, and each edge stores the constraint that made it.

use crate::binding::Fact;
use crate::model::{EPS, Range};

/// A linear form of C and I\[0\].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Form {
    /// Value at C = I\[0\] = 0.
    pub at_zero: f64,
    /// Coefficient of C.
    pub c: f64,
    /// Coefficient of I\[0\].
    pub served: f64,
}

impl Form {
    /// C itself.
    pub const C: Form = Form { at_zero: 0.0, c: 1.0, served: 0.0 };
    /// I\[0\] itself.
    pub const SERVED: Form = Form { at_zero: 0.0, c: 0.0, served: 1.0 };

    /// Returns the form that has the same value everywhere.
    pub const fn constant(value: f64) -> Form {
        Form { at_zero: value, c: 0.0, served: 0.0 }
    }

    #[inline]
    pub fn at(&self, vertex: Vertex) -> f64 {
        self.at_zero + self.c * vertex.c + self.served * vertex.served
    }
}

impl std::ops::Add for Form {
    type Output = Form;
    fn add(self, other: Form) -> Form {
        Form { at_zero: self.at_zero + other.at_zero, c: self.c + other.c, served: self.served + other.served }
    }
}

impl std::ops::Sub for Form {
    type Output = Form;
    fn sub(self, other: Form) -> Form {
        Form { at_zero: self.at_zero - other.at_zero, c: self.c - other.c, served: self.served - other.served }
    }
}

impl std::ops::Mul<f64> for Form {
    type Output = Form;
    fn mul(self, factor: f64) -> Form {
        Form { at_zero: self.at_zero * factor, c: self.c * factor, served: self.served * factor }
    }
}

/// Vertices closer than this are merged.
const CORNER: f64 = 1e-5;

/// A corner of a polygon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Vertex {
    pub c: f64,
    pub served: f64,
}

/// Maximum number of vertices of a polygon; the maximum in a million random windows was 16. At the limit, cuts are
/// skipped: the polygon is then too large, so bounds are sound but not tight.
const VERTICES: usize = 24;

/// A convex polygon, a segment (two vertices), or a point (one vertex). The vertices are in order around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Polygon {
    vertices: [Vertex; VERTICES],
    /// The edge from each vertex to the next one.
    edges: [Edge; VERTICES],
    len: usize,
}

/// The constraint of an edge, and its inward normal: the integer coefficients of the form that made it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge {
    fact: Fact,
    c: i16,
    served: i8,
}

impl Edge {
    fn of(form: Form, fact: Fact) -> Edge {
        Edge { fact, c: form.c as i16, served: form.served as i8 }
    }
}

impl Polygon {
    /// Creates the rectangle of C and I\[0\].
    pub fn rectangle(c: Range, served: Range, c_fact: Fact, low: Fact, high: Fact) -> Polygon {
        let corner = |c, served| Vertex { c, served };
        let edge = |c, served, fact| Edge { fact, c, served };
        let none = edge(0, 0, c_fact);
        let mut all = Polygon { vertices: [corner(0.0, 0.0); VERTICES], edges: [none; VERTICES], len: 4 };
        all.vertices[..4].copy_from_slice(&[
            corner(c.min, served.min),
            corner(c.max, served.min),
            corner(c.max, served.max),
            corner(c.min, served.max),
        ]);
        all.edges[..4].copy_from_slice(&[edge(0, 1, low), edge(-1, 0, c_fact), edge(0, -1, high), edge(1, 0, c_fact)]);
        all
    }

    /// Returns the vertices.
    #[inline]
    pub fn vertices(&self) -> &[Vertex] {
        &self.vertices[..self.len]
    }

    /// Keep the part with `form` >= 0 (up to rounding) because of `fact`. Returns false if nothing is left.
    #[inline]
    pub fn keep(&mut self, form: Form, fact: Fact) -> bool {
        let mut values = [0.0; VERTICES];
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for (value, &vertex) in values.iter_mut().zip(self.vertices()) {
            *value = form.at(vertex);
            least = least.min(*value);
            most = most.max(*value);
        }
        if least >= -EPS {
            return true;
        }
        if most < -EPS {
            return false;
        }
        self.cut(&values, Edge::of(form, fact));
        true
    }

    /// A step of the Sutherland-Hodgman algorithm: cut along the line where the values at the vertices are 0.
    ///
    /// The vertices on the remaining side of a convex polygon are one run, so a cut adds at most one vertex. If
    /// rounding splits the run, it adds two; the test of `len` leaves space for both.
    fn cut(&mut self, values: &[f64; VERTICES], edge: Edge) {
        let old = *self;
        let len = old.len;
        if len + 2 > VERTICES {
            return;
        }
        self.len = 0;
        for i in 0..len {
            let j = if i + 1 == len { 0 } else { i + 1 };
            let (from, to) = (values[i], values[j]);
            match (from >= -EPS, to >= -EPS) {
                (true, true) => self.push(old.vertices[i], old.edges[i]),
                // A vertex on the line becomes two vertices with an edge of zero length, which keeps the constraint.
                (true, false) => {
                    self.push(old.vertices[i], old.edges[i]);
                    self.push(between(old.vertices[i], old.vertices[j], from.max(0.0) / (from.max(0.0) - to)), edge);
                }
                (false, true) => {
                    let share = to.max(0.0) / (to.max(0.0) - from);
                    self.push(between(old.vertices[j], old.vertices[i], share), old.edges[i]);
                }
                (false, false) => {}
            }
        }
    }

    #[inline]
    fn push(&mut self, vertex: Vertex, edge: Edge) {
        self.vertices[self.len] = vertex;
        self.edges[self.len] = edge;
        self.len += 1;
    }

    /// Returns the part of this polygon with `form` >= 0, if any.
    #[inline]
    pub fn part(&self, form: Form, fact: Fact) -> Option<Polygon> {
        let mut part = *self;
        part.keep(form, fact).then_some(part)
    }

    /// Returns the minimum and maximum value of a form.
    #[inline]
    pub fn range(&self, form: Form) -> Range {
        let mut range = Range::new(f64::INFINITY, f64::NEG_INFINITY);
        for &vertex in self.vertices() {
            let value = form.at(vertex);
            range = Range::new(range.min.min(value), range.max.max(value));
        }
        range
    }

    /// Returns the constraint that prevents a smaller C (if `least`) or a larger C, or the two constraints that do so
    /// together: of the edges at the extreme vertex, those whose normals have a positive combination along the C axis.
    pub fn facts_of_c(&self, least: bool) -> [Option<Fact>; 2] {
        let towards: i32 = if least { 1 } else { -1 };
        let c = |vertex: &Vertex| f64::from(towards) * vertex.c;
        let best =
            *self.vertices().iter().min_by(|one, two| c(one).total_cmp(&c(two))).expect("a polygon has a vertex");
        let near = |i: usize| {
            let vertex = self.vertices[i % self.len];
            (vertex.c - best.c).abs() <= CORNER && (vertex.served - best.served).abs() <= CORNER
        };
        let touching = || (0..self.len).filter(|&i| near(i) || near(i + 1)).map(|i| self.edges[i]);
        if let Some(edge) = touching().find(|edge| edge.served == 0 && i32::from(edge.c) * towards > 0) {
            return [Some(edge.fact), None];
        }
        for one in touching().filter(|edge| edge.served > 0) {
            for two in touching().filter(|edge| edge.served < 0) {
                // The sum of the normals, weighted so that I[0] cancels, has this coefficient of C.
                let c = i32::from(one.c) * -i32::from(two.served) + i32::from(two.c) * i32::from(one.served);
                if c * towards > 0 {
                    return [Some(one.fact), Some(two.fact)];
                }
            }
        }
        // If rounding has moved an edge away from its vertex, one constraint at the vertex is returned.
        [touching().next().map(|edge| edge.fact), None]
    }
}

fn between(inside: Vertex, outside: Vertex, share: f64) -> Vertex {
    Vertex {
        c: inside.c + (outside.c - inside.c) * share,
        served: inside.served + (outside.served - inside.served) * share,
    }
}
