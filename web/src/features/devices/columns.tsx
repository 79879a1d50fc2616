import { text } from '../../text/en.js';
import type { Column } from '../../ui/data-table.js';
import { RelativeTime } from '../../ui/relative-time.js';
import { Status, type Tone } from '../../ui/status.js';
import type { Device } from './queries.js';

const { columns, states } = text.devices;
const TONES: Record<string, Tone> = { ok: 'good', attention: 'warn', stuck: 'bad' };

type TextColumn = 'device_name' | 'serial_number' | 'platform' | 'os_version' | 'model_name';

function plain(name: TextColumn): Column<Device> {
  const cell = ({ attributes }: Device) => {
    const value = attributes?.[name] ?? '–';
    return <span title={value}>{value}</span>;
  };
  return { name, title: columns[name], cell };
}

const health: Column<Device> = {
  name: 'health',
  title: columns.health,
  cell: ({ attributes }) => {
    const value = attributes?.health ?? 'none';
    return <Status tone={TONES[value] ?? 'none'} label={states[value]} />;
  },
};

const lastSeen: Column<Device> = {
  name: 'last_seen',
  title: columns.last_seen,
  cell: ({ attributes }) => <RelativeTime time={attributes?.last_seen} />,
};

export const deviceColumns: Column<Device>[] = [
  plain('device_name'),
  plain('serial_number'),
  health,
  plain('platform'),
  plain('os_version'),
  plain('model_name'),
  lastSeen,
];
