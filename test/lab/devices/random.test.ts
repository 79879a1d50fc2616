import { Random } from '../../../src/lab/devices/random.js';

describe('Random', () => {
  it('returns the same sequence for the same seed, and another for another seed', () => {
    const draw = (seed: string) => new Random(seed).bytes(8).toString('hex');
    expect(draw('a')).toBe(draw('a'));
    expect(draw('a')).not.toBe(draw('b'));
  });

  it('returns the same fork, whatever was drawn before', () => {
    const used = new Random('a');
    used.bytes(100);
    expect(used.fork('x').uuid()).toBe(new Random('a').fork('x').uuid());
  });

  it('keeps whole numbers within both ends and reaches each', () => {
    const random = new Random('a');
    const drawn = new Set(Array.from({ length: 200 }, () => random.integer(3, 5)));
    expect(drawn).toEqual(new Set([3, 4, 5]));
  });

  it('samples different members, and all of them when asked for too many', () => {
    const random = new Random('a');
    expect(new Set(random.sample([1, 2, 3], 9))).toEqual(new Set([1, 2, 3]));
    expect(new Set(random.sample([1, 2, 3, 4, 5], 3)).size).toBe(3);
  });

  it('writes UUIDs of version 4 in upper case', () => {
    expect(new Random('a').uuid()).toMatch(
      /^[0-9A-F]{8}-[0-9A-F]{4}-4[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}$/,
    );
  });
});
