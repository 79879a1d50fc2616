import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';

export const SCHEMA = join(__dirname, '..', '..', '..', 'src', 'protocol', 'apple');

interface Key {
  key: string;
  type: string;
  subtype?: string;
  os?: object;
  subkeys?: Key[];
  subkeysOf?: string;
}

interface Item {
  requestType?: string;
  payloadType?: string;
  label?: string;
  file: string;
  os?: object;
  keys?: Key[];
  response?: Key[];
}

/** A real such as 2.0, which JavaScript would write as 2. */
const REAL = /(?<=[:,[])-?\d+\.\d+(?=[,\]}])/g;

export function itemsOf(name: string): Item[] {
  const text = readFileSync(join(SCHEMA, name), 'utf8').replace(REAL, '"real $&"');
  return (JSON.parse(text) as { items: Item[] }).items;
}

/** A folder as Apple's repository is, with the items of our data as Apple writes them. */
export function writeAppleFolder(root: string, choose: (item: Item) => boolean = () => true): void {
  for (const name of ['commands.json', 'profiles.json', 'skipkeys.json']) {
    for (const item of itemsOf(name).filter(choose)) {
      const file = join(root, item.file);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, yamlOf(item));
    }
  }
  writeFileSync(join(root, 'LICENSE.txt'), 'the licence of the test\n');
}

function yamlOf({ requestType, payloadType, label, os, keys, response }: Item): string {
  const names = { requesttype: requestType, payloadtype: payloadType, supportedOS: os };
  const whole = {
    title: label ?? 'A title that is longer than sixty characters, which is no label here',
    description: 'Prose: left out.',
    payload: { ...names, content: 'More prose.' },
    payloadkeys: keys && appleKeys(keys),
    responsekeys: response && appleKeys(response),
    notes: [{ title: '', content: 'And more.' }],
  };
  return stringify(whole).replace(/"?real (-?\d+\.\d+)"?/g, '$1');
}

type Above = { name: string; subkeys: object[] }[];

function appleKeys(keys: Key[], above: Above = []): object[] {
  return keys.map((key) => appleKey(key, above));
}

function appleKey({ os, subkeys, subkeysOf, type, subtype, ...rest }: Key, above: Above): object {
  const key: Record<string, unknown> = { ...rest, title: 'Prose', type: `<${type}>` };
  if (subtype !== undefined) key.subtype = `<${subtype}>`;
  if (os !== undefined) key.supportedOS = os;
  if (subkeysOf !== undefined) {
    const depth = subkeysOf.split('.').length;
    // The same list again: an alias in YAML.
    key.subkeys = above[depth - 1]?.subkeys;
  } else if (subkeys !== undefined) {
    const list: object[] = [];
    list.push(...appleKeys(subkeys, [...above, { name: rest.key, subkeys: list }]));
    key.subkeys = list;
  }
  return key;
}
