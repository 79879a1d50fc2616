import { randomBytes } from 'node:crypto';
import { SecretBox } from '../../../src/crypto/secrets/secret-box.js';
import { codeOf } from '../identities.js';

const masterKey = Buffer.alloc(32, 7);
const box = new SecretBox(masterKey);
const plain = Buffer.from('correct horse battery staple');
const sealed = box.seal(plain, 'devices/1/unlock_token');

describe('SecretBox', () => {
  it('does not open under another master key', () => {
    const other = new SecretBox(Buffer.alloc(32, 8));
    expect(codeOf(() => other.open(sealed, 'devices/1/unlock_token'))).toBe('master_key_mismatch');
  });

  it('does not open under another seal label', () => {
    expect(codeOf(() => box.open(sealed, 'devices/2/unlock_token'))).toBe('master_key_mismatch');
  });

  it('does not open with any octet altered', () => {
    for (let at = 0; at < sealed.length; at += 1) {
      const altered = Buffer.from(sealed);
      altered[at] = (altered[at] ?? 0) ^ 1;
      expect(codeOf(() => box.open(altered, 'devices/1/unlock_token'))).toBe('master_key_mismatch');
    }
  });

  it('does not open truncated at any length', () => {
    for (let length = 0; length < sealed.length; length += 1) {
      const short = sealed.subarray(0, length);
      expect(codeOf(() => box.open(short, 'devices/1/unlock_token'))).toBe('master_key_mismatch');
    }
  });

  it.each([0, 16, 31, 33])('refuses a master key of %i octets', (length) => {
    expect(codeOf(() => new SecretBox(Buffer.alloc(length)))).toBe('master_key_mismatch');
  });

  it('opens what it sealed, also the empty secret', () => {
    expect(box.open(sealed, 'devices/1/unlock_token')).toEqual(plain);
    expect(box.open(box.seal(Buffer.alloc(0), 'x'), 'x')).toEqual(Buffer.alloc(0));
  });

  it('writes magic, nonce, ciphertext and tag, with a new nonce each time', () => {
    expect(sealed.subarray(0, 4).toString('latin1')).toBe('MSB1');
    expect(sealed.length).toBe(4 + 12 + plain.length + 16);
    const again = box.seal(plain, 'devices/1/unlock_token');
    expect(again.subarray(4, 16)).not.toEqual(sealed.subarray(4, 16));
  });

  it('opens bytes sealed by an earlier release', () => {
    const stored = '4d5342315b871dfb298826bf986c7f8c30201433ba5b1b14e7dd66ac3b4a010f0ea91ad33f34';
    expect(box.open(Buffer.from(stored, 'hex'), 'settings/example').toString()).toBe('stored');
  });

  it('recognizes sealed bytes', () => {
    expect(SecretBox.isSealed(sealed)).toBe(true);
    expect(SecretBox.isSealed(sealed.subarray(0, 31))).toBe(false);
    expect(SecretBox.isSealed(randomBytes(64))).toBe(false);
    expect(SecretBox.isSealed(Buffer.from('<?xml version="1.0" encoding="UTF-8"?>'))).toBe(false);
  });

  it('derives one stable key for each purpose', () => {
    expect(box.deriveKey('api-tokens')).toEqual(new SecretBox(masterKey).deriveKey('api-tokens'));
    expect(box.deriveKey('api-tokens')).not.toEqual(box.deriveKey('challenges'));
    expect(box.deriveKey('api-tokens').length).toBe(32);
  });

  describe('the digest of a secret', () => {
    const digest = box.digest(plain, 'devices/1/unlock_token');

    it('is the same for the same secret and label', () => {
      expect(box.digest(Buffer.from(plain), 'devices/1/unlock_token')).toEqual(digest);
      expect(digest).toHaveLength(32);
    });

    it('differs for another secret, label or master key', () => {
      const other = new SecretBox(Buffer.alloc(32, 8));
      expect(box.digest(Buffer.from('other'), 'devices/1/unlock_token')).not.toEqual(digest);
      expect(box.digest(plain, 'devices/2/unlock_token')).not.toEqual(digest);
      expect(other.digest(plain, 'devices/1/unlock_token')).not.toEqual(digest);
    });

    it('separates the label from the secret', () => {
      expect(box.digest(Buffer.from('bc'), 'a')).not.toEqual(box.digest(Buffer.from('c'), 'ab'));
    });
  });
});
