import { countLateJobs, listDeadJobs, listServerVersions } from '../../db/doctor/work-facts.js';
import type { Check } from '../check.js';
import { error, type Found, ok, warning } from '../finding.js';

const LATE_SECONDS = 60;
const VERY_LATE_SECONDS = 600;

/** Jobs that failed for good, or that no process runs. */
export const jobsCheck: Check = {
  name: 'jobs',
  needs: 'schema',
  run: async ({ db }) => {
    const [dead, late] = [await listDeadJobs(db), await countLateJobs(db, LATE_SECONDS)];
    const faults: Found[] = [];
    if (dead.length > 0) {
      const total = dead.reduce((sum, { count }) => sum + count, 0);
      const list = dead.map(({ task, count }) => `${task} (${count})`).join(', ');
      const last = dead[0]?.lastError ?? 'no reason was kept';
      const what = `${total} ${total === 1 ? 'job has' : 'jobs have'} failed for good: ${list}. The last error: ${last}`;
      const why = 'What they were to do is not done, and they do not run again by themselves.';
      const cure =
        "Remove the cause, then retry each: muster api GET '/jobs?filter[status]=dead', muster api POST /jobs/ID/retry";
      faults.push(warning('jobs_dead', { what, why, cure }));
    }
    if (late.count > 0) {
      const what = `${late.count} ${late.count === 1 ? 'job is' : 'jobs are'} late, the first by ${late.seconds} s.`;
      const why = 'Syncs, renewals, expiries and pruning wait with them.';
      const cure = 'Start a process with ROLE=all or ROLE=worker, and see its log for "job".';
      const isVery = late.seconds > VERY_LATE_SECONDS;
      faults.push((isVery ? error : warning)('jobs_late', { what, why, cure }));
    }
    return faults.length > 0
      ? faults
      : [ok('jobs', 'No job has failed for good, and none is late.')];
  },
};

/** Which processes serve this database. */
export const processesCheck: Check = {
  name: 'processes',
  needs: 'schema',
  run: async ({ db }) => {
    const running = await listServerVersions(db);
    const [first] = running;
    if (first === undefined) {
      const what = 'No process of Muster serves this database now.';
      const why = 'Devices get no answer.';
      const cure = 'Start it: muster serve (systemctl start muster, docker compose up -d)';
      return [warning('server_not_running', { what, why, cure })];
    }
    const list = running.map(({ version, role, count }) => `${count} × ${version} (${role})`);
    const versions = new Set(running.map(({ version }) => version));
    if (versions.size === 1) return [ok('processes', `Running: ${list.join(', ')}.`)];
    const what = `Processes of several versions run: ${list.join(', ')}.`;
    const why = 'That is right during an upgrade, and not afterwards.';
    const cure = 'Upgrade and restart those of the former version (docs/operations.md, "Upgrade").';
    return [warning('versions_differ', { what, why, cure })];
  },
};
