import { hasOtherDevice } from '../db/devices/device-repository.js';
import type { HandlerContext, Report } from './report.js';

export type Facts = Record<string, unknown>;

/** What tells the hardware, which a user enrollment hides. */
const HARDWARE_COLUMNS = ['serial_number', 'imei', 'meid'];
const HARDWARE_KEYS = ['IMEI', 'MEID'];

/** What a report may change of the record, and no more. */
export async function believableFacts(
  facts: Facts,
  report: Report,
  context: HandlerContext,
): Promise<Facts> {
  if (report.isUserEnrollment) return withoutHardware(facts);
  const { serial_number: reported, ...others } = facts;
  if (typeof reported !== 'string') return others;
  const isNews = await isNewSerial(reported, report, context);
  return isNews ? facts : others;
}

/** The serial number is Authenticate's to change, which has its rules: a report fills in what lacks. */
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

const OTHER_SERIAL = 'a device reports another serial number';
const SERIAL_OF_ANOTHER = 'a device reports the serial number of another one';

function withoutHardware(facts: Facts): Facts {
  const entries = Object.entries(facts).filter(([column]) => !HARDWARE_COLUMNS.includes(column));
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
