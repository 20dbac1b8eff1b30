//! Tests of the generator against a fake server.

mod fake;

use fake::{error, grant, Fake};
use snowgrid::json::Value;
use snowgrid::{Create, Error, Generator, Options};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const LONG: Duration = Duration::from_secs(10);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn options(fake: &Fake) -> Options {
    Options::new("orders", [fake.address.as_str()])
}

fn start(fake: &Fake) -> Generator {
    options(fake).generator().unwrap()
}

fn node(g: &Generator, id: i64) -> i64 {
    g.decompose(id, LONG).unwrap().node
}

#[test]
fn threads() {
    let fake = Fake::start(|r| grant(r.number, 5, 0, 3000, 100));
    let g = start(&fake);
    let all: Vec<i64> = scope(|s| {
        let run = || -> Vec<i64> { (0..3000).map(|_| g.next(LONG).unwrap()).collect() };
        let threads: Vec<_> = (0..16).map(|_| s.spawn(run)).collect();
        let streams = threads.into_iter().map(|t| t.join().unwrap());
        streams.inspect(|ids| assert!(ids.windows(2).all(|w| w[0] < w[1]))).flatten().collect()
    });
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 48_000);
    let parts = g.decompose(all[0], LONG).unwrap();
    assert_eq!(parts.node, 5);
    assert!(g.min_id(parts.time, LONG).unwrap() <= all[0]);
    assert!(g.max_id(parts.time, LONG).unwrap() >= all[0]);
    let many = g.next_many(5000, LONG).unwrap();
    assert!(many.windows(2).all(|w| w[0] < w[1]) && many.len() == 5000);
}

/// Callers that use up every millisecond leave IDs to one another.
#[test]
fn fair() {
    let fake = Fake::start(|r| grant(r.number, 5, 0, 3000, 100));
    let g = start(&fake);
    g.next(LONG).unwrap();
    let end = Instant::now() + ms(2000);
    scope(|s| {
        for _ in 0..600 {
            s.spawn(|| {
                while Instant::now() < end {
                    g.next(ms(600)).unwrap();
                }
            });
        }
    });
}

#[test]
fn renewal() {
    for chunked in [false, true] {
        let fake = Fake::start_with(chunked, |r| grant(r.number, 5, 0, 400, 50));
        let create = Create { nodes: Some(1024), layout: Some("x\"y".into()), ..Create::default() };
        let g = options(&fake).create(create).generator().unwrap();
        for _ in 0..80 {
            g.next(LONG).unwrap();
            sleep(ms(10));
        }
        drop(g);
        let posts = fake.of("POST");
        assert!((6..=20).contains(&posts.len()), "{}", posts.len());
        let first = &posts[0].body;
        assert_eq!(first.text("name"), Some("orders"));
        assert_eq!(first.get("create").unwrap().int("nodes"), Some(1024));
        assert_eq!(first.get("create").unwrap().text("layout"), Some("x\"y"));
        for (i, post) in posts.iter().enumerate().skip(1) {
            assert_eq!(post.grant(), format!("g1.{}", i - 1));
            assert!(post.body.get("create").is_none());
            assert_eq!(post.connection, 0);
        }
        let used = |r: &fake::Received| r.body.get("used").unwrap().int("ids").unwrap();
        let requests = fake.requests.lock().unwrap();
        assert_eq!(requests.iter().map(used).sum::<i64>(), 80);
    }
}

#[test]
fn renewal_in_calls() {
    let fake = Fake::start(|r| grant(r.number, 5, 0, 400, 50));
    let g = options(&fake).background(false).generator().unwrap();
    sleep(ms(100));
    assert!(fake.of("POST").is_empty());
    for _ in 0..50 {
        g.next(ms(1000)).unwrap();
        sleep(ms(10));
    }
    assert!((4..=12).contains(&fake.of("POST").len()), "{}", fake.of("POST").len());
}

#[test]
fn failover() {
    let dead = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let fake = Fake::start(|r| grant(r.number, 5, 0, 3000, 100));
    let g = Options::new("orders", [dead, fake.address.clone()]).generator().unwrap();
    let from = Instant::now();
    g.next(LONG).unwrap();
    assert!(from.elapsed() < ms(2000));
}

#[test]
fn destroyed() {
    let fake = Fake::start(|r| match r.number {
        0 => grant(0, 5, 0, 3000, 50),
        _ => error(410, "destroyed", 0),
    });
    let g = start(&fake);
    g.next(LONG).unwrap();
    fake.wait_for("POST", 2);
    sleep(ms(200));
    for _ in 0..2 {
        let e = g.next(LONG).unwrap_err();
        assert!(matches!(&e, Error::Destroyed(text) if text.contains("\"orders\"")), "{e}");
        sleep(ms(400));
    }
    assert_eq!(fake.of("POST").len(), 2);
}

