import { createHash, randomInt } from 'node:crypto';

/**
 * The cell label: `?c=NN` (00 to 63) at the end of the ServerURL, by which a proxy can route a
 * device to one of several databases (docs/decisions/0001-cell-label.md). The server itself ignores
 * it.
 */
export const CELLS = 64;

const LABEL = /[?&]c=(\d\d)(?:&|$)/;

/** The cell of a serial number, always the same; a random one where it is not known. */
export function chooseCell(serial: string | undefined): number {
  if (serial === undefined) return randomInt(CELLS);
  return createHash('sha256').update(serial.toUpperCase()).digest().readUInt8(0) % CELLS;
}

/** `https://mdm.example.com/mdm?c=07`; unchanged for null. */
export function withCell(url: string, cell: number | null): string {
  return cell === null ? url : `${url}?c=${String(cell).padStart(2, '0')}`;
}

/** The label in the URL of a request; null without one, or for one out of range. */
export function readCell(url: string | undefined): number | null {
  const digits = LABEL.exec(url ?? '')?.[1];
  const cell = digits === undefined ? CELLS : Number(digits);
  return cell < CELLS ? cell : null;
}
