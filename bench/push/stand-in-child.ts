// The stand-in for Apple's push service in a process of its own; stand-in-process.ts starts it.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ApnsStandIn,
  type ApnsStandInOptions,
  startApnsStandIn,
} from '../../src/lab/apns/apns-stand-in.js';
import {
  certificatePem,
  createLabAuthority,
  issuePushCertificate,
  privateKeyPem,
} from '../../src/lab/pki/lab-authority.js';
import { answerCalls } from './child-calls.js';
import type { StandInCalls, Tally } from './stand-in-process.js';

const LOOK_MS = 2;
const ACCEPTED = '200';

function portOf(url: string): number {
  return Number(new URL(url).port);
}

function hrtimeMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** A stand-in that goes away and comes back; its counts outlive that. */
class Outages {
  private readonly before = new Map<string, number>();
  private delayMs = 0;

  private constructor(
    private standIn: ApnsStandIn,
    private readonly options: ApnsStandInOptions,
  ) {}

  static async start(options: ApnsStandInOptions): Promise<Outages> {
    const standIn = await startApnsStandIn(options);
    const { url, courierUrl } = standIn;
    const ports = { port: portOf(url), sidePort: portOf(courierUrl) };
    return new Outages(standIn, { ...options, ...ports });
  }

  get addresses() {
    const { url, courierUrl, caPem } = this.standIn;
    return { url, courier: courierUrl, ca: caPem };
  }

  delayAnswers(ms: number): void {
    this.delayMs = ms;
    this.standIn.clearAnswers();
    if (ms > 0) this.standIn.addAnswer({ status: 200, delayMs: ms });
  }

  async goDown(): Promise<void> {
    await this.standIn.close();
    for (const [token, accepted] of this.counts()) this.before.set(token, accepted);
    this.standIn.resetCounters();
  }

  async comeBack(): Promise<void> {
    this.standIn = await startApnsStandIn(this.options);
    this.delayAnswers(this.delayMs);
  }

  reset(): void {
    this.before.clear();
    this.standIn.resetCounters();
  }

  tally(): Tally {
    const all = [...this.counts().values()];
    return {
      accepted: all.reduce((sum, count) => sum + count, 0),
      pushedDevices: all.filter((count) => count > 0).length,
    };
  }

  async watch(pushes: number) {
    const before = this.accepted();
    const untilMore = async (count: number) => {
      while (this.accepted() < before + count) await sleep(LOOK_MS);
      return hrtimeMs();
    };
    return { firstAt: await untilMore(1), lastAt: await untilMore(pushes) };
  }

  private accepted(): number {
    return this.standIn.report().by_status[ACCEPTED] ?? 0;
  }

  private counts(): Map<string, number> {
    const counts = new Map(this.before);
    for (const { token, accepted } of this.standIn.tokens()) {
      counts.set(token, (counts.get(token) ?? 0) + accepted);
    }
    return counts;
  }
}

async function main(): Promise<void> {
  const authority = await createLabAuthority();
  const push = await issuePushCertificate(authority);
  const outages = await Outages.start({ authority });
  const certificate = certificatePem(push);
  const privateKey = privateKeyPem(push);
  answerCalls({
    target: () => ({ ...outages.addresses, topic: push.topic, certificate, privateKey }),
    tally: () => outages.tally(),
    reset: () => outages.reset(),
    watch: (pushes) => outages.watch(pushes),
    delayAnswers: (ms) => outages.delayAnswers(ms),
    goDown: () => outages.goDown(),
    comeBack: () => outages.comeBack(),
  } satisfies StandInCalls);
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});
