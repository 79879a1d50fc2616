import { until } from '../scenario.js';
import type { DepFixture } from './dep-fixture.js';

const MAX_WAIT_MS = 15 * 60_000;

interface Account {
  sync_state: string;
  sync_finished_at: string | null;
  sync_error: string | null;
  sync_pages: number;
}

/** What an admin does with an account, each step to its end; in seconds. */
export class DepSteps {
  private accountId = 0;

  constructor(private readonly fixture: DepFixture) {}

  private get path(): string {
    return `/dep/accounts/${this.accountId}`;
  }

  private async read<T>(path: string): Promise<T> {
    const { status, body } = await this.fixture.api.call({ path });
    if (status !== 200) throw new Error(`${path}: ${status} ${body}`);
    return JSON.parse(body.toString()).data.attributes;
  }

  private async write(method: 'POST' | 'PATCH', path: string, data: object): Promise<number> {
    const { status, body } = await this.fixture.api.call({ method, path, body: { data } });
    if (status > 299) throw new Error(`${path}: ${status} ${body}`);
    return Number(JSON.parse(body.toString()).data.id);
  }

  /** Seconds from now to the end of the next sync. */
  private async untilSynced(since: string | null): Promise<number> {
    const isSo = async () => {
      const account = await this.read<Account>(this.path);
      if (account.sync_error !== null) throw new Error(account.sync_error);
      return account.sync_state === 'idle' && account.sync_finished_at !== since;
    };
    return await until(isSo, { what: 'a sync', ms: MAX_WAIT_MS, everyMs: 100 });
  }

  /** From the upload of the token on. */
  async firstSync(): Promise<number> {
    const startedAt = performance.now();
    this.accountId = await this.fixture.uploadToken();
    await this.untilSynced(null);
    return (performance.now() - startedAt) / 1000;
  }

  /** Seconds until the profile of every device was sent to Apple. */
  async assignAll(): Promise<number> {
    const { accountId, path } = this;
    const account = { dep_account: { data: { type: 'dep_accounts', id: accountId } } };
    const startedAt = performance.now();
    const attributes = { profile_name: 'Soak' };
    const profile = { type: 'dep_profiles', attributes, relationships: account };
    const id = await this.write('POST', '/dep/profiles', profile);
    const relationships = { default_dep_profile: { data: { type: 'dep_profiles', id } } };
    await this.write('PATCH', path, { type: 'dep_accounts', id: accountId, relationships });
    await this.untilAssigned();
    return (performance.now() - startedAt) / 1000;
  }

  /** Until each device that Apple lists has its profile there. */
  async untilAssigned(): Promise<number> {
    const isSo = async () => {
      const funnel = await this.read<Record<string, number>>(`${this.path}/funnel`);
      return funnel.assigned_or_beyond === funnel.total && funnel.assignment_due === 0;
    };
    return await until(isSo, { what: 'all assignments', ms: MAX_WAIT_MS, everyMs: 100 });
  }

  /** What has changed since the last one. */
  async deltaSync(): Promise<number> {
    const { fixture, path } = this;
    const { sync_finished_at } = await this.read<Account>(path);
    await fixture.api.call({ method: 'POST', path: `${path}/sync`, body: {} });
    return await this.untilSynced(sync_finished_at);
  }
}
