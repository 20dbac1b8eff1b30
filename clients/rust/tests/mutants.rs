//! Breaks one rule after the other in a copy of src/grant.rs or src/options.rs. The conformance
//! test has to fail each time:
//! `cargo test --offline --test mutants -- --ignored --nocapture`

use std::fs::{copy, create_dir_all, read_dir, read_to_string, remove_dir_all, write};
use std::path::Path;
use std::process::Command;

// In src/grant.rs.
const MUTANTS: [(&str, &str, &str); 20] = [
    ("G1 until is not checked", "if t >= s.until {", "if false {"),
    ("G1 ends is not checked", "if t >= layout.ends {", "if false {"),
    ("G2 every reply counts", "if self.times.len() > TIMES_MAX {", "if false {"),
    ("G2 no reply is too old", "self.times.retain(|t| t.at >= at - TIMES_FOR);", ""),
    (
        "G2 only the newest reply counts",
        "self.times.iter().map(|t| t.offset).max()",
        "self.times.back().map(|t| t.offset)",
    ),
    ("G3 below the last timestamp", "if t <= self.last {", "if t == self.last {"),
    ("G3 below from", "(now.max(s.from), 0)", "(now, 0)"),
    ("G3 above the grid's time", "if t > now && t != self.last {", "if false {"),
    ("G4 a counter is used twice", "(t, s.node, c + 1)", "(t, s.node, c.max(1))"),
    ("G4 counters have no end", "&& self.counter < layout.counters", ""),
    ("G5 a reply shortens", "s.until = s.until.max(r.until);", "s.until = r.until;"),
    (
        "G6 the former grant is dropped",
        "_ if r.from < r.until => {",
        "_ if r.from < r.until => {\nself.spans.clear();",
    ),
    ("G6 two nodes in a millisecond", "t = self.last + 1;", "t = self.last;"),
    ("G7 the gap is used", "&& r.from <= s.until =>", "=>"),
    ("G8 no backoff", "self.pause = (2 * self.pause).min(LAST_PAUSE);", ""),
    ("G8 retry_after_ms is ignored", "at + retry_after.max(", "at + 0.max(retry_after * 0 + "),
    (
        "G9 a copy keeps the grant",
        "pub fn forked(&mut self) {",
        "pub fn forked(&mut self) {\nif self.end.is_none() { return; }",
    ),
    ("G10 a reply revives", "self.end = Some(End::Ended);", ""),
    (
        "G10 detached keeps the timestamps",
        "self.grant.clear();\n                self.spans.clear();",
        "self.grant.clear();",
    ),
    ("G12 a destroyed sequencer goes on", "self.end = Some(End::Destroyed)", "{}"),
];

// In src/options.rs.
const REQUESTS: [(&str, &str, &str); 7] = [
    ("G10 the release has no timestamp", r#"\"last\":{last}"#, r#"\"at\":{last}"#),
    ("G10 the release has no counts", "{last},{used}}}", "{last}}}"),
    ("G11 low is sent", r#",\"used\":{{"#, r#",\"low\":1,\"used\":{{"#),
    ("G11 low is sent in a renewal", r#"{{\"grant\":{}"#, r#"{{\"low\":1,\"grant\":{}"#),
    (
        "POST a renewal repeats the name",
        r#"_ => format!("{{\"grant\":{}", quote(grant)),"#,
        r#"_ => format!("{{\"grant\":{},\"name\":{}", quote(grant), quote(&self.name)),"#,
    ),
    (
        "POST a renewal repeats create",
        r#"_ => format!("{{\"grant\":{}", quote(grant)),"#,
        r#"(_, Some(c)) => format!("{{\"grant\":{},\"create\":{}", quote(grant), c.json()),
        _ => format!("{{\"grant\":{}", quote(grant)),"#,
    ),
    (
        "POST a renewal has no labels",
        "if !self.labels.is_empty() {",
        "if !self.labels.is_empty() && grant.is_empty() {",
    ),
];

#[test]
#[ignore = "compiles the crate for each mutant"]
fn mutants() {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"));
    let to = std::env::temp_dir().join(format!("snowgrid-mutants-{}", std::process::id()));
    for dir in ["src", "tests"] {
        create_dir_all(to.join(dir)).unwrap();
    }
    for file in read_dir(from.join("src")).unwrap().map(Result::unwrap) {
        copy(file.path(), to.join("src").join(file.file_name())).unwrap();
    }
    for file in ["Cargo.toml", "tests/conformance.rs"] {
        copy(from.join(file), to.join(file)).unwrap();
    }
    let mut survivors = Vec::new();
    let rules = MUTANTS.map(|mutant| ("src/grant.rs", mutant));
    let requests = REQUESTS.map(|mutant| ("src/options.rs", mutant));
    for (file, (rule, old, new)) in rules.into_iter().chain(requests) {
        let source = read_to_string(from.join(file)).unwrap();
        assert!(source.contains(old), "{rule}: the text to replace is absent");
        write(to.join(file), source.replacen(old, new, 1)).unwrap();
        let output = Command::new(env!("CARGO"))
            .args(["test", "--offline", "--quiet", "--test", "conformance"])
            .current_dir(&to)
            .env("CARGO_TARGET_DIR", to.join("target"))
            .env("CARGO_PROFILE_TEST_OPT_LEVEL", "0") // to compile is most of the time
            .env("CARGO_PROFILE_TEST_DEBUG", "0")
            .env("CONFORMANCE", from.join("../conformance.json"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut lines = text.lines().skip_while(|line| !line.contains(" failures:"));
        match (output.status.success(), lines.next()) {
            (false, Some(count)) => println!("{rule}: {count} {}", lines.next().unwrap_or("")),
            (false, None) => {
                let errors = String::from_utf8_lossy(&output.stderr);
                panic!("{rule}: no result:\n{text}\n{errors}");
            }
            (true, _) => survivors.push(rule),
        }
        write(to.join(file), source).unwrap();
    }
    remove_dir_all(&to).unwrap();
    assert!(survivors.is_empty(), "not detected: {survivors:?}");
}
