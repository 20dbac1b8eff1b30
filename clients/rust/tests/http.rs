//! Tests of the transport over TCP.

#[allow(dead_code)] // of the tests of the generator
mod fake;

use fake::{Fake, LONG};
use snowgrid::http::Request;
use snowgrid::{Http, Transport};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

/// A request without a reply takes its whole time, and not much more.
#[test]
fn timeout() {
    let fake = Fake::start(|_| None);
    let timeout = Duration::from_millis(300);
    let request = Request {
        method: "POST",
        base: &fake.address,
        path: "/v1/grants",
        token: None,
        body: "{}",
        timeout,
    };
    let from = Instant::now();
    let e = Http::new().send(&request).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::TimedOut, "{e}");
    let took = from.elapsed();
    assert!(took >= timeout && took < LONG / 2, "{took:?}");
}
