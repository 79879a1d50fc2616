import type pg from 'pg';
import { formatTimestamp } from '../../jsonapi/definition/values.js';
import {
  COLUMN_TEXTS,
  type ColumnTexts,
  type ColumnWriter,
} from '../../jsonapi/documents/column-texts.js';

type Raw = readonly (string | null)[];
type Parser = (raw: string) => unknown;

/** Makes the driver return values as the texts that it receives. */
export const RAW_TYPES: pg.CustomTypesConfig = { getTypeParser: () => (raw: string) => raw };

const RAW = Symbol('raw');

interface TextRow {
  [RAW]: Raw;
}

/** Row classes by their columns. */
const classes = new Map<string, new (raw: Raw) => TextRow>();
const MAX_CLASSES = 500;

/**
 * Rows whose columns are parsed when they are read. A page of devices has 165 columns a row. Most of them
 * are only written into the document, which needs no more than their text.
 */
export function textRows<Row>(
  { rows, fields }: pg.QueryArrayResult,
  { getTypeParser }: pg.CustomTypesConfig,
): Row[] {
  const key = fields.map(({ name, dataTypeID }) => `${name} ${dataTypeID}`).join();
  const known = classes.get(key);
  const Columns = known ?? rowClass(fields, getTypeParser);
  if (known === undefined) {
    if (classes.size >= MAX_CLASSES) classes.clear();
    classes.set(key, Columns);
  }
  return rows.map((raw) => new Columns(raw as Raw) as Row);
}

function rowClass(fields: pg.FieldDef[], getTypeParser: pg.CustomTypesConfig['getTypeParser']) {
  class Columns implements TextRow {
    readonly [RAW]: Raw;
    constructor(raw: Raw) {
      this[RAW] = raw;
    }
  }
  const parsers = fields.map(({ dataTypeID }) => getTypeParser(dataTypeID, 'text') as Parser);
  fields.forEach(({ name }, place) => {
    Object.defineProperty(Columns.prototype, name, accessor(place, parsers[place] as Parser, name));
  });
  const places = new Map(fields.map(({ name }, place) => [name, place]));
  const texts: ColumnTexts = {
    placeOf: (name) => places.get(name),
    rawOf: (row) => (row as TextRow)[RAW],
    writers: fields.map(({ dataTypeID }, place) => {
      return (
        WRITERS[dataTypeID]?.(parsers[place] as Parser) ?? valueWriter(parsers[place] as Parser)
      );
    }),
  };
  Object.defineProperty(Columns.prototype, COLUMN_TEXTS, { value: texts });
  return Columns;
}

/** What is assigned replaces the column in that row. */
function accessor(place: number, parse: Parser, name: string): PropertyDescriptor {
  return {
    enumerable: true,
    get(this: TextRow) {
      const raw = this[RAW][place];
      return raw === null || raw === undefined ? null : parse(raw);
    },
    set(this: TextRow, value: unknown) {
      Object.defineProperty(this, name, { value, writable: true, enumerable: true });
    },
  };
}

const asText: ColumnWriter = (raw, out) => out.json(raw);
const asTruth: ColumnWriter = (raw, out) => out.text(raw === 't' ? 'true' : 'false');
/** Beyond 15 digits a number may not be exact. */
const asInteger: ColumnWriter = (raw, out) =>
  out.text(raw.length < 16 ? raw : JSON.stringify(Number(raw)));

/** By the type's id; the others are written from their values. */
const WRITERS: Record<number, (parse: Parser) => ColumnWriter> = {
  16: () => asTruth,
  20: () => asInteger,
  21: () => asInteger,
  23: () => asInteger,
  25: () => asText,
  1043: () => asText,
  2950: () => asText,
  1184: timeWriter,
};

function valueWriter(parse: Parser): ColumnWriter {
  return (raw, out) => {
    const value = parse(raw);
    if (value instanceof Date) out.json(formatTimestamp(value));
    else out.text(JSON.stringify(value ?? null));
  };
}

const DATE_LENGTH = 'YYYY-MM-DD'.length;
const SECONDS_LENGTH = 'YYYY-MM-DD HH:MM:SS'.length;
const UTC = '+00';
const DOT = '.';

/** As `formatTimestamp` writes the Date of it, which has milliseconds. */
function timeWriter(parse: Parser): ColumnWriter {
  const write = valueWriter(parse);
  return (raw, out) => {
    const end = raw.length - UTC.length;
    const isPlain = raw[4] === '-' && raw[DATE_LENGTH] === ' ' && raw.endsWith(UTC);
    if (!isPlain || (end > SECONDS_LENGTH && raw[SECONDS_LENGTH] !== DOT)) {
      write(raw, out);
      return;
    }
    out.text('"');
    out.ascii(raw, 0, DATE_LENGTH);
    out.text('T');
    out.ascii(raw, DATE_LENGTH + 1, SECONDS_LENGTH);
    const milliseconds = raw.slice(SECONDS_LENGTH + 1, Math.min(end, SECONDS_LENGTH + 4));
    if (Number(milliseconds) > 0) out.text(`.${milliseconds.padEnd(3, '0')}`);
    out.text('+00:00"');
  };
}
