import { randomUUID } from 'node:crypto';
import { adminApi, startApp, type TestApp } from '../../helpers/app.js';
import { addProfile, failed, ManagedDevice, reconcilerOf } from '../assignment-fixture.js';
import {
  type Api,
  positionOf,
  type RolloutOptions,
  startRollout,
  uploadVersion,
} from './rollout-fixture.js';

const DEVICES = 8;

/** Eight devices, and a profile that is assigned to all, of which a second version is held back. */
export class Fleet {
  readonly api: Api;
  readonly reconciler: ReturnType<typeof reconcilerOf>;
  /** In the order in which a rollout of the profile comes to them. */
  devices: ManagedDevice[] = [];
  profileId = 0;
  identifier = '';
  #positions: number[] = [];

  private constructor(readonly app: TestApp) {
    this.api = adminApi(app);
    this.reconciler = reconcilerOf(app);
  }

  static async open(): Promise<Fleet> {
    const app = await startApp({ isSweeping: false });
    const fleet = new Fleet(app);
    for (let count = 0; count < DEVICES; count += 1) {
      fleet.devices.push(await ManagedDevice.enroll(app));
    }
    for (const device of fleet.devices) await device.poll();
    return fleet;
  }

  /** Another profile, whose first version all devices have. */
  async begin(): Promise<void> {
    const { app } = this;
    do {
      const added = await addProfile(app, { PayloadIdentifier: randomUUID() });
      ({ id: this.profileId, identifier: this.identifier } = added);
      await this.#sort();
      // Two at the same place would come in the same stage.
    } while (new Set(this.#positions).size < DEVICES);
    await app.db.knex('assignments').insert({ profile_id: this.profileId, all_devices: true });
    await this.carryOut();
    const { identifier } = this;
    await uploadVersion(app, { identifier, ssid: 'Guests', query: '?activate=false' });
  }

  async end(): Promise<void> {
    await this.app.db.knex('profiles').delete();
    await this.carryOut();
  }

  async #sort(): Promise<void> {
    const placed = await Promise.all(
      this.devices.map(async (device) => ({
        device,
        position: await positionOf(this.app, device.id, this.profileId),
      })),
    );
    placed.sort((one, other) => one.position - other.position);
    this.devices = placed.map(({ device }) => device);
    this.#positions = placed.map(({ position }) => position);
  }

  /** Rounds of reconciling and polling until nothing is under way. */
  async carryOut(refusing: readonly ManagedDevice[] = []): Promise<void> {
    for (let round = 0; round < 4; round += 1) {
      await this.app.waitForReports();
      await this.reconciler.run();
      for (const device of this.devices) {
        const refuses = refusing.includes(device);
        await device.poll((command) =>
          refuses && command.RequestType === 'InstallProfile'
            ? failed('The payload is bad.')
            : undefined,
        );
      }
    }
    await this.app.waitForReports();
    await this.reconciler.run();
  }

  /** Stages of so many devices each, then all. */
  stagesOf(...counts: number[]) {
    const places = this.#positions;
    const middle = (count: number) =>
      Math.ceil(((places[count - 1] ?? 0) + (places[count] ?? 10_000)) / 2) / 100;
    const stages = counts.map((count) => ({ percent: middle(count), soak_minutes: 30 }));
    return [...stages, { percent: 100, soak_minutes: 30 }];
  }

  start(options: RolloutOptions): Promise<number> {
    return startRollout(this.api, this.profileId, options);
  }

  /** Version and state by device, in the order of the rollout. */
  async items(): Promise<string[]> {
    const rows = await this.app.db.knex('device_items').where({ profile_id: this.profileId });
    return this.devices.map(({ id }) => {
      const item = rows.find(({ device_id }) => device_id === id);
      return `${item?.version} ${item?.state}`;
    });
  }

  /** Action, actor, and what the server changed by itself. */
  async auditOf(id: number): Promise<[string, string, unknown][]> {
    const events = await this.app.db
      .knex('audit_events')
      .where({ target_type: 'rollouts', target_id: String(id) })
      .orderBy('id');
    return events.map(({ action, actor, details }) => [
      action,
      actor,
      actor === 'system' ? details.changes : undefined,
    ]);
  }
}

export const some = (count: number, text: string) => Array.from({ length: count }, () => text);
