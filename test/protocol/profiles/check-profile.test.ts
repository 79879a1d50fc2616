import { checkProfile } from '../../../src/protocol/profiles/check-profile.js';
import { Findings, profileRefusal, shorten } from '../../../src/protocol/profiles/findings.js';
import { dict, type Members, payload, profile, REALISTIC } from '../../profiles/sample-profiles.js';

const WIFI = 'com.apple.wifi.managed';

function errorsOf(members: Members): [string, string][] {
  return checkProfile(profile([], members)).errors.map(({ pointer, detail }) => [pointer, detail]);
}

function payloadErrors(...payloads: Parameters<typeof profile>[0]): [string, string][] {
  return checkProfile(profile(payloads)).errors.map(({ pointer, detail }) => [pointer, detail]);
}

describe('the check of a profile', () => {
  it.each<[string, Members, string]>([
    ['no Configuration', { PayloadType: 'Other' }, '/PayloadType'],
    ['version 2', { PayloadVersion: 2n }, '/PayloadVersion'],
    ['a version that is a real', { PayloadVersion: 1 }, '/PayloadVersion'],
    ['an empty identifier', { PayloadIdentifier: ' ' }, '/PayloadIdentifier'],
    ['an identifier that is a number', { PayloadIdentifier: 1n }, '/PayloadIdentifier'],
    ['an endless identifier', { PayloadIdentifier: 'x'.repeat(501) }, '/PayloadIdentifier'],
    ['an empty UUID', { PayloadUUID: '' }, '/PayloadUUID'],
    ['payloads that are a dictionary', { PayloadContent: dict({}) }, '/PayloadContent'],
    ['an unknown scope', { PayloadScope: 'Everyone' }, '/PayloadScope'],
    ['an endless name', { PayloadDisplayName: 'x'.repeat(10_001) }, '/PayloadDisplayName'],
    [
      'an endless duration',
      { DurationUntilRemoval: Number.POSITIVE_INFINITY },
      '/DurationUntilRemoval',
    ],
  ])('reports %s as an error', (_what, members, pointer) => {
    expect(errorsOf(members).map(([at]) => at)).toEqual([pointer]);
  });

  it('reports every missing key at once', () => {
    expect(checkProfile(new Map()).errors.map(({ pointer }) => pointer)).toEqual([
      '/PayloadType',
      '/PayloadVersion',
      '/PayloadIdentifier',
      '/PayloadUUID',
      '/PayloadContent',
    ]);
    expect(payloadErrors(new Map(), 'no payload')).toEqual([
      ['/PayloadContent/0/PayloadType', 'PayloadType must be a string that is not empty'],
      ['/PayloadContent/0/PayloadIdentifier', expect.any(String)],
      ['/PayloadContent/0/PayloadUUID', expect.any(String)],
      ['/PayloadContent/0/PayloadVersion', 'PayloadVersion must be an integer of 32 bits'],
      ['/PayloadContent/1', 'a payload must be a dictionary'],
    ]);
  });

  it('reports identifiers and UUIDs that occur twice, ignoring case', () => {
    const first = payload(WIFI, { PayloadIdentifier: 'com.example.A', PayloadUUID: 'abc' });
    const second = payload(WIFI, { PayloadIdentifier: 'COM.example.a', PayloadUUID: 'ABC' });
    expect(payloadErrors(payload(WIFI), first, second)).toEqual([
      ['/PayloadContent/2/PayloadUUID', 'payload 1 has the same PayloadUUID'],
      ['/PayloadContent/2/PayloadIdentifier', 'payload 1 has the same PayloadIdentifier'],
    ]);
  });

  it('reports what violates the schema in a payload', () => {
    const wrong = payload(WIFI, { SSID_STR: 1n, PayloadVersion: 2n ** 40n });
    expect(payloadErrors(payload(WIFI), wrong)).toEqual([
      ['/PayloadContent/1/PayloadVersion', 'PayloadVersion must be an integer of 32 bits'],
      ['/PayloadContent/1/SSID_STR', 'SSID_STR must be a string'],
    ]);
  });

  it('warns about unknown types, unknown keys and invalid UUIDs', () => {
    const members = { PayloadUUID: 'none', NewKey: true };
    const { errors, warnings } = checkProfile(
      profile([payload('com.google.Chrome', { x: 1n }), payload(WIFI, members)], { Colour: 'red' }),
    );
    expect(errors).toEqual([]);
    expect(warnings).toEqual([
      { pointer: '/Colour', detail: "Colour is not a key Apple's schema lists here" },
      {
        pointer: '/PayloadContent/0/PayloadType',
        detail: "com.google.Chrome is not a payload type Apple's schema lists",
      },
      { pointer: '/PayloadContent/1/PayloadUUID', detail: 'PayloadUUID is no UUID' },
      {
        pointer: '/PayloadContent/1/NewKey',
        detail: "NewKey is not a key Apple's schema lists here",
      },
    ]);
  });

  it('accepts what administrators write, all in one profile', () => {
    const payloads = REALISTIC.map(([, type, members]) => payload(type, members));
    expect(checkProfile(profile(payloads)).errors).toEqual([]);
  });

  it('accepts at most 1,000 payloads', () => {
    expect(payloadErrors(...Array.from({ length: 1001 }, () => payload(WIFI)))).toEqual([
      ['/PayloadContent', 'a profile has at most 1000 payloads'],
    ]);
  });

  it('checks a hostile file in little time', () => {
    const numbers = Array.from({ length: 100_000 }, (_, index) => BigInt(index));
    const members = Object.fromEntries(numbers.map((number) => [`k${number}`, number]));
    const started = process.cpuUsage();
    const { errors } = checkProfile(
      profile([payload(WIFI, { ...members, HESSID: 1n, NAIRealmNames: numbers })]),
    );
    expect(errors).toHaveLength(100_001);
    // Processor time: others may hold the processors meanwhile.
    expect(process.cpuUsage(started).user / 1_000).toBeLessThan(5_000);
  });
});

describe('findings', () => {
  it('are one for each place, an error before a warning', () => {
    const findings = new Findings();
    findings.warning('/a', 'doubtful');
    findings.error('/a', 'wrong');
    findings.error('/a', 'wrong again');
    findings.warning('/b', 'doubtful');
    expect(findings.errors).toEqual([{ pointer: '/a', detail: 'wrong' }]);
    expect(findings.warnings).toEqual([{ pointer: '/b', detail: 'doubtful' }]);
  });

  it('a report shows a hundred findings and counts the rest', () => {
    const many = Array.from({ length: 103 }, (_, index) => ({ pointer: `/${index}`, detail: 'x' }));
    expect(shorten(many)).toHaveLength(101);
    expect(shorten(many)[100]).toEqual({ pointer: '', detail: 'and 3 more' });
    const error = profileRefusal(many.slice(0, 2));
    expect([error.code, error.status, error.message]).toEqual([
      'invalid_profile',
      422,
      '/0: x; /1: x',
    ]);
    expect(error.details[1]).toEqual({ detail: '/1: x', source: { pointer: '/1' } });
  });
});
