const NOT_THE_DATE = [
  ...(['setTimeout', 'setInterval', 'setImmediate', 'nextTick', 'queueMicrotask'] as const),
  ...(['clearTimeout', 'clearInterval', 'clearImmediate', 'hrtime', 'performance'] as const),
];

/** The date of this process while `work` runs; timers go on as ever. */
export async function atTime<T>(now: Date, work: () => Promise<T>): Promise<T> {
  jest.useFakeTimers({ now, doNotFake: NOT_THE_DATE });
  try {
    return await work();
  } finally {
    jest.useRealTimers();
  }
}
