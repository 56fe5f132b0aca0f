//! The C library's functions that `fairweir-quiche` defines, in a program of their own: this one.

#[path = "../src/bin/fairweir-quiche/interpose.rs"]
mod interpose;

use fairweir_quic::ambient;
use fairweir_units::{Dur, Time};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One test: the clock and the entropy belong to the process.
#[test]
fn clock_and_entropy_are_virtual_and_other_system_calls_work() {
    the_clock_shows_the_time_that_was_set();
    random_bytes_are_those_of_the_seed();
    other_system_calls_are_passed_on();
}

fn the_clock_shows_the_time_that_was_set() {
    assert!(ambient::is_interposed());
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(start.elapsed(), Duration::ZERO);
    ambient::set(Time::ZERO + Dur::from_micros(1_500));
    assert_eq!(start.elapsed(), Duration::from_micros(1_500));
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    assert_eq!(wall.as_nanos(), u128::from(ambient::clock_ns()));
    let mut shown = libc::timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: a `timeval`, and no zone.
    assert_eq!(unsafe { libc::gettimeofday(&raw mut shown, std::ptr::null_mut()) }, 0);
    assert_eq!((shown.tv_sec as u64, shown.tv_usec), (wall.as_secs(), 1_500));
    // SAFETY: null is refused, as the system does.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, std::ptr::null_mut()) };
    assert_eq!((failed, std::io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EFAULT)));
}

fn random_bytes_are_those_of_the_seed() {
    let drawn = |by_syscall: bool| {
        ambient::seed(7);
        let mut bytes = [0_u8; 13];
        let (at, length) = (bytes.as_mut_ptr(), bytes.len());
        let filled = if by_syscall {
            // SAFETY: the buffer and its length.
            unsafe { libc::syscall(libc::SYS_getrandom, at, length, 0) as isize }
        } else {
            // SAFETY: as above.
            unsafe { libc::getrandom(at.cast(), length, 0) }
        };
        assert_eq!(filled, 13);
        bytes
    };
    let mut expected = [0; 13];
    ambient::seed(7);
    ambient::fill(&mut expected);
    assert_eq!([drawn(false), drawn(true)], [expected; 2]);
    // SAFETY: nothing is written to a buffer of no bytes.
    assert_eq!(unsafe { libc::getrandom(std::ptr::null_mut(), 0, 0) }, 0);
    // Threads draw the keys of their hash maps when they need the first.
    let hashed = || {
        ambient::seed(3);
        std::thread::spawn(|| RandomState::new().hash_one(1)).join().unwrap()
    };
    assert_eq!(hashed(), hashed());
}

fn other_system_calls_are_passed_on() {
    // SAFETY: it takes no argument.
    assert_eq!(unsafe { libc::syscall(libc::SYS_getpid) }, i64::from(std::process::id()));
    // SAFETY: no file has this descriptor.
    assert_eq!(unsafe { libc::syscall(libc::SYS_close, -1) }, -1);
    assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EBADF));
    // Locks and conditions of the standard library are futexes.
    let (shared, barrier) = (Arc::new((Mutex::new(0), Condvar::new())), Arc::new(Barrier::new(4)));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let (shared, barrier) = (Arc::clone(&shared), Arc::clone(&barrier));
            std::thread::spawn(move || {
                barrier.wait();
                for _ in 0..1_000 {
                    *shared.0.lock().unwrap() += 1;
                }
                shared.1.notify_all();
            })
        })
        .collect();
    let count = shared.1.wait_while(shared.0.lock().unwrap(), |count| *count < 4_000).unwrap();
    assert_eq!(*count, 4_000);
    drop(count);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}
