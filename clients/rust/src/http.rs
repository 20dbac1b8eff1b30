//! Sends requests over HTTP/1.1. The standard library has no TLS: a program passes it to
//! [`Http::tls`], or implements [`Transport`] by another HTTP client.

use std::collections::HashMap;
use std::io::{self, Error, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The name in the certificate of each member, which a client checks in place of the host.
pub const MEMBER: &str = "member.snowgrid";

const HEAD_MAX: usize = 64 << 10;
const BODY_MAX: usize = 1 << 20;
const SUCH: &str = "give one such as https://ids.internal:7948";

/// A request with a JSON body.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// POST or DELETE.
    pub method: &'a str,
    /// A base address of the options.
    pub base: &'a str,
    /// `/v1/grants`
    pub path: &'a str,
    /// The bearer token.
    pub token: Option<&'a str>,
    /// The body, of the type application/json.
    pub body: &'a str,
    /// The longest time until the answer is complete.
    pub timeout: Duration,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

/// Sends requests. The calls of one generator come one after the other, but for that of a release.
pub trait Transport: Send + Sync {
    /// Sends a request, and returns its answer, whatever its status.
    fn send(&self, request: &Request<'_>) -> io::Result<Answer>;

    /// Returns an error if a base address cannot be used. It does no I/O.
    fn check(&self, _base: &str) -> io::Result<()> {
        Ok(())
    }

    /// Drops connections that a parent process shares: this process is a new child.
    fn forked(&self) {}
}

/// A connection in clear text or under TLS.
pub trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

type Tls = dyn Fn(&str, TcpStream) -> io::Result<Box<dyn Stream>> + Send + Sync;

/// The transport over TCP. It keeps a connection to each address.
#[derive(Default)]
pub struct Http {
    tls: Option<Arc<Tls>>,
    idle: Mutex<HashMap<String, Connection>>,
}

struct Connection {
    stream: Box<dyn Stream>,
    tcp: TcpStream, // the same connection, for its timeouts
}

impl Http {
    /// Returns a transport for addresses with http://.
    pub fn new() -> Http {
        Http::default()
    }

    /// Adds TLS, for addresses with https://. The function makes a TLS connection with a host over
    /// a TCP connection; it must check the certificate: that of a member has the name [`MEMBER`].
    pub fn tls(
        mut self,
        connect: impl Fn(&str, TcpStream) -> io::Result<Box<dyn Stream>> + Send + Sync + 'static,
    ) -> Http {
        self.tls = Some(Arc::new(connect));
        self
    }

    /// Splits a base address in whether it needs TLS, its host and its port.
    fn split<'a>(&self, base: &'a str) -> io::Result<(bool, &'a str, u16)> {
        let wrong = |text: &str| Error::new(ErrorKind::InvalidInput, text);
        let (tls, rest, default) = match base.split_once("://") {
            Some(("http", rest)) => (false, rest, 80),
            Some(("https", _)) if self.tls.is_none() => {
                return Err(wrong(
                    "there is no TLS; take it from the crate snowgrid-tls, or pass it to Http::tls",
                ));
            }
            Some(("https", rest)) => (true, rest, 443),
            _ => return Err(wrong(SUCH)),
        };
        let (host, port) = match rest.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| wrong(SUCH))?)
            }
            _ => (rest, default),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains('/') {
            return Err(wrong(SUCH));
        }
        Ok((tls, host, port))
    }

    fn connect(&self, base: &str, end: Instant) -> io::Result<Connection> {
        let (tls, host, port) = self.split(base)?;
        let mut result = Err(Error::new(ErrorKind::NotFound, "the host has no address"));
        for address in (host, port).to_socket_addrs()? {
            result = TcpStream::connect_timeout(&address, left(end)?);
            if result.is_ok() {
                break;
            }
        }
        let tcp = result?;
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(left(end)?))?;
        tcp.set_write_timeout(Some(left(end)?))?;
        let copy = tcp.try_clone()?;
        let stream: Box<dyn Stream> = match &self.tls {
            Some(connect) if tls => connect(host, tcp)?,
            _ => Box::new(tcp),
        };
        Ok(Connection { stream, tcp: copy })
    }

    /// Returns the idle connections. In a child process the lock may be held for ever, by a thread
    /// of the parent, so it is only tried: a new connection is always possible.
    fn idle(&self) -> Option<MutexGuard<'_, HashMap<String, Connection>>> {
        self.idle.try_lock().ok()
    }

    fn keep(&self, base: &str, connection: Connection) {
        if let Some(mut idle) = self.idle() {
            idle.insert(base.to_owned(), connection);
        }
    }
}

impl Transport for Http {
    fn send(&self, request: &Request<'_>) -> io::Result<Answer> {
        let end = Instant::now() + request.timeout;
        let kept = self.idle().and_then(|mut idle| idle.remove(request.base));
        if let Some(mut connection) = kept {
            let mut began = false;
            match connection.exchange(request, end, &mut began) {
                Ok((answer, keep)) => {
                    if keep {
                        self.keep(request.base, connection);
                    }
                    return Ok(answer);
                }
                // The server has closed a connection that was idle.
                Err(e) if !began && !timed_out(&e) => {}
                Err(e) => return Err(e),
            }
        }
        let mut connection = self.connect(request.base, end)?;
        let (answer, keep) = connection.exchange(request, end, &mut false)?;
        if keep {
            self.keep(request.base, connection);
        }
        Ok(answer)
    }

    fn check(&self, base: &str) -> io::Result<()> {
        self.split(base).map(|_| ())
    }

