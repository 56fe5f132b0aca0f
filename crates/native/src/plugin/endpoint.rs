//! Ends of whole transport stacks in shared libraries (`include/fairweir_endpoint.h`).
//!
//! A library is code of the user, but what it returns is checked: the table, the sizes that it writes, and bytes after the
//! buffer that it gets.

use super::load::{Interface, inspect, open};
use super::table::{Refusal, refuse, text};
use fairweir_cca::BuildError;
use fairweir_plugin::endpoint as abi;
use std::ffi::{CStr, c_void};
use std::path::Path;

pub use abi::{NONE, Start, State, ecn, role};

const BUILD_HINT: &str =
    "build it against include/fairweir_endpoint.h; `fairweir new plugin NAME --kind endpoint` writes one that works";
const INTERFACE: Interface = Interface {
    symbol: abi::SYMBOL,
    stem: abi::SYMBOL_STEM,
    version: abi::ABI,
    header: "fairweir_endpoint.h",
    build_hint: BUILD_HINT,
};
/// Bytes after the buffer of a datagram, and their value: a library that writes beyond the buffer changes them.
const GUARD: [u8; 64] = [0xa5; 64];

/// The functions of a library, all of which exist but `fault`.
#[derive(Clone, Copy, Debug)]
struct Functions {
    destroy: unsafe extern "C" fn(*mut c_void),
    offer: unsafe extern "C" fn(*mut c_void, u64, u64),
    receive: unsafe extern "C" fn(*mut c_void, u64, *const u8, u64, u64),
    timeout: unsafe extern "C" fn(*mut c_void, u64),
    send: unsafe extern "C" fn(*mut c_void, u64, *mut abi::Datagram) -> u64,
    deadline: unsafe extern "C" fn(*mut c_void, u64) -> u64,
    state: unsafe extern "C" fn(*mut c_void, *mut State),
    fault: Option<unsafe extern "C" fn(*mut c_void) -> *const std::ffi::c_char>,
}

/// A loaded library.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    name: &'static str,
    create: unsafe extern "C" fn(*const Start) -> *mut c_void,
    functions: Functions,
}

/// Returns whether the library at `path` has the interface of whole stacks; it is not loaded.
pub fn is_endpoint(path: &Path) -> bool {
    inspect(path, &INTERFACE).is_ok()
}

/// Loads the library at `path`.
///
/// # Errors
/// [`BuildError::BadSource`] if it is not a shared library for this machine, lacks the symbol, or its table contradicts
/// the interface.
pub fn load(path: &Path) -> Result<Library, BuildError> {
    inspect(path, &INTERFACE)
        .and_then(|()| open(path, abi::SYMBOL))
        .and_then(read)
        .map_err(|Refusal { reason, hint }| BuildError::BadSource { path: path.display().to_string(), reason, hint })
}

/// Checks the table.
fn read(table: *const abi::Endpoint) -> Result<Library, Refusal> {
    if table.is_null() || !table.is_aligned() {
        return Err(refuse(format!("`{}` returns no table", abi::SYMBOL), BUILD_HINT));
    }
    // SAFETY: both fields are first in every version of the interface.
    let (version, size) = unsafe { ((*table).abi, (*table).size) };
    if version != abi::ABI {
        let reason =
            format!("its table is for version {version} of the interface; this fairweir reads version {}", abi::ABI);
        return Err(refuse(reason, "build it against the fairweir_endpoint.h of this fairweir"));
    }
    let expected = size_of::<abi::Endpoint>();
    if size as usize != expected {
        let reason = format!("its table has {size} bytes; version {version} of the interface has {expected}");
        return Err(refuse(reason, "set size to sizeof(struct fw_endpoint)"));
    }
    // SAFETY: guaranteed by the interface and by the size checked above.
    let table: &'static abi::Endpoint = unsafe { &*table };
    let missing =
        |function: &str| refuse(format!("{function} is NULL"), "only `fault` may be NULL (fairweir_endpoint.h)");
    let name = text(table.name, "name")?;
    text(table.version, "version")?;
    Ok(Library {
        name,
        create: table.create.ok_or_else(|| missing("create"))?,
        functions: Functions {
            destroy: table.destroy.ok_or_else(|| missing("destroy"))?,
            offer: table.offer.ok_or_else(|| missing("offer"))?,
            receive: table.receive.ok_or_else(|| missing("receive"))?,
            timeout: table.timeout.ok_or_else(|| missing("timeout"))?,
            send: table.send.ok_or_else(|| missing("send"))?,
            deadline: table.deadline.ok_or_else(|| missing("deadline"))?,
            state: table.state.ok_or_else(|| missing("state"))?,
            fault: table.fault,
        },
    })
}

