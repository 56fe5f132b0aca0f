#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fairweir_fuzz::segments(bytes));
