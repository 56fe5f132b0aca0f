//! A panic of a stack ends only its run.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    static IS_CALLING: Cell<bool> = const { Cell::new(false) };
    static MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Installs a panic hook that records panics within [`catch`] and passes all others on.
fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let next = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !IS_CALLING.get() {
                return next(info);
            }
            let text = info.payload_as_str().unwrap_or("no message");
            let place = info.location().map_or_else(String::new, |at| {
                let file = at.file().rsplit_once("/src/").map_or(at.file(), |(_, file)| file);
                format!(" ({file}:{})", at.line())
            });
            MESSAGE.set(format!("{text}{place}"));
        }));
    });
}

/// Calls `f`.
///
/// # Errors
/// The message and the place of a panic.
pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> Result<R, String> {
    install_hook();
    IS_CALLING.set(true);
    let result = catch_unwind(AssertUnwindSafe(f));
    IS_CALLING.set(false);
    result.map_err(|_| MESSAGE.take())
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_panic_is_an_error_with_its_place() {
        let error = super::catch(|| panic!("no {}", "way")).expect_err("a panic");
        assert!(error.starts_with("no way (") && error.contains("panics.rs:"), "{error}");
        assert_eq!(super::catch(|| 3), Ok(3));
    }
}
