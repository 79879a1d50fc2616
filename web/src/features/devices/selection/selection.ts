import { useCallback, useState } from 'react';

export interface Selection {
  /** All that match, also those not read yet. */
  isAll: boolean;
  ids: ReadonlySet<number>;
  has: (row: { id: number }) => boolean;
  toggle: (row: { id: number }) => void;
  selectAll: () => void;
  clear: () => void;
  count: (total: number) => number;
}

export interface SelectionState {
  filter: string;
  isAll: boolean;
  ids: ReadonlySet<number>;
}

/** Another filter is another selection. */
export function selectionFor(filter: string, stored: SelectionState): SelectionState {
  return stored.filter === filter ? stored : { filter, isAll: false, ids: new Set() };
}

/** One row more or less; after "all that match" it begins anew with this row. */
export function toggled(state: SelectionState, id: number): SelectionState {
  const ids = new Set(state.isAll ? [] : state.ids);
  if (!ids.delete(id)) ids.add(id);
  return { filter: state.filter, isAll: false, ids };
}

/** How many of the rows that match are selected. */
export function countOf({ isAll, ids }: SelectionState, total: number): number {
  return isAll ? total : ids.size;
}

/** These rows, or all that match. */
export function useSelection(filter: string): Selection {
  const empty: SelectionState = { filter, isAll: false, ids: new Set() };
  const [stored, setState] = useState(empty);
  const state = selectionFor(filter, stored);
  const toggle = useCallback(
    ({ id }: { id: number }) => setState((former) => toggled(selectionFor(filter, former), id)),
    [filter],
  );
  return {
    isAll: state.isAll,
    ids: state.ids,
    has: ({ id }) => state.isAll || state.ids.has(id),
    toggle,
    selectAll: () => setState({ filter, isAll: true, ids: new Set() }),
    clear: () => setState(empty),
    count: (total) => countOf(state, total),
  };
}
