type Labels = Record<string, string>;

export type Sample = readonly [labels: Labels, value: number];

/** A gauge whose values are read from figures of the type `F`. */
export interface Family<F> {
  name: string;
  help: string;
  labelNames: string[];
  samples(figures: Partial<F>): Sample[];
}

/** One value for each key, the sum of its rows. */
export function sums<Row>(
  rows: readonly Row[],
  labelsOf: (row: Row) => Labels,
  countOf: (row: Row) => number,
): Sample[] {
  const found = new Map<string, [Labels, number]>();
  for (const row of rows) {
    const labels = labelsOf(row);
    const key = JSON.stringify(labels);
    found.set(key, [labels, (found.get(key)?.[1] ?? 0) + countOf(row)]);
  }
  return [...found.values()];
}
