import { BinaryPlist, head, refs } from '../protocol/plist/binary-plist.js';

/** Kinds of bodies that a reader may take long over, each filled up to about so many bytes. */
export const LARGE_KINDS: Record<string, (bytes: number) => string> = {
  entities: (bytes) => text('&amp;', bytes),
  'character references': (bytes) => text('&#65;', bytes),
  'carriage returns': (bytes) => text('\r', bytes),
  'CDATA sections': (bytes) => text('<![CDATA[x]]>', bytes),
  comments: (bytes) => '<!---->'.repeat(bytes / 7),
  'wide characters': (bytes) => text('漢', bytes),
  'data with white space': (bytes) => `<data>${'A A A A '.repeat(bytes / 8)}</data>`,
  dates: (bytes) => array('<date>2026-01-01T00:00:00Z</date>', bytes),
  'small data': (bytes) => array('<data>AAAA</data>', bytes),
  'deep arrays': (bytes) =>
    array('<array>'.repeat(58) + '</array>'.repeat(58), Math.min(bytes, 6_000_000)),
  keys: (bytes) =>
    `<dict>${Array.from({ length: Math.min(bytes / 24, 240_000) }, (_, at) => `<key>k${at}</key><true/>`).join('')}</dict>`,
  applications: (bytes) =>
    array(
      '<dict><key>Identifier</key><string>com.example.app</string><key>Name</key><string>A &amp; B</string></dict>',
      Math.min(bytes, 1_000_000),
    ),
};

function text(piece: string, bytes: number): string {
  return `<string>${piece.repeat(bytes / Buffer.byteLength(piece))}</string>`;
}

function array(element: string, bytes: number): string {
  return `<array>${element.repeat(bytes / element.length)}</array>`;
}

/** A message whose members are simple, and one more value of markup. */
export function largeMessage(
  members: Record<string, string>,
  [key, markup]: [key: string, markup: string],
): Buffer {
  const simple = Object.entries(members).map(
    ([name, value]) => `<key>${name}</key><string>${value}</string>`,
  );
  return Buffer.from(
    `<plist version="1.0"><dict>${simple.join('')}<key>${key}</key>${markup}</dict></plist>`,
  );
}

/** Arrays of arrays that refer to the same array ten times each: 10^levels values. */
export function laughs(levels: number): Buffer {
  const plist = new BinaryPlist();
  let top = plist.value('ha');
  for (let level = 0; level < levels; level++) top = plist.array(Array(10).fill(top));
  return plist.bytes(top);
}

/** A dictionary whose many keys are the same wide text. */
export function wideKeys(count: number, length: number): Buffer {
  const plist = new BinaryPlist();
  const key = plist.value('漢'.repeat(length));
  const value = plist.value(true);
  const references = [...Array(count).fill(key), ...Array(count).fill(value)];
  return plist.bytes(plist.add(head(0xd, count), refs(references)));
}
