//! Answers to batches of Azure. The crate takes their parts one by one, each for the request whose number it has: what number that is, and whether
//! each request is answered, is looked at here.

/// No line of a header in the answer has a longer name.
const MAX_NAME_LEN: usize = 16 << 10;

/// The numbers in the lines of a batch that have one, as the crate reads them.
fn numbers(body: &[u8]) -> impl Iterator<Item = Option<usize>> {
    body.split(|&byte| byte == b'\n').filter_map(|line| {
        let (name, value) = line.split_at_checked(line.iter().position(|&byte| byte == b':')?)?;
        let is_number = name.trim_ascii().eq_ignore_ascii_case(b"content-id");
        let value = value.strip_prefix(b":").and_then(|value| std::str::from_utf8(value).ok());
        is_number.then(|| value.and_then(|value| value.trim().parse().ok()))
    })
}

/// How many requests a batch has.
pub(crate) fn request_count(body: &[u8]) -> usize {
    numbers(body).count()
}

/// What is wrong with the answer to a batch of so many requests.
pub(crate) fn problem(answer: &[u8], request_count: usize) -> Option<&'static str> {
    let name_len = |line: &[u8]| line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
    if answer.split(|&byte| byte == b'\n').any(|line| name_len(line) > MAX_NAME_LEN) {
        return Some("a line of the batch is longer than any can be");
    }
    let mut is_answered = vec![false; request_count];
    let mut has_numbers = false;
    for number in numbers(answer).flatten() {
        has_numbers = true;
        match is_answered.get_mut(number) {
            Some(answered) => *answered = true,
            None => return Some("a part of the batch answers what was not asked"),
        }
    }
    // One that is refused as a whole has no numbers, and an error that the crate finds.
    (has_numbers && is_answered.contains(&false)).then_some("a part of the batch is missing")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(numbers: &[&str]) -> String {
        let part = |number: &&str| {
            format!(
                "--b\r\nContent-Type: application/http\r\nContent-ID: {number}\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n"
            )
        };
        numbers.iter().map(part).collect::<String>() + "--b--"
    }

    #[test]
    fn each_request_of_a_batch_is_answered_and_none_that_was_not_asked() {
        assert_eq!(request_count(answer(&["0", "1", "2"]).as_bytes()), 3);
        for (numbers, is_right) in [
            (&["0", "1"][..], true),
            (&["1", "0"], true),
            (&["0", "1", "2"], false),
            (&["0", "18446744073709551615"], false),
            (&["0", "+7"], false),
            (&["0"], false),
            (&[], true),
        ] {
            assert_eq!(problem(answer(numbers).as_bytes(), 2).is_none(), is_right, "{numbers:?}");
        }
        assert!(problem(b"--b\ncontent-id:9\n\n", 2).is_some(), "lines as short as they can be");
        assert!(problem("x".repeat(70_000).as_bytes(), 2).is_some());
        assert!(problem(b"", 0).is_none());
    }
}
