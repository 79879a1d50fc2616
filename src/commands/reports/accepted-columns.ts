import { hasOtherDevice } from '../../db/devices/device-repository.js';
import type { Columns } from './report-columns.js';
import type { HandlerContext, Report } from './report-handler.js';

/** They identify the hardware, which a user enrollment hides. */
const HARDWARE_COLUMNS = ['serial_number', 'imei', 'meid'];
const HARDWARE_KEYS = ['IMEI', 'MEID'];

const OTHER_SERIAL = 'a device reports another serial number';
const SERIAL_OF_ANOTHER = 'a device reports the serial number of another one';

/** The columns of a DeviceInformation report that may be written to the device's record. */
export async function acceptedColumns(
  columns: Columns,
  report: Report,
  context: HandlerContext,
): Promise<Columns> {
  if (report.isUserEnrollment) return withoutHardware(columns);
  const { serial_number: reported, ...others } = columns;
  if (typeof reported !== 'string') return others;
  return (await isNewSerial(reported, report, context)) ? columns : others;
}

/** Only Authenticate may change a serial number, by its own rules: a report may add a missing one. */
async function isNewSerial(
  reported: string,
  { deviceId, serialNumber }: Report,
  { trx, warn }: HandlerContext,
): Promise<boolean> {
  const known = serialNumber ?? '';
  if (known.toUpperCase() === reported.toUpperCase()) return false;
  if (known === '' && !(await hasOtherDevice(trx, deviceId, reported))) return true;
  const about = { deviceId, serialNumber, reported };
  warn(about, known === '' ? SERIAL_OF_ANOTHER : OTHER_SERIAL);
  return false;
}

function withoutHardware(columns: Columns): Columns {
  const entries = Object.entries(columns).filter(([column]) => !HARDWARE_COLUMNS.includes(column));
  return Object.fromEntries(
    entries.map(([column, value]) => [
      column,
      column === 'service_subscriptions' ? subscriptionsWithoutHardware(value) : value,
    ]),
  );
}

function subscriptionsWithoutHardware(value: unknown): unknown {
  if (!Array.isArray(value)) return null;
  return value.map((subscription: unknown) => {
    if (typeof subscription !== 'object' || subscription === null) return null;
    const entries = Object.entries(subscription);
    return Object.fromEntries(entries.filter(([key]) => !HARDWARE_KEYS.includes(key)));
  });
}
