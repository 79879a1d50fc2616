import type { PlistRead } from './plist-node.js';
import { hasIllegalCharacter, newDict, type PlistDict } from './plist-value.js';

export const XML_DECLARATION =
  /<\?xml\s+version\s*=\s*["']1\.[01]["'](?:\s+encoding\s*=\s*["']([\w.-]+)["'])?(?:\s+standalone\s*=\s*["'](?:yes|no)["'])?\s*\?>/y;
export const DOCTYPE =
  /<!DOCTYPE\s+plist(?:\s+(?:PUBLIC\s+(?:"[^"]*"|'[^']*')|SYSTEM)\s+(?:"[^"]*"|'[^']*'))?\s*>/y;
export const PLIST_OPEN = /<plist(?:\s+[\w:.-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*\s*>/y;
export const PLIST_CLOSE = /<\/plist\s*>/y;
const ENTITY = /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-fA-F]{1,6}));|&/g;
const NAMED: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** One open container: a dictionary, waiting for a key or holding one, or an array. */
export interface Frame {
  dict: PlistDict | undefined;
  array: PlistRead[] | undefined;
  /** A dictionary that keeps the order of its keys. */
  map: Map<string, PlistRead> | undefined;
  key: string | undefined;
}

/** Of one shape whatever it is, for the engine's sake. */
export function dictFrame(exact: boolean): Frame {
  if (exact) return { dict: undefined, array: undefined, map: new Map(), key: undefined };
  return { dict: newDict(), array: undefined, map: undefined, key: undefined };
}

export function arrayFrame(): Frame {
  return { dict: undefined, array: [], map: undefined, key: undefined };
}

/** Puts in what entities and character references stand for. `fail` throws. */
export function decodeReferences(raw: string, fail: (reason: string) => never): string {
  return raw.replace(ENTITY, (all, name?: string, decimal?: string, hex?: string) => {
    if (name !== undefined) return NAMED[name] ?? '';
    if (all === '&') fail('unknown entity');
    const code = decimal === undefined ? Number(`0x${hex}`) : Number(decimal);
    const character = code > 0x10ffff ? '\0' : String.fromCodePoint(code);
    if (hasIllegalCharacter(character)) fail('reference to an illegal character');
    return character;
  });
}
