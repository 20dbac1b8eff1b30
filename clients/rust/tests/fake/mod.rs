//! A server of /v1/grants on loopback.

use snowgrid::json::{read, Value};
use snowgrid::{Error, Generator};
use std::cell::Cell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest wait for what is to happen, however busy the machine is.
pub const LONG: Duration = Duration::from_secs(20);
pub const EPOCH: i64 = 1_767_225_600_000;

/// A request. `connection` and `number` begin at 0.
#[derive(Clone, Debug)]
pub struct Received {
    pub method: String,
    pub body: Value,
    pub authorization: String,
    pub at: Instant,
    pub connection: usize,
    pub number: usize,
}

impl Received {
    pub fn grant(&self) -> &str {
        self.body.text("grant").unwrap_or("")
    }
}

/// A status and a body; `None` gives no answer.
pub type Reply = Option<(u16, String)>;
type Answers = Arc<Mutex<Box<dyn Fn(&Received) -> Reply + Send>>>;

#[derive(Clone)]
pub struct Fake {
    pub address: String,
    pub requests: Arc<Mutex<Vec<Received>>>,
    pub keeps_releases: Arc<AtomicBool>, // without an answer
    answers: Answers,
    chunked: bool,
}

impl Fake {
    /// Starts a server with answers to POST.
    pub fn start(answers: impl Fn(&Received) -> Reply + Send + 'static) -> Fake {
        Fake::start_with(false, answers)
    }

    pub fn start_with(
        chunked: bool,
        answers: impl Fn(&Received) -> Reply + Send + 'static,
    ) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let fake = Fake {
            address: format!("http://{}", listener.local_addr().unwrap()),
            requests: Arc::default(),
            keeps_releases: Arc::default(),
            answers: Arc::new(Mutex::new(Box::new(answers))),
            chunked,
        };
        let server = fake.clone();
        thread::spawn(move || {
            for (connection, stream) in listener.incoming().enumerate() {
                let server = server.clone();
                thread::spawn(move || server.serve(stream.unwrap(), connection));
            }
        });
        fake
    }

    pub fn answer(&self, answers: impl Fn(&Received) -> Reply + Send + 'static) {
        *self.answers.lock().unwrap() = Box::new(answers);
    }

    pub fn of(&self, method: &str) -> Vec<Received> {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|r| r.method == method).cloned().collect()
    }

    pub fn wait_for(&self, method: &str, count: usize) {
        let end = Instant::now() + LONG;
        while self.of(method).len() < count {
            assert!(Instant::now() < end, "no {count} requests with {method}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn serve(&self, mut stream: TcpStream, connection: usize) -> Option<()> {
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        loop {
            let (mut first, mut length, mut authorization) = (String::new(), 0, String::new());
            lines.read_line(&mut first).ok().filter(|n| *n > 0)?;
            loop {
                let mut line = String::new();
                lines.read_line(&mut line).ok().filter(|n| *n > 0)?;
                match line.trim().split_once(": ") {
                    Some(("Content-Length", value)) => length = value.parse().unwrap(),
                    Some(("Authorization", value)) => authorization = value.to_owned(),
                    Some(_) => {}
                    None => break,
                }
            }
            let mut body = vec![0; length];
            lines.read_exact(&mut body).ok()?;
            let method = first.split(' ').next().unwrap().to_owned();
            let request = Received {
                number: self.of(&method).len(),
                method,
                body: read(std::str::from_utf8(&body).unwrap()).unwrap(),
                authorization,
                at: Instant::now(),
                connection,
            };
            self.requests.lock().unwrap().push(request.clone());
            let reply = match request.method.as_str() {
                "POST" => (self.answers.lock().unwrap())(&request),
                _ if self.keeps_releases.load(Ordering::Relaxed) => None,
                _ => Some((200, "{}".to_owned())),
            };
            let Some((status, body)) = reply else {
                continue;
            };
            let head = format!("HTTP/1.1 {status} Text\r\nContent-Type: application/json\r\n");
            let text = if self.chunked {
                let (a, b) = body.split_at(body.len() / 2);
                let chunk = |c: &str| match c.len() {
                    0 => String::new(),
                    n => format!("{n:x};x=y\r\n{c}\r\n"),
                };
                let (a, b) = (chunk(a), chunk(b));
                format!("{head}Transfer-Encoding: chunked\r\n\r\n{a}{b}0\r\nTrailer: x\r\n\r\n")
            } else {
                format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())
            };
            stream.write_all(text.as_bytes()).ok()?;
        }
    }
}

/// Returns a grant of a node, in ms relative to the present time.
pub fn grant(number: usize, node: i64, from: i64, until: i64, renew_in: i64) -> Reply {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64;
    let body = format!(
        "{{\"grant\":\"g1.{number}\",\"replaced\":false,\"node\":{node},\"epoch\":{EPOCH},\
         \"time_shift\":23,\"node_shift\":10,\"counters\":1024,\"from\":{},\"until\":{},\
         \"now\":{now},\"renew_in_ms\":{renew_in},\"ends\":{}}}",
        now + from,
        now + until,
        EPOCH + (1 << 40)
    );
    Some((200, body))
}

pub fn error(status: u16, code: &str, retry_after: i64) -> Reply {
    let message = format!("\"message\":\"grid: text of {code}\"");
    Some((status, format!("{{\"code\":\"{code}\",{message},\"retry_after_ms\":{retry_after}}}")))
}

/// Repeats a call with a timeout until the text of its error has a part. Returns the text.
pub fn fails_with(part: &str, g: &Generator, timeout: Duration) -> String {
    let end = Instant::now() + LONG;
    loop {
        let from = Instant::now();
        let e = g.next(timeout).unwrap_err();
        assert!(
            from.elapsed() >= timeout - Duration::from_millis(10)
                && from.elapsed() < timeout + LONG / 2
        );
        assert!(matches!(e, Error::Timeout(_)), "{e}");
        if e.to_string().contains(part) {
            return e.to_string();
        }
        assert!(Instant::now() < end, "{part:?} is not in {e}");
    }
}

/// Calls until a result is the one that is waited for, and returns it.
pub fn next_until<T>(g: &Generator, wanted: impl Fn(Result<i64, Error>) -> Option<T>) -> T {
    let end = Instant::now() + LONG;
    loop {
        if let Some(result) = wanted(g.next(LONG)) {
            return result;
        }
        assert!(Instant::now() < end, "no such result within {LONG:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Makes IDs until so many requests are sent. Returns how many IDs.
pub fn next_until_posts(fake: &Fake, g: &Generator, count: usize) -> i64 {
    let ids = Cell::new(0);
    next_until(g, |id| {
        id.unwrap();
        ids.set(ids.get() + 1);
        (fake.of("POST").len() >= count).then_some(ids.get())
    })
}

/// Requests have a pause between them; clocks in whole milliseconds read one less.
pub fn check_pauses(posts: &[Received], least: u64) {
    for pair in posts.windows(2) {
        assert!(pair[1].at - pair[0].at >= Duration::from_millis(least - 1), "{posts:?}");
    }
}
