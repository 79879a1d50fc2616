import { createRolloutTask } from '../../../src/assignments/rollouts/rollout-task.js';
import { uploadNodes } from '../../api/profile-samples.js';
import type { adminApi, TestApp } from '../../helpers/app.js';
import { capturingLogger } from '../../http/log-lines.js';
import { payload, profile } from '../../profiles/sample-profiles.js';

export type Api = ReturnType<typeof adminApi>;

export interface RolloutOptions {
  version?: number;
  stages?: unknown;
  halt_at?: unknown;
  firstTag?: number;
}

export const TWO_STAGES = [
  { percent: 50, soak_minutes: 10 },
  { percent: 100, soak_minutes: 10 },
];

export function rolloutDocument(profile: number | undefined, options: RolloutOptions = {}) {
  const { version = 2, stages = TWO_STAGES, halt_at, firstTag } = options;
  const linkage = (type: string, id: number) => ({ data: { type, id } });
  return {
    data: {
      type: 'rollouts',
      attributes: { version, stages, ...(halt_at !== undefined && { halt_at }) },
      relationships: {
        ...(profile !== undefined && { item: linkage('profiles', profile) }),
        ...(firstTag !== undefined && { first_tag: linkage('tags', firstTag) }),
      },
    },
  };
}

/** Starts a rollout. Returns its id. */
export async function startRollout(
  api: Api,
  profile: number,
  options?: RolloutOptions,
): Promise<number> {
  const { status, body } = await api.post('/rollouts', rolloutDocument(profile, options));
  if (status !== 201) throw new Error(JSON.stringify(body.errors));
  return Number(body.data.id);
}

/** Runs the task of one minute, as one process does. */
export async function minute({ db }: TestApp) {
  const { logger, lines } = capturingLogger();
  await createRolloutTask({ db, logger }).run(undefined, {
    jobId: 1,
    attempt: 1,
    signal: new AbortController().signal,
  });
  return lines;
}

/** As if the stage had begun earlier. */
export async function soak({ db }: TestApp, id: number, minutes: number): Promise<void> {
  const stage_started_at = db.knex.raw(`stage_started_at - ${minutes} * interval '1 minute'`);
  await db.knex('rollouts').where({ id }).update({ stage_started_at });
}

export async function stateOf(api: Api, id: number) {
  const { body } = await api.get(`/rollouts/${id}`);
  const { state, reason, stage, devices, verified, failed } = body.data.attributes;
  return { state, reason, stage, devices, verified, failed };
}

/** The position of a device, as the database computes it. */
export async function positionOf({ db }: TestApp, device: number, profile: number) {
  const sql = 'select rollout_position(?, ?) as position';
  const { rows } = await db.knex.raw<{ rows: { position: number }[] }>(sql, [device, profile]);
  return rows[0]?.position ?? -1;
}

/** Uploads a version of a profile with another network. */
export async function uploadVersion(
  app: TestApp,
  { identifier, ssid, query = '' }: { identifier: string; ssid: string; query?: string },
) {
  const members = { SSID_STR: ssid, EncryptionType: 'None' };
  const wifi = payload('com.apple.wifi.managed', members);
  return await uploadNodes(app, profile([wifi], { PayloadIdentifier: identifier }), { query });
}
