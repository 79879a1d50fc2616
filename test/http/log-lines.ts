import { type Logger, pino } from 'pino';

export type LogLine = Record<string, unknown> & { level: number; msg: string };

/** A logger that keeps its lines, so that tests can say what must and must not be in them. */
export function capturingLogger(): { logger: Logger; lines: LogLine[]; text: () => string } {
  const lines: LogLine[] = [];
  const raw: string[] = [];
  const logger = pino(
    { level: 'debug' },
    {
      write(line: string) {
        raw.push(line);
        lines.push(JSON.parse(line) as LogLine);
      },
    },
  );
  return { logger, lines, text: () => raw.join('') };
}
