import schema from '../../fixtures/apple/checkin.json';
import type { Fields } from '../../helpers/device.js';

interface SchemaKey {
  key: string;
  type: string;
  rangelist?: string[];
  subkeys?: SchemaKey[];
}

interface SchemaItem {
  requestType: string;
  keys: SchemaKey[];
}

/** Apple's messages, each with all its keys. */
export const CHECK_INS: readonly SchemaItem[] = schema.items as SchemaItem[];
export const TYPES = CHECK_INS.map(({ requestType }) => requestType);

/** Of the messages that a user of a device may send. */
export const USER_KEYS = ['UserID', 'UserShortName', 'UserLongName', 'NotOnConsole'];

/** Values for keys that do not accept every value of their type. */
const VALUES: Fields = {
  MessageType: 'none',
  ModelName: 'MacBook Pro',
  ProductName: 'MacBookPro18,1',
  Endpoint: 'status',
  Data: Buffer.from('{"StatusItems":{},"Errors":[]}'),
};

function sampleOf({ key, type, rangelist, subkeys = [] }: SchemaKey): Fields[string] {
  if (rangelist !== undefined) return rangelist[0] ?? '';
  const fixed = VALUES[key];
  if (fixed !== undefined) return fixed;
  if (type === 'string') return `${key} of the test`;
  if (type === 'data') return Buffer.from(`${key} of the test`);
  if (type === 'boolean') return true;
  if (type === 'dictionary')
    return Object.fromEntries(subkeys.map((sub) => [sub.key, sampleOf(sub)]));
  throw new Error(`no sample for the type ${type} of ${key}`);
}

/** The message with every key that Apple's schema has, or with all but some. */
export function sampleMessage(requestType: string, without: readonly string[] = []): Fields {
  const item = CHECK_INS.find((one) => one.requestType === requestType);
  if (item === undefined) throw new Error(`Apple has no ${requestType}`);
  const keys = item.keys.filter(({ key }) => !without.includes(key));
  return Object.fromEntries(keys.map((key) => [key.key, sampleOf(key)]));
}
