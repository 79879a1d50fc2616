import type pg from 'pg';
import type { Enqueued } from './enqueue.js';
import type { Fixture } from './fixture.js';
import { RECOVERY_MS, type Size, until } from './scenario.js';

const STATE = `
select
  (select count(*) from commands)::int as commands,
  (select count(*) from devices d where exists (
     select from commands c where c.device_id = d.id and c.is_pending
       and (d.last_push_at is null or d.last_push_at < c.queued_at)))::int as unpushed,
  (select count(*) from devices d where d.last_push_result is distinct from 'delivered'
     and exists (select from commands c where c.device_id = d.id and c.is_pending))::int as failed,
  (select count(*) from devices where push_state <> 'ok')::int as given_up,
  (select count(*) from device_pushes where due_at < now() - interval '5 s')::int as overdue,
  (select count(*) from device_pushes where claimed_at is not null)::int as claimed,
  (select count(*) from device_pushes)::int as rows,
  (select coalesce(sum(attempts), 0) from device_pushes)::int as attempts`;

export interface PushState {
  commands: number;
  /** Devices with a waiting command and no push noted since it was queued. */
  unpushed: number;
  /** Those whose last push was not delivered. */
  failed: number;
  given_up: number;
  overdue: number;
  claimed: number;
  rows: number;
  /** Pushes noted, those of the growing schedule with them. */
  attempts: number;
}

export async function pushState(pool: pg.Pool): Promise<PushState> {
  const { rows } = await pool.query<PushState>(STATE);
  if (rows[0] === undefined) throw new Error('nothing was counted');
  return rows[0];
}

/** Whether each device was pushed, as counted by the stand-in and by the database. */
export async function isAllPushed({ pool, standIn, devices }: Fixture): Promise<boolean> {
  if ((await standIn.tally()).pushedDevices < devices.length) return false;
  const { unpushed, failed, claimed } = await pushState(pool);
  return unpushed === 0 && failed === 0 && claimed === 0;
}

/** Waits until each device was pushed, up to the guaranteed time. Returns the seconds it took. */
export async function recover(
  fixture: Fixture,
  { skipsWaiting }: Pick<Size, 'skipsWaiting'>,
): Promise<number> {
  const startedAt = performance.now();
  if (skipsWaiting) {
    await untilQuiet(fixture);
    await skipClaims(fixture);
  }
  const wait = { what: 'every device was pushed', ms: RECOVERY_MS, everyMs: 100 };
  // The checks that follow report what is missing.
  await until(() => isAllPushed(fixture), wait).catch(() => undefined);
  return (performance.now() - startedAt) / 1000;
}

/** The guarantees for pushes that do not hold. */
export async function brokenPromises(fixture: Fixture, enqueued: Enqueued): Promise<string[]> {
  const { pool, devices, standIn } = fixture;
  const state = await pushState(pool);
  const missed = devices.length - (await standIn.tally()).pushedDevices;
  const { accepted, repeated } = enqueued;
  const lost = accepted - state.commands;
  const faults: [boolean, string][] = [
    [missed > 0, `${missed} devices were never pushed`],
    [lost > 0, `${lost} accepted commands are gone`],
    [state.commands > accepted + repeated, 'more commands than anybody queued'],
    [state.unpushed > 0, `${state.unpushed} devices have no push noted for their commands`],
    [state.failed > 0, `the last push of ${state.failed} devices failed`],
    [state.given_up > 0, `${state.given_up} devices were given up`],
    [state.overdue > 0, `${state.overdue} rows of device_pushes are stuck`],
    [state.claimed > 0, `${state.claimed} claims were never closed`],
    [state.rows !== devices.length, `${state.rows} rows for ${devices.length} waiting devices`],
  ];
  return faults.filter(([isSo]) => isSo).map(([, words]) => words);
}

/** Pushes that reached the push service beyond those that are noted as sent. */
export async function surplusPushes({ pool, standIn }: Fixture): Promise<number> {
  const { attempts } = await pushState(pool);
  return (await standIn.tally()).accepted - attempts;
}

/** As if nothing had been queued or pushed yet. */
export async function startOver({ pool, standIn }: Fixture): Promise<void> {
  await pool.query('truncate commands, device_pushes cascade');
  await pool.query(
    `update devices set last_push_at = null, last_push_result = null, last_apns_id = null,
       failed_push_count = 0`,
  );
  await pool.query('vacuum (analyze) devices');
  await standIn.delayAnswers(0);
  await standIn.reset();
}

const CLAIM_SECONDS = 35;
const QUIET_MS = 400;

/** Resolves when the living processes have nothing left to do. */
async function untilQuiet({ standIn }: Fixture): Promise<void> {
  let last = 0;
  let since = performance.now();
  await until(
    async () => {
      const { accepted } = await standIn.tally();
      if (accepted !== last) since = performance.now();
      last = accepted;
      return performance.now() - since > QUIET_MS;
    },
    { what: 'what is due is pushed', ms: RECOVERY_MS },
  );
}

/** What is claimed and never ended is due by itself after some seconds: they pass at once here. */
async function skipClaims({ pool }: Fixture): Promise<void> {
  const { rows } = await pool.query<{ late: number }>(
    `with claimed as (
       select device_id, due_at from device_pushes where claimed_at is not null
     ), moved as (
       update device_pushes p set due_at = now() from claimed c where p.device_id = c.device_id
     )
     select count(*)::int as late from claimed
     where due_at > now() + make_interval(secs => ${CLAIM_SECONDS})`,
  );
  if (rows[0]?.late !== 0) throw new Error(`${rows[0]?.late} claims outlive their process`);
}
