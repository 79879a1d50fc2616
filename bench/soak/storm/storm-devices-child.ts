// Simulated devices that enroll all at once; storm-devices.ts starts it.
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { Random } from '../../../src/lab/devices/random.js';
import {
  createSimulatedDevice,
  type SimulatedDevice,
} from '../../../src/lab/devices/simulated-device.js';
import { enroll, obtainProfile } from '../../../src/lab/enrollment/enroll.js';
import type { EnrollmentWay } from '../../../src/lab/enrollment/enrollment-way.js';
import { KeyPool } from '../../../src/lab/enrollment/key-pool.js';
import { Activation } from '../../../src/lab/pki/activation.js';
import { readLabAuthority } from '../../../src/lab/pki/lab-authority.js';
import { HttpClient } from '../../../src/lab/wire/http-client.js';
import { fetchLab } from '../../../src/lab/wire/lab-description.js';
import { answerCalls } from '../../push/child-calls.js';
import type { StormCalls, StormFleet, StormOutcome } from './storm-devices.js';

const RETRY_MS = 300_000;
const KEY_BITS = 2048;

const { signal } = new AbortController();
setMaxListeners(0, signal);

interface Member {
  device: SimulatedDevice;
  way: EnrollmentWay;
}

class Storm {
  private retries = 0;
  private readonly http = new HttpClient({
    retryMs: RETRY_MS,
    signal,
    onRetry: () => {
      this.retries += 1;
    },
  });
  private keys = new KeyPool();
  private members: Member[] = [];

  async prepare({ url, devices, ways, keys }: StormFleet): Promise<void> {
    this.keys = new KeyPool(keys);
    await Promise.all(Array.from({ length: keys }, () => this.keys.get(KEY_BITS)));
    const { device_ca } = await fetchLab(this.http, url);
    const activation = new Activation(readLabAuthority(device_ca.certificate + device_ca.key));
    const random = new Random(randomUUID());
    for (let index = 0; index < devices; index += 1) {
      const enrollBy = ways[index % ways.length] ?? 'profile';
      const own = random.fork(`device ${index}`);
      const device = createSimulatedDevice({ platform: 'iOS', random: own });
      // Certificates are made at the first signature: at the device's activation, long before.
      await activation.sign(device, Buffer.alloc(0));
      this.members.push({ device, way: { enroll: enrollBy, url, activation } });
    }
  }

  async enroll(): Promise<StormOutcome> {
    const startedAt = performance.now();
    const seconds: number[] = [];
    const failures: string[] = [];
    await Promise.all(
      this.members.map(async (member) => {
        try {
          await this.enrollOne(member);
          seconds.push((performance.now() - startedAt) / 1000);
        } catch (error) {
          failures.push(error instanceof Error ? error.message : String(error));
        }
      }),
    );
    const wallSeconds = (performance.now() - startedAt) / 1000;
    return { seconds, failures, retries: this.retries, wallSeconds };
  }

  private async enrollOne({ device, way }: Member): Promise<void> {
    const { http, keys } = this;
    const profile = await obtainProfile({ device, http, keys }, way);
    await enroll(device, { http, profile, keys });
  }
}

const storm = new Storm();

answerCalls<StormCalls>({
  prepare: (fleet) => storm.prepare(fleet),
  enroll: () => storm.enroll(),
});
