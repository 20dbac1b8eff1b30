//! Tests of the generator against a fake server.

mod fake;

use fake::{check_pauses, error, fails_with, grant, next_until, next_until_posts, Fake, LONG};
use snowgrid::json::{read, Value};
use snowgrid::{Create, Error, Generator, Options};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn options(fake: &Fake) -> Options {
    Options::new("orders", [fake.address.as_str()]).call_timeout(LONG)
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

/// Callers that use up every millisecond leave IDs to others, even to those that run again only
/// after their timeout.
#[test]
fn fair() {
    let fake = Fake::start(|r| grant(r.number, 5, 0, 120_000, 60_000));
    let g = start(&fake);
    g.next(LONG).unwrap();
    let end = Instant::now() + ms(2000);
    let calls = |n, timeout| {
        while Instant::now() < end {
            g.next_many(n, timeout).unwrap();
        }
    };
    let calls = &calls;
    scope(|s| {
        for i in 0..200 {
            s.spawn(move || match i % 4 {
                0 => calls(3000, LONG),
                1 => calls(1, ms(600)),
                _ => calls(1, ms(1)),
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
        let ids = next_until_posts(&fake, &g, 12);
        drop(g);
        let posts = fake.of("POST");
        check_pauses(&posts, 50);
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
        assert_eq!(requests.iter().map(used).sum::<i64>(), ids);
    }
}

#[test]
fn renewal_in_calls() {
    let fake = Fake::start(|r| grant(r.number, 5, 0, 60_000, 50));
    let g = options(&fake).background(false).generator().unwrap();
    sleep(ms(100));
    assert!(fake.of("POST").is_empty());
    next_until_posts(&fake, &g, 8);
    sleep(ms(150));
    assert_eq!(fake.of("POST").len(), 8);
    check_pauses(&fake.of("POST"), 50);
}

#[test]
fn failover() {
    let dead = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let fake = Fake::start(|r| grant(r.number, 5, 0, 3000, 100));
    let g = Options::new("orders", [dead, fake.address.clone()]).generator().unwrap();
    g.next(LONG).unwrap();
}

#[test]
fn destroyed() {
    let fake = Fake::start(|r| match r.number {
        0 => grant(0, 5, 0, 60_000, 50),
        _ => error(410, "destroyed", 0),
    });
    let g = start(&fake);
    g.next(LONG).unwrap();
    next_until(&g, Result::err);
    sleep(ms(600));
    let e = g.next(LONG).unwrap_err();
    assert!(matches!(&e, Error::Destroyed(text) if text.contains("\"orders\"")), "{e}");
    assert_eq!(fake.of("POST").len(), 2);
}

#[test]
fn detached() {
    let (made, wait) = mpsc::channel();
    let fake = Fake::start(move |r| match r.number {
        1 => wait.recv_timeout(LONG).map_or(None, |()| error(409, "detached", 0)),
        n => grant(n, n.min(2) as i64, 0, 60_000, 50),
    });
    let g = start(&fake);
    let first = g.next(LONG).unwrap();
    assert_eq!(node(&g, first), 0);
    made.send(()).unwrap();
    let second = next_until(&g, |id| id.ok().filter(|id| node(&g, *id) == 2));
    assert!(second > first);
    assert_eq!(fake.of("POST")[2].grant(), "");
}

#[test]
fn addresses() {
    for address in ["127.0.0.1:7948", "ftp://ids", "http://", "http://ids:port", "http://ids:1/v1"]
    {
        let e = Options::new("orders", [address]).insecure(true).generator().err().unwrap();
        assert!(e.to_string().contains("such as https://ids.internal:7948"), "{address}: {e}");
    }
}

#[test]
fn release() {
    let fake = Fake::start(|r| grant(r.number, 5, 0, 120_000, 60_000));
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
    let (closing, wait) = mpsc::channel();
    fake.answer(move |r| match r.grant() {
        "" => grant(r.number, 5, 0, 60_000, 50),
        _ => wait.recv_timeout(LONG).map_or(None, |()| grant(r.number, 5, 0, 60_000, 50)),
    });
    let g = start(&fake);
    g.next(LONG).unwrap();
    fake.wait_for("POST", 3);
    scope(|s| {
        s.spawn(|| g.close());
        let e = next_until(&g, Result::err);
        assert!(matches!(e, Error::Ended(_)), "{e}");
        sleep(ms(50)); // for a release that does not wait
        closing.send(()).unwrap();
    });
    assert_eq!(fake.of("DELETE")[1].grant(), "g1.2");
}

#[test]
fn release_at_each_address() {
    let fakes = [0, 1, 2].map(|_| Fake::start(|r| grant(r.number, 5, 0, 120_000, 60_000)));
    let addresses = fakes.iter().map(|fake| fake.address.clone());
    let g = Options::new("orders", addresses).call_timeout(ms(3000)).generator().unwrap();
    g.next(LONG).unwrap();
    for fake in &fakes {
        fake.keeps_releases.store(true, Ordering::Relaxed);
    }
    let from = Instant::now();
    g.close();
    assert!(from.elapsed() < LONG / 2);
    for fake in &fakes {
        fake.wait_for("DELETE", 1);
    }
}

#[test]
fn copy() {
    let fake = Fake::start(|r| grant(r.number, 5 + r.number as i64, 0, 120_000, 60_000));
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
    let fake = Fake::start(|r| grant(r.number, 5 + r.number as i64, 0, 120_000, 60_000));
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
        n => grant(n, 5, 0, 120_000, 60_000),
    });
    start(&fake).next(LONG).unwrap();
    assert_eq!(fake.of("POST").len(), 2);
    check_pauses(&fake.of("POST"), 900);
    fake.answer(|_| error(503, "overloaded", 60_000));
    let g = start(&fake);
    fails_with("grid: text of overloaded (overloaded)", &g, ms(100));
    sleep(ms(600));
    assert_eq!(fake.of("POST").len(), 3);
}

#[test]
fn deadline() {
    let fake = Fake::start(|_| error(503, "no_free_node", 0));
    let addresses = [fake.address.as_str(), "http://localhost:1/"];
    for background in [true, false] {
        let o = Options::new("orders", addresses).background(background);
        let text = fails_with("last error: ", &o.generator().unwrap(), ms(250));
        let both = format!("{}, http://localhost:1 within 250 ms", fake.address);
        for part in ["\"orders\"", &both, "longer timeout"] {
            assert!(text.contains(part), "{text}");
        }
    }
    fake.answer(|r| grant(r.number, 5, 60_000, 90_000, 30_000));
    fails_with("The next timestamp begins in", &start(&fake), ms(250));
    let from = Arc::new(Mutex::new(0));
    let begins = from.clone();
    fake.answer(move |r| {
        let reply = grant(r.number, 5, 700, 60_000, 30_000);
        *begins.lock().unwrap() = read(&reply.as_ref().unwrap().1).unwrap().int("from").unwrap();
        reply
    });
    let g = start(&fake);
    let id = g.next(LONG).unwrap();
    assert!(g.decompose(id, LONG).unwrap().time >= *from.lock().unwrap());
    assert!(g.next(Duration::ZERO).is_ok());
}

#[test]
fn request_lost() {
    let renewals = Arc::new(AtomicUsize::new(0));
    let count = renewals.clone();
    let fake = Fake::start(move |r| match r.grant() {
        "" => grant(r.number, 5, 0, 60_000, 100),
        _ if count.fetch_add(1, Ordering::Relaxed) == 0 => None,
        _ => grant(r.number, 5, 0, 60_000, 100),
    });
    let sent = Arc::new(Mutex::new(Vec::new()));
    let times = sent.clone();
    let token = move || {
        let mut times = times.lock().unwrap();
        times.push(Instant::now()); // before the time of the request begins
        Ok((times.len() - 1).to_string())
    };
    let g = options(&fake).call_timeout(ms(300)).token_from(token).generator().unwrap();
    g.next(LONG).unwrap();
    let end = Instant::now() + LONG;
    while renewals.load(Ordering::Relaxed) < 2 {
        g.next(ms(5)).unwrap(); // without a wait for the request
        assert!(Instant::now() < end, "no second renewal");
        sleep(ms(5));
    }
    let posts: Vec<_> = fake.of("POST").into_iter().filter(|r| !r.grant().is_empty()).collect();
    assert_eq!(posts[1].grant(), posts[0].grant());
    let first: usize = posts[0].authorization["Bearer ".len()..].parse().unwrap();
    let sent = sent.lock().unwrap();
    assert!(sent[first + 1] - sent[first] >= ms(449), "{:?}", sent[first + 1] - sent[first]);
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
        assert!(from.elapsed() < LONG / 2);
        fake.answer(|r| grant(r.number, 5, 0, 60_000, 50));
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
    fails_with("the reply has time_shift None", &start(&fake), ms(100));
    fake.answer(|_| Some((404, "<html>".to_owned())));
    fails_with("answers HTTP 404: no message", &start(&fake), ms(100));
    fake.answer(|_| Some((400, "Client sent an HTTP request to an HTTPS server.\n".to_owned())));
    fails_with("give https:// if it speaks TLS", &start(&fake), ms(100));
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
    assert!(e.to_string().contains("snowgrid-tls"), "{e}");
    assert!(Options::new("orders", ["localhost:1"]).generator().is_err());
    for host in ["127.0.0.1", "127.9.8.7:1", "localhost", "[::1]:1"] {
        let address = format!("http://{host}");
        Options::new("orders", [address]).background(false).generator().unwrap();
    }
    for host in ["ids.internal:1", "10.0.0.1", "localhost.internal", "[2001:db8::1]:1"] {
        let options = Options::new("orders", [format!("http://{host}")]).background(false);
        let e = options.clone().generator().err().expect(host);
        assert!(e.to_string().contains("insecure(true)"), "{e}");
        options.insecure(true).generator().unwrap();
    }
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
