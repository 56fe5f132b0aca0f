//! The game of a sender against a link; `crates/game` implements the game.

use crate::error::{from_argument, from_controller, from_game_session, from_rows};
use fairweir_game::action::Action;
use fairweir_game::controller::Controller;
use fairweir_game::explain::explain;
use fairweir_game::features::{COUNT, FEATURES, features};
use fairweir_game::objective::{MAX_COMPONENTS, Value};
use fairweir_game::play::{Policy, Row, Session, play};
use fairweir_game::query::Query;
use fairweir_game::state::{Situation, amounts};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A parsed query.
#[pyclass(frozen)]
pub struct GameQuery(Arc<Query>);

#[pymethods]
impl GameQuery {
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<GameQuery> {
        Query::from_json(json).map(|q| GameQuery(Arc::new(q))).map_err(|e| from_controller(py, &e))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn actions(&self) -> Vec<&str> {
        self.0.actions.0.iter().map(|row| row.name.as_str()).collect()
    }

    /// Returns the leaves in the format of controller files, one for each template.
    fn leaves(&self, py: Python<'_>) -> PyResult<String> {
        let leaves: Vec<_> = self.0.actions.0.iter().map(|row| row.leaf()).collect();
        serde_json::to_string(&leaves).map_err(|e| crate::error::from_json(py, &e))
    }

    fn components(&self, converged: bool) -> Vec<&str> {
        self.0.objective.phase(converged).iter().map(|c| c.name.as_str()).collect()
    }

    fn with_depth(&self, py: Python<'_>, depth: u32) -> PyResult<GameQuery> {
        if !(1..=fairweir_game::query::MAX_DEPTH).contains(&depth) {
            let max = fairweir_game::query::MAX_DEPTH;
            return Err(from_argument(py, "depth", depth, &format!("a horizon of 1 to {max} steps")));
        }
        Ok(GameQuery(Arc::new(Query { depth, ..(*self.0).clone() })))
    }

    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&*self.0).map_err(|e| crate::error::from_json(py, &e))
    }

    fn random_session(&self, py: Python<'_>, seed: u64) -> PyResult<String> {
        serde_json::to_string(&Session::random(&self.0, seed)).map_err(|e| crate::error::from_json(py, &e))
    }
}

/// A parsed controller file.
#[pyclass(frozen)]
pub struct GameController(Arc<Controller>);

#[pymethods]
impl GameController {
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<GameController> {
        Controller::from_json(json).map(|c| GameController(Arc::new(c))).map_err(|e| from_controller(py, &e))
    }

    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// Returns the decision in a state, after the shield: index of the leaf's node, batches, message, rate, target
    /// (packets).
    fn decide(&self, state: &GameState) -> (usize, &'static str, f64, f64, f64) {
        let found = self.0.decide(&state.0.view());
        let Action { send, message, rate, encode } = found.action;
        (found.leaf, send.name(), message, rate, encode)
    }

    /// Returns the index of the leaf's node for each row of features, as u32.
    fn leaves<'py>(&self, py: Python<'py>, rows: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let width = COUNT * 8;
        if !rows.len().is_multiple_of(width) {
            return Err(from_rows(py, rows.len(), COUNT));
        }
        let leaves: Vec<u8> = py.detach(|| {
            let row = |bytes: &[u8]| {
                let mut x = [0.0; COUNT];
                for (x, bytes) in x.iter_mut().zip(bytes.chunks_exact(8)) {
                    *x = f64::from_ne_bytes(bytes.try_into().expect("a chunk has 8 bytes"));
                }
                (self.0.nodes.leaf(&x).0 as u32).to_ne_bytes()
            };
            rows.chunks_exact(width).flat_map(row).collect()
        });
        Ok(PyBytes::new(py, &leaves))
    }
}

/// A situation: observations, frames and belief.
#[pyclass(frozen)]
pub struct GameState(Situation);

