import { addEntry, type PlistNode, type PlistRead, wholeSeconds } from './plist-node.js';
import { parseData, parseDate, parseInteger, parseReal } from './plist-scalars.js';
import {
  hasIllegalCharacter,
  invalidPlist,
  type PlistDict,
  type PlistLimits,
  type PlistValue,
} from './plist-value.js';
import {
  arrayFrame,
  DOCTYPE,
  decodeReferences,
  dictFrame,
  emptyValue,
  type Frame,
  MAX_PROLOG_TAG_LENGTH,
  PLIST_CLOSE,
  PLIST_OPEN,
  XML_DECLARATION,
} from './plist-xml-syntax.js';

/**
 * Reads an XML property list whose lines end in line feeds: strict, iterative, in one pass. A
 * DOCTYPE with an internal subset is refused, so no entity can be declared. If a key occurs twice in a
 * dictionary the last one wins. Throws AppError invalid_plist.
 */
export function readXmlPlist(text: string, limits: PlistLimits): PlistValue {
  return new XmlReader(text, limits, false).read() as PlistValue;
}

/** The same without loss; two equal keys in a dictionary are refused. */
export function readXmlNodes(text: string, limits: PlistLimits): PlistNode {
  return new XmlReader(text, limits, true).read() as PlistNode;
}

class XmlReader {
  private pos = 0;
  private nodes = 0;
  private references = 0;
  private readonly stack: Frame[] = [];
  private top: Frame | undefined;
  private root: PlistRead | undefined;

  constructor(
    private readonly text: string,
    private readonly limits: PlistLimits,
    private readonly exact: boolean,
  ) {}

  read(): PlistRead {
    this.prolog();
    while (!this.atPlistClose()) this.element();
    this.misc();
    if (this.pos !== this.text.length) this.fail('something follows the end of the document');
    if (this.root === undefined) throw invalidPlist('it holds no value');
    return this.root;
  }

  private prolog(): void {
    const declaration = this.match(XML_DECLARATION);
    if (declaration?.[1] && !/^(utf-?8|us-ascii)$/i.test(declaration[1])) {
      this.fail('its encoding is not UTF-8');
    }
    this.misc();
    if (this.text.startsWith('<!DOCTYPE', this.pos) && !this.match(DOCTYPE)) {
      this.fail('its DOCTYPE declares something or is not that of a property list');
    }
    this.misc();
    if (!this.match(PLIST_OPEN)) this.fail('there is no plist element');
  }

  private match(pattern: RegExp): RegExpExecArray | null {
    const found = pattern.exec(this.text.slice(this.pos, this.pos + MAX_PROLOG_TAG_LENGTH));
    if (found) this.pos += found[0].length;
    return found;
  }

  /** White space and comments. */
  private misc(): void {
    for (;;) {
      this.skipSpace();
      if (this.text.charCodeAt(this.pos + 1) !== 33) return;
      if (!this.text.startsWith('<!--', this.pos)) return;
      this.comment();
    }
  }

  private comment(): void {
    this.count();
    const end = this.text.indexOf('--', this.pos + 4);
    if (end < 0 || this.text[end + 2] !== '>') this.fail('bad comment');
    if (hasIllegalCharacter(this.text.slice(this.pos, end))) this.fail('illegal character');
    this.pos = end + 3;
  }

  private skipSpace(): void {
    const text = this.text;
    let code = text.charCodeAt(this.pos);
    while (code === 9 || code === 10 || code === 32) code = text.charCodeAt(++this.pos);
  }

  private atPlistClose(): boolean {
    this.misc();
    if (this.top !== undefined || this.text.charCodeAt(this.pos + 1) !== 47) return false;
    if (!this.match(PLIST_CLOSE)) this.fail('mismatched end tag');
    return true;
  }

  /** One tag and, for a scalar, its content and end tag. */
  private element(): void {
    if (this.text.charCodeAt(this.pos) !== 60) this.fail('text or end where a tag is due');
    const end = this.text.indexOf('>', this.pos);
    if (end < 0) this.fail('unclosed tag');
    const tag = this.text.slice(this.pos + 1, end).trimEnd();
    this.pos = end + 1;
    if (tag === 'key') this.key(this.content('key'));
    else if (tag === 'string') this.value(this.content('string'));
    else if (tag === 'dict') this.open(dictFrame(this.exact));
    else if (tag === '/dict') this.close(this.top?.dict ?? this.top?.map);
    else if (tag === 'array') this.open(arrayFrame());
    else if (tag === '/array') this.close(this.top?.array);
    else this.value(this.scalar(tag));
  }

  private scalar(tag: string): PlistRead {
    switch (tag) {
      case 'integer':
        return this.integer();
      case 'true/':
        return true;
      case 'false/':
        return false;
      case 'data':
        return this.data();
      case 'date':
        return this.date();
      case 'real':
        return parseReal(this.content('real'));
      case 'true':
      case 'false':
        return this.spelledOut(tag);
      default:
        return this.empty(tag);
    }
  }

