import { FleetState, isComplete } from '../../../src/lab/fleet/fleet-state.js';
import { describeProgress, describeSummary } from '../../../src/lab/fleet/summary.js';

function enrolled(count: number): FleetState {
  const state = new FleetState(count);
  for (let index = 0; index < count; index += 1) state.setStage(index, 'enrolled');
  return state;
}

describe('a fleet is not complete', () => {
  it('while a device has not enrolled, was unenrolled or failed', () => {
    for (const stage of ['waiting', 'enrolling', 'unenrolled', 'failed'] as const) {
      const state = enrolled(3);
      state.setStage(1, stage);
      expect([stage, isComplete(state.snapshot())]).toEqual([stage, false]);
    }
  });

  it('while a command that was answered NotNow is open', () => {
    const state = enrolled(2);
    state.setPostponed(0, 1);
    expect(isComplete(state.snapshot())).toBe(false);
    state.setPostponed(0, 0);
    expect(isComplete(state.snapshot())).toBe(true);
  });
});

describe('a fleet in Setup Assistant is not complete', () => {
  it('until the last device is configured or removed', () => {
    const state = enrolled(2);
    for (const index of [0, 1]) state.setAwaiting(index, true);
    state.setAwaiting(0, false);
    expect([state.isAtRest(), isComplete(state.snapshot())]).toEqual([false, false]);
    expect(describeSummary(state.snapshot())).toContain('1 still wait in Setup Assistant');
    state.setStage(1, 'erased');
    expect([state.isAtRest(), isComplete(state.snapshot())]).toEqual([true, true]);
    expect(describeSummary(state.snapshot())).not.toContain('Setup Assistant');
  });
});

describe('a fleet that is pushed is not complete', () => {
  it('while a device that was enrolled has not been pushed', () => {
    const state = enrolled(2);
    for (const index of [0, 1]) state.expectPush(index);
    state.countPush();
    state.countPoll(0);
    expect(state.isAtRest()).toBe(false);
    expect(isComplete(state.snapshot())).toBe(false);
    state.countPoll(1);
    expect(state.isAtRest()).toBe(true);
    expect(isComplete(state.snapshot())).toBe(true);
  });

  it('but does not wait for a removed device', () => {
    const state = enrolled(2);
    state.expectPush(0);
    state.setPostponed(0, 3);
    state.setStage(0, 'erased');
    expect(state.isAtRest()).toBe(true);
    expect(state.snapshot()).toMatchObject({ unpushed: 0, unanswered: 0 });
  });
});

describe('a fleet makes no progress', () => {
  const SECOND = 1_000;
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('by pushes, polls and NotNow, but by answers, first polls and stages', () => {
    const state = enrolled(1);
    state.expectPush(0);
    const nothing: [string, () => void][] = [
      ['push', () => state.countPush()],
      ['NotNow', () => state.countAnswer('NotNow')],
      ['retry', () => state.countRetry()],
      ['failure', () => state.addFailure({ serialNumber: '', reason: '' })],
    ];
    const progress: [string, () => void][] = [
      ['first poll', () => state.countPoll(0)],
      ['answer', () => state.countAnswer('Error')],
      ['stage', () => state.setStage(0, 'released')],
    ];
    for (const [name, happen] of nothing) {
      jest.advanceTimersByTime(SECOND);
      const stuckMs = state.stuckMs();
      happen();
      expect([name, state.quietMs(), state.stuckMs()]).toEqual([name, 0, stuckMs]);
    }
    for (const [name, happen] of progress) {
      jest.advanceTimersByTime(SECOND);
      happen();
      expect([name, state.quietMs(), state.stuckMs()]).toEqual([name, 0, 0]);
    }
    jest.advanceTimersByTime(SECOND);
    state.countPoll(0);
    expect(state.stuckMs()).toBe(SECOND);
  });
});

describe('the summary of a fleet', () => {
  it('counts devices, answers and errors, and says which device failed and why', () => {
    const state = enrolled(3);
    state.setStage(2, 'failed');
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

  it("says which devices Apple's stand-in did not know", () => {
    const state = enrolled(1);
    expect(describeSummary(state.snapshot())).not.toContain('DEP:');
    state.countUnknownToApple();
    expect(describeSummary(state.snapshot()).split('\n')[1]).toBe(
      "DEP:      1 unknown to Apple's stand-in, enrolled at /dep/enroll directly",
    );
  });

  it('counts the pushes, and the devices without any', () => {
    const state = enrolled(3);
    for (const index of [0, 1, 2]) state.expectPush(index);
    state.countPush();
    state.countPoll(0);
    const snapshot = { ...state.snapshot(), seconds: 1 };
    expect(describeProgress(snapshot)).toBe('enrolled 3/3, pushed 1, answered 0, 1.0 s');
    expect(describeSummary(snapshot).split('\n')[1]).toBe(
      'Pushes:   1 received, 2 devices without any',
    );
  });

  it('leaves zero counts out of the progress line', () => {
    const snapshot = { ...enrolled(2).snapshot(), seconds: 1 };
    expect(describeProgress(snapshot)).toBe('enrolled 2/2, answered 0, 1.0 s');
  });
});
