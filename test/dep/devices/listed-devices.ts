import type { Knex } from 'knex';
import type {
  ActivationLock,
  DepAccounts,
  DepApi,
  SerialResults,
} from '../../../src/dep/client/dep-api.js';

/** A DEP account; returns its id. */
export async function addAccount(knex: Knex, row: object = {}): Promise<number> {
  const [{ id }] = await knex('dep_accounts').insert({ server_name: 'MDM', ...row }, 'id');
  return id;
}

export async function addProfile(knex: Knex, dep_account_id: number | null): Promise<number> {
  const row = { profile_name: 'P', url: 'https://mdm.example.com/dep/enroll', dep_account_id };
  const [{ id }] = await knex('dep_profiles').insert(row, 'id');
  return id;
}

export interface Listed {
  id: number;
  deviceId: number;
}

/** A serial number that Apple lists, with its record among the devices; `row` is of dep_devices. */
export async function addListed(
  knex: Knex,
  row: { dep_account_id: number; serial_number: string; is_enrolled?: boolean } & object,
): Promise<Listed> {
  const { serial_number, is_enrolled = false } = row;
  const record = { serial_number, is_dep: true, is_enrolled };
  const [{ id: device_id }] = await knex('devices').insert(record, 'id');
  const listed = { listed_at: new Date(), told_at: new Date(), device_id, ...row };
  const [{ id }] = await knex('dep_devices').insert(listed, 'id');
  return { id, deviceId: device_id };
}

/** Apple as far as it disowns and locks: what it was asked, and what it answers. */
export class Apple implements DepAccounts {
  disowned: string[][] = [];
  locks: ActivationLock[] = [];
  /** By serial number; SUCCESS where nothing is said, null: it says nothing of it. */
  results = new Map<string, string | null>();
  /** What goes wrong before it does anything. */
  fault: Error | undefined;
  /** What happens once it has done it. */
  afterwards: () => Promise<void> = () => Promise.resolve();

  async use<T>(_id: number, work: (api: DepApi, account: never) => Promise<T>): Promise<T> {
    if (this.fault) throw this.fault;
    const api: Pick<DepApi, 'disown' | 'enableActivationLock'> = {
      disown: async (serials) => {
        this.disowned.push([...serials]);
        await this.afterwards();
        return this.#resultsOf(serials);
      },
      enableActivationLock: async (lock) => {
        this.locks.push(lock);
        await this.afterwards();
        return this.#resultsOf([lock.serialNumber]);
      },
    };
    return await work(api as DepApi, undefined as never);
  }

  #resultsOf(serials: readonly string[]): SerialResults {
    const results = serials.map((serial) => [serial, this.results.get(serial)] as const);
    return new Map(results.flatMap(([serial, word = 'SUCCESS']) => (word ? [[serial, word]] : [])));
  }
}
