// Every function of rules: rows that hold, and rows that fail.
import t, { type Test } from "tap";
import { integer, list, text, verdict } from "./build.ts";

const fields = {
  at: { ...text, format: "date-time" },
  day: { ...text, format: "date" },
  span: { ...text, format: "duration" },
  numbers: list(integer),
  ratios: list({ type: "number" }),
  spans: list({ ...text, format: "duration" }),
  pattern: text,
};
const spec = {
  at: "2024-01-15T14:30:45.123Z",
  day: "2024-02-29",
  span: "1h30m",
  numbers: [3, 1, 2],
  ratios: [0.5, 1],
  spans: ["1s", "2s"],
  pattern: "a+",
};

function holds(t: Test, rules: readonly string[]): void {
  for (const rule of rules) t.equal(verdict(rule, fields, spec), "ok", rule);
  t.end();
}

function fails(t: Test, rows: readonly (readonly [rule: string, want: string])[]): void {
  for (const [rule, want] of rows) t.equal(verdict(rule, fields, spec), want, rule);
}

t.test("sizes count code points, bytes, items and keys", (t) => {
  holds(t, [
    "size('abc') == 3 && 'h\u00e9\u{1f600}'.size() == 3 && size(b'h\\xc3\\xa9') == 3 && ''.size() == 0",
    "size([1, 2]) == 2 && [].size() == 0 && size({'a': 1}) == 1 && {}.size() == 0",
  ]);
});

t.test("texts", (t) => {
  fails(t, [
    ["'abc'.substring(4) == ''", "index out of range: 4"],
    ["'abc'.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1"],
    ["'abc'.charAt(4) == ''", "index out of range: 4"],
    ["'abc'.indexOf('a', -1) == 0", "index out of range: -1"],
    ["'abc'.lastIndexOf('a', 9) == 0", "index out of range: 9"],
  ]);
  holds(t, [
    "'abc'.contains('b') && !'abc'.contains('d') && 'abc'.startsWith('ab') && 'abc'.endsWith('bc') && 'a'.contains('')",
    "'hello'.charAt(1) == 'e' && 'hello'.charAt(5) == '' && '\u{1f600}x'.charAt(1) == 'x'",
    "'hello'.indexOf('l') == 2 && 'hello'.indexOf('l', 3) == 3 && 'hello'.indexOf('z') == -1 && 'a'.indexOf('') == 0",
    "'hello'.lastIndexOf('l') == 3 && 'hello'.lastIndexOf('l', 2) == 2 && '\u{1f600}xx'.lastIndexOf('x') == 2",
    "'\u{1f600}x'.indexOf('x') == 1 && '\u{1f600}x'.substring(1) == 'x' && '\u{1f600}x'.substring(0, 1) == '\u{1f600}'",
    "'hello'.substring(1, 3) == 'el' && 'hello'.substring(3) == 'lo' && 'hello'.substring(5) == ''",
    "'aXa'.replace('a', 'bb') == 'bbXbb' && 'aaa'.replace('a', 'b', 2) == 'bba' && 'aaa'.replace('a', 'b', 0) == 'aaa'",
    "'ab'.replace('', '-') == 'a-b'",
    "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'ab'.split('') == ['a', 'b']",
    "'a,b'.split(',', 0) == [] && 'a,b'.split(',', 1) == ['a,b'] && ''.split(',') == [''] && 'abc'.split('', 2) == ['a', 'bc']",
    "['a', 'b'].join('-') == 'a-b' && ['a', 'b'].join() == 'ab' && [].join('-') == ''",
    "'AbC\u00c9'.lowerAscii() == 'abc\u00c9' && 'aBc\u00e9'.upperAscii() == 'ABC\u00e9'",
    "' \\t x \\n'.trim() == 'x' && '  '.trim() == '' && '\u00a0x\u2003'.trim() == 'x'",
    "'ab\u{1f600}'.reverse() == '\u{1f600}ba' && strings.quote('a\"b\\n') == '\"a\\\\\"b\\\\n\"'",
  ]);
});

t.test("lists and sets", (t) => {
  fails(t, [
    ["[].min() == 1", "min called on empty list"],
    ["[].max() == 1", "max called on empty list"],
    ["[9223372036854775807, 1].sum() == 0", "integer overflow"],
  ]);
  holds(t, [
    "[1, 2, 2].isSorted() && !self.numbers.isSorted() && ['a', 'b'].isSorted() && [].isSorted() && self.ratios.isSorted()",
    "self.numbers.sum() == 6 && self.ratios.sum() == 1.5 && self.spans.sum() == duration('3s') && [1u, 2u].sum() == 3u",
    "self.numbers.min() == 1 && self.numbers.max() == 3 && ['b', 'a'].min() == 'a' && self.spans.max() == duration('2s')",
    "[3, 1, 3].indexOf(3) == 0 && [3, 1, 3].lastIndexOf(3) == 2 && self.numbers.indexOf(9) == -1 && [1].lastIndexOf(2) == -1",
    "sets.contains([1, 2], [2]) && !sets.contains([1], [2]) && sets.contains([[1]], [[1]])",
    "sets.equivalent([1, 2], [2, 1, 1]) && !sets.equivalent([1], [1, 2]) && sets.intersects([1], [1, 2]) && !sets.intersects([1], [2])",
  ]);
});

