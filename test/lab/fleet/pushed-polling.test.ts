import { setImmediate as turn } from 'node:timers/promises';
import type { LabPlatform } from '../../../src/lab/devices/device-models.js';
import { Random } from '../../../src/lab/devices/random.js';
import {
  createSimulatedDevice,
  type SimulatedDevice,
} from '../../../src/lab/devices/simulated-device.js';
import type { EnrollmentProfile } from '../../../src/lab/enrollment/enrollment-profile.js';
import { FleetState } from '../../../src/lab/fleet/fleet-state.js';
import { Limiter } from '../../../src/lab/fleet/limiter.js';
import {
  type PushedMember,
  PushedPolling,
  type PushedPollingOptions,
} from '../../../src/lab/fleet/pushed-polling.js';
import { FakeCourier } from './fake-courier.js';

const TOPIC = 'com.apple.mgmt.External.6f1c';
const profile: Pick<EnrollmentProfile, 'mdm'> = {
  mdm: { serverUrl: '', checkInUrl: '', isSigned: true, topic: TOPIC, serverCapabilities: [] },
};

/** A member whose polls last as long as the test wants. */
class Member implements PushedMember {
  readonly device: SimulatedDevice;
  readonly failures: string[] = [];
  asUser: boolean;
  isEnrolled = true;
  isGone = false;
  hasPostponed = false;
  polls = 0;
  afterPoll: () => void = () => undefined;
  finishPoll: () => void = () => undefined;

  constructor(
    private readonly state: FleetState,
    private readonly index: number,
    platform: LabPlatform = 'iOS',
  ) {
    const random = new Random(`device ${index}`);
    this.device = createSimulatedDevice({ platform, random });
    this.asUser = platform === 'macOS';
  }

  get token(): string {
    return this.device.pushToken.toString('hex');
  }

  async poll(): Promise<number> {
    this.polls += 1;
    await new Promise<void>((resolve) => {
      this.finishPoll = resolve;
    });
    this.afterPoll();
    this.state.countPoll(this.index);
    this.state.setPostponed(this.index, this.hasPostponed ? 1 : 0);
    return 0;
  }

  expectPush(): void {
    this.state.expectPush(this.index);
  }

  addFailure(reason: string): void {
    this.failures.push(reason);
  }
}

const pollings: PushedPolling[] = [];
afterEach(() => {
  for (const polling of pollings.splice(0)) polling.close();
});

function createFixture(options: Partial<PushedPollingOptions> = {}, limit = 8) {
  const courier = new FakeCourier();
  const state = new FleetState(3);
  const polling = new PushedPolling({
    courier,
    state,
    limiter: new Limiter(limit),
    forever: false,
    signal: new AbortController().signal,
    ...options,
  });
  pollings.push(polling);
  const enroll = async (index = 0) => {
    const member = new Member(state, index);
    await polling.prepare(member, profile);
    await polling.afterEnrollment(member);
    return member;
  };
  const push = async (member: Member, mdm = member.device.pushMagic) => {
    courier.push(member.token, mdm);
    await turn();
  };
  const finish = async (member: Member) => {
    member.finishPoll();
    await turn();
    await turn();
  };
  return { courier, state, polling, enroll, push, finish };
}

