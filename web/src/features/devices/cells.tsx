import { labelOfFact } from '../../text/device-facts';
import { devicesText as words } from '../../text/devices';
import { Status, type Tone } from '../../ui/status';
import type { Column } from '../../ui/table';
import { Time } from '../../ui/time';
import { ATTRIBUTES } from './attributes';
import type { DeviceRow } from './queries';

export const HEALTH_TONES: Record<string, Tone> = { ok: 'ok', attention: 'warn', stuck: 'bad' };

export function columnOf(name: string, chosenWidth?: number): Column<DeviceRow> {
  const { kind = 'text', width = 140 } = ATTRIBUTES[name] ?? {};
  return {
    name,
    label: labelOfFact(name),
    width,
    chosenWidth,
    isNumber: kind === 'number',
    cell: (row) => cellOf(name, row),
  };
}

function cellOf(name: string, row: DeviceRow) {
  const value: unknown = row[name as keyof DeviceRow];
  if (name === 'health') return <Health value={value} />;
  if (ATTRIBUTES[name]?.kind === 'time') return <Time at={value as string | null} />;
  if (value === null || value === undefined || value === '') return <span className="soft">–</span>;
  if (typeof value === 'boolean') return value ? words.yes : words.no;
  const shown = String(value);
  return <span title={shown}>{shown}</span>;
}

export function Health({ value }: { value: unknown }) {
  if (typeof value !== 'string') return <span className="soft">–</span>;
  return <Status tone={HEALTH_TONES[value] ?? 'soft'}>{words.health[value] ?? value}</Status>;
}
