//! Reads JSON, as far as the replies of members need it.

const DEPTH_MAX: usize = 50;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// null
    Null,
    /// true or false
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object.
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Returns a field of an object.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(fields) => fields.iter().find(|f| f.0 == name).map(|f| &f.1),
            _ => None,
        }
    }

    /// Returns a field that is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Returns a field that is a whole number.
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name) {
            Some(Value::Int(n)) => Some(*n),
            _ => None,
        }
    }
}

/// Returns a text as a JSON string.
pub fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if c < ' ' || c == '"' || c == '\\' {
            out += &format!("\\u{:04x}", c as u32);
        } else {
            out.push(c);
        }
    }
    out + "\""
}

/// Reads a value.
pub fn read(text: &str) -> Result<Value, String> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => reader.wrong("text after the value"),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn wrong<T>(&self, what: &str) -> Result<T, String> {
        Err(format!("JSON: {what} at byte {}", self.at))
    }

    /// Skips spaces and returns the next byte.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|b| b" \t\r\n".contains(b)).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip(&mut self, c: u8) -> bool {
        let is = self.peek() == Some(c);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, c: u8) -> Result<(), String> {
        if self.skip(c) {
            return Ok(());
        }
        self.wrong(&format!("no {}", c as char))
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEPTH_MAX {
            return self.wrong("too many levels");
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Value::Text),
            _ => self.literal(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        let mut fields = Vec::new();
        self.expect(b'{')?;
        if self.skip(b'}') {
            return Ok(Value::Object(fields));
        }
        loop {
            let name = self.string()?;
            self.expect(b':')?;
            fields.push((name, self.value(depth + 1)?));
            if !self.skip(b',') {
                self.expect(b'}')?;
                return Ok(Value::Object(fields));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        let mut list = Vec::new();
        self.expect(b'[')?;
        if self.skip(b']') {
            return Ok(Value::List(list));
        }
        loop {
            list.push(self.value(depth + 1)?);
            if !self.skip(b',') {
                self.expect(b']')?;
                return Ok(Value::List(list));
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        self.expect(b'"')?;
        let mut units: Vec<u16> = Vec::new(); // an escape can be half of a character
        while let Some(c) = self.text[self.at..].chars().next() {
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(String::from_utf16_lossy(&units)),
                '\\' => units.push(self.escaped()?),
                c => units.extend(c.encode_utf16(&mut [0; 2]).iter()),
            }
        }
        self.wrong("no end of a string")
    }

    fn escaped(&mut self) -> Result<u16, String> {
        let c = self.text.as_bytes().get(self.at).copied().unwrap_or(0);
        self.at += usize::from(c.is_ascii() && c != 0);
        Ok(match c {
            b'"' | b'\\' | b'/' => c.into(),
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'u' => {
                let hex = self.text.get(self.at..self.at + 4).unwrap_or("");
                match u16::from_str_radix(hex, 16) {
                    Ok(unit) => {
                        self.at += 4;
                        unit
                    }
                    Err(_) => return self.wrong("no four hexadecimal digits"),
                }
            }
            _ => return self.wrong("an unknown escape"),
        })
    }

    fn literal(&mut self) -> Result<Value, String> {
        let rest = &self.text[self.at..];
        let end = rest.find([',', ']', '}', ' ', '\t', '\r', '\n']).unwrap_or(rest.len());
        let word = &rest[..end];
        let value = match word {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ if !word.bytes().all(|b| b"+-.0123456789eE".contains(&b)) => {
                return self.wrong("no value");
            }
            _ => match (word.parse(), word.parse()) {
                (Ok(n), _) => Value::Int(n),
                (_, Ok(x)) => Value::Float(x),
                _ => return self.wrong("no value"),
            },
        };
        self.at += end;
        Ok(value)
    }
}
