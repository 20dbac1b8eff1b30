//! Measures an ID of a generator beside a plain Snowflake generator and POST /v1/ids:
//! `cargo run --release --example cost http://127.0.0.1:7948`
//!
//! Each line is a way to get an ID, and the nanoseconds for one. The lowest of five rounds counts.

use snowgrid::http::{Http, Request};
use snowgrid::{Create, Error, Options, Transport};
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const TIMEOUT: Duration = Duration::from_secs(60);

fn main() -> Result<(), Error> {
    let address = std::env::args().nth(1).unwrap_or("http://127.0.0.1:7948".to_owned());
    // Of 128 nodes each has 65,536 IDs in a millisecond: the ID space bounds nothing here.
    let create = Create { nodes: Some(128), ..Create::default() };
    let ids = Options::new("cost", [&address]).create(create).generator()?;
    ids.next(TIMEOUT)?;
    measure("next", 1, 2_000_000, || {
        black_box(ids.next(TIMEOUT).unwrap());
    });
    measure("next in batches of 1000", 1000, 2000, || {
        black_box(ids.next_many(1000, TIMEOUT).unwrap());
    });
    drop(ids);
    let state = Mutex::new((0, 0));
    measure("plain Snowflake", 1, 2_000_000, || {
        black_box(plain(&state));
    });
    let http = Http::new();
    let post = |n: u32| {
        let body = format!("{{\"name\":\"cost\",\"n\":{n}}}");
        let request = Request {
            method: "POST",
            base: &address,
            path: "/v1/ids",
            body: &body,
            token: None,
            timeout: TIMEOUT,
        };
        let answer = http.send(&request).unwrap();
        assert_eq!(answer.status, 200, "{}", answer.body);
    };
    measure("POST /v1/ids", 1, 200, || post(1));
    measure("POST /v1/ids in batches of 1000", 1000, 20, || post(1000));
    Ok(())
}

fn measure(name: &str, per_call: u128, calls: u128, mut call: impl FnMut()) {
    let round = |_| {
        let began = Instant::now();
        (0..calls).for_each(|_| call());
        began.elapsed().as_nanos() / (calls * per_call)
    };
    println!("{name} {}", (0..5).map(round).min().unwrap_or(0));
}

/// An ID without a grid: the wall clock, a fixed node, and a lock.
fn plain(state: &Mutex<(i64, i64)>) -> i64 {
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    let mut state = state.lock().unwrap();
    let (mut now, mut counter) = (clock(), 0);
    if now <= state.0 {
        counter = state.1 + 1;
    }
    while counter == 4096 || now < state.0 {
        (now, counter) = (clock(), 0);
    }
    *state = (now, counter);
    (now - 1_767_225_600_000) << 22 | 7 << 12 | counter
}
