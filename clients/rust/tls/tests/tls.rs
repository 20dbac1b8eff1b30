//! Tests against the program openssl as a server that requires a client certificate.

use snowgrid::{Error, Generator, Options};
use snowgrid_tls::Tls;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const LONG: Duration = Duration::from_secs(20);

/// A directory with an authority, and the certificates that it has signed.
struct Files(PathBuf);

impl Files {
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn openssl(&self, args: &str) {
        let mut command = Command::new("openssl");
        let output = command.args(args.split(' ')).current_dir(&self.0).output().unwrap();
        assert!(output.status.success(), "{args}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn authority(&self, name: &str) {
        self.openssl(&format!(
            "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} -keyout {name}.key -out \
             {name}.crt"
        ));
    }

    fn sign(&self, name: &str) {
        self.openssl(&format!(
            "req -newkey rsa:2048 -nodes -subj /CN={name} -keyout {name}.key -out csr"
        ));
        fs::write(self.path("san"), "subjectAltName=DNS:member.snowgrid").unwrap();
        self.openssl(&format!(
            "x509 -req -in csr -CA ca.crt -CAkey ca.key -days 2 -CAcreateserial -extfile san -out \
             {name}.crt"
        ));
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server with a member's certificate, which serves one connection after the other.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(files: &Files) -> Server {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("127.0.0.1:{port}");
        let mut child = Command::new("openssl")
            .args(["s_server", "-quiet", "-accept", &address, "-cert", "member.crt", "-key"])
            .args(["member.key", "-CAfile", "ca.crt", "-Verify", "1", "-verify_return_error"])
            .current_dir(&files.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (mut to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut from = BufReader::new(from);
            loop {
                let (mut line, mut length) = (String::new(), 0);
                while line != "\r\n" {
                    line.clear();
                    if from.read_line(&mut line).unwrap_or(0) == 0 {
                        return;
                    }
                    if let Some(n) = line.strip_prefix("Content-Length: ") {
                        length = n.trim().parse().unwrap();
                    }
                }
                let mut body = vec![0; length];
                if from.read_exact(&mut body).is_err() {
                    return;
                }
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
                let body = format!(
                    "{{\"grant\":\"g1.1\",\"replaced\":false,\"node\":5,\"epoch\":1767225600000,\
                     \"time_shift\":23,\"node_shift\":10,\"counters\":1024,\"from\":{now},\
                     \"until\":{},\"now\":{now},\"renew_in_ms\":100,\"ends\":2866737227776}}",
                    now + 60_000
                );
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                if to.write_all((head + &body).as_bytes()).and_then(|()| to.flush()).is_err() {
                    return;
                }
            }
        });
        Server { child, address: format!("https://{address}") }
    }

    fn generator(&self, tls: Tls) -> Generator {
        let options = Options::new("orders", [self.address.as_str()]).call_timeout(LONG / 4);
        options.transport(tls.http().unwrap()).generator().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Repeats a short call until its error has a text.
fn fails_with(part: &str, ids: &Generator) {
    let end = Instant::now() + LONG;
    loop {
        let text = ids.next(Duration::from_millis(100)).unwrap_err().to_string();
        if text.contains(part) {
            return;
        }
        assert!(Instant::now() < end, "{part}: {text}");
    }
}

#[test]
fn files() {
    let dir = std::env::temp_dir().join(format!("snowgrid-tls-{}", std::process::id()));
    fs::create_dir_all(&dir).unwrap();
    let files = Files(dir);
    files.authority("ca");
    files.authority("other");
    files.sign("member");
    files.sign("client");
    let server = Server::start(&files);
    let ca = Tls::new().ca_file(files.path("ca.crt"));
    let tls = ca.clone().certificate(files.path("client.crt"), files.path("client.key"));
    server.generator(tls.clone()).next(LONG).unwrap();

    // The authority is replaced: the file has two, and is read for each connection.
    let read = |name| fs::read_to_string(files.path(name)).unwrap();
    fs::write(files.path("both.crt"), read("other.crt") + &read("ca.crt")).unwrap();
    server.generator(tls.clone().ca_file(files.path("both.crt"))).next(LONG).unwrap();
    let rotated = tls.clone().ca_file(files.path("rotated.crt"));
    fs::copy(files.path("other.crt"), files.path("rotated.crt")).unwrap();
    let ids = server.generator(rotated);
    fails_with("verify failed", &ids);
    fs::copy(files.path("ca.crt"), files.path("rotated.crt")).unwrap();
    ids.next(LONG).unwrap();
    drop(ids); // its connection is the one that the server serves

    fails_with("mismatch", &server.generator(tls.clone().server_name("other.test")));
    fails_with("mismatch", &server.generator(tls.clone().server_name(""))); // the host
    let system = Tls::new().certificate(files.path("client.crt"), files.path("client.key"));
    fails_with("verify failed", &server.generator(system));
    fails_with("last error", &server.generator(ca)); // without a client certificate

    let wrong = |tls: Tls, part: &str| match tls.http() {
        Err(Error::Options(text)) => assert!(text.contains(part), "{text}"),
        _ => panic!("no error about {part}"),
    };
    wrong(Tls::new().ca_file(files.path("none.crt")), "none.crt");
    wrong(Tls::new().ca_file(files.path("ca.key")), "no certificate");
    wrong(Tls::new().certificate(files.path("client.crt"), files.path("ca.key")), "client.crt");
}
