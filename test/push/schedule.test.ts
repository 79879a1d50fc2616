import { jittered, nextPushIn, retryIn } from '../../src/push/schedule.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const middle = () => 0.5;
const least = () => 0;
const most = () => 1;

describe('the schedule of pushes', () => {
  it('goes from two minutes to a day', () => {
    const times = [0, 1, 2, 3, 4, 5, 6, 100].map((attempts) => nextPushIn(attempts, middle));
    const day = 24 * HOUR;
    expect(times).toEqual([2 * MINUTE, 10 * MINUTE, HOUR, 4 * HOUR, 12 * HOUR, day, day, day]);
  });

  it('differs from device to device by a quarter at most', () => {
    expect([jittered(1000, least), jittered(1000, middle), jittered(1000, most)]).toEqual([
      750, 1000, 1250,
    ]);
  });

  it('repeats what the service could not accept after 5 s, doubling up to 5 min', () => {
    const times = [0, 1, 2, 5, 6, 50].map((refusals) =>
      retryIn({ refusals, retryAfter: null }, middle),
    );
    expect(times).toEqual([5_000, 10_000, 20_000, 160_000, 300_000, 300_000]);
  });

  it('never repeats earlier than the service asks', () => {
    const asked = { refusals: 0, retryAfter: 600 };
    expect([retryIn(asked, least), retryIn(asked, most)]).toEqual([600_000, 750_000]);
    expect(retryIn({ refusals: 0, retryAfter: 0 }, least)).toBe(3_750);
  });
});
