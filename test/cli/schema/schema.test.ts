import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UsageError } from '../../../src/cli/options.js';
import { updateSchema } from '../../../src/cli/schema/schema.js';
import {
  removeTemporaryDirectories,
  temporaryDirectory,
} from '../../helpers/temporary-directory.js';
import { SCHEMA, writeAppleFolder } from './apple-yaml.js';

const FILES = ['commands.json', 'profiles.json', 'skipkeys.json'];

let from: string;
let to: string;
let lines: string[];

beforeEach(() => {
  from = temporaryDirectory();
  to = temporaryDirectory();
  lines = [];
});
afterAll(removeTemporaryDirectories);

function update() {
  updateSchema({ from, to, write: (line) => lines.push(line) });
}

const written = (name: string) => readFileSync(join(to, name), 'utf8');
const afterSource = (text: string) => text.slice(text.indexOf('"count"'));

const chosen = ({ requestType, file }: { requestType?: string; file: string }) =>
  requestType === undefined ? /wifi|skipkeys/.test(file) : requestType === 'DeviceLock';

const NESTED = `title: Nested Command
description: A command of the test.
payload:
  requesttype: Nested
  supportedOS:
    iOS:
      introduced: 10.12.4
      supervised: true
    macOS:
      introduced: n/a
  content: Prose that goes on
    in the next line.
payloadkeys:
- key: Folders
  title: Folders
  type: <array>
  presence: optional
  repetition:
    min: 1
    max: 3
  subkeytype: Folder
  subkeys: &id001
  - key: Folder
    type: <dictionary>
    subkeys:
    - key: Factor
      type: <real>
      default: 2.0
      range:
        min: -1.5
        max: 9
      content: |-
        A list:

        - \`one\`: 1.0
    - key: Folders
      type: <array>
      presence: optional
      subkeys: *id001
responsekeys:
- key: Where
  type: <string>
  subtype: <url>
`;

