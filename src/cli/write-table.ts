import type { WriteLine } from './token.js';

/** Columns side by side; the first row holds the headings. */
export function writeTable(table: string[][], write: WriteLine): void {
  const [headings = []] = table;
  const widths = headings.map((_heading, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  for (const row of table) {
    const padded = row.map((cell, column) => cell.padEnd(widths[column] ?? 0));
    write(padded.join('  ').trimEnd());
  }
}
