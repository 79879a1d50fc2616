import { Gauge, type Registry } from 'prom-client';
import type {
  BlockedTopic,
  DuePushes,
  JobCount,
  PendingCommands,
  RoleCount,
} from '../db/admin/metrics-repository.js';
import type { DepFigure } from '../db/dep/dep-device-funnel.js';
import type { Family, Sample } from './family.js';
import { FLEET_FAMILIES, type FleetPart } from './fleet-families.js';

export interface CredentialDays {
  kind: string;
  id: number | null;
  name: string;
  days_left: number;
  not_after: Date;
}

/** In seconds. */
export interface BackupFigure {
  /** Since the newest good backup was begun; undefined before the first. */
  age: number | undefined;
  /** Value of BACKUP_EVERY; undefined: not set. */
  interval: number | undefined;
}

/** Figures read from the database; the same in every process of this server. */
export interface Figures extends FleetPart {
  commands: PendingCommands[];
  pushes: DuePushes;
  topics: Pick<BlockedTopic, 'topic'>[];
  jobs: JobCount[];
  processes: RoleCount[];
  credentials: CredentialDays[];
  dep: DepFigure[];
  backups: BackupFigure;
}

/** Returns a function that sets the gauges; gauges of absent figures are absent too. */
export function createFigureGauges(registry: Registry): (figures: Partial<Figures>) => void {
  const families = FAMILIES.map(({ name, help, labelNames, samples }) => {
    const gauge = new Gauge({ name, help, labelNames, registers: [registry] });
    return { gauge, samples, isPlain: labelNames.length === 0 };
  });
  return (figures) => {
    for (const { gauge, samples, isPlain } of families) {
      gauge.reset();
      // `reset` sets it to 0 instead of removing it.
      if (isPlain) gauge.remove();
      for (const [labels, value] of samples(figures)) gauge.set(labels, value);
    }
  };
}

const STATUSES_OF_JOBS = ['waiting', 'scheduled', 'running', 'retrying', 'dead'];

