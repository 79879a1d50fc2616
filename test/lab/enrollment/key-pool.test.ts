import { KeyPool } from '../../../src/lab/enrollment/key-pool.js';

describe('the keys of a fleet', () => {
  it('are new up to the limit, and then reused in turn', async () => {
    const pool = new KeyPool(2);
    const [first, second, third, fourth] = await Promise.all(
      [1024, 1024, 1024, 1024].map((bits) => pool.get(bits)),
    );
    expect(first).not.toBe(second);
    expect(third).toBe(first);
    expect(fourth).toBe(second);
  });

  it('have the requested size', async () => {
    const pool = new KeyPool(1);
    for (const bits of [1024, 2048, 1024]) {
      const { publicKey } = await pool.get(bits);
      expect(publicKey.asymmetricKeyDetails?.modulusLength).toBe(bits);
    }
  });
});
