import { findOwnersOfSerials } from '../../db/devices/device-repository.js';
import type { Columns } from './report-columns.js';
import type { HandlerContext, Report } from './report-handler.js';

/** They identify the hardware, which a user enrollment hides. */
const HARDWARE_COLUMNS = ['serial_number', 'imei', 'meid'];
const HARDWARE_KEYS = ['IMEI', 'MEID'];

const OTHER_SERIAL = 'a device reports another serial number';
const SERIAL_OF_ANOTHER = 'a device reports the serial number of another one';

/** What a DeviceInformation report fills. */
export interface ReportedColumns {
  report: Report;
  columns: Columns;
}

/** The columns of each report that may be written to the record of its device. */
export async function acceptedColumns(
  reported: readonly ReportedColumns[],
  { trx, warn }: HandlerContext,
): Promise<Columns[]> {
  const owners = new SerialOwners(await findOwnersOfSerials(trx, missingSerials(reported)));
  return reported.map(({ report, columns }) => {
    if (report.isUserEnrollment) return withoutHardware(columns);
    const { serial_number: serial, ...others } = columns;
    if (typeof serial !== 'string') return others;
    const { deviceId, serialNumber } = report;
    const about = { deviceId, serialNumber, reported: serial };
    // Only Authenticate may change a serial number, by its own rules: a report may add a missing one.
    if (isKnown(serialNumber)) {
      const isSame = serialNumber.toUpperCase() === serial.toUpperCase();
      if (!isSame) warn(report, about, OTHER_SERIAL);
      return others;
    }
    if (owners.claim(serial, deviceId)) return columns;
    warn(report, about, SERIAL_OF_ANOTHER);
    return others;
  });
}

function isKnown(serial: string | null): serial is string {
  return serial !== null && serial !== '';
}

/** Serial numbers that reports would add. */
function missingSerials(reported: readonly ReportedColumns[]): string[] {
  return reported
    .filter(({ report }) => !report.isUserEnrollment && !isKnown(report.serialNumber))
    .map(({ columns }) => columns.serial_number)
    .filter((serial) => typeof serial === 'string' && serial !== '') as string[];
}

/** Which device has a serial number, after the reports so far. */
class SerialOwners {
  readonly #ids = new Map<string, Set<number>>();

  constructor(owners: readonly { id: number; serial: string }[]) {
    for (const { id, serial } of owners) this.#add(serial, id);
  }

  /** False if another device has it, as written or in upper case. */
  claim(serial: string, deviceId: number): boolean {
    const others = [serial, serial.toUpperCase()].flatMap((at) => [...(this.#ids.get(at) ?? [])]);
    if (others.some((id) => id !== deviceId)) return false;
    this.#add(serial, deviceId);
    return true;
  }

  #add(serial: string, id: number): void {
    const ids = this.#ids.get(serial);
    if (ids === undefined) this.#ids.set(serial, new Set([id]));
    else ids.add(id);
  }
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
