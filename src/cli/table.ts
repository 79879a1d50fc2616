export type WriteLine = (line: string) => void;

/** To standard output. */
export function writeLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Columns side by side; the first row holds the headings. */
export function tableLines(table: readonly (readonly string[])[]): string[] {
  const [headings = []] = table;
  const widths = headings.map((_heading, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  return table.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

export function writeTable(table: readonly (readonly string[])[], write: WriteLine): void {
  for (const line of tableLines(table)) write(line);
}

/** To the second, as ISO 8601 in UTC. */
export function dateText(date: Date | null): string {
  return date === null ? 'never' : date.toISOString().slice(0, 19).concat('+00:00');
}

/** The day alone, as ISO 8601 in UTC. */
export function dayText(date: Date): string {
  return date.toISOString().slice(0, 10);
}
