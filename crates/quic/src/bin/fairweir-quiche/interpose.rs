//! The C library's clock and entropy, defined here: the linker prefers a program's own functions to the library's.
//!
//! `Instant::now` and `SystemTime::now` call `clock_gettime`, hash maps call `getrandom`, BoringSSL calls
//! `syscall(SYS_getrandom)` and, for tickets, `gettimeofday`. Their answers come from [`ambient`]. Other system calls
//! that go through `syscall`, such as the futexes of the standard library, are passed on.
//!
//! This holds for code that is linked into this program. The C library's own calls, and the instruction RDRAND, do not
//! come here.

use fairweir_quic::ambient;
use libc::{c_int, c_long, c_uint, c_void, clockid_t, size_t, ssize_t, timespec, timeval};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Type of the C library's `syscall` on machines where variable arguments are passed as any others.
type Syscall = unsafe extern "C" fn(c_long, c_long, c_long, c_long, c_long, c_long, c_long) -> c_long;

/// The C library's `syscall`, once it was looked up.
static PASSED_ON: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Every clock shows the virtual time.
///
/// # Safety
/// `at` is null or points to a `timespec`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(_clock: clockid_t, at: *mut timespec) -> c_int {
    let now = ambient::clock_ns();
    let shown =
        timespec { tv_sec: (now / 1_000_000_000) as libc::time_t, tv_nsec: (now % 1_000_000_000) as libc::c_long };
    // SAFETY: the caller's promise.
    match unsafe { at.as_mut() } {
        Some(at) => {
            *at = shown;
            0
        }
        None => fail(libc::EFAULT) as c_int,
    }
}

/// The virtual time.
///
/// # Safety
/// `at` is null or points to a `timeval`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(at: *mut timeval, _zone: *mut c_void) -> c_int {
    let micros = ambient::clock_ns() / 1_000;
    // SAFETY: the caller's promise.
    if let Some(at) = unsafe { at.as_mut() } {
        *at = timeval {
            tv_sec: (micros / 1_000_000) as libc::time_t,
            tv_usec: (micros % 1_000_000) as libc::suseconds_t,
        };
    }
    0
}

/// Bytes of the seed.
///
/// # Safety
/// `buffer` points to `length` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getrandom(buffer: *mut c_void, length: size_t, _flags: c_uint) -> ssize_t {
    if length > 0 {
        // SAFETY: the caller's promise; a slice may not begin at null, which is no buffer of any length.
        unsafe { buffer.cast::<u8>().write_bytes(0, length) };
        // SAFETY: as above, and the bytes are initialised.
        ambient::fill(unsafe { std::slice::from_raw_parts_mut(buffer.cast(), length) });
    }
    length as ssize_t
}

/// `SYS_getrandom` is answered as [`getrandom`], every other call is passed on.
///
/// # Safety
/// As the system call `number` demands. Callers pass up to six further arguments. Arguments that a caller omits have
/// indeterminate values, which the kernel ignores; the C library's own `syscall` does the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    if number == libc::SYS_getrandom {
        // SAFETY: the arguments of this system call are those of the function.
        return unsafe { getrandom(a as *mut c_void, b as size_t, c as c_uint) } as c_long;
    }
    let mut found = PASSED_ON.load(Relaxed);
    if found.is_null() {
        // SAFETY: the name is a C string. The function neither allocates by us nor calls `syscall`.
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, c"syscall".as_ptr()) };
        PASSED_ON.store(found, Relaxed);
    }
    if found.is_null() {
        return fail(libc::ENOSYS);
    }
    // SAFETY: the C library's `syscall` has this type.
    let passed_on = unsafe { std::mem::transmute::<*mut c_void, Syscall>(found) };
    // SAFETY: the caller's promise.
    unsafe { passed_on(number, a, b, c, d, e, f) }
}

fn fail(error: c_int) -> c_long {
    // SAFETY: the C library's `errno` of this thread.
    unsafe { *libc::__errno_location() = error };
    -1
}