const OWN_FAMILIES: Family<Figures>[] = [
  {
    name: 'muster_database_up',
    help: '0: the database does not answer, and all that is read from it is missing here.',
    labelNames: [],
    samples: (figures) => [[{}, Object.keys(figures).length > 0 ? 1 : 0]],
  },
  {
    name: 'muster_commands_pending',
    help:
      'Commands without a final answer, by status. Sum the statuses for the depth of the queue; ' +
      'the same in every process, so take the maximum over processes.',
    labelNames: ['status'],
    samples: ({ commands = [] }) => commands.map(({ status, count }) => [{ status }, count]),
  },
  {
    name: 'muster_commands_oldest_age_seconds',
    help:
      'Age of the oldest pending command, by status; 0 without one. An old Queued is a device that ' +
      'does not come: see its last_push_result.',
    labelNames: ['status'],
    samples: ({ commands = [] }) =>
      commands.map(({ status, oldestSeconds }) => [{ status }, oldestSeconds]),
  },
  {
    name: 'muster_pushes_due',
    help: 'Devices to be pushed now. More than 0 for long: no process with ROLE all or worker keeps up.',
    labelNames: [],
    samples: ({ pushes }) => (pushes === undefined ? [] : [[{}, pushes.count]]),
  },
  {
    name: 'muster_pushes_late_seconds',
    help: 'How long the first due push has been waiting. Alert above 60.',
    labelNames: [],
    samples: ({ pushes }) => (pushes === undefined ? [] : [[{}, pushes.lateSeconds]]),
  },
  {
    name: 'muster_push_topic_blocked',
    help: '1 for each topic whose push certificate Apple refuses: see /api/v1/credentials.',
    labelNames: ['topic'],
    samples: ({ topics = [] }) => topics.map(({ topic }) => [{ topic }, 1]),
  },
  {
    name: 'muster_jobs',
    help: 'Background jobs by status. Dead ones wait for POST /api/v1/jobs/{id}/retry.',
    labelNames: ['status'],
    samples: ({ jobs }) => (jobs === undefined ? [] : jobSamples(jobs)),
  },
  {
    name: 'muster_jobs_late_seconds',
    help:
      'How long the first job that is due has been waiting. Above 60 for long: no process with ROLE ' +
      'all or worker runs jobs, or none knows the task (see /api/v1/jobs?sort=run_at).',
    labelNames: [],
    samples: ({ jobs }) => (jobs === undefined ? [] : [[{}, latenessOf(jobs)]]),
  },
  {
    name: 'muster_processes_alive',
    help: 'Processes of this server whose heartbeat is not older than 30 s, by role.',
    labelNames: ['role'],
    samples: ({ processes = [] }) => processes.map(({ role, count }) => [{ role }, count]),
  },
  {
    name: 'muster_dep_devices',
    help:
      "Serial numbers of Apple's enrollment program by account (its id) and stage. Many assigned for " +
      'long: devices that nobody has switched on.',
    labelNames: ['account', 'stage'],
    samples: ({ dep = [] }) =>
      dep.flatMap(({ account, stages }) =>
        Object.entries(stages).map(([stage, count]): Sample => [{ account, stage }, count]),
      ),
  },
  {
    name: 'muster_dep_assignments_due',
    help: 'Devices whose profile is still to be sent to Apple, by account.',
    labelNames: ['account'],
    samples: ({ dep = [] }) =>
      dep.map(({ account, assignmentDue }) => [{ account }, assignmentDue]),
  },
  {
    name: 'muster_dep_sync_age_seconds',
    help:
      'Since the last complete sync of the account; absent before the first. Alert above some ' +
      'intervals of DEP_SYNC_INTERVAL.',
    labelNames: ['account'],
    samples: ({ dep = [] }) =>
      dep.flatMap(({ account, syncAge }): Sample[] =>
        syncAge === null ? [] : [[{ account }, syncAge]],
      ),
  },
  {
    name: 'muster_dep_account_ok',
    help: '1: Apple accepts the token of the account; 0: see its status and status_advice.',
    labelNames: ['account'],
    samples: ({ dep = [] }) => dep.map(({ account, isOk }) => [{ account }, isOk ? 1 : 0]),
  },
  {
    name: 'muster_backup_age_seconds',
    help:
      'Since the newest good backup was begun; absent before the first. Alert above twice ' +
      'muster_backup_interval_seconds.',
    labelNames: [],
    samples: ({ backups }) => (backups?.age === undefined ? [] : [[{}, backups.age]]),
  },
  {
    name: 'muster_backup_interval_seconds',
    help:
      'BACKUP_EVERY; absent without it. Alert while it is there and muster_backup_age_seconds is not: ' +
      'no backup was ever made.',
    labelNames: [],
    samples: ({ backups }) => (backups?.interval === undefined ? [] : [[{}, backups.interval]]),
  },
  {
    name: 'muster_credential_days_left',
    help:
      'Days until a credential expires, negative afterwards; of those with one name the first. ' +
      'Alert below 30: see /api/v1/credentials.',
    labelNames: ['kind', 'name'],
    samples: ({ credentials = [] }) => credentialSamples(credentials),
  },
  {
    name: 'muster_credential_expiry_timestamp_seconds',
    help: 'When a credential expires (Unix time), each with its id: see /api/v1/credentials.',
    labelNames: ['kind', 'id', 'name'],
    samples: ({ credentials = [] }) =>
      firstToEnd(credentials).map(({ kind, id, name, not_after }) => [
        { kind, id: id === null ? 'file' : String(id), name },
        not_after.getTime() / 1000,
      ]),
  },
];

const FAMILIES: Family<Figures>[] = [...OWN_FAMILIES, ...FLEET_FAMILIES];

/** Each credential is a time series. */
const MAX_CREDENTIALS = 200;

/** A status without jobs is 0, not unknown. */
function jobSamples(jobs: JobCount[]): Sample[] {
  const counts = new Map(STATUSES_OF_JOBS.map((status) => [status, 0]));
  for (const { status, count } of jobs) counts.set(status, count);
  return [...counts].map(([status, count]) => [{ status }, count]);
}

/** Only of jobs that wait: running and dead ones are not late. */
function latenessOf(jobs: JobCount[]): number {
  const waiting = jobs.filter(({ status }) => ['waiting', 'retrying'].includes(status));
  return Math.max(0, ...waiting.map(({ late_seconds }) => late_seconds));
}

function credentialSamples(credentials: CredentialDays[]): Sample[] {
  const latestFirst = firstToEnd(credentials).sort((a, b) => b.days_left - a.days_left);
  return latestFirst.map(({ kind, name, days_left }) => [{ kind, name }, days_left]);
}

function firstToEnd(credentials: CredentialDays[]): CredentialDays[] {
  const sorted = [...credentials].sort((a, b) => a.not_after.getTime() - b.not_after.getTime());
  return sorted.slice(0, MAX_CREDENTIALS);
}
