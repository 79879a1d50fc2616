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

interface State {
  filter: string;
  isAll: boolean;
  ids: ReadonlySet<number>;
}

/** These rows, or all that match. Another filter is another selection. */
export function useSelection(filter: string): Selection {
  const empty: State = { filter, isAll: false, ids: new Set() };
  const [stored, setState] = useState<State>(empty);
  const state = stored.filter === filter ? stored : empty;
  const toggle = useCallback(
    ({ id }: { id: number }) =>
      setState((former) => {
        const ids = new Set(former.filter === filter ? former.ids : []);
        if (!ids.delete(id)) ids.add(id);
        return { filter, isAll: false, ids };
      }),
    [filter],
  );
  return {
    isAll: state.isAll,
    ids: state.ids,
    has: ({ id }) => state.isAll || state.ids.has(id),
    toggle,
    selectAll: () => setState({ filter, isAll: true, ids: new Set() }),
    clear: () => setState(empty),
    count: (total) => (state.isAll ? total : state.ids.size),
  };
}