describe('a device that polls when pushed', () => {
  it('does not poll for a push with another PushMagic', async () => {
    const { enroll, push, state } = createFixture();
    const member = await enroll();
    await push(member, member.device.pushMagic.toLowerCase());
    expect(member.polls).toBe(0);
    expect(member.failures).toEqual(['a push came without the PushMagic of the device']);
    expect(state.snapshot().pushes).toBe(0);
  });

  it('does not poll after its enrollment', async () => {
    const { enroll, state, courier } = createFixture();
    const member = await enroll();
    await turn();
    expect(member.polls).toBe(0);
    expect(state.snapshot().unpushed).toBe(1);
    expect([...courier.topics]).toEqual([[member.token, TOPIC]]);
  });

  it('polls for a push with the PushMagic of its user', async () => {
    const { polling, courier, state, finish } = createFixture();
    const member = new Member(state, 0, 'macOS');
    await polling.prepare(member, profile);
    await polling.afterEnrollment(member);
    const { user } = member.device;
    const token = user?.pushToken.toString('hex') ?? '';
    expect([...courier.topics.keys()]).toEqual([member.token, token]);
    courier.push(token, member.device.pushMagic);
    await turn();
    expect([member.polls, member.failures.length]).toEqual([0, 1]);
    courier.push(token, user?.pushMagic ?? '');
    await turn();
    expect(member.polls).toBe(1);
    member.isGone = true;
    await finish(member);
    expect(courier.forgotten).toEqual([member.token, token]);
  });

  it('polls once for each push', async () => {
    const { enroll, push, finish, state } = createFixture();
    const member = await enroll();
    for (const count of [1, 2, 3]) {
      await push(member);
      expect(member.polls).toBe(count);
      await finish(member);
      expect(member.polls).toBe(count);
    }
    expect(state.snapshot()).toMatchObject({ pushes: 3, unpushed: 0 });
  });

  it('polls once more for all pushes that came during a poll', async () => {
    const { enroll, push, finish } = createFixture();
    const member = await enroll();
    for (let count = 0; count < 4; count += 1) await push(member);
    expect(member.polls).toBe(1);
    await finish(member);
    expect(member.polls).toBe(2);
    await finish(member);
    expect(member.polls).toBe(2);
  });

  it('polls after its enrollment for a push that came during it', async () => {
    const { polling, push, state } = createFixture();
    const member = new Member(state, 0);
    member.isEnrolled = false;
    await polling.prepare(member, profile);
    await push(member);
    expect(member.polls).toBe(0);
    member.isEnrolled = true;
    await polling.afterEnrollment(member);
    await turn();
    expect(member.polls).toBe(1);
  });

  it('waits for its turn while others poll', async () => {
    const { enroll, push, finish } = createFixture({}, 1);
    const [first, second] = [await enroll(0), await enroll(1)];
    await push(first);
    await push(second);
    await push(second);
    expect([first.polls, second.polls]).toEqual([1, 0]);
    await finish(first);
    expect([first.polls, second.polls]).toEqual([1, 1]);
    await finish(second);
    expect([first.polls, second.polls]).toEqual([1, 1]);
  });

  it('polls again after NotNow, until it has answered', async () => {
    const { enroll, push, finish } = createFixture({ notNowMs: 20 });
    const member = await enroll();
    member.hasPostponed = true;
    await push(member);
    for (const count of [2, 3]) {
      const back = new Promise<void>((resolve) => {
        const { poll } = member;
        member.poll = () => {
          resolve();
          return poll.call(member);
        };
      });
      await finish(member);
      await back;
      expect(member.polls).toBe(count);
    }
  });

  it('stops using its token when it is erased, released or unenrolled', async () => {
    const { enroll, push, finish, courier } = createFixture();
    const [gone, lost] = [await enroll(0), await enroll(1)];
    gone.afterPoll = () => {
      gone.isGone = true;
      gone.isEnrolled = false;
    };
    lost.afterPoll = () => {
      lost.isEnrolled = false;
    };
    for (const member of [gone, lost]) {
      await push(member);
      await finish(member);
    }
    expect(courier.forgotten).toEqual([gone.token]);
  });

  it('enrolls only once it is connected to the push service', async () => {
    const { polling, state, courier } = createFixture({ giveUpMs: 20 });
    courier.connected = new Promise(() => undefined);
    await expect(polling.prepare(new Member(state, 0), profile)).rejects.toThrow(
      'the push service of the lab does not answer',
    );
  });
});

describe('a fleet that polls when pushed', () => {
  it('stops waiting for a device that is never pushed', async () => {
    const { enroll, push, finish, polling, state } = createFixture({ giveUpMs: 50 });
    const [pushed] = [await enroll(0), await enroll(1)];
    await push(pushed);
    await finish(pushed);
    await polling.waitUntilIdle();
    expect(state.snapshot().unpushed).toBe(1);
  });

  it('stops waiting for a device that always answers NotNow', async () => {
    const { enroll, push, finish, polling, state } = createFixture({
      giveUpMs: 50,
      notNowMs: 60_000,
    });
    const member = await enroll();
    member.hasPostponed = true;
    await push(member);
    await finish(member);
    await polling.waitUntilIdle();
    expect(state.snapshot().unanswered).toBe(1);
  });

  it('is idle when every device was pushed and has answered, after two quiet seconds', async () => {
    const { enroll, push, finish, polling, state } = createFixture();
    const member = await enroll();
    let isIdle = false;
    const idle = polling.waitUntilIdle().then(() => {
      isIdle = true;
    });
    await push(member);
    await turn();
    expect(isIdle).toBe(false);
    await finish(member);
    await idle;
    expect(state.quietMs()).toBeGreaterThanOrEqual(2_000);
  });

  it('closes the connection of its devices at the end', () => {
    const { polling, courier } = createFixture();
    polling.close();
    expect(courier.isClosed).toBe(true);
  });
});
