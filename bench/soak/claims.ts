import { RECOVERY_MS } from './scenario.js';
import { until } from './until.js';
import type { World } from './world.js';

const CLAIM_SECONDS = 35;
const QUIET_MS = 400;

/** What is claimed and never ended is due by itself after some seconds: they pass at once here. */
export async function skipClaims({ pool }: World): Promise<void> {
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

/** Resolves when the living processes have nothing left to do. */
export async function untilQuiet({ standIn }: World): Promise<void> {
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
