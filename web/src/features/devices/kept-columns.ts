import * as z from 'zod/mini';
import { ATTRIBUTES } from './attributes.js';
import { type DevicesSearch, devicesSearch } from './search.js';

type Columns = Pick<DevicesSearch, 'cols' | 'w'>;

const KEY = 'devices.columns';
const keptColumns = z.pick(devicesSearch, { cols: true, w: true });

/** The columns and widths that were chosen last in this browser. */
function readColumns(): Columns {
  try {
    const { cols, w } = keptColumns.parse(JSON.parse(localStorage.getItem(KEY) ?? '{}'));
    const known = cols?.filter((name) => Object.hasOwn(ATTRIBUTES, name)) ?? [];
    return { ...(known.length > 0 && { cols: known }), ...(w !== undefined && { w }) };
  } catch {
    return {};
  }
}

export function keepColumns({ cols, w }: Columns): void {
  localStorage.setItem(KEY, JSON.stringify({ cols, w }));
}

/** The search with the kept columns; undefined where the address has its own, or none are kept. */
export function withKeptColumns(search: DevicesSearch): DevicesSearch | undefined {
  if (search.cols !== undefined || search.w !== undefined) return undefined;
  const kept = readColumns();
  return Object.keys(kept).length === 0 ? undefined : { ...search, ...kept };
}