#[test]
fn detached() {
    let fake = Fake::start(|r| match r.number {
        1 => error(409, "detached", 0),
        n => grant(n, n as i64, 0, 3000, 50),
    });
    let g = start(&fake);
    let first = g.next(LONG).unwrap();
    assert_eq!(node(&g, first), 0);
    fake.wait_for("POST", 3);
    sleep(ms(20));
    let second = g.next(LONG).unwrap();
    assert!(node(&g, second) == 2 && second > first);
    assert_eq!(fake.of("POST")[2].grant(), "");
}

#[test]
fn release() {
    let fake = Fake::start(|r| grant(r.number, 5, 0, 3000, 1000));
    let g = start(&fake);
    let id = g.next(LONG).unwrap();
    let time = g.decompose(id, LONG).unwrap().time;
    g.close();
    g.close();
    assert!(matches!(g.next(LONG), Err(Error::Ended(_))));
    drop(g);
    let deletes = fake.of("DELETE");
    assert_eq!(deletes.len(), 1);
    assert_eq!(deletes[0].grant(), "g1.0");
    assert_eq!(deletes[0].body.int("last"), Some(time));

    // A request in progress brings a newer grant.
    fake.answer(|r| {
        sleep(ms(if r.grant().is_empty() { 0 } else { 300 }));
        grant(r.number, 5, 0, 5000, 50)
    });
    let g = start(&fake);
    g.next(LONG).unwrap();
    let posts = fake.of("POST").len();
    fake.wait_for("POST", posts + 1);
    g.close();
    let newest = format!("g1.{}", fake.of("POST").len() - 1);
    assert_eq!(fake.of("DELETE")[1].grant(), newest);
    fake.answer(|r| grant(r.number, 5, 0, 5000, 1000));

    // Of three addresses, two do not answer.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}", silent.local_addr().map(|a| (a, silent)).unwrap().0);
    let addresses = [fake.address.clone(), silent.clone(), silent];
    let g = Options::new("orders", addresses).call_timeout(ms(600)).generator().unwrap();
    g.next(LONG).unwrap();
    let from = Instant::now();
    g.close();
    assert!(from.elapsed() < ms(1000));
}

#[test]
fn copy() {
    let fake = Fake::start(|r| grant(r.number, 5 + r.number as i64, 0, 5000, 2000));
    let g = start(&fake);
    let id = g.next(LONG).unwrap();
    assert_eq!(node(&g, id), 5);
    g.forget();
    let id = g.next(LONG).unwrap();
    assert_eq!(node(&g, id), 6);
    assert_eq!(fake.of("POST")[1].grant(), "");
}

#[cfg(unix)]
#[test]
fn fork() {
    extern "C" {
        fn fork() -> i32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }
    let fake = Fake::start(|r| grant(r.number, 5 + r.number as i64, 0, 5000, 2000));
    for background in [true, false] {
        let g = options(&fake).background(background).generator().unwrap();
        let id = g.next(LONG).unwrap();
        let parent = node(&g, id);
        let pid = unsafe { fork() };
        if pid == 0 {
            let id = g.next(LONG).unwrap_or(-1);
            let own = id > 0 && g.decompose(id, LONG).is_ok_and(|p| p.node > parent);
            drop(g); // releases the child's grant alone
            unsafe { _exit(if own { 0 } else { 1 }) };
        }
        let mut status = -1;
        assert_eq!(unsafe { waitpid(pid, &mut status, 0) }, pid);
        assert_eq!(status, 0);
        let id = g.next(LONG).unwrap();
        assert_eq!(node(&g, id), parent);
        let posts = fake.of("POST");
        assert_eq!(posts.last().unwrap().grant(), "");
        let deletes = fake.of("DELETE");
        assert_eq!(deletes.last().unwrap().grant(), format!("g1.{}", posts.len() - 1));
    }
}

#[test]
fn overloaded() {
    let fake = Fake::start(|r| match r.number {
        0 => error(503, "overloaded", 900),
        n => grant(n, 5, 0, 3000, 100),
    });
    let g = start(&fake);
    let e = g.next(ms(500)).unwrap_err().to_string();
    assert!(e.contains("grid: text of overloaded (overloaded)"), "{e}");
    g.next(LONG).unwrap();
    let posts = fake.of("POST");
    let between = posts[1].at - posts[0].at;
    assert!(between >= ms(890) && between < ms(2000), "{between:?}");
}

