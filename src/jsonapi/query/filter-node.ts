import type {
  CodesOfRow,
  FlagIndex,
  ResourceShape,
  SearchedTexts,
  ToManyShape,
  ToOne,
} from '../definition/shape.js';

export const COMPARISONS = ['eq', 'ne', 'gt', 'ge', 'lt', 'le'] as const;
export const PATTERNS = ['like', 'ilike', 'notlike', 'notilike'] as const;
export const TEXT_PARTS = ['startswith', 'endswith', 'contains'] as const;

export const SETS = ['in', 'in_', 'notin', 'notin_'] as const;
export const IDENTITIES = ['is', 'is_', 'isnot'] as const;

export type Comparison = (typeof COMPARISONS)[number];
export type TextOperator = (typeof PATTERNS)[number] | (typeof TEXT_PARTS)[number];

/** Compares a time with now minus a duration: `lt` is older, `gt` younger. */
export type AgeComparison = Exclude<Comparison, 'eq' | 'ne'>;

export type Scalar = string | number | boolean | Date;

export interface Column {
  name: string;
  /** The API's name, if it differs. */
  label?: string | undefined;
  kind: 'text' | 'version' | 'integer' | 'number' | 'boolean' | 'timestamp' | 'uuid';
  ignoreCase: boolean;
  /**
   * What is indexed instead of the column: joined texts (`byStart`: beside an index of its own by how it
   * starts, or `values`), the bytes that it shows in hexadecimal, the positions of booleans, the values of these
   * columns together; or the table in which it rises with the id.
   */
  foundBy?:
    | { texts: readonly string[]; byStart?: boolean; values?: readonly Column[] | undefined }
    | { bytes: string }
    | { flags: FlagIndex }
    | { values: readonly Column[] }
    | { risingIn: string }
    | undefined;
}

/**
 * A filter whose names and values were validated against the definitions. A comparison by `is` is an
 * identity: its result is never unknown.
 */
export type FilterNode =
  | { kind: 'and' | 'or'; nodes: FilterNode[] }
  | { kind: 'not'; node: FilterNode }
  | { kind: 'compare'; column: Column; op: Comparison; value: Scalar; isIdentity?: true }
  | { kind: 'age'; column: Column; op: AgeComparison; hours: number }
  | { kind: 'columns'; column: Column; op: Comparison; other: Column }
  | { kind: 'text'; column: Column; op: TextOperator; value: string }
  | { kind: 'in'; column: Column; values: Scalar[] }
  | { kind: 'between'; column: Column; low: Scalar; high: Scalar }
  | { kind: 'null'; column: Column }
  | { kind: 'search'; texts: SearchedTexts; value: string }
  | { kind: 'codes'; codes: CodesOfRow; values: readonly string[] }
  | { kind: 'related'; relation: ToOne | ToManyShape; shape: ResourceShape; node: FilterNode };

/** The nodes of some kinds. */
export type NodeOf<Kind extends FilterNode['kind']> = Extract<FilterNode, { kind: Kind }>;
