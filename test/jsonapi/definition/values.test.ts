import {
  faultOfJson,
  formatTimestamp,
  isStorableText,
  parseId,
  parseTimestamp,
  parseUuid,
} from '../../../src/jsonapi/definition/values.js';

describe('parseTimestamp', () => {
  it.each([
    ['2026-03-26T23:42:09Z', '2026-03-26T23:42:09.000Z'],
    ['2026-03-26T23:42:09+00:00', '2026-03-26T23:42:09.000Z'],
    ['2026-03-26T23:42:09.5-02:30', '2026-03-27T02:12:09.500Z'],
    ['2026-03-26T23:42:09.123456+0200', '2026-03-26T21:42:09.123Z'],
    ['2026-03-26T23:42:09 02:00', '2026-03-26T21:42:09.000Z'],
    ['2026-03-26 23:42z', '2026-03-26T23:42:00.000Z'],
    ['2026-03-26', '2026-03-26T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ])('reads %s', (text, expected) => {
    expect(parseTimestamp(text)?.toISOString()).toBe(expected);
  });

  it.each([
    '',
    'yesterday',
    '2026-03-26T23:42:09',
    '2026-02-29',
    '2026-02-30T00:00:00Z',
    '2026-13-01',
    '2026-03-26T25:00:00Z',
    '2026-03-26T23:42:09+99:99',
    '20260326T234209Z',
    '+012026-03-26',
    '0000-12-31',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '1774568529',
  ])('refuses %p', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});

describe('formatTimestamp', () => {
  it('writes a numeric offset and a fraction only when there is one', () => {
    expect(formatTimestamp(new Date('2026-03-26T23:42:09Z'))).toBe('2026-03-26T23:42:09+00:00');
    expect(formatTimestamp(new Date('2026-03-26T23:42:09.120Z'))).toBe(
      '2026-03-26T23:42:09.120+00:00',
    );
  });
});

describe('parseId', () => {
  it.each([
    [7, 7],
    ['7', 7],
    ['007', 7],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ])('reads %p', (value, expected) => {
    expect(parseId(value)).toBe(expected);
  });

  it.each([0, -1, 1.5, '0', '-1', '1e3', ' 7', '', '9007199254740993', 2 ** 53, null, true, [7]])(
    'refuses %p',
    (value) => {
      expect(parseId(value)).toBeUndefined();
    },
  );
});

describe('parseUuid', () => {
  it('returns the lower-case form and refuses what is not a UUID', () => {
    expect(parseUuid('6BA7B810-9DAD-11D1-80B4-00C04FD430C8')).toBe(
      '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
    );
    expect(parseUuid('6BA7B8109DAD11D180B400C04FD430C8')).toBeUndefined();
  });
});

describe('what PostgreSQL can store', () => {
  it('excludes NUL and half surrogate pairs', () => {
    expect(isStorableText('Ünï 😀')).toBe(true);
    expect(isStorableText('a\0')).toBe(false);
    expect(isStorableText('\udc00')).toBe(false);
  });

  it('is checked in every key and value of a JSON value, without recursion', () => {
    expect(faultOfJson({ a: [1, null, { b: 'c' }] })).toBeUndefined();
    expect(faultOfJson({ a: ['\0'] })).toBe('holds an invalid character');
    expect(faultOfJson({ '\ud800': 1 })).toBe('holds an invalid character');
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    expect(faultOfJson(deep)).toBe('nests deeper than 32 levels');
  });
});
