import type { Utf8Writer } from './utf8-writer.js';

/** The member of a row that holds its columns as the database sent them. */
export const COLUMN_TEXTS = Symbol('column texts');

/** Writes the JSON text that `JSON.stringify` makes of a column's value. */
export type ColumnWriter = (raw: string, out: Utf8Writer) => void;

/** Writes columns of rows of one statement as JSON without making values of them. */
export interface ColumnTexts {
  /** The place of a column in `rawOf` and `writers`; undefined if the statement does not return it. */
  placeOf(name: string): number | undefined;
  rawOf(row: object): readonly (string | null)[];
  /** For each place. */
  writers: readonly ColumnWriter[];
}

/** Undefined for a row of values. */
export function columnTextsOf(row: object): ColumnTexts | undefined {
  return (row as { [COLUMN_TEXTS]?: ColumnTexts })[COLUMN_TEXTS];
}
