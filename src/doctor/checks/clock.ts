import { databaseTime } from '../../db/doctor/database-facts.js';
import type { Check } from '../check.js';
import { error, type Found, ok, warning } from '../finding.js';

const SOME_MS = 5_000;
/** The Date header counts whole seconds and may have waited in a proxy. */
const SOME_HEADER_MS = 15_000;
const MUCH_MS = 60_000;

const WHY =
  'Certificates, challenges, expiries of commands and tokens are judged by these clocks; devices refuse what is not valid yet.';

/** This machine's clock against the database's. */
export const databaseClockCheck: Check = {
  name: 'database_clock',
  needs: 'database',
  run: async ({ db, now }) => {
    const before = now().getTime();
    const theirs = await databaseTime(db);
    const ours = (before + now().getTime()) / 2;
    return judge(theirs.getTime() - ours, SOME_MS, {
      code: 'clock_differs_from_database',
      what: 'The clock of the database',
      cure: 'Turn on time synchronisation on both machines: timedatectl set-ntp true',
    });
  },
};

/** This machine's clock against the Date header of what answers at PUBLIC_URL. */
export const publicClockCheck: Check = {
  name: 'public_clock',
  needs: 'nothing',
  limitMs: 20_000,
  run: async ({ config, address, now }) => {
    const { ready } = await address();
    if (ready?.date === undefined) return [];
    const sinceThen = now().getTime() - ready.receivedAt.getTime();
    // A time within a second is cut off.
    const theirs = ready.date.getTime() + 500 + sinceThen;
    return judge(theirs - now().getTime(), SOME_HEADER_MS, {
      code: 'clock_differs_from_public_address',
      what: `The clock of what answers at ${config.publicUrl}`,
      cure: 'Turn on time synchronisation here and on the proxy: timedatectl set-ntp true',
    });
  },
};

function judge(
  differenceMs: number,
  someMs: number,
  { code, what, cure }: { code: string; what: string; cure: string },
): Found[] {
  const off = Math.abs(differenceMs);
  const seconds = Math.round(off / 1000);
  if (off < someMs) return [ok(code.replace('differs_from_', ''), `${what} agrees with this one.`)];
  const direction = differenceMs > 0 ? 'ahead of' : 'behind';
  const problem = { what: `${what} is ${seconds} s ${direction} this one.`, why: WHY, cure };
  return [off >= MUCH_MS ? error(code, problem) : warning(code, problem)];
}