    fn forked(&self) {
        if let Some(mut idle) = self.idle() {
            // A TLS connection sends its end when it is dropped, and the parent needs it.
            idle.drain().for_each(std::mem::forget);
        }
    }
}

fn timed_out(e: &Error) -> bool {
    matches!(e.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}

/// Returns the time until the end.
fn left(end: Instant) -> io::Result<Duration> {
    match end.checked_duration_since(Instant::now()) {
        Some(left) if !left.is_zero() => Ok(left),
        _ => Err(Error::new(ErrorKind::TimedOut, "no reply in time")),
    }
}

fn damaged(text: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("the answer is no HTTP: {text}"))
}

impl Connection {
    /// Sends a request and receives its answer. Returns whether the connection can be used again.
    fn exchange(
        &mut self,
        request: &Request<'_>,
        end: Instant,
        began: &mut bool,
    ) -> io::Result<(Answer, bool)> {
        let Request { method, base, path, body, .. } = request;
        let host = base.split_once("://").map_or(*base, |(_, host)| host);
        let mut text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n",
            body.len()
        );
        if let Some(token) = request.token {
            if token.contains(['\r', '\n']) {
                return Err(Error::new(ErrorKind::InvalidInput, "the token has several lines"));
            }
            text += &format!("Authorization: Bearer {token}\r\n");
        }
        text += "\r\n";
        text += body;
        self.tcp.set_write_timeout(Some(left(end)?))?;
        self.stream.write_all(text.as_bytes())?;
        self.stream.flush()?;

        let mut input = Input { connection: self, end, data: Vec::new(), at: 0, began };
        let head = loop {
            let head = input.head()?;
            if !(100..200).contains(&head.status) {
                break head; // an answer with 1xx is followed by another one
            }
        };
        let mut keep = !head.close;
        let mut bytes = Vec::new();
        match head.length {
            _ if head.chunked => loop {
                let line = input.line()?;
                let size = line.split(';').next().unwrap_or("").trim();
                let size = usize::from_str_radix(size, 16).map_err(|_| damaged("chunk"))?;
                if size == 0 {
                    while !input.line()?.is_empty() {}
                    break;
                }
                input.take(size, &mut bytes)?;
                input.line()?;
            },
            Some(length) => input.take(length, &mut bytes)?,
            None if matches!(head.status, 204 | 304) => {}
            None => {
                keep = false;
                while input.fill()? {}
                bytes.extend_from_slice(&input.data[input.at..]);
            }
        }
        let body = String::from_utf8_lossy(&bytes).into_owned();
        Ok((Answer { status: head.status, body }, keep))
    }
}

/// The first lines of an answer.
struct Head {
    status: u16,
    length: Option<usize>,
    chunked: bool,
    close: bool,
}

struct Input<'a> {
    connection: &'a mut Connection,
    end: Instant,
    data: Vec<u8>,
    at: usize, // the next byte of data
    began: &'a mut bool,
}

impl Input<'_> {
    /// Receives more data. Returns false at the end of the stream.
    fn fill(&mut self) -> io::Result<bool> {
        if self.data.len() > HEAD_MAX + BODY_MAX {
            return Err(damaged("it is too long"));
        }
        self.connection.tcp.set_read_timeout(Some(left(self.end)?))?;
        let mut buffer = [0; 4096];
        let n = match self.connection.stream.read(&mut buffer) {
            Err(e) if e.kind() == ErrorKind::Interrupted => return Ok(true),
            Err(e) if timed_out(&e) => {
                return Err(Error::new(ErrorKind::TimedOut, "no reply in time"));
            }
            result => result?,
        };
        *self.began |= n > 0;
        self.data.extend_from_slice(&buffer[..n]);
        Ok(n > 0)
    }

    fn need(&mut self) -> io::Result<()> {
        if self.fill()? {
            return Ok(());
        }
        Err(Error::new(ErrorKind::UnexpectedEof, "the connection was closed without a reply"))
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(n) = self.data[self.at..].iter().position(|b| *b == b'\n') {
                let line = String::from_utf8_lossy(&self.data[self.at..self.at + n]);
                let line = line.trim_end_matches('\r').to_owned();
                self.at += n + 1;
                return Ok(line);
            }
            if self.data.len() - self.at > HEAD_MAX {
                return Err(damaged("a line is too long"));
            }
            self.need()?;
        }
    }

    fn take(&mut self, n: usize, to: &mut Vec<u8>) -> io::Result<()> {
        if n > BODY_MAX || to.len() + n > BODY_MAX {
            return Err(damaged("it is too long"));
        }
        while self.data.len() - self.at < n {
            self.need()?;
        }
        to.extend_from_slice(&self.data[self.at..self.at + n]);
        self.at += n;
        Ok(())
    }

    fn head(&mut self) -> io::Result<Head> {
        let first = self.line()?;
        let mut words = first.split(' ');
        let version = words.next().unwrap_or("");
        let status = words.next().and_then(|s| s.parse().ok());
        let (true, Some(status)) = (version.starts_with("HTTP/1."), status) else {
            let beginning: String = first.chars().take(40).collect();
            return Err(damaged(&format!("it begins with {beginning:?}")));
        };
        let close = version == "HTTP/1.0";
        let mut head = Head { status, length: None, chunked: false, close };
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Ok(head);
            }
            let (name, value) = line.split_once(':').ok_or_else(|| damaged("header"))?;
            let value = value.trim().to_ascii_lowercase();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => {
                    head.length = Some(value.parse().map_err(|_| damaged("content-length"))?);
                }
                "transfer-encoding" => head.chunked = value.contains("chunked"),
                "connection" => head.close |= value.contains("close"),
                _ => {}
            }
        }
    }
}
