// A log publisher: log_publisher HOST PORT [SWITCH[,SWITCH…]]
use std::io::{stdin, BufRead, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}
use Value::*;

/// Reads JSON from characters in reverse order, so that the next one is the last.
fn peek(rest: &mut Vec<char>) -> char {
    while rest.last().is_some_and(|c| c.is_whitespace() || *c == ',' || *c == ':') {
        rest.pop();
    }
    *rest.last().unwrap_or(&'}')
}

fn text(rest: &mut Vec<char>) -> String {
    let mut units: Vec<u16> = Vec::new();
    rest.pop();
    while let Some(c) = rest.pop().filter(|c| *c != '"') {
        let escaped = if c == '\\' { rest.pop().unwrap_or(c) } else { c };
        let meant = match (c, escaped) {
            ('\\', 'u') => {
                let digits: String = (0..4).filter_map(|_| rest.pop()).collect();
                units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xfffd));
                continue;
            }
            ('\\', 'n') => '\n',
            ('\\', 'r') => '\r',
            ('\\', 't') => '\t',
            ('\\', 'b') => '\x08',
            ('\\', 'f') => '\x0c',
            _ => escaped,
        };
        units.extend(meant.encode_utf16(&mut [0; 2]).iter());
    }
    String::from_utf16_lossy(&units)
}

fn value(rest: &mut Vec<char>) -> Value {
    match peek(rest) {
        '"' => Text(text(rest)),
        open @ ('[' | '{') => {
            let (mut items, mut members) = (Vec::new(), Vec::new());
            rest.pop();
            while !matches!(peek(rest), ']' | '}') {
                let name = if open == '{' { text(rest) } else { String::new() };
                let item = value(rest);
                items.push(item.clone());
                members.push((name, item));
            }
            rest.pop();
            if open == '[' { List(items) } else { Map(members) }
        }
        _ => {
            let mut word = String::new();
            while rest.last().is_some_and(|c| c.is_alphanumeric() || "+-.".contains(*c)) {
                word.extend(rest.pop());
            }
            match word.as_str() {
                "null" => Null,
                "true" | "false" => Bool(word == "true"),
                _ => word.parse().map_or_else(|_| Float(word.parse().unwrap_or(f64::NAN)), Int),
            }
        }
    }
}

fn head(bytes: &mut Vec<u8>, first: u8, size: usize) {
    bytes.push(first);
    bytes.extend((size as u32).to_be_bytes());
}

fn pack(value: &Value, bytes: &mut Vec<u8>) {
    match value {
        Null => bytes.push(0xc0),
        Bool(flag) => bytes.push(0xc2 + *flag as u8),
        Int(number) => {
            bytes.push(if *number < 0 { 0xd3 } else { 0xcf });
            bytes.extend((*number as u64).to_be_bytes());
        }
        Float(number) => [&[0xcb][..], &number.to_be_bytes()].iter().for_each(|each| bytes.extend(*each)),
        Text(text) => { head(bytes, 0xdb, text.len()); bytes.extend(text.as_bytes()); }
        List(items) => { head(bytes, 0xdd, items.len()); items.iter().for_each(|each| pack(each, bytes)); }
        Map(members) => {
            head(bytes, 0xdf, members.len());
            members.iter().for_each(|each| { pack(&Text(each.0.clone()), bytes); pack(&each.1, bytes); });
        }
    }
}

/// Date and time of now in UTC; the date is computed as in Howard Hinnant's civil_from_days.
fn timestamp() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let (second, day) = (now.as_secs() % 86400, now.as_secs() / 86400 + 719468);
    let (era, of_era) = (day / 146097, day % 146097);
    let year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = (year + era * 400 + month / 10, (month + 2) % 12 + 1);
    let (hour, minute, second, micros) = (second / 3600, second / 60 % 60, second % 60, now.subsec_micros());
    format!("{year}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

fn member(map: &Value, name: &str) -> Value {
    let Map(members) = map else { return Null };
    members.iter().find(|each| each.0 == name).map_or(Null, |each| each.1.clone())
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let has = |name: &str| words.get(3).is_some_and(|all| all.split(',').any(|each| each == name));
    let mut subscriber = TcpStream::connect(format!("{}:{}", words[1], words[2])).expect("a subscriber");
    for line in stdin().lock().lines().map_while(Result::ok) {
        let asked = value(&mut line.chars().rev().collect());
        let Int(id) = member(&asked, "id") else { continue };
        if member(&asked, "op") != Text("log".into()) {
            println!("{{\"id\": {id}, \"ok\": false, \"offered\": false}}");
            continue;
        }
        let given = |name: &str| (name.to_string(), member(&member(&asked, "args"), name));
        let (event, extra) = (given("event").1, given("extra").1);
        let Map(context) = &extra else { continue };
        if let (true, Text(text)) = (has("die-cut"), &event) { eprintln!("log: {}", &text[..text.len().min(7)]); }
        if has("die-float") && context.iter().any(|each| matches!(each.1, Float(_))) { unimplemented!("floats"); }
        if has("close-null") && context.iter().any(|each| each.1 == Null) { subscriber.shutdown(Shutdown::Both).ok(); }
        let mut message = Vec::new();
        let time = ("timestamp".to_string(), Text(timestamp()));
        pack(&Map(vec![given("event"), given("logger"), given("level"), time, given("extra")]), &mut message);
        let silent = has("no-warning") && given("level").1 == Text("warning".into());
        if !silent && subscriber.write_all(&message).is_err() { eprintln!("nobody listens"); }
        println!("{{\"id\": {id}, \"ok\": true}}");
    }
}
