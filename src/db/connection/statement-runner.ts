/** A fragment with `?` for each binding. */
export interface Sql {
  text: string;
  bindings: unknown[];
}

/** As many rows as the driver may take apart at a time: 200 devices are some 4 ms. */
export const SLICE_ROWS = 200;

/** What runs the statements of a read. Errors come out as AppError. */
export interface StatementRunner {
  /** The rows of one statement. */
  run<T>(sql: Sql): Promise<T[]>;
  /**
   * The same in slices, so that taking them apart leaves other requests their turns. They are those
   * of one moment. AppError 400 `query_too_expensive` beyond `maxBytes`.
   */
  runSliced<T>(sql: Sql, maxBytes?: number): Promise<T[]>;
}