#[pymethods]
impl GameState {
    fn features(&self) -> Vec<f64> {
        features(&self.0.view()).to_vec()
    }

    #[getter]
    fn converged(&self) -> bool {
        self.0.is_converged()
    }

    /// Returns the basis of the belief.
    #[getter]
    fn belief_source(&self) -> &'static str {
        self.0.belief.from.name()
    }

    /// Returns the held min B on which the belief is based, packets.
    #[getter]
    fn min_b(&self) -> Option<f64> {
        self.0.min_b
    }

    /// Returns M, Q, R0 and max C, packets.
    #[getter]
    fn bounds(&self) -> (f64, f64, f64, f64) {
        let b = &self.0.belief.bounds;
        (b.c.min, b.q.max, b.safe_rate, b.c.max)
    }
}

/// Returns the names, units and meanings of the features, in the order of the columns.
#[pyfunction]
pub fn game_features() -> Vec<(&'static str, &'static str, &'static str)> {
    FEATURES.iter().map(|f| (f.name, f.unit, f.doc)).collect()
}

/// Returns the features of the states as rows of f64.
#[pyfunction]
pub fn game_feature_rows<'py>(py: Python<'py>, states: Vec<PyRef<'py, GameState>>) -> Bound<'py, PyBytes> {
    let rows: Vec<u8> = states.iter().flat_map(|s| features(&s.0.view())).flat_map(f64::to_ne_bytes).collect();
    PyBytes::new(py, &rows)
}

/// Returns the values of every template of the query in each state, as i32: states x templates x 8; smaller values are
/// better. Unused components are 0; all components are the maximum if no link explains the state.
#[pyfunction]
#[pyo3(signature = (query, states, *, threads=1))]
pub fn game_values<'py>(
    py: Python<'py>,
    query: &GameQuery,
    states: Vec<PyRef<'py, GameState>>,
    threads: usize,
) -> Bound<'py, PyBytes> {
    let situations: Vec<Situation> = states.iter().map(|s| s.0).collect();
    let query = &query.0;
    let templates = query.actions.0.len();
    let of = |s: &Situation| s.search(query).map_or_else(|| vec![Value::MAX; templates], |mut search| search.values());
    let values: Vec<Value> = py.detach(|| {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = vec![];
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(s) = situations.get(i) else { return done };
                done.push((i, of(s)));
            }
        };
        let mut all = vec![vec![]; situations.len()];
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.clamp(1, 64)).map(|_| scope.spawn(work)).collect();
            for worker in workers {
                // A panic in the search is a bug, so it is propagated.
                for (i, values) in worker.join().unwrap_or_else(|e| std::panic::resume_unwind(e)) {
                    all[i] = values;
                }
            }
        });
        all.concat()
    });
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.0).flat_map(i32::to_ne_bytes).collect();
    debug_assert_eq!(bytes.len(), situations.len() * templates * MAX_COMPONENTS * 4);
    PyBytes::new(py, &bytes)
}

/// Returns the search's decision in a state: the index of the template; `None` if no link explains the state.
#[pyfunction]
pub fn game_decide(py: Python<'_>, query: &GameQuery, state: &GameState) -> Option<usize> {
    py.detach(|| state.0.search(&query.0).map(|mut search| search.decide().template))
}

/// Explains the action taken in a state (JSON).
#[pyfunction]
#[pyo3(signature = (query, state, controller=None))]
pub fn game_explain(
    py: Python<'_>,
    query: &GameQuery,
    state: &GameState,
    controller: Option<&GameController>,
) -> PyResult<String> {
    let text = py.detach(|| {
        let explanation = explain(&query.0, &state.0, controller.map(|c| &*c.0));
        serde_json::to_string(&explanation)
    });
    text.map_err(|e| crate::error::from_json(py, &e))
}

