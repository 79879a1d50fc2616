import type { Database } from '../../../src/db/connection/database.js';
import type { DepAccounts, DepApi, SerialResults } from '../../../src/dep/client/dep-api.js';
import type { DepJobs } from '../../../src/dep/dep-jobs.js';

/** One call, as Apple hears it: the definition that the serial numbers get, or null for none. */
export type AppleCall = [uuid: string | null, serials: string[]];

type Answer = (uuid: string | null, serials: string[]) => Promise<SerialResults> | SerialResults;

export const everySuccess: Answer = (_uuid, serials) =>
  new Map(serials.map((serial) => [serial, 'SUCCESS']));

/** Apple's service, as far as assignments go. */
export class FakeDepService implements DepAccounts {
  calls: AppleCall[] = [];
  answer: Answer = everySuccess;

  reset(): void {
    this.calls = [];
    this.answer = everySuccess;
  }

  use: DepAccounts['use'] = (id, work) => work(this.api, { id, consumerKey: 'CK_test' });

  private readonly api: DepApi = {
    account: unexpected,
    fetchDevices: unexpected,
    syncDevices: unexpected,
    defineProfile: unexpected,
    disown: unexpected,
    enableActivationLock: unexpected,
    assignProfile: (uuid, serials) => this.receive(uuid, serials),
    removeProfiles: (serials) => this.receive(null, serials),
  };

  private async receive(uuid: string | null, given: readonly string[]): Promise<SerialResults> {
    const serials = [...given];
    this.calls.push([uuid, serials]);
    return await this.answer(uuid, serials);
  }
}

function unexpected(): Promise<never> {
  throw new Error('nobody should ask this');
}

/** What was asked for in place of queueing it: task, id, and when. */
export class FakeJobs implements Pick<DepJobs, 'assign' | 'define'> {
  asked: [task: string, id: number, runAt?: Date][] = [];

  assign: DepJobs['assign'] = async (_trx, id, { runAt } = {}) => {
    this.asked.push(runAt ? ['assign', id, runAt] : ['assign', id]);
  };
  define: DepJobs['define'] = async (_trx, id) => {
    this.asked.push(['define', id]);
  };
}

interface ProfileOptions {
  uuid?: string | null;
  status?: string;
}

/** Rows as a sync and definitions leave them. */
export class DepRows {
  constructor(private readonly db: Database) {}

  async clear(): Promise<void> {
    for (const table of ['devices', 'dep_devices']) await this.db.knex(table).delete();
    await this.db.knex('dep_accounts').update({ default_dep_profile_id: null });
    for (const table of ['dep_profile_definitions', 'dep_profiles', 'dep_accounts']) {
      await this.db.knex(table).delete();
    }
  }

  account(columns: object = {}): Promise<number> {
    return this.insert('dep_accounts', { access_token: 'AT_1', status: 'ok', ...columns });
  }

  /** Defined at Apple by default; the definition is in the history. */
  async profile(accountId: number, { uuid = null, status = 'defined' }: ProfileOptions = {}) {
    const profile = { profile_name: 'P', url: 'https://mdm.example.com/dep/enroll', uuid, status };
    const id = await this.insert('dep_profiles', { ...profile, dep_account_id: accountId });
    if (uuid !== null) await this.definition(accountId, uuid, id);
    return id;
  }

  async definition(accountId: number, uuid: string, profileId: number | null): Promise<void> {
    const digest = Buffer.alloc(32);
    const row = { uuid, dep_profile_id: profileId, dep_account_id: accountId, digest };
    await this.db.knex('dep_profile_definitions').insert(row);
  }

  /** Listed by Apple, with a record of its own. Returns the device's id. */
  async device(accountId: number, serial: string, columns: object = {}): Promise<number> {
    const record = { serial_number: serial, is_dep: true, enrollment_state: 'dep' };
    const id = await this.insert('devices', record);
    const listed = { listed_at: this.db.knex.fn.now(), ...columns };
    const row = { dep_account_id: accountId, serial_number: serial, device_id: id, ...listed };
    await this.db.knex('dep_devices').insert(row);
    return id;
  }

  /** Assigns a profile like an admin. */
  async give(deviceIds: number[], profileId: number | null): Promise<void> {
    await this.db.knex('devices').whereIn('id', deviceIds).update({ dep_profile_id: profileId });
  }

  async one(serial: string): Promise<Record<string, unknown>> {
    const row = await this.db.knex('dep_devices').where({ serial_number: serial }).first();
    return row as Record<string, unknown>;
  }

  private async insert(table: string, row: object): Promise<number> {
    const [inserted] = await this.db.knex(table).insert(row).returning('id');
    return (inserted as { id: number }).id;
  }
}
