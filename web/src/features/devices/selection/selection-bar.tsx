import { Link } from '@tanstack/react-router';
import { devicesText as words } from '../../../text/devices';
import { Button } from '../../../ui/button';
import { apiRules, type DevicesSearch } from '../search';
import { MarkSelection } from './mark-selection';
import { RefreshSelection } from './refresh-selection';
import type { Selection } from './selection';
import { matching } from './target';

interface Props {
  selection: Selection;
  total: number;
  count: string;
  search: DevicesSearch;
}

export function SelectionBar({ selection, total, count, search }: Props) {
  const { isAll, ids, selectAll, clear } = selection;
  const target = isAll ? matching(search, total) : { ids: [...ids] };
  const page = isAll ? { rules: JSON.stringify(apiRules(search)) } : { devices: [...ids] };
  return (
    <section className="selection-bar" aria-label={words.selected(selection.count(total))}>
      <strong>{isAll ? words.allSelected(count) : words.selected(ids.size)}</strong>
      {!isAll && ids.size < total && (
        <Button kind="quiet" onPress={selectAll}>
          {words.allMatch(count)}
        </Button>
      )}
      <Link to="/commands/new" search={page} className="button" data-kind="main">
        {words.sendCommand}
      </Link>
      <MarkSelection target={target} />
      <RefreshSelection target={target} />
      <Button kind="quiet" onPress={clear}>
        {words.unselect}
      </Button>
    </section>
  );
}
