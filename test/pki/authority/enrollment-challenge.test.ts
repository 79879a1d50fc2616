import { createHmac, randomBytes } from 'node:crypto';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { AppError } from '../../../src/errors.js';
import { EnrollmentChallenges } from '../../../src/pki/authority/enrollment-challenge.js';

const box = new SecretBox(Buffer.alloc(32, 7));
const start = new Date('2026-03-01T12:00:00Z');

function at(now: Date, key = box) {
  return new EnrollmentChallenges({ box: key, now: () => now });
}

function reasonOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error.code).toBe('forbidden');
    expect(error.message).toBe('the enrollment challenge is not valid');
    return error.cause instanceof Error ? error.cause.message : '';
  }
  return 'accepted';
}

describe('enrollment challenge', () => {
  it('is refused from the second it expires', () => {
    const text = at(start).issueChallenge({ expiresAt: new Date('2026-03-01T12:00:05Z') });
    expect(reasonOf(() => at(new Date('2026-03-01T12:00:05Z')).readChallenge(text))).toBe(
      'expired',
    );
    expect(reasonOf(() => at(new Date('2026-03-01T12:00:04Z')).readChallenge(text))).toBe(
      'accepted',
    );
  });

  it('is refused under another master key', () => {
    const text = at(start, new SecretBox(Buffer.alloc(32, 8))).issueChallenge();
    expect(reasonOf(() => at(start).readChallenge(text))).toBe('not ours');
  });

  it('is refused when any byte of it is changed', () => {
    const text = at(start).issueChallenge({ requestId: 7 });
    const bytes = Buffer.from(text, 'base64');
    for (let index = 0; index < bytes.length; index += 1) {
      const altered = Buffer.from(bytes);
      altered[index] = (altered[index] ?? 0) ^ 1;
      const spelled = altered.toString('base64').replace(/=+$/, '');
      expect(reasonOf(() => at(start).readChallenge(spelled))).toBe('not ours');
    }
  });

  it('is refused in another spelling of the same bytes', () => {
    const text = at(start).issueChallenge();
    for (const spelled of [`${text}=`, `${text} `, `${text}\n`, `-${text}`, text.slice(0, -1)]) {
      expect(reasonOf(() => at(start).readChallenge(spelled))).not.toBe('accepted');
    }
  });

  it('is refused when it is empty, short, long or random', () => {
    expect(reasonOf(() => at(start).readChallenge(''))).toBe('too short');
    expect(reasonOf(() => at(start).readChallenge('AAAA'))).toBe('too short');
    expect(reasonOf(() => at(start).readChallenge('A'.repeat(132)))).toBe(
      'not in the form of a challenge',
    );
    const random = randomBytes(57).toString('base64');
    expect(reasonOf(() => at(start).readChallenge(random))).toBe('not ours');
  });

  it('carries nonce and expiry', () => {
    const expiresAt = new Date('2026-03-08T00:00:00Z');
    const challenge = at(start).readChallenge(at(start).issueChallenge({ expiresAt }));
    expect(challenge).toEqual({ expiresAt, nonce: challenge.nonce });
    expect(challenge.nonce).toHaveLength(16);
  });

  it('carries the enrollment whose identity it renews', () => {
    const expiresAt = new Date('2026-03-31T00:00:00Z');
    for (const renewal of [
      { deviceId: 1, enrollmentNumber: 0 },
      { deviceId: 2 ** 48 - 1, enrollmentNumber: 2 ** 32 - 1 },
    ]) {
      const challenges = at(start);
      const text = challenges.issueChallenge({ expiresAt, renewal });
      const { nonce: _nonce, ...bound } = challenges.readChallenge(text);
      expect(bound).toEqual({ expiresAt, renewal });
      expect(text).toMatch(/^[A-Za-z0-9+/]{72,128}$/);
    }
  });

  it('carries the request and the link that it was made for', () => {
    const expiresAt = new Date('2026-03-31T00:00:00Z');
    const most = 2 ** 48 - 1;
    for (const made of [{ requestId: 1 }, { linkId: most }, { requestId: most, linkId: 1 }]) {
      const challenges = at(start);
      const text = challenges.issueChallenge({ expiresAt, ...made });
      const { nonce: _nonce, ...bound } = challenges.readChallenge(text);
      expect(bound).toEqual({ expiresAt, ...made });
      expect(text).toMatch(/^[A-Za-z0-9+/]{72,128}$/);
    }
  });

  it('is marked when it is for the over-the-air exchange, and has its former version otherwise', () => {
    const challenges = at(start);
    const versionOf = (text: string) => Buffer.from(text, 'base64')[0];
    const made = { expiresAt: new Date('2026-03-31T00:00:00Z'), requestId: 7, linkId: 8 };
    const exchange = challenges.issueChallenge({ ...made, isExchange: true });
    expect(versionOf(exchange)).toBe(4);
    expect(challenges.readChallenge(exchange)).toMatchObject({ ...made, isExchange: true });
    const usual = challenges.issueChallenge({ ...made, isExchange: false });
    expect(versionOf(usual)).toBe(3);
    expect(challenges.readChallenge(usual).isExchange).toBeUndefined();
    const forNobody = challenges.readChallenge(challenges.issueChallenge({ isExchange: true }));
    expect(forNobody).toMatchObject({ isExchange: true });
  });

  it('is refused at the other surface', () => {
    const overTheAir = new EnrollmentChallenges({ box, surface: 'ota', now: () => start });
    expect(reasonOf(() => at(start).readChallenge(overTheAir.issueChallenge()))).toBe('not ours');
    expect(reasonOf(() => overTheAir.readChallenge(at(start).issueChallenge()))).toBe('not ours');
    expect(reasonOf(() => overTheAir.readChallenge(overTheAir.issueChallenge()))).toBe('accepted');
  });

  it('that renews is refused when any byte of it is changed', () => {
    const renewal = { deviceId: 70_000, enrollmentNumber: 2 };
    const bytes = Buffer.from(at(start).issueChallenge({ renewal }), 'base64');
    for (let index = 0; index < bytes.length; index += 1) {
      const altered = Buffer.from(bytes);
      altered[index] = (altered[index] ?? 0) ^ 1;
      const spelled = altered.toString('base64').replace(/=+$/, '');
      expect(reasonOf(() => at(start).readChallenge(spelled))).toBe('not ours');
    }
  });

  it('is read in version 1, and written in it when unbound', () => {
    const nonce = Buffer.alloc(16, 9);
    const expiry = Buffer.from('000069a47940', 'hex'); // 2026-03-01T17:37:04Z
    const first = Buffer.concat([Buffer.of(1), nonce, expiry, Buffer.from('C02XYZ')]);
    const mac = createHmac('sha256', box.deriveKey('scep-challenge')).update(first).digest();
    const text = Buffer.concat([first, mac]).toString('base64').replace(/=+$/, '');
    const expiresAt = new Date('2026-03-01T17:37:04Z');
    expect(at(start).readChallenge(text)).toEqual({ nonce, expiresAt });
    const made = Buffer.from(at(start).issueChallenge({ expiresAt }), 'base64');
    expect(made).toHaveLength(23 + 32);
    expect(made.subarray(0, 1)).toEqual(Buffer.of(1));
    expect(made.subarray(17, 23)).toEqual(expiry);
  });

  it('is valid for a day by default and has a new nonce each time', () => {
    const challenges = at(start);
    const [one, two] = [
      challenges.readChallenge(challenges.issueChallenge()),
      challenges.readChallenge(challenges.issueChallenge()),
    ];
    expect(one.expiresAt).toEqual(new Date('2026-03-02T12:00:00Z'));
    expect(one.nonce.equals(two.nonce)).toBe(false);
  });
});
