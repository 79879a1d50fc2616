import type { ErrorDetail } from '../../../src/errors.js';
import { checkKeys } from '../../../src/protocol/apple/schema-check.js';
import { convertDict } from '../../../src/protocol/apple/schema-convert.js';
import type { SchemaKey } from '../../../src/protocol/apple/schema-types.js';
import type { PlistValue } from '../../../src/protocol/plist/plist.js';

function details(key: Omit<SchemaKey, 'key'>, value: PlistValue): string[] {
  return checkKeys([{ key: 'K', ...key }], { K: value }, '').map(({ detail }) => detail);
}

describe('checking values against keys of a schema', () => {
  it.each<[Omit<SchemaKey, 'key'>, PlistValue, string]>([
    [{ type: 'integer', range: { min: 1, max: 5 } }, 6, 'K must be 1 to 5'],
    [{ type: 'integer', range: { min: 1 } }, 0, 'K must be at least 1'],
    [{ type: 'real', range: { max: 1 } }, 1.5, 'K must be at most 1'],
    [{ type: 'integer', range: { max: 5 } }, 2n ** 60n, 'K must be at most 5'],
    [{ type: 'integer' }, 2 ** 60, 'K must be an integer'],
    [{ type: 'string', format: '[0-9]{6}' }, '12345678', 'K must match [0-9]{6}'],
    [{ type: 'array', repetition: { min: 1, max: 2 } }, [], 'K must have 1 to 2 elements'],
    [{ type: 'date' }, '2024-01-01', 'K must be a date in ISO 8601'],
    [{ type: 'dictionary' }, new Date(0), 'K must be an object'],
    [{ type: 'dictionary' }, Buffer.alloc(1), 'K must be an object'],
    [{ type: 'data' }, 'x', 'K must be data in base64'],
    [{ type: 'real' }, '1', 'K must be a number'],
  ])('finds that %j does not allow %p', (key, value, detail) => {
    expect(details(key, value)).toEqual([detail]);
  });

  it.each<[Omit<SchemaKey, 'key'>, PlistValue]>([
    [{ type: 'integer', range: { min: 1, max: 5 } }, 5],
    [{ type: 'integer' }, 2n ** 63n],
    [{ type: 'real' }, 1],
    [{ type: 'string', format: '[0-9]{6}' }, '123456'],
    [{ type: 'array', repetition: { min: 1 } }, ['a']],
    [{ type: 'date' }, new Date(0)],
    [{ type: 'any' }, [{ a: 1 }, 'b']],
    [{ type: 'dictionary' }, { a: 1 }],
    [{ type: 'dictionary', subkeys: [{ key: 'ANY', type: 'string' }] }, { a: 'x' }],
  ])('finds that %j allows %p', (key, value) => {
    expect(details(key, value)).toEqual([]);
  });

  it('prefers a key of that name to ANY', () => {
    const subkeys: SchemaKey[] = [
      { key: 'ANY', type: 'string', presence: 'required' },
      { key: 'n', type: 'integer' },
    ];
    expect(details({ type: 'dictionary', subkeys }, { n: 1, m: 'x' })).toEqual([]);
    expect(details({ type: 'dictionary', subkeys }, { m: 1 })).toEqual(['m must be a string']);
  });
});

describe('converting dates by a schema', () => {
  function convert(text: string): { value: PlistValue | undefined; faults: ErrorDetail[] } {
    const faults: ErrorDetail[] = [];
    const dict = convertDict([{ key: 'D', type: 'date' }], { D: text }, { pointer: '', faults });
    return { value: dict.D, faults };
  }

  it.each([
    'tomorrow',
    '2024-02-30T00:00:00Z',
    '2024-01-01',
    '2024-01-01T00:00:00',
    '2024-01-01T25:00:00Z',
  ])('refuses %s', (text) => {
    expect(convert(text)).toEqual({
      value: undefined,
      faults: [{ detail: 'D must be a date in ISO 8601', source: { pointer: '/D' } }],
    });
  });

  it.each([
    ['2024-02-29T23:30:00Z', '2024-02-29T23:30:00.000Z'],
    ['2024-02-29T23:30:00-02:00', '2024-03-01T01:30:00.000Z'],
    ['2024-02-29T23:30:00.250+00:00', '2024-02-29T23:30:00.250Z'],
  ])('reads %s', (text, iso) => {
    expect(convert(text)).toEqual({ value: new Date(iso), faults: [] });
  });
});
