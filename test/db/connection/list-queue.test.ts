import { setTimeout as sleep } from 'node:timers/promises';
import { ListQueue } from '../../../src/db/connection/list-queue.js';
import { AppError } from '../../../src/errors.js';

const LIMITS = { connections: 8, perAccount: 4, reserved: 3, waitMs: 10_000 };

/** Requests several turns of one account; collects those that came. */
function ask(turns: ListQueue, account: string, count: number) {
  const given: (() => void)[] = [];
  const refused: AppError[] = [];
  for (let asked = 0; asked < count; asked += 1) {
    turns.wait({ account }).then(
      (end) => given.push(end),
      (error) => refused.push(error),
    );
  }
  return { given, refused };
}

const waitOneTick = () => sleep(1);

describe('turns of lists', () => {
  it('of one account are limited, however many it requests', async () => {
    const turns = new ListQueue(LIMITS);
    const { given } = ask(turns, 'a', 10);
    await waitOneTick();
    expect([given.length, turns.waiting]).toEqual([4, 6]);
    given[0]?.();
    given[0]?.();
    await waitOneTick();
    expect([given.length, turns.waiting]).toEqual([5, 5]);
  });

  it('leave connections for accounts that have none running', async () => {
    const turns = new ListQueue(LIMITS);
    const accounts = ['a', 'b', 'c', 'd', 'e', 'f'];
    const asked = accounts.map((account) => ask(turns, account, 10));
    await waitOneTick();
    expect(asked.map(({ given }) => given.length)).toEqual([4, 1, 1, 1, 1, 0]);
    asked[0]?.given[0]?.();
    await waitOneTick();
    expect(asked.map(({ given }) => given.length)).toEqual([4, 1, 1, 1, 1, 1]);
  });

  it('go to the account with the fewest running, then to the first to come', async () => {
    const turns = new ListQueue({ ...LIMITS, connections: 3, perAccount: 3, reserved: 0 });
    const order: string[] = [];
    const take = async (account: string, name: string) => {
      const end = await turns.wait({ account });
      order.push(name);
      return end;
    };
    const ends = await Promise.all([take('a', 'a1'), take('a', 'a2'), take('b', 'b1')]);
    void take('a', 'a3');
    void take('b', 'b2');
    void take('c', 'c1');
    for (const end of ends) {
      end();
      await waitOneTick();
    }
    expect(order.slice(3)).toEqual(['c1', 'a3', 'b2']);
  });

  it("that do not come in time are refused: 429 because of the account's own lists, 503 because of others", async () => {
    const turns = new ListQueue({ ...LIMITS, connections: 1, reserved: 0, waitMs: 30 });
    const { refused } = ask(turns, 'a', 2);
    const other = ask(turns, 'b', 1);
    await sleep(60);
    const errors = [...refused, ...other.refused];
    expect(errors.map(({ code, status }) => [code, status])).toEqual([
      ['too_many_requests', 429],
      ['unavailable', 503],
    ]);
    expect(refused[0]?.headers).toEqual({ 'Retry-After': '5' });
    expect(turns.waiting).toBe(0);
  });

  it('wait for at most 200 statements of one account', async () => {
    const turns = new ListQueue(LIMITS);
    const { refused } = ask(turns, 'a', 206);
    await waitOneTick();
    expect(refused.map(({ status }) => status)).toEqual([429, 429]);
    turns.close(new AppError('unavailable', 503, 'over'));
  });

  it('are rejected with the reason of the signal', async () => {
    const turns = new ListQueue(LIMITS);
    ask(turns, 'a', 4);
    const controller = new AbortController();
    const waiting = turns.wait({ account: 'a', signal: controller.signal });
    const gone = new AppError('unavailable', 503, 'gone');
    controller.abort(gone);
    await expect(waiting).rejects.toBe(gone);
    expect(turns.waiting).toBe(0);
  });

  it('end with the server', async () => {
    const turns = new ListQueue(LIMITS);
    const { refused } = ask(turns, 'a', 5);
    const over = new AppError('unavailable', 503, 'over');
    turns.close(over);
    await waitOneTick();
    expect(refused).toEqual([over]);
    await expect(turns.wait({ account: 'b' })).rejects.toBe(over);
  });
});
