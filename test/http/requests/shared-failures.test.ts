import {
  FailureLimit,
  type FailureSharing,
  named,
} from '../../../src/http/requests/failure-limit.js';

/** Processes that hear of each other's failures. */
function processes(count: number): FailureSharing[] {
  const listeners = Array.from(
    { length: count },
    () => new Map<string, (key: string, n: number) => void>(),
  );
  return listeners.map((own) => ({
    reportFailure: ({ limit, key, count: n }) => {
      for (const other of listeners) if (other !== own) other.get(limit)?.(key, n);
    },
    onFailure: (limit, listener) => own.set(limit, listener),
  }));
}

it('counts the failures of all processes under one name', () => {
  const [one, other] = processes(2).map((sharing) => ({
    first: new FailureLimit(named('first', { sharing, limit: 2 })),
    second: new FailureLimit(named('second', { sharing, limit: 2 })),
  }));
  expect([one?.first.count('10.0.0.1'), other?.first.count('10.0.0.1')]).toEqual([
    undefined,
    undefined,
  ]);
  expect(one?.first.count('10.0.0.1')).toMatchObject({ status: 429 });
  expect(other?.first.count('10.0.0.1')).toMatchObject({ status: 429 });
  expect(other?.first.count('10.0.0.2')).toBeUndefined();
  expect(other?.second.count('10.0.0.1')).toBeUndefined();
});

it('removes the attempts that did not fail in all processes', () => {
  const [one, other] = processes(2).map(
    (sharing) => new FailureLimit(named('sign-in', { sharing, limit: 1 })),
  );
  one?.count('a');
  one?.uncount('a');
  expect(other?.count('a')).toBeUndefined();
  expect(one?.count('a')).toMatchObject({ status: 429 });
});