/// Runs a session (JSON) and returns its summary (JSON) and, if requested, its rows as lists.
#[pyfunction]
#[pyo3(signature = (query, session, policy=None, *, rows=false))]
pub fn game_play<'py>(
    py: Python<'py>,
    query: &GameQuery,
    session: &str,
    policy: Option<Bound<'py, PyAny>>,
    rows: bool,
) -> PyResult<(String, Option<Bound<'py, PyDict>>)> {
    let session: Session = serde_json::from_str(session).map_err(|e| crate::error::from_json(py, &e))?;
    session.check().map_err(|(key, reason)| from_game_session(py, key, &reason))?;
    let query = &query.0;
    let mut seen: Vec<Row> = vec![];
    let mut take = |row: &Row| {
        if rows {
            seen.push(*row);
        }
    };
    let controller = policy.as_ref().and_then(|p| p.cast::<GameController>().ok()).map(|c| c.get().0.clone());
    let summary = match (&policy, &controller) {
        (None, _) => py.detach(|| play(query, &session, Policy::Search, &mut take)),
        (_, Some(tree)) => py.detach(|| play(query, &session, Policy::Tree(tree), &mut take)),
        (Some(call), None) => {
            let mut failed: Option<PyErr> = None;
            let mut custom = |s: &Situation| {
                let choose = || -> PyResult<Action> {
                    let template: usize = call.call1((features(&s.view()).to_vec(),))?.extract()?;
                    let row = query.actions.0.get(template).ok_or_else(|| {
                        let n = query.actions.0.len();
                        from_argument(py, "action", template, &format!("a policy returns an index below {n}"))
                    })?;
                    Ok(row.template().realise(&amounts(&s.belief.bounds), &s.state.frames.sizes()))
                };
                if failed.is_some() {
                    return Action::hold(0.0);
                }
                choose().unwrap_or_else(|e| {
                    failed = Some(e);
                    Action::hold(0.0)
                })
            };
            let summary = play(query, &session, Policy::Custom(&mut custom), &mut take);
            if let Some(e) = failed {
                return Err(e);
            }
            summary
        }
    };
    let summary = serde_json::to_string(&summary).map_err(|e| crate::error::from_json(py, &e))?;
    if !rows {
        return Ok((summary, None));
    }
    let columns = PyDict::new(py);
    let number = |f: &dyn Fn(&Row) -> f64| seen.iter().map(f).collect::<Vec<f64>>();
    columns
        .set_item("state", seen.iter().map(|r| Py::new(py, GameState(r.situation))).collect::<PyResult<Vec<_>>>()?)?;
    columns.set_item("chosen", seen.iter().map(|r| r.chosen).collect::<Vec<_>>())?;
    columns.set_item("send", seen.iter().map(|r| r.action.send.name()).collect::<Vec<_>>())?;
    columns.set_item("message", number(&|r| r.action.message))?;
    columns.set_item("rate", number(&|r| r.action.rate))?;
    columns.set_item("encode", number(&|r| r.action.encode))?;
    columns.set_item("queue", number(&|r| r.queue))?;
    columns.set_item("c", number(&|r| r.c))?;
    columns.set_item("received", seen.iter().map(|r| r.situation.state.frames.counts.received).collect::<Vec<_>>())?;
    columns.set_item("late", seen.iter().map(|r| r.situation.state.frames.counts.late).collect::<Vec<_>>())?;
    columns.set_item("dropped", seen.iter().map(|r| r.situation.state.frames.counts.dropped).collect::<Vec<_>>())?;
    Ok((summary, Some(columns)))
}

/// Returns random situations from the whole state space of the model, independent of policies: windows of random
/// senders with random frames.
#[pyfunction]
pub fn game_random_states(py: Python<'_>, query: &GameQuery, n: usize, seed: u64) -> Vec<GameState> {
    py.detach(|| fairweir_game::play::random_situations(&query.0, n, seed)).into_iter().map(GameState).collect()
}
