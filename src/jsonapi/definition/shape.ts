import type { Attribute } from './attributes.js';

export interface ToOne {
  kind: 'toOne';
  /** The type it points to. */
  type: string;
  /** Column of the own table that holds the id. */
  column: string;
  required?: boolean;
  write: 'always' | 'create' | 'never';
}

export interface ForeignKey {
  /** Column of the other table that holds the own id. */
  foreignKey: string;
}

export interface JoinTable {
  table: string;
  /** A view can't be sampled, and may link two rows more than once. */
  isView?: boolean;
  /** Column with the own id. */
  own: string;
  /** Column with the other's id. */
  other: string;
}

export interface ToManyShape {
  kind: 'toMany';
  type: string;
  via: ForeignKey | JoinTable;
  /** Rows of the other table excluded from the linkage, but not from the collection. */
  except?: { column: string; value: string };
}

/** A list by these values of `attribute` adds the conditions that they imply, which have indexes. */
export interface Narrowed {
  attribute: string;
  /** A boolean column that is true of rows with these values, and the condition `column::integer = 1` of an index. */
  flag: { column: string; values: readonly string[] };
  /** A table with the ids of the rows with these values, and the attribute's column. */
  listed: { table: string; id: string; values: readonly string[] };
}

/**
 * A narrow table of the values of attributes that change too often for indexes of the resource's own table,
 * where each change would write to all of them.
 */
export interface KeptApart {
  attributes: readonly string[];
  table: string;
  /** Its column of the resource's id. It has an index on each attribute and this. */
  id: string;
  /** Whether it has no row of some resources, of which no value is known. */
  isOfKnownAlone?: boolean;
}

/**
 * Boolean attributes that one index of a table finds: those of `true` by
 * `array_positions(array[…], true)` of their columns in this order, those of `false` by the same with false.
 */
export interface FlagIndex {
  true: readonly string[];
  false: readonly string[];
  /** Those that have an index of their own, which counts them without their rows. */
  apart?: { true: readonly string[]; false: readonly string[] };
}

/**
 * Texts of few different values, each with an index on it and the id, and the operator by which that index
 * has the values in order: `~>~` where it has them by their bytes. A rule for a part of one reads the values
 * first, and of each the rows.
 */
export type FewValues = Readonly<Record<string, '>' | '~>~'>>;

/** Columns that a search covers; an index has their joined text. */
export interface SearchedTexts {
  columns: readonly string[];
  /** Of these, those that have an index of their own by how they start. */
  byStart?: readonly string[];
  /** Those of another table, with its column of the resource's id. */
  others?: { table: string; foreignKey: string; columns: readonly string[] };
}

/** Codes that another table holds of the rows of a resource, each at most once. */
export interface CodesOfRow {
  table: string;
  /** Its column of the resource's id. */
  foreignKey: string;
  /** Its column of the code. */
  column: string;
  values: readonly string[];
}

/** What filters of a resource find by other means than one column. */
export interface FilterIndexes {
  /** What a rule named `search` searches. Rules for one of its texts use the same index. */
  search?: SearchedTexts;
  /** What a rule of this name looks for; documents do not show these codes. */
  codes?: Readonly<Record<string, CodesOfRow>>;
  /** What finds the rows that have, or have not, a property which few have. */
  flagIndex?: FlagIndex;
  /**
   * Attributes whose equal values one index of the table finds, in this order of its expression. Only what
   * seldom changes: each change of one of them writes the whole row to all indexes.
   */
  valueIndex?: readonly string[];
  /**
   * An attribute of the time at which a row was made, by the database's clock and never changed: ids rise
   * with it, and a task notes how far not (`db/jobs/time-order.ts`). It has an index with the id.
   */
  risesWithId?: string;
  /** Attributes that show a column of bytes, which has an index, as hexadecimal digits. */
  hexOf?: Readonly<Record<string, string>>;
}

/** What the store needs of a resource. Column name = attribute name. */
export interface ResourceShape {
  type: string;
  table: string;
  /** `table` is a view, which can't be sampled: without `sample` its rows are always counted exactly. */
  isView?: boolean;
  /** A view of a hundredth of the rows of `table`, by which long lists are counted. */
  sample?: string;
  /** Views of the rows that have one value of an attribute: a list by that value reads its view. */
  parts?: { attribute: string; views: Readonly<Record<string, string>> };
  /** How rows with some values of an enum are found without reading the others. */
  narrowed?: Narrowed;
  /** Where lists by one of the attributes alone are read. */
  keptApart?: readonly KeptApart[];
  /**
   * Times that rise with the id, more or less, of which an index knows the range in each few pages: one of the
   * values would have to be written to with each report.
   */
  timesByPages?: readonly string[];
  /** Texts by a part of which lists are read value by value. */
  fewValues?: FewValues;
  attributes: Record<string, Attribute>;
  relationships: Record<string, ToOne | ToManyShape>;
}
