import { CrashLoop } from '../../src/cluster/crash-loop.js';

it('is a loop with the fifth end within 30 seconds', () => {
  const loop = new CrashLoop();
  expect([0, 1, 2, 29_999].map((at) => loop.note(at))).toEqual([false, false, false, false]);
  expect(loop.note(29_999)).toBe(true);
});

it('no crash loop is found while the ends are far apart', () => {
  const loop = new CrashLoop();
  const ends = Array.from({ length: 20 }, (_, index) => index * 7_500);
  expect(ends.map((at) => loop.note(at))).toEqual(ends.map(() => false));
});
