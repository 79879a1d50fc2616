/** A fragment with `?` for each binding. */
export interface Sql {
  text: string;
  bindings: unknown[];
  /** Its best plan is the same for all bindings, so that it may be planned once. */
  isPlannedOnce?: boolean | undefined;
  /** Asked for by many: those that wait for it at the same time share one result. */
  isShared?: boolean | undefined;
}

/** Rows that the driver parses at a time: 200 devices take about 4 ms. */
export const SLICE_ROWS = 200;

/** Runs the statements of a read. Throws AppError. */
export interface StatementRunner {
  /** The rows of one statement. */
  run<T>(sql: Sql): Promise<T[]>;
  /**
   * The same in slices of one snapshot, so that parsing them does not delay other requests. AppError
   * 400 `query_too_expensive` beyond `maxBytes`.
   */
  runSliced<T>(sql: Sql, maxBytes?: number): Promise<T[]>;
}
