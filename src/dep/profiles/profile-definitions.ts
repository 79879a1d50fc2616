import { z } from 'zod';
import { inTransaction } from '../../db/connection/unit-of-work.js';
import { updateProfileErrors } from '../../db/dep/dep-profile-failures.js';
import {
  type DepProfileRow,
  findDepProfile,
  findSupervisorCertificates,
  listDepProfiles,
  makeProfileDue,
  markProfilesPending,
  recordDefinition,
  recordUpload,
  updateDefinitionStatus,
} from '../../db/dep/dep-profile-repository.js';
import type { Task } from '../../jobs/task.js';
import type { DepAccounts } from '../client/dep-api.js';
import { DEFINE_PROFILE } from '../dep-jobs.js';
import {
  createAttempt,
  type DefinitionAttempt,
  ifUnchanged,
  isDefinedAs,
  isUnchanged,
} from './definition-attempt.js';
import { type DefinitionFailureDeps, recordFailure } from './definition-failure.js';
import { type DefinitionContext, definitionOf, digestOf, urlOf } from './profile-definition.js';

export interface ProfileDefinitionsDeps extends DefinitionFailureDeps {
  accounts: DepAccounts;
  /** Where devices in Automated Device Enrollment ask this server for their profile. */
  enrollmentUrl: string;
  /** DER of the certificates by which devices trust this server. */
  anchorCertificates(): Promise<Buffer[]>;
}

/** A definition that Apple refused is sent again after a day. */
const FAILED_FOR_MS = 24 * 60 * 60_000;

const DEFINED = { status: 'defined', status_text: null, status_advice: null } as const;

/** Sends profiles to Apple's service, which answers each definition with a new UUID. */
export class ProfileDefinitions {
  constructor(private readonly deps: ProfileDefinitionsDeps) {}

  /** Defines the profile at Apple unless Apple already has this definition; writes its status. */
  async define(profileId: number, signal?: AbortSignal): Promise<void> {
    const profile = await findDepProfile(this.deps.db.knex, profileId);
    if (profile === undefined || profile.dep_account_id === null) return;
    const accountId = profile.dep_account_id;
    const attempt = createAttempt(profile, { accountId, context: await this.#context() });
    if (isDefinedAs(profile, attempt.digest)) return await this.#confirm(attempt);
    const uuid = await this.deps.accounts
      .use(accountId, (api) => api.defineProfile(attempt.definition), { signal })
      .catch((error: unknown) => recordFailure(this.deps, attempt, error));
    if (uuid) await this.#store(attempt, uuid);
  }

  /**
   * Adds jobs for the account's profiles whose definition at Apple is outdated or missing. Returns
   * their ids.
   */
  async redefineStale(accountId: number): Promise<number[]> {
    const { db, jobs } = this.deps;
    const profiles = await listDepProfiles(db.knex, accountId);
    if (profiles.length === 0) return [];
    const context = await this.#context();
    const ids = profiles.filter((profile) => isStale(profile, context)).map(({ id }) => id);
    if (ids.length === 0) return [];
    await inTransaction(db, async (trx) => {
      await markProfilesPending(trx, ids);
      for (const id of ids) await jobs.define(trx, id);
    });
    return ids;
  }

  async #context(): Promise<DefinitionContext> {
    const { db, enrollmentUrl, anchorCertificates } = this.deps;
    const [anchors, supervisors] = await Promise.all([
      anchorCertificates(),
      findSupervisorCertificates(db.knex),
    ]);
    return { enrollmentUrl, anchors, supervisors };
  }

  /** Apple already has the definition. */
  #confirm(attempt: DefinitionAttempt): Promise<void> {
    return ifUnchanged(this.deps.db, attempt, async (trx, { id, status }) => {
      if (status === 'defined') return;
      await updateDefinitionStatus(trx, id, DEFINED);
      await updateProfileErrors(trx, attempt.accountId);
    });
  }

  /** Records the UUID as ours even if the profile has changed or was deleted meanwhile. */
  async #store(attempt: DefinitionAttempt, uuid: string): Promise<void> {
    const { accountId, digest, context } = attempt;
    await inTransaction(this.deps.db, async (trx) => {
      const profile = await findDepProfile(trx, attempt.profileId, { lock: true });
      await recordDefinition(trx, { uuid, accountId, digest, profileId: profile?.id ?? null });
      if (profile === undefined || !isUnchanged(profile, attempt)) return;
      // Another process has stored the same definition.
      if (profile.status === 'defined' && isDefinedAs(profile, digest)) return;
      const url = urlOf(profile, context);
      await recordUpload(trx, profile.id, { uuid, definition_digest: digest, url });
      await makeProfileDue(trx, { profileId: profile.id, accountId });
      await this.deps.jobs.assign(trx, accountId);
    });
  }
}

const PAYLOAD = z.object({ profileId: z.int() });

/** Defines one profile at Apple. */
export function createDefineTask(
  definitions: Pick<ProfileDefinitions, 'define'>,
): Task<z.infer<typeof PAYLOAD>> {
  return {
    name: DEFINE_PROFILE,
    parse: (payload) => PAYLOAD.parse(payload),
    run: ({ profileId }, { signal }) => definitions.define(profileId, signal),
  };
}

function isStale(profile: DepProfileRow, context: DefinitionContext): boolean {
  if (profile.status === 'failed') {
    return Date.now() - (profile.status_at?.getTime() ?? 0) > FAILED_FOR_MS;
  }
  if (profile.status !== 'defined') return true;
  return !isDefinedAs(profile, digestOf(definitionOf(profile, context)));
}
