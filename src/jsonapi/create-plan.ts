/** Part of a statement, with `?` for each binding. Only db writes its text. */
export interface StatementPart {
  text: string;
  bindings: unknown[];
}

/** What a create stores when one statement is enough for it. */
export interface CreatePlan {
  /** Column values of the row; a column that is left out or undefined has its default. */
  values: Record<string, unknown>;
  /** Values of names that reads of the row compute and no insert can set. */
  computed?: Record<string, unknown> | undefined;
  /**
   * Selects one row while everything that the plan relies on holds, such as the related resources, and
   * locks that until the commit. Without a row nothing is stored.
   */
  guard: StatementPart;
  /** What is stored besides the row, which they can read as `created`. */
  effects: StatementPart[];
  /** `meta` of the document. */
  meta?: Record<string, unknown> | undefined;
  /** Runs after the commit. */
  afterCommit?: (() => void) | undefined;
}
