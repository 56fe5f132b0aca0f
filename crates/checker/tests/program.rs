//! The library's verdicts on the test cases that all checkers share, and the program's output and exit codes. `python
//! -m benches.forgery` tests both checkers with a million forged certificates.

use fairweir_checker::{MAX_QUESTION, accept};
use std::process::Command;

const HEAD: &str = "(set-logic QF_LRA)(declare-fun p () Bool)(declare-fun x () Real)(declare-fun y () Real)\n";
/// Literals: 2 is p, 3 is x <= 1, -4 is x > 2. Clause 1 is "true"; clauses 2 and 3 are the two assertions.
const CONTRADICTION: &str = "(assert (<= x 1))(assert (> x 2))(check-sat)\n";
const PROOF: &str = "f 4 -3 4 0 1 1\nr 5 0 2 3 4\n";

fn check(commands: &str, certificate: &str) -> Result<usize, String> {
    accept(format!("{HEAD}{commands}").as_bytes(), certificate.as_bytes()).map_err(|e| e.to_string())
}

#[test]
fn a_proof_is_accepted_for_its_question_alone() {
    assert_eq!(check(CONTRADICTION, PROOF), Ok(2));
    for other in ["(> x 1.5)", "(> x 1)", "(> x 0.5)", "(> y 2)", "(>= x 1)", "p"] {
        let question = CONTRADICTION.replace("(> x 2)", other);
        let found = check(&question, PROOF);
        assert_eq!(found.is_ok(), other == "(> x 1.5)", "{other}: {found:?}");
    }
}

#[test]
fn numbers_beyond_machine_words_are_exact() {
    let large = "9".repeat(30);
    let question = format!("(assert (<= (* {large} x) 1))(assert (> (* {large} x) (+ 1 (/ 1 {large}))))(check-sat)");
    assert_eq!(check(&question, PROOF), Ok(2));
    let question = format!("(assert (<= (* {large} x) 1))(assert (> (* {large} x) (- 1 (/ 1 {large}))))(check-sat)");
    assert!(check(&question, PROOF).is_err());
    // The negation of the smallest machine word overflows.
    let smallest = "9223372036854775808";
    let question = format!("(assert (<= x (- {smallest})))(assert (> x (- 1 {smallest})))(check-sat)");
    assert_eq!(check(&question, PROOF), Ok(2));
    let factors = PROOF.replace("0 1 1", &format!("0 {smallest} {smallest}"));
    assert_eq!(check(&question, &factors), Ok(2));
}

#[test]
fn numbers_have_a_limit_of_4096_bits() {
    let power = |bits: u32| {
        // 2^bits as a product of powers that fit in a word.
        format!("(* {})", vec!["1152921504606846976"; (bits / 60) as usize].join(" "))
    };
    let question = |bits| format!("(assert (<= x {}))(assert (> x (+ 1 {0})))(check-sat)", power(bits));
    assert_eq!(check(&question(4080), PROOF), Ok(2));
    assert!(check(&question(4140), PROOF).unwrap_err().contains("too many bits"));
}

#[test]
fn work_is_bounded_by_the_length_of_the_texts() {
    // Clause 2 has 500 literals. A reference to the clause takes two bytes of text and costs 500 units.
    let names: Vec<String> = (0..500).map(|i| format!("p{i}")).collect();
    let declared: String = names.iter().map(|name| format!("(declare-fun {name} () Bool)")).collect();
    let question = format!("{declared}(assert (or {}))(check-sat)\n", names.join(" "));
    let found = |named| check(&question, &format!("r 3 0{}\n", " 2".repeat(named))).unwrap_err();
    assert_eq!(found(1), "line 1: a clause has more than one literal left");
    assert_eq!(found(100_000), "line 1: more work than texts of this length may ask for");
    // Numbers of 4,000 bits, and forms that contain them: a reference to such a form is short.
    let large = format!("(* {})", vec!["1152921504606846976"; 66].join(" "));
    let question = |count| {
        let many = "(< f y) ".repeat(count);
        format!("(assert (let ((f (+ x (* {large} y)))) (and {many})))(assert (< x x))(check-sat)\n")
    };
    assert!(check(&question(10), "r 1 0").unwrap_err().starts_with("line 1: "));
    assert_eq!(check(&question(10_000), "r 1 0").unwrap_err(), "more work than texts of this length may ask for");
}

#[test]
fn it_is_short_enough_to_be_read_in_one_sitting() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    let text = files.collect::<Vec<_>>().join("\n");
    // As `cat crates/checker/src/*.rs | grep -cvE '^\s*(//|$)'`; including main.rs; there are no test modules.
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    assert!(!text.contains("cfg(test)") && !text.contains("/*") && !text.contains("include!"));
    let lines = text.lines().filter(is_code).count();
    assert!(lines > 100 && lines <= 500, "{lines} lines: a checker counts because it can be read");
}

#[test]
fn each_rejection_names_its_line() {
    let wrong = [
        ("", "line 1: "),
        ("f 4 -3 4 0 1 1", "the empty clause"),
        ("f 4 -3 4 0 1 1\nr 5 0 2 3", "line 2: "),
        ("f 4 -3 4 0 1 1\nr 5 0 2 3 4\nr 6 0 2 3 4", "line 3: "),
        ("a 5 le 1 x 1 y 1\na 6 le 1 x 1 y 1", "line 2: "),
        ("f 4 -3 4 0 1 -1", "line 1: "),
        ("f 4 -3 4 0 1 2", "line 1: "),
        ("r 4 00 0", "line 1: "),
    ];
    for (certificate, begins) in wrong {
        let found = check(CONTRADICTION, certificate).unwrap_err();
        assert!(found.starts_with(begins), "{certificate:?}: {found}");
    }
}

#[test]
fn the_program_says_what_the_library_says() {
    let folder = std::env::temp_dir().join(format!("fairweir-checker-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (question, proof, wrong) = (folder.join("q"), folder.join("c"), folder.join("w"));
    std::fs::write(&question, format!("{HEAD}{CONTRADICTION}")).unwrap();
    std::fs::write(&proof, PROOF).unwrap();
    std::fs::write(&wrong, b"r 4 \xff 0").unwrap();
    let run = |paths: &[&std::path::Path]| {
        let ended = Command::new(env!("CARGO_BIN_EXE_fairweir-checker")).args(paths).output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stdout).unwrap())
    };
    let accepted = "accepted: unsatisfiable, 2 steps, none on trust\n".to_owned();
    assert_eq!(run(&[&question, &proof]), (Some(0), accepted));
    let (code, said) = run(&[&question, &wrong]);
    assert!(code == Some(1) && said.starts_with("rejected: "), "{said}");
    assert_eq!(run(&[&question]), (Some(2), String::new()));
    assert_eq!(run(&[&question, &folder]), (Some(2), String::new()));
    std::fs::write(&question, vec![b' '; MAX_QUESTION + 1]).unwrap();
    assert_eq!(run(&[&question, &proof]).0, Some(1));
    std::fs::remove_dir_all(&folder).unwrap();
}
