//! Runs the cases, requests and releases of ../conformance.json.

use snowgrid::grant::{End, Jitter, Layout, Next, Parts, Reply, State};
use snowgrid::json::{quote, read, Value};
use snowgrid::{Create, Options};

fn jitters() -> [Jitter; 3] {
    [Box::new(|_| 0), Box::new(|below| below - 1), Box::new(|below| below / 3)]
}

fn list(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::List(list)) => list,
        other => panic!("no list: {other:?}"),
    }
}

fn id(value: &Value) -> i64 {
    match value {
        Value::Text(text) => text.parse().unwrap(),
        other => panic!("no ID: {other:?}"),
    }
}

fn layout(v: &Value) -> Layout {
    Layout {
        epoch: v.int("epoch").unwrap(),
        time_shift: v.int("time_shift").unwrap() as u32,
        node_shift: v.int("node_shift").unwrap() as u32,
        counters: v.int("counters").unwrap(),
        ends: v.int("ends").unwrap(),
    }
}

fn same<T: PartialEq + std::fmt::Debug>(want: T, have: T) -> Result<(), String> {
    if want == have {
        return Ok(());
    }
    Err(format!("want {want:?}, have {have:?}"))
}

fn run(g: &mut State, step: &Value) -> Result<(), String> {
    let at = step.int("at").unwrap();
    if let Some(grant) = step.text("request") {
        same(grant, g.request(at).as_str())
    } else if let Some(reply) = step.get("reply") {
        g.replied(at, Reply::read(reply)?);
        Ok(())
    } else if let Some(r) = step.get("refused") {
        g.refused(at, r.text("code").unwrap_or(""), r.int("retry_after_ms").unwrap_or(0));
        Ok(())
    } else if step.get("ids").is_some() {
        let ids = list(step.get("ids"));
        ids.iter().try_for_each(|want| same(Ok(Next::Id(id(want))), g.next(at)))
    } else if let Some(many) = step.get("many") {
        let (first, count) = (id(many.get("first").unwrap()), many.int("count").unwrap());
        same(id(many.get("last").unwrap()), first + count - 1)?;
        (0..count).try_for_each(|i| same(Ok(Next::Id(first + i)), g.next(at)))
    } else if let Some(wait) = step.int("wait") {
        same(Ok(Next::Wait(wait)), g.next(at))
    } else if let Some(error) = step.text("error") {
        let end = match error {
            "destroyed" => End::Destroyed,
            "exhausted" => End::Exhausted,
            _ => End::Ended,
        };
        same(Err(end), g.next(at))
    } else if step.get("due").is_some() {
        let (due, have) = (list(step.get("due")), g.due().ok_or("no request is due")?);
        match due {
            [Value::Int(min), Value::Int(max)] if (*min..=*max).contains(&have) => Ok(()),
            _ => Err(format!("want due {due:?}, have {have}")),
        }
    } else if step.get("fork").is_some() {
        g.forked();
        Ok(())
    } else if let Some(r) = step.get("release") {
        let want = (r.text("grant").unwrap().to_owned(), r.int("last").unwrap());
        same(want, g.release())
    } else {
        Err(format!("unknown step {step:?}"))
    }
}

fn fields(value: Option<&Value>) -> &[(String, Value)] {
    match value {
        Some(Value::Object(fields)) => fields,
        other => panic!("no object: {other:?}"),
    }
}

/// Returns the value with the fields of each object in the order of their names.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> =
                fields.iter().map(|(name, v)| (name.clone(), sorted(v))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields)
        }
        Value::List(list) => Value::List(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

fn create(v: &Value) -> Create {
    let number = |(name, v): &(String, Value)| match v {
        Value::Int(n) => format!("{}:{n}", quote(name)),
        other => panic!("no number: {other:?}"),
    };
    Create {
        epoch: v.int("epoch"),
        nodes: v.int("nodes").map(|n| n as u32),
        layout: v.get("layout").map(|layout| match layout {
            Value::Text(name) => name.clone(),
            object => {
                let numbers: Vec<_> = fields(Some(object)).iter().map(number).collect();
                format!("{{{}}}", numbers.join(","))
            }
        }),
        node_range: v
            .get("node_range")
            .map(|r| (r.int("lo").unwrap() as u16, r.int("hi").unwrap() as u16)),
    }
}

/// Compares the body of a request.
fn request(v: &Value) -> Result<(), String> {
    let given = v.get("given").unwrap();
    let mut options = Options::new(given.text("name").unwrap(), ["http://127.0.0.1:1"]);
    for (name, _) in fields(given.get("labels")) {
        options = options.label(name, given.get("labels").unwrap().text(name).unwrap());
    }
    if let Some(definition) = given.get("create") {
        options = options.create(create(definition));
    }
    let count = |name| given.int(name).unwrap() as u64;
    let have = options.body(given.text("grant").unwrap(), count("ids"), count("waits"));
    same(sorted(v.get("body").unwrap()), sorted(&read(&have)?))
}

#[test]
fn conformance() {
    let path = std::env::var("CONFORMANCE")
        .unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/../conformance.json").to_owned());
    let file = read(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut failures = Vec::new();
    let cases = list(file.get("cases"));
    for case in cases {
        let run_all = |jitter| {
            let mut g = State::new(jitter);
            let steps = list(case.get("steps")).iter().enumerate();
            let mut results = steps.map(|(i, step)| run(&mut g, step).map_err(|e| (i, e)));
            results.find_map(Result::err)
        };
        if let Some((i, e)) = jitters().into_iter().find_map(run_all) {
            let (rule, name) = (case.text("rule").unwrap(), case.text("name").unwrap());
            failures.push(format!("{rule} {name}: step {i}: {e}"));
        }
    }
    let requests = list(file.get("requests"));
    for r in requests {
        if let Err(e) = request(r) {
            failures.push(format!("{}: {e}", r.text("about").unwrap()));
        }
    }
    let releases = list(file.get("releases"));
    for r in releases {
        let given = r.get("given").unwrap();
        let number = |name| given.int(name).unwrap();
        let (ids, waits) = (number("ids") as u64, number("waits") as u64);
        let have = Options::release(given.text("grant").unwrap(), number("last"), ids, waits);
        if let Err(e) = same(r.get("body").cloned().unwrap(), read(&have).unwrap()) {
            failures.push(format!("{}: {e}", r.text("about").unwrap()));
        }
    }
    let parts = list(file.get("parts"));
    for p in parts {
        let want = Parts {
            time: p.int("time").unwrap(),
            node: p.int("node").unwrap(),
            counter: p.int("counter").unwrap(),
        };
        if let Err(e) = same(want, layout(p).decompose(id(p.get("id").unwrap()))) {
            failures.push(format!("parts: {e}"));
        }
    }
    let ranges = list(file.get("ranges"));
    for r in ranges {
        let (min, max) = (id(r.get("min").unwrap()), id(r.get("max").unwrap()));
        let (l, time) = (layout(r), r.int("time").unwrap());
        if let Err(e) = same((min, max), (l.min_id(time), l.max_id(time))) {
            failures.push(format!("ranges: {e}"));
        }
    }
    let counts = [cases.len(), requests.len(), releases.len(), parts.len(), ranges.len()];
    println!("{counts:?} cases, requests, releases, parts, ranges, {} failures", failures.len());
    let enough = counts.iter().zip([65, 12, 4, 9, 21]).all(|(have, least)| *have >= least);
    assert!(enough, "too few cases: {counts:?}");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
