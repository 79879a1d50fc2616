import type { AppError } from '../../../src/errors.js';
import { BodyBudget, type BodyShare } from '../../../src/http/bodies/body-budget.js';

const PART = 20_000;
/** With what each part costs beside its bytes. */
const COUNTED = PART + 512;

const one: BodyShare = { key: 'one', bytes: 3 * COUNTED };
const other: BodyShare = { key: 'other', bytes: 3 * COUNTED };
const third: BodyShare = { key: 'third', bytes: 3 * COUNTED };

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('BodyBudget', () => {
  let refusals: (string | undefined)[];
  let budget: BodyBudget;

  function create(silentMs: number): void {
    refusals = [];
    budget = new BodyBudget({
      bytes: 5 * COUNTED,
      silentMs,
      onRefusal: (share) => refusals.push(share?.key),
    });
  }

  /** A body as `readBody` holds it: whatever ends it releases what it counted. */
  function begin(share: BodyShare) {
    const refused: AppError[] = [];
    const end = (error: AppError) => {
      refused.push(error);
      count.release();
    };
    const count = budget.open(share, end);
    const add = (bytes = PART) => {
      if (refused.length > 0) return;
      const refusal = count.add(bytes);
      if (refusal) end(refusal);
    };
    return { add, refused, release: () => count.release() };
  }

  beforeEach(() => create(60_000));

  it('refuses the part that exceeds the share of its sender, and frees what that body held', () => {
    const [first, second] = [begin(one), begin(one)];
    for (const body of [first, first, second]) body.add();
    expect(budget.bytes).toBe(3 * COUNTED);
    second.add();
    expect(first.refused).toEqual([]);
    expect(second.refused).toMatchObject([
      { code: 'server_busy', status: 503, headers: { 'Retry-After': '30' } },
    ]);
    expect(budget.bytes).toBe(2 * COUNTED);
    expect(refusals).toEqual(['one']);
  });

  it('refuses the part that exceeds the whole, whichever sender it is of', () => {
    for (const share of [one, one, one, other, other]) begin(share).add();
    const late = begin(third);
    late.add();
    expect(late.refused).toHaveLength(1);
    expect(refusals).toEqual([undefined]);
    expect(budget.bytes).toBe(5 * COUNTED);
  });

  it('counts no body that has ended', () => {
    for (let round = 0; round < 20; round += 1) {
      const body = begin(one);
      for (let part = 0; part < 3; part += 1) body.add();
      body.release();
      expect(body.refused).toEqual([]);
    }
    expect(budget.bytes).toBe(0);
  });

  it('counts a part of one byte with its overhead', () => {
    const body = begin(one);
    for (let part = 0; part < 140; part += 1) body.add(1);
    expect(body.refused.length).toBeGreaterThan(0);
    expect(budget.bytes).toBe(0);
  });

  it('drops the most silent body of a sender in favor of one that flows', async () => {
    create(30);
    const held = [begin(one), begin(one), begin(other)];
    for (const body of held) body.add();
    await wait(40);
    const flowing = begin(one);
    for (let part = 0; part < 3; part += 1) flowing.add();
    expect(flowing.refused).toEqual([]);
    expect(held.map(({ refused }) => refused.length)).toEqual([1, 1, 0]);
    expect(budget.bytes).toBe(4 * COUNTED);
  });

  it('drops silent bodies of all senders when the whole is used up', async () => {
    create(30);
    const held = [begin(one), begin(one), begin(one), begin(other), begin(other)];
    for (const body of held) body.add();
    held[0]?.add(1);
    expect(held[0]?.refused).toHaveLength(1);
    await wait(40);
    const flowing = begin(third);
    for (let part = 0; part < 2; part += 1) flowing.add();
    expect(flowing.refused).toEqual([]);
    expect(held.map(({ refused }) => refused.length)).toEqual([1, 1, 0, 0, 0]);
  });

  it('drops bodies that arrive in a trickle like silent ones', async () => {
    create(30);
    const dripping = [begin(one), begin(one), begin(one), begin(other)];
    for (const body of dripping) body.add();
    await wait(40);
    for (const body of dripping) body.add(16);
    const flowing = begin(third);
    for (let part = 0; part < 3; part += 1) flowing.add();
    expect(flowing.refused).toEqual([]);
    expect(dripping.some(({ refused }) => refused.length > 0)).toBe(true);
  });
});