describe('muster schema update', () => {
  it("makes the program's own data, byte for byte, of Apple's files", () => {
    writeAppleFolder(from);
    update();
    for (const name of FILES) {
      const own = readFileSync(join(SCHEMA, name), 'utf8');
      expect([name, afterSource(written(name)) === afterSource(own)]).toEqual([name, true]);
    }
    expect(written('LICENSE.apple-device-management.txt')).toBe('the licence of the test\n');
    expect(lines.slice(0, 3)).toEqual([
      'commands.json: 68 items',
      'profiles.json: 128 items',
      'skipkeys.json: 1 items',
    ]);
  });

  it('reads block text, quotes and aliases as Apple writes them', () => {
    writeAppleFolder(from, chosen);
    writeFileSync(join(from, 'mdm/commands/device.lock.yaml'), NESTED);
    update();
    expect(afterSource(written('commands.json'))).toBe(`"count":1,
"items":[
{"requestType":"Nested","label":"Nested Command","file":"mdm/commands/device.lock.yaml",
 "os":{"iOS":{"introduced":"10.12.4","supervised":true},
  "macOS":{"introduced":"n/a"}},
 "keys":[
  {"key":"Folders","type":"array","presence":"optional","repetition":{"min":1,"max":3},"subkeytype":"Folder","subkeys":[
   {"key":"Folder","type":"dictionary","subkeys":[
    {"key":"Factor","type":"real","default":2.0,"range":{"min":-1.5,"max":9}},
    {"key":"Folders","type":"array","presence":"optional","subkeysOf":"Folders"}
   ]}
  ]}
 ],
 "response":[
  {"key":"Where","type":"string","subtype":"url"}
 ]}
]}
`);
  });

  it('lists what is new and what was removed, and the commit', () => {
    writeAppleFolder(from, (item) => chosen(item) || item.requestType === 'EraseDevice');
    update();
    writeAppleFolder(from, (item) => item.requestType === 'UserList');
    rmSync(join(from, 'mdm/commands/device.erase.yaml'));
    mkdirSync(join(from, '.git/refs/heads'), { recursive: true });
    writeFileSync(join(from, '.git/HEAD'), 'ref: refs/heads/release\n');
    writeFileSync(join(from, '.git/refs/heads/release'), `${'a1'.repeat(20)}\n`);
    update();
    expect(lines).toContain('commands.json: 2 items, new: UserList; gone: EraseDevice');
    expect(JSON.parse(written('commands.json')).source).toEqual({
      repo: 'apple/device-management',
      commit: 'a1'.repeat(20),
      os: { iOS: '9.3', macOS: '11.5', visionOS: '2.0', watchOS: '10.0' },
      license: 'MIT, Copyright © Apple Inc., see LICENSE.apple-device-management.txt',
    });
  });

  it.each([
    ['mdm/commands', /mdm\/commands is missing\. Clone it: git clone/],
    ['mdm/profiles', /mdm\/profiles is missing/],
    ['other/skipkeys.yaml', /other\/skipkeys\.yaml is missing/],
    ['LICENSE.txt', /LICENSE\.txt is missing/],
    ['mdm/commands/device.lock.yaml', /there is no YAML file/],
  ])('refuses a folder without %s', (path, message) => {
    writeAppleFolder(from, chosen);
    rmSync(join(from, path), { recursive: true });
    expect(update).toThrow(message);
    expect(() => written('commands.json')).toThrow('ENOENT');
  });

  it.each([
    ['a: [1', /device\.lock\.yaml: Flow sequence/],
    ['title: only', /device\.lock\.yaml: it has no payload with requesttype/],
    ['payload:\n  payloadtype: x', /it has no payload with requesttype/],
    ['payload:\n  requesttype: x\npayloadkeys: 1', /its payloadkeys are no list/],
    ['payload:\n  requesttype: x\npayloadkeys:\n- key: a', /a key has no name or no type/],
    [
      'payload:\n  requesttype: x\npayloadkeys:\n- key: a\n  type: <bogus>',
      /its key a is of the unknown type <bogus>/,
    ],
    [
      `a: &a [${'1,'.repeat(40)}]\nb: &b [${'*a,'.repeat(40)}]\nc: [${'*b,'.repeat(40)}]`,
      /device\.lock\.yaml: Excessive alias count/,
    ],
    ['payload:\n  requesttype: __proto__', /its requesttype "__proto__" has other characters/],
  ])('refuses the file %j and leaves the schema as it is', (text, message) => {
    writeAppleFolder(from, chosen);
    update();
    const before = written('commands.json');
    writeFileSync(join(from, 'mdm/commands/device.lock.yaml'), text);
    expect(update).toThrow(message);
    expect(written('commands.json')).toBe(before);
  });

  it('refuses a folder in place of a file', () => {
    writeAppleFolder(from, chosen);
    mkdirSync(join(from, 'mdm/commands/folder.yaml'));
    expect(update).toThrow('mdm/commands/folder.yaml: it is no file');
  });

  it('names a file that it cannot read, and a folder that it cannot write to', () => {
    writeAppleFolder(from, chosen);
    const link = join(from, 'mdm/commands/link.yaml');
    symlinkSync(join(from, 'nowhere'), link);
    expect(update).toThrow(UsageError);
    expect(update).toThrow(/ENOENT.*link\.yaml.*Make the file readable, or the folder writable/);
    rmSync(link);
    mkdirSync(join(to, 'commands.json.new'));
    expect(update).toThrow(UsageError);
    expect(update).toThrow(/EISDIR.*commands\.json\.new/);
  });

  it('refuses two files for one command', () => {
    writeAppleFolder(from, chosen);
    writeFileSync(join(from, 'mdm/commands/a.yaml'), NESTED);
    writeFileSync(join(from, 'mdm/commands/b.yaml'), NESTED);
    expect(update).toThrow(
      new UsageError('mdm/commands/b.yaml: Nested is in mdm/commands/a.yaml already; remove one'),
    );
    expect(readdirSync(to)).toEqual([]);
  });

  it.each([
    ['a file that is no JSON', (file: string) => writeFileSync(file, 'no JSON')],
    ['a folder', (file: string) => mkdirSync(file)],
  ])('writes nothing where %s stands in the place of one', (_name, put) => {
    writeAppleFolder(from, chosen);
    put(join(to, 'profiles.json'));
    expect(update).toThrow(UsageError);
    expect(update).toThrow(/profiles\.json is no schema, and nothing was written\. Remove it: /);
    expect(readdirSync(to)).toEqual(['profiles.json']);
  });

  it('refuses to write into a file', () => {
    writeAppleFolder(from, chosen);
    to = join(to, 'file');
    writeFileSync(to, '');
    expect(update).toThrow(
      new UsageError(`${to} is a file: name a folder, the schema is several files`),
    );
  });

  it('refuses to write where there is no folder', () => {
    writeAppleFolder(from, chosen);
    to = join(to, 'missing');
    expect(update).toThrow(/there is no such folder/);
  });
});
