import { text } from '../../text/en.js';
import type { Column } from '../../ui/data-table.js';
import { RelativeTime } from '../../ui/relative-time.js';
import { Status, type Tone } from '../../ui/status.js';
import type { Device } from './queries.js';

const { columns, states } = text.devices;
const TONES: Record<string, Tone> = { ok: 'good', attention: 'warn', stuck: 'bad' };

type TextColumn = 'serial_number' | 'platform' | 'os_version' | 'model_name';

function plain(name: TextColumn): Column<Device> {
  const cell = ({ attributes }: Device) => {
    const value = attributes?.[name] ?? '–';
    return <span title={value}>{value}</span>;
  };
  return { name, title: columns[name], cell };
}

const deviceName: Column<Device> = {
  name: 'device_name',
  title: columns.device_name,
  cell: ({ id, attributes }) => (
    <a href={`/devices/${id}`}>{attributes?.device_name ?? attributes?.serial_number ?? id}</a>
  ),
};

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
  deviceName,
  plain('serial_number'),
  health,
  plain('platform'),
  plain('os_version'),
  plain('model_name'),
  lastSeen,
];
