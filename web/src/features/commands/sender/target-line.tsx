import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { commandsText } from '../../../text/commands';
import { Button } from '../../../ui/button';
import { marksQuery, targetQuery } from './queries';
import { isAll, type Target } from './targets';

const words = commandsText.targets;

/** Whom the command is for, in words. */
export function TargetLine({ target }: { target: Target }) {
  const { data } = useQuery(targetQuery(target));
  const count = target.kind === 'devices' ? target.ids.length : data?.total;
  const names = (data?.rows ?? []).map(
    ({ id, device_name: name, serial_number: serial }) => name ?? serial ?? words.unnamed(id),
  );
  return (
    <div>
      <p className="target-count" role="status">
        {count === undefined ? '…' : <Sentence target={target} count={count} />}
      </p>
      {/* It keeps its line while it loads, so that nothing below it moves. */}
      <p className="soft">
        {names.length > 0 && count !== undefined
          ? words.examples(names.join(', '), count - names.length)
          : '\u00a0'}
      </p>
    </div>
  );
}

/** Back to the list, and another choice here. */
export function TargetLinks({ onChange }: { onChange: () => void }) {
  return (
    <div className="target-links">
      <Link to="/devices" className="button">
        {words.list}
      </Link>
      <Button onPress={onChange}>{words.change}</Button>
    </div>
  );
}

function Sentence({ target, count }: { target: Target; count: number }) {
  const { data } = useQuery({ ...marksQuery, enabled: target.kind === 'marks' });
  if (target.kind === 'devices') return words.selected(count);
  if (target.kind !== 'marks') return isAll(target) ? words.all(count) : words.filtered(count);
  const nameIn = (rows: readonly { id: number; name?: string | null }[] = [], id: number) =>
    rows.find((row) => row.id === id)?.name ?? String(id);
  const names = [
    ...target.tags.map((id) => words.tag(nameIn(data?.tags, id))),
    ...target.groups.map((id) => words.group(nameIn(data?.groups, id))),
  ];
  return words.marked(count, names.join(', '));
}