  private integer(): number | bigint {
    const value = parseInteger(this.content('integer'));
    return this.exact ? BigInt(value) : value;
  }

  private date(): Date {
    const date = parseDate(this.content('date'));
    return this.exact ? wholeSeconds(date) : date;
  }

  /**
   * Straight from the document when it is nothing but base64, whose alphabet the decoder checks.
   */
  private data(): Buffer {
    const start = this.pos;
    const end = this.text.indexOf('<', start);
    if (end < 0 || !this.text.startsWith('</data>', end)) return parseData(this.content('data'));
    this.pos = end + 7;
    return parseData(this.text.slice(start, end));
  }

  /** `<true></true>`, as some encoders write it. */
  private spelledOut(tag: string): boolean {
    if (this.content(tag).trim() !== '') this.fail(`${tag} holds text`);
    return tag === 'true';
  }

  private empty(tag: string): PlistRead {
    const name = tag.endsWith('/') ? tag.slice(0, -1).trimEnd() : '';
    if (name === 'dict' || name === 'array') this.checkDepth();
    const value = emptyValue(name, this.exact);
    if (value === undefined) {
      this.fail(`unknown, empty or mismatched element '${tag.slice(0, 40)}'`);
    }
    return value;
  }

  private open(frame: Frame): void {
    this.checkDepth();
    this.value((frame.dict ?? frame.array ?? frame.map) as PlistRead);
    this.stack.push(frame);
    this.top = frame;
  }

  private checkDepth(): void {
    if (this.stack.length >= this.limits.maxDepth) this.fail('nested too deep');
  }

  private close(container: PlistRead | undefined): void {
    if (container === undefined) this.fail('mismatched end tag');
    if (this.top?.key !== undefined) this.fail('key without a value');
    this.stack.pop();
    this.top = this.stack[this.stack.length - 1];
  }

  private key(name: string): void {
    const top = this.top;
    if (top === undefined || top.array !== undefined || top.key !== undefined) {
      this.fail('misplaced key');
    }
    this.count();
    top.key = name;
  }

  private value(value: PlistRead): void {
    this.count();
    const top = this.top;
    if (top === undefined) {
      if (this.root !== undefined) this.fail('more than one value');
      this.root = value;
    } else if (top.array !== undefined) {
      top.array.push(value);
    } else if (top.key === undefined) {
      this.fail('value without a key');
    } else {
      if (top.map !== undefined) addEntry(top.map, top.key, value);
      else (top.dict as PlistDict)[top.key] = value as PlistValue;
      top.key = undefined;
    }
  }

  private count(): void {
    if (++this.nodes > this.limits.maxNodes) this.fail('too many values');
  }

  private countReference(): void {
    if (++this.references > this.limits.maxReferences) this.fail('too many references');
  }

  /** The text up to the end tag: character data, references, CDATA sections and comments. */
  private content(tag: string): string {
    let collected = '';
    for (;;) {
      const end = this.text.indexOf('<', this.pos);
      if (end < 0) this.fail(`unclosed ${tag}`);
      const piece = this.characters(this.text.slice(this.pos, end));
      collected = collected === '' ? piece : collected + piece;
      this.pos = end;
      if (this.endTag(tag)) return collected;
      if (this.text.startsWith('<![CDATA[', end)) collected += this.cdata();
      else if (this.text.startsWith('<!--', end)) this.comment();
      else this.fail(`mismatched or unclosed ${tag}`);
    }
  }

  private endTag(tag: string): boolean {
    const after = this.pos + 2 + tag.length;
    if (this.text.charCodeAt(this.pos + 1) !== 47 || !this.text.startsWith(tag, this.pos + 2)) {
      return false;
    }
    const start = this.pos;
    this.pos = after;
    if (this.text.charCodeAt(after) !== 62) this.skipSpace();
    if (this.text.charCodeAt(this.pos) === 62) {
      this.pos += 1;
      return true;
    }
    this.pos = start;
    return false;
  }

  private cdata(): string {
    this.count();
    const start = this.pos + 9;
    const end = this.text.indexOf(']]>', start);
    if (end < 0) this.fail('unclosed CDATA section');
    const section = this.text.slice(start, end);
    if (hasIllegalCharacter(section)) this.fail('illegal character');
    this.pos = end + 3;
    return section;
  }

  private characters(raw: string): string {
    if (hasIllegalCharacter(raw)) this.fail('illegal character');
    if (!raw.includes('&')) return raw;
    return decodeReferences(raw, {
      onReference: () => this.countReference(),
      fail: (reason) => this.fail(reason),
    });
  }

  private fail(reason: string): never {
    throw invalidPlist(`${reason} (near character ${this.pos})`);
  }
}
