import { settingsText } from '../../../text/settings';
import type { PlainColumn } from '../../../ui/plain-table';
import { Status, type Tone } from '../../../ui/status';
import { Time } from '../../../ui/time';
import type { Backup } from './queries';

const words = settingsText.backups;

const TONES: Record<string, Tone> = { finished: 'ok', failed: 'bad', running: 'warn' };
const SIZE = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

export const BACKUP_COLUMNS: PlainColumn<Backup>[] = [
  {
    name: 'file',
    label: words.file,
    cell: (row) => (
      <>
        {row.file ?? '–'}
        <span className="settings-note">
          {row.is_encrypted ? words.encrypted : words.notEncrypted}
        </span>
        {row.error !== null && <span className="settings-note">{row.error}</span>}
      </>
    ),
  },
  {
    name: 'by',
    label: words.by,
    isMinor: true,
    cell: ({ created_by: by, source }) => (source === 'schedule' ? words.by_schedule : (by ?? '–')),
  },
  {
    name: 'at',
    label: words.at,
    isTight: true,
    isMinor: true,
    cell: ({ started_at: started, created_at: created }) => <Time at={started ?? created} />,
  },
  {
    name: 'size',
    label: words.size,
    isNumber: true,
    isTight: true,
    isMinor: true,
    cell: ({ bytes }) => (bytes === null || bytes === undefined ? '–' : sizeOf(bytes)),
  },
  {
    name: 'state',
    label: words.state,
    isTight: true,
    cell: ({ state, tables_done: done, tables_total: total }) => (
      <>
        <Status tone={TONES[state ?? ''] ?? 'soft'}>
          {words.states[state ?? ''] ?? String(state)}
        </Status>
        {state === 'running' && (total ?? 0) > 0 && (
          <span className="settings-note">{words.progress(done ?? 0, total ?? 0)}</span>
        )}
      </>
    ),
  },
];

function sizeOf(bytes: number): string {
  if (bytes < 1_000_000) return `${SIZE.format(bytes / 1_000)} kB`;
  return bytes < 1e9 ? `${SIZE.format(bytes / 1e6)} MB` : `${SIZE.format(bytes / 1e9)} GB`;
}
