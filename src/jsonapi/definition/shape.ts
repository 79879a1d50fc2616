import type { Attribute } from './attributes.js';

export interface ToOne {
  kind: 'toOne';
  /** Of the resource it points to. */
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
  /** Column with the own id. */
  own: string;
  /** Column with the other's id. */
  other: string;
}

export interface ToManyShape {
  kind: 'toMany';
  type: string;
  via: ForeignKey | JoinTable;
  /** Rows of the other table left out of the linkage (they stay in the collection). */
  except?: { column: string; value: string };
}

/** What the database needs to know of a resource. Column name = attribute name. */
export interface ResourceShape {
  type: string;
  table: string;
  /** `table` is a view, of which no sample can be taken: its rows are always counted. */
  isView?: boolean;
  attributes: Record<string, Attribute>;
  relationships: Record<string, ToOne | ToManyShape>;
}