#[test]
fn deadline() {
    let fake = Fake::start(|_| error(503, "no_free_node", 0));
    let addresses = [fake.address.as_str(), "http://localhost:1/"];
    for background in [true, false] {
        let o = Options::new("orders", addresses).background(background);
        let g = o.generator().unwrap();
        let from = Instant::now();
        let e = g.next(ms(250)).unwrap_err();
        assert!(from.elapsed() >= ms(240) && from.elapsed() < ms(900), "{:?}", from.elapsed());
        assert!(matches!(e, Error::Timeout(_)));
        let text = e.to_string();
        let both = format!("{}, http://localhost:1 within 250 ms", fake.address);
        for part in ["\"orders\"", &both, "last error: ", "longer timeout"] {
            assert!(text.contains(part), "{text}");
        }
    }
    fake.answer(|r| grant(r.number, 5, 900, 5000, 1000));
    let g = start(&fake);
    fake.wait_for("POST", 1);
    let text = g.next(ms(400)).unwrap_err().to_string();
    assert!(text.contains("The next timestamp begins in"), "{text}");
    g.next(LONG).unwrap();
    assert!(g.next(Duration::ZERO).is_ok());
}

#[test]
fn request_lost() {
    let fake = Fake::start(|r| match r.number {
        1 => None,
        n => grant(n, 5, 0, 5000, 100),
    });
    let g = options(&fake).call_timeout(ms(300)).generator().unwrap();
    g.next(LONG).unwrap();
    for _ in 0..100 {
        g.next(ms(5)).unwrap();
        sleep(ms(10));
    }
    let posts = fake.of("POST");
    assert_eq!((posts[1].grant(), posts[2].grant()), ("g1.0", "g1.0"));
    assert!(posts[2].at - posts[1].at >= ms(440));
}

#[test]
fn corrections() {
    for code in
        ["not_found", "conflict", "bad_request", "invalid_config", "unauthenticated", "denied"]
    {
        let fake = Fake::start(move |_| error(400, code, 0));
        let g = start(&fake);
        let from = Instant::now();
        let e = g.next(LONG).unwrap_err();
        assert!(matches!(&e, Error::Refused { code: c, .. } if c == code), "{e}");
        assert!(from.elapsed() < ms(1000));
        fake.answer(|r| grant(r.number, 5, 0, 8000, 50));
        fake.wait_for("POST", fake.of("POST").len() + 2);
        g.next(LONG).unwrap();
        fake.answer(move |_| error(400, code, 0));
        fake.wait_for("POST", fake.of("POST").len() + 2);
        g.next(ms(1)).unwrap();
    }
}

#[test]
fn damaged() {
    let fake = Fake::start(|_| Some((200, "{\"grant\":\"g\",\"node\":1}".to_owned())));
    let text = start(&fake).next(ms(800)).unwrap_err().to_string();
    assert!(text.contains("the reply has time_shift None"), "{text}");
    fake.answer(|_| Some((404, "<html>".to_owned())));
    let text = start(&fake).next(ms(800)).unwrap_err().to_string();
    assert!(text.contains("answers HTTP 404: no message"), "{text}");
}

#[test]
fn token_labels_and_transport() {
    let fake = Fake::start(|r| grant(r.number, 5, 0, 3000, 50));
    let count = AtomicUsize::new(0);
    let token = move || Ok(format!("t{}", count.fetch_add(1, Ordering::Relaxed)));
    let g = options(&fake).label("host", "a\"b\u{e9}").token_from(token).generator().unwrap();
    g.next(LONG).unwrap();
    fake.wait_for("POST", 2);
    let posts = fake.of("POST");
    assert_eq!(posts[0].authorization, "Bearer t0");
    assert_eq!(posts[1].authorization, "Bearer t1");
    let labels = posts[0].body.get("labels").unwrap();
    assert_eq!(labels.get("host"), Some(&Value::Text("a\"b\u{e9}".into())));
    let e = Options::new("orders", ["https://localhost:1"]).generator().err().unwrap();
    assert!(e.to_string().contains("has no TLS"), "{e}");
    assert!(Options::new("orders", ["localhost:1"]).generator().is_err());
    assert!(Options::new("orders", Vec::<String>::new()).generator().is_err());
    let tls = snowgrid::Http::new().tls(|host, tcp| {
        assert_eq!(host, "127.0.0.1");
        Ok(Box::new(tcp)) // no TLS, for the test
    });
    let address = fake.address.replace("http:", "https:");
    let g = Options::new("orders", [address]).transport(tls).generator().unwrap();
    g.next(LONG).unwrap();
}

#[test]
fn panic_in_a_callback() {
    let fake = Fake::start(|r| grant(r.number, 5, 0, 3000, 50));
    let count = AtomicUsize::new(0);
    let token = move || match count.fetch_add(1, Ordering::Relaxed) {
        0 => panic!("of the test"),
        _ => Ok("t".to_owned()),
    };
    options(&fake).token_from(token).generator().unwrap().next(LONG).unwrap();
}
