import { FleetState, isSettled } from '../../src/lab/fleet-state.js';
import { describeProgress, describeSummary } from '../../src/lab/summary.js';

function enrolled(count: number): FleetState {
  const state = new FleetState(count);
  for (let index = 0; index < count; index += 1) state.setFate(index, 'enrolled');
  return state;
}

describe('a fleet is not done', () => {
  it('while a device has not enrolled, was unenrolled or failed', () => {
    for (const fate of ['waiting', 'enrolling', 'unenrolled', 'lost'] as const) {
      const state = enrolled(3);
      state.setFate(1, fate);
      expect([fate, isSettled(state.snapshot())]).toEqual([fate, false]);
    }
  });

  it('while a command that was put off has no answer', () => {
    const state = enrolled(2);
    state.setPostponed(0, 1);
    expect(isSettled(state.snapshot())).toBe(false);
    state.setPostponed(0, 0);
    expect(isSettled(state.snapshot())).toBe(true);
  });
});

describe('the summary of a fleet', () => {
  it('counts devices, answers and errors, and says which device failed and why', () => {
    const state = enrolled(3);
    state.setFate(2, 'lost');
    state.addFailure({ serialNumber: 'C02XYZ', reason: 'the server answered 403' });
    for (const status of ['Acknowledged', 'Acknowledged', 'Error', 'NotNow'] as const) {
      state.countAnswer(status);
    }
    const lines = describeSummary({ ...state.snapshot(), seconds: 4.25 }).split('\n');
    expect(lines).toEqual([
      'Devices:  2 of 3 enrolled, 1 failed',
      'Commands: 3 answered (2 Acknowledged, 1 Error), 1 times NotNow',
      'Time:     4.3 s',
      'Errors:   1',
      '  C02XYZ: the server answered 403',
    ]);
  });

  it('leaves out of the progress line what did not happen', () => {
    const snapshot = { ...enrolled(2).snapshot(), seconds: 1 };
    expect(describeProgress(snapshot)).toBe('enrolled 2/2, answered 0, 1.0 s');
  });
});
