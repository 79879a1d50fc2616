import { compareOsVersions } from '../../../src/protocol/mdm/os-version.js';

describe('versions of Apple systems', () => {
  it.each([
    ['17.0', '17.4', -1],
    ['9.3.5', '17', -1],
    ['17.4', '17.10', -1],
    ['17.4.1', '17.4', 1],
    ['18', '17.9.9.9', 1],
    ['17', '17.0.0', 0],
    ['017.4', '17.04', 0],
    ['14.5', '14.5', 0],
  ])('%s against %s', (a, b, sign) => {
    expect(Math.sign(compareOsVersions(a, b) ?? Number.NaN)).toBe(sign);
    expect(Math.sign(compareOsVersions(b, a) ?? Number.NaN)).toBe(sign === 0 ? 0 : -sign);
  });

  it.each([
    '',
    '.',
    '17.',
    '.17',
    '17..4',
    '17.4 (a)',
    '-17',
    '1e3',
    '١٧',
    '1.2.3.4.5',
    '9'.repeat(30),
    '17\n',
  ])('are not compared where one is %j', (text) => {
    expect(compareOsVersions(text, '17.0')).toBeUndefined();
    expect(compareOsVersions('17.0', text)).toBeUndefined();
  });
});
