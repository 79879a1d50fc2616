import { AppError, type ErrorDetail, validationError } from '../../errors.js';
import type { Transaction } from '../../jsonapi/context.js';
import type { StatementPart } from '../../jsonapi/create-plan.js';
import type { Attribute } from '../../jsonapi/definition/attributes.js';
import type { Row } from '../../jsonapi/store.js';
import { changedAttributes } from '../common.js';
import {
  depServices,
  hardware,
  identity,
  management,
  network,
  security,
  updateSettings,
} from './device-attributes.js';

/** What a device is known by; a record needs one of them. */
export const IDENTIFIERS = ['udid', 'enrollment_id', 'serial_number'];

/** What an admin owns of an enrolled device. */
const OWNED = ['device_name', 'hostname', 'asset_tag', 'description', 'access_rights'];

const { udid, enrollment_id, platform, topic } = identity as Record<string, Attribute>;
const { is_dep, color } = depServices as Record<string, Attribute>;

/** Attributes that an enrolled device, or DEP, reports. */
const FACTS = Object.entries({
  udid,
  enrollment_id,
  platform,
  topic,
  is_dep,
  color,
  ...hardware,
  ...network,
  ...management,
  ...security,
  ...updateSettings,
}).flatMap(([name, attribute]) => {
  // What changes all the time can't be sent back as it is: a stale value is ignored.
  const isFact = attribute?.volatile !== true && !OWNED.includes(name);
  return attribute && isFact ? [{ name, attribute }] : [];
});

export const FACT_NAMES = FACTS.map(({ name }) => name);

type Values = Record<string, unknown>;

/** What an update of an enrolled device may store. */
export function ownedAttributes(attributes: Values): Values {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => OWNED.includes(name)));
}

/** AppError 422 naming each fact that the document would change of an enrolled device. */
export function assertFactsUnchanged(device: Row, given: Values): void {
  const sent = FACTS.filter(({ name }) => Object.hasOwn(given, name));
  const pick = (values: Values) =>
    Object.fromEntries(
      sent.map(({ name, attribute }) => [name, comparable(values[name], attribute)]),
    );
  const faults = Object.keys(changedAttributes(pick(device), pick(given))).map(
    (name): ErrorDetail => ({
      detail: `${name} is reported by the device: it can't be changed while the device is enrolled`,
      source: { pointer: `/data/attributes/${name}` },
    }),
  );
  if (faults.length > 0) throw validationError(faults);
}

function comparable(value: unknown, { ignoreCase }: Attribute): unknown {
  return ignoreCase && typeof value === 'string' ? value.toLowerCase() : value;
}

export interface DeviceRecords {
  /**
   * The devices that have one of these identifiers, by the column's name. Locks the identifiers
   * until the transaction ends.
   */
  findOwners(
    trx: Transaction,
    identifiers: [name: string, value: string][],
  ): Promise<{ id: number; name: string }[]>;
  /** The same as the guard of a plan: no row if there is such a device. */
  guardOfNew(identifiers: [name: string, value: string][]): StatementPart;
}

/** What the record of the device will be known by. */
export function identifiersIn(attributes: Values): [name: string, value: string][] {
  return IDENTIFIERS.flatMap((name): [string, string][] => {
    const value = attributes[name];
    return typeof value === 'string' && value !== '' ? [[name, value]] : [];
  });
}

/** AppError 409 naming the devices that one of the identifiers belongs to. */
export async function assertDeviceIsNew(
  trx: Transaction,
  devices: DeviceRecords,
  attributes: Values,
): Promise<void> {
  const details = (await devices.findOwners(trx, identifiersIn(attributes))).map(
    ({ id, name }): ErrorDetail => ({
      detail: `devices ${id} has this ${name} already`,
      source: { pointer: `/data/attributes/${name}` },
    }),
  );
  if (details.length === 0) return;
  const message = details.map(({ detail }) => detail).join('; ');
  throw new AppError('already_exists', 409, message, { details });
}