t.test("patterns are RE2's", (t) => {
  fails(t, [
    ["'a'.matches(self.pattern + '(')", "error parsing regexp: missing closing ): `a+(`"],
    ["'a'.find(self.pattern + '[') == ''", "error parsing regexp: missing closing ]: `[`"],
  ]);
  holds(t, [
    "'abc'.matches('b') && !'abc'.matches('^b') && matches('abc', '^[a-z]+$') && 'aaa'.matches(self.pattern)",
    "'abcabc'.find('b.') == 'bc' && 'abc'.find('z') == ''",
    "'abcabc'.findAll('b.') == ['bc', 'bc'] && 'abcabc'.findAll('b.', 1) == ['bc'] && 'abc'.findAll('z') == []",
    "'abc'.findAll('b', 0) == [] && 'a1b22'.findAll('[0-9]+') == ['1', '22']",
  ]);
});

t.test("URLs", (t) => {
  fails(t, [
    [
      "url('a b').getHost() == ''",
      'URL parse error during conversion from string: parse "a b": invalid URI for request',
    ],
  ]);
  holds(t, [
    "isURL('https://example.com/a?b=c') && isURL('/absolute') && !isURL('relative') && !isURL('a b') && !isURL('')",
    "url('https://u:p@ex.com:80/a%20b?k=v').getHost() == 'ex.com:80' && url('https://ex.com:80').getHostname() == 'ex.com'",
    "url('https://[::1]:80/p').getHostname() == '::1' && url('https://[::1]:80/p').getPort() == '80'",
    "url('https://ex.com/').getPort() == '' && url('HTTPS://ex.com/').getScheme() == 'https' && url('/p').getScheme() == ''",
    "url('https://ex.com/a%20b').getEscapedPath() == '/a%20b' && url('/p').getHost() == ''",
    "url('/p?k=v&k=w&x=%20').getQuery() == {'k': ['v', 'w'], 'x': [' ']} && url('/p').getQuery() == {}",
    "url('/p') == url('/p') && url('/p') != url('/q')",
  ]);
});

t.test("addresses and networks", (t) => {
  fails(t, [
    ["ip('x').family() == 4", 'IP Address "x" parse error during conversion from string'],
    ["cidr('1.2.3.4').prefixLength() == 1", 'network address parse error during conversion from string: "1.2.3.4"'],
  ]);
  holds(t, [
    "isIP('1.2.3.4') && isIP('::1') && !isIP('1.2.3') && !isIP('01.2.3.4') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')",
    "ip('1.2.3.4').family() == 4 && ip('::1').family() == 6 && ip('::1').isLoopback() && ip('0.0.0.0').isUnspecified()",
    "ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8::1') && !ip.isCanonical('2001:db8:0:0:0:0:0:1')",
    "string(ip('2001:db8:0:0:1:0:0:0')) == '2001:db8:0:0:1::' && string(ip('1:0:2:3:4:5:6:7')) == '1:0:2:3:4:5:6:7'",
    "ip('224.0.0.1').isLinkLocalMulticast() && ip('fe80::1').isLinkLocalUnicast() && ip('8.8.8.8').isGlobalUnicast()",
    "!ip('255.255.255.255').isGlobalUnicast() && !ip('ff02::1').isGlobalUnicast() && ip('1.2.3.4') == ip('1.2.3.4')",
    "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/08')",
    "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.1.2.3'))",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
    "cidr('10.1.2.3/8').prefixLength() == 8 && string(cidr('2001:db8::/32')) == '2001:db8::/32'",
  ]);
});

t.test("formats", (t) => {
  holds(t, [
    "!format.dns1123Label().validate('a-b').hasValue() && format.dns1123Label().validate('A').value().size() == 1",
    "!format.dns1123LabelPrefix().validate('a-').hasValue() && format.dns1123Label().validate('a-').hasValue()",
    "!format.dns1123Subdomain().validate('a.b').hasValue() && !format.qualifiedName().validate('a.b/c').hasValue()",
    "!format.labelValue().validate('').hasValue() && !format.dns1035Label().validate('a1').hasValue()",
    "!format.uri().validate('https://a.b').hasValue() && format.uuid().validate('x').hasValue()",
    "!format.date().validate('2024-01-01').hasValue() && !format.datetime().validate('2024-01-01T00:00:00Z').hasValue()",
    "format.named('uri').hasValue() && !format.named('nope').hasValue() && format.byte().validate('?').hasValue()",
  ]);
});