/// A datagram that an end has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The payload.
    pub payload: Vec<u8>,
    /// One of [`ecn`].
    pub ecn: u64,
    /// Time at which it leaves the host.
    pub depart_at: u64,
}

/// One end of a connection.
#[derive(Debug)]
pub struct End {
    functions: Functions,
    state: *mut c_void,
    /// Room for a datagram, and [`GUARD`].
    buffer: Vec<u8>,
}

impl Library {
    /// Creates an end.
    ///
    /// # Errors
    /// If the library returns no state.
    pub fn create(&self, start: &Start) -> Result<End, String> {
        // SAFETY: for every call here: the function has the interface's type, and gets what the interface promises.
        let state = unsafe { (self.create)(start) };
        if state.is_null() {
            return Err(format!("create() of `{}` returned NULL", self.name));
        }
        let mut buffer = vec![0; start.max_payload as usize];
        buffer.extend_from_slice(&GUARD);
        Ok(End { functions: self.functions, state, buffer })
    }
}

impl End {
    /// Passes the total of the application's data.
    ///
    /// # Errors
    /// The fault that the library reports.
    pub fn offer(&mut self, now: u64, bytes: u64) -> Result<(), String> {
        // SAFETY: see `Library::create`.
        unsafe { (self.functions.offer)(self.state, now, bytes) };
        self.check()
    }

    /// Passes a datagram that has arrived.
    ///
    /// # Errors
    /// The fault that the library reports.
    pub fn receive(&mut self, now: u64, payload: &[u8], ecn: u64) -> Result<(), String> {
        // SAFETY: see `Library::create`.
        unsafe { (self.functions.receive)(self.state, now, payload.as_ptr(), payload.len() as u64, ecn) };
        self.check()
    }

    /// Reports that the deadline has been reached.
    ///
    /// # Errors
    /// The fault that the library reports.
    pub fn timeout(&mut self, now: u64) -> Result<(), String> {
        // SAFETY: see `Library::create`.
        unsafe { (self.functions.timeout)(self.state, now) };
        self.check()
    }

    /// Returns the next datagram, if there is one.
    ///
    /// # Errors
    /// The fault that the library reports, or a contradiction to the interface.
    pub fn send(&mut self, now: u64) -> Result<Option<Written>, String> {
        let capacity = self.buffer.len() - GUARD.len();
        let mut datagram = abi::Datagram {
            payload: self.buffer.as_mut_ptr(),
            capacity: capacity as u64,
            length: 0,
            ecn: ecn::NOT_ECT,
            depart_at: 0,
        };
        // SAFETY: see `Library::create`; the buffer has room for `capacity` bytes.
        let has_written = unsafe { (self.functions.send)(self.state, now, &mut datagram) };
        if self.buffer[capacity..] != GUARD {
            return Err(format!("send() wrote beyond the {capacity} B of the buffer"));
        }
        self.check()?;
        match has_written {
            0 => Ok(None),
            1 if datagram.length > capacity as u64 => {
                Err(format!("send() wrote a datagram of {} B; the buffer has {capacity} B", datagram.length))
            }
            1 if datagram.ecn > ecn::ECT => Err(format!("send() wrote the ECN field {}", datagram.ecn)),
            1 => Ok(Some(Written {
                payload: self.buffer[..datagram.length as usize].to_vec(),
                ecn: datagram.ecn,
                depart_at: datagram.depart_at,
            })),
            other => Err(format!("send() returned {other}, neither 0 nor 1")),
        }
    }

    /// Returns the time at which the library wants its timeout; [`NONE`] if only a datagram wakes it.
    pub fn deadline(&mut self, now: u64) -> u64 {
        // SAFETY: see `Library::create`.
        unsafe { (self.functions.deadline)(self.state, now) }
    }

    /// Returns the library's numbers.
    pub fn state(&self) -> State {
        let mut state = State { pacing_rate: NONE, ..State::default() };
        // SAFETY: see `Library::create`.
        unsafe { (self.functions.state)(self.state, &mut state) };
        state
    }

    fn check(&self) -> Result<(), String> {
        let Some(fault) = self.functions.fault else { return Ok(()) };
        // SAFETY: see `Library::create`.
        let message = unsafe { fault(self.state) };
        if message.is_null() {
            return Ok(());
        }
        // SAFETY: by the interface, this is a C string that is valid until the next call.
        Err(unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned())
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // SAFETY: see `Library::create`; the state is not used again.
        unsafe { (self.functions.destroy)(self.state) }
    }
}
