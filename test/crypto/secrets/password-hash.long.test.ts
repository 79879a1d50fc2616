import { scryptSync } from 'node:crypto';
import { hashPassword, verifyPassword } from '../../../src/crypto/secrets/password-hash.js';

const PASSWORD = 'correct horse battery';

describe('the hash of a password', () => {
  it('is scrypt with a salt of its own, and names its parameters', async () => {
    const [one, other] = await Promise.all([hashPassword(PASSWORD), hashPassword(PASSWORD)]);
    expect(one).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$[\w+/]{22}\$[\w+/]{43}$/);
    expect(one).not.toBe(other);
    const [, , , salt = '', hash = ''] = one.split('$');
    const expected = scryptSync(PASSWORD, Buffer.from(salt, 'base64'), 32, {
      N: 2 ** 15,
      r: 8,
      p: 3,
      maxmem: 2 ** 26,
    });
    expect(Buffer.from(hash, 'base64')).toEqual(expected);
  });

  it('matches this password and no other', async () => {
    const stored = await hashPassword(PASSWORD);
    expect(await verifyPassword(PASSWORD, stored)).toBe(true);
    for (const wrong of ['', 'Correct horse battery', `${PASSWORD} `, 'x'.repeat(2_000)]) {
      expect(await verifyPassword(wrong, stored)).toBe(false);
    }
  });

  it('of an unknown account matches no password, in the same time', async () => {
    for (const password of ['', PASSWORD]) {
      expect(await verifyPassword(password, undefined)).toBe(false);
    }
  });

  it('is the same for equal text from two keyboards', async () => {
    const stored = await hashPassword('Äpfel und Birnen');
    expect(await verifyPassword('A\u0308pfel und Birnen', stored)).toBe(true);
  });

  it('with other parameters is verified, as after a change of the cost', async () => {
    const hash = scryptSync(PASSWORD, Buffer.alloc(16, 1), 32, { N: 1024, r: 8, p: 1 });
    const bare = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
    const stored = `$scrypt$ln=10,r=8,p=1$${bare(Buffer.alloc(16, 1))}$${bare(hash)}`;
    expect(await verifyPassword(PASSWORD, stored)).toBe(true);
    expect(await verifyPassword('wrong', stored)).toBe(false);
  });

  it('of an unknown kind throws a TypeError', async () => {
    await expect(verifyPassword(PASSWORD, '$argon2id$v=19$m=1$a$b')).rejects.toThrow(
      'a stored password hash is of an unknown kind',
    );
  });

  it('is refused with 503 while too many checks wait', async () => {
    const quick = `$scrypt$ln=10,r=8,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`;
    const results = await Promise.allSettled(
      Array.from({ length: 60 }, () => verifyPassword('wrong', quick)),
    );
    const refused = results.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(8);
    expect(refused[0]).toMatchObject({ reason: { code: 'unavailable', status: 503 } });
    expect(await verifyPassword('wrong', quick)).toBe(false);
  });
});
