import { PageLinks } from '../../../api/page-links';
import { settingsText } from '../../../text/settings';
import { Button } from '../../../ui/button';
import { type PlainColumn, PlainTable } from '../../../ui/plain-table';
import { Status, type Tone } from '../../../ui/status';
import { Time } from '../../../ui/time';
import type { Job } from './queries';

const words = settingsText.jobs;

const TONES: Record<string, Tone> = { dead: 'bad', retrying: 'warn', running: 'ok' };

const COLUMNS: PlainColumn<Job>[] = [
  {
    name: 'task',
    label: words.task,
    cell: ({ task, key, last_error: error }) => (
      <>
        {task}
        {key !== null && <span className="settings-note">{key}</span>}
        {typeof error === 'string' && (
          <span className="settings-note">
            {error}
            <PageLinks text={error} />
          </span>
        )}
      </>
    ),
  },
  {
    name: 'attempts',
    label: words.attempts,
    isNumber: true,
    isTight: true,
    isMinor: true,
    cell: ({ attempts, max_attempts: most }) => `${attempts} / ${most}`,
  },
  {
    name: 'due',
    label: words.due,
    isTight: true,
    isMinor: true,
    cell: ({ run_at: at }) => <Time at={at} />,
  },
  {
    name: 'status',
    label: words.status,
    isTight: true,
    cell: ({ status }) => (
      <Status tone={TONES[status ?? ''] ?? 'soft'}>
        {words.statuses[status ?? ''] ?? String(status)}
      </Status>
    ),
  },
];

interface Props {
  rows: readonly Job[];
  onRetry: ((job: Job) => void) | undefined;
}

/** Dead jobs, and those that wait for their next attempt, can be made due. */
export function JobTable({ rows, onRetry }: Props) {
  const actions: PlainColumn<Job> = {
    name: 'actions',
    label: words.actions,
    isActions: true,
    cell: (job) =>
      (job.status === 'dead' || job.status === 'retrying') && (
        <Button
          kind="quiet"
          aria-label={words.retryNamed(job.task ?? '')}
          onPress={() => onRetry?.(job)}
        >
          {words.retry}
        </Button>
      ),
  };
  const columns = onRetry === undefined ? COLUMNS : [...COLUMNS, actions];
  return <PlainTable label={words.table} columns={columns} rows={rows} />;
}