t.test("quantities", (t) => {
  fails(t, [
    [
      "quantity('x').isInteger()",
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    ["quantity('1m').asInteger() == 0", "cannot convert value to integer"],
  ]);
  holds(t, [
    "isQuantity('10m') && isQuantity('1Gi') && !isQuantity('x') && !isQuantity('')",
    "quantity('1Gi').isGreaterThan(quantity('500Mi')) && quantity('1m').isLessThan(quantity('1'))",
    "quantity('1k').asInteger() == 1000 && quantity('1k').isInteger() && !quantity('1m').isInteger()",
    "quantity('1').add(quantity('2')) == quantity('3') && quantity('3').sub(1) == quantity('2') && quantity('1').add(1) == quantity('2000m')",
    "quantity('1').compareTo(quantity('1000m')) == 0 && quantity('-1').sign() == -1 && quantity('0').sign() == 0",
    "quantity('1500m').asApproximateFloat() == 1.5",
  ]);
});

t.test("conversions", (t) => {
  fails(t, [
    ["int('x') == 1", "type conversion error from 'string' to 'int': \"x\""],
    ["int(1e30) == 1", "range error"],
    ["uint(-1) == 1u", "range error"],
    ["bool('maybe')", "type conversion error from 'string' to 'bool': \"maybe\""],
    ["string(b'\\xff') == ''", "invalid UTF-8 in bytes, cannot convert to string"],
  ]);
  holds(t, [
    "int('12') == 12 && int('-3') == -3 && int(1.9) == 1 && int(-1.9) == -1 && int(3u) == 3 && int(4) == 4",
    "int(timestamp('1970-01-01T00:01:00Z')) == 60 && uint(3) == 3u && uint('7') == 7u && uint(2.5) == 2u",
    "double('1.5') == 1.5 && double(1) == 1.0 && double(1u) == 1.0 && double('1e3') == 1000.0",
    "string(12) == '12' && string(1.5) == '1.5' && string(true) == 'true' && string(3u) == '3' && string(b'a') == 'a'",
    "string(self.at) == '2024-01-15T14:30:45.123Z' && string(self.span) == '5400s' && string(duration('1.5s')) == '1.5s'",
    "bytes('a') == b'a' && bool('true') && !bool('false') && dyn(1) == 1",
    "type(1) == int && type('a') == string && type([]) == list && type({}) == map && type(null) == null_type && type(int) == type",
  ]);
});

t.test("times and spans", (t) => {
  fails(t, [
    ["duration('x') == self.span", "type conversion error from 'string' to 'duration': \"x\""],
    ["timestamp('x') == self.at", "type conversion error from 'string' to 'timestamp': \"x\""],
    ["timestamp('9999-12-31T23:59:59Z') + duration('1s') > self.at", "timestamp overflow"],
    ["self.at.getHours('No/Where') == 1", "unknown time zone No/Where"],
  ]);
  holds(t, [
    "self.span > duration('0s') && duration('1h') == duration('60m') && self.span == duration('90m')",
    "self.at > timestamp('2020-01-01T00:00:00Z') && self.day == timestamp('2024-02-29T00:00:00Z')",
    "timestamp('2024-01-01T00:00:00Z') + duration('24h') == timestamp('2024-01-02T00:00:00Z')",
    "duration('1s') + timestamp('2024-01-01T00:00:00Z') == timestamp('2024-01-01T00:00:01Z')",
    "timestamp('2024-01-02T00:00:00Z') - timestamp('2024-01-01T00:00:00Z') == duration('24h')",
    "self.at - duration('1h') < self.at && duration('1h') - duration('30m') == duration('30m')",
    "self.at.getFullYear() == 2024 && self.at.getMonth() == 0 && self.at.getDate() == 15 && self.at.getDayOfMonth() == 14",
    "self.at.getDayOfWeek() == 1 && self.at.getDayOfYear() == 14 && self.day.getDayOfYear() == 59",
    "self.at.getHours() == 14 && self.at.getMinutes() == 30 && self.at.getSeconds() == 45 && self.at.getMilliseconds() == 123",
    "self.at.getHours('America/New_York') == 9 && self.at.getHours('+02:00') == 16 && self.at.getMinutes('-00:45') == 45",
    "self.span.getHours() == 1 && self.span.getMinutes() == 90 && self.span.getSeconds() == 5400 && self.span.getMilliseconds() == 5400000",
    "timestamp(60) == timestamp('1970-01-01T00:01:00Z')",
  ]);
});
