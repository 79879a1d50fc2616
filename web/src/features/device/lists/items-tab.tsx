import { useQueryClient } from '@tanstack/react-query';
import { ActionError } from '../../../api/action-error';
import { call, client } from '../../../api/client';
import { once, useMutation } from '../../../api/mutation';
import { useMay } from '../../../api/rights';
import { deviceText } from '../../../text/device';
import { Button } from '../../../ui/button';
import type { PlainColumn } from '../../../ui/plain-table';
import { Status, type Tone } from '../../../ui/status';
import { Time } from '../../../ui/time';
import type { ListRow } from '../queries';
import { Named } from './cells';
import { ListTab } from './list-tab';

type Item = ListRow<'items'>;

const words = deviceText.items;
const columnWords = deviceText.columns;
const TONES: Record<string, Tone> = {
  installed: 'ok',
  verified: 'ok',
  failed: 'bad',
  conflict: 'bad',
  waiting_for_user: 'warn',
  paused: 'warn',
};

const COLUMNS: PlainColumn<Item>[] = [
  {
    name: 'profile',
    label: columnWords.profile,
    cell: ({ identifier, profile_name: name }) => <Named name={name} note={identifier} />,
  },
  {
    name: 'version',
    label: columnWords.version,
    isNumber: true,
    isTight: true,
    isMinor: true,
    cell: ({ version }) => version ?? '–',
  },
  {
    name: 'state',
    label: columnWords.state,
    isTight: true,
    cell: ({ state }) => (
      <Status tone={TONES[state ?? ''] ?? 'soft'}>{words.states[state ?? ''] ?? `${state}`}</Status>
    ),
  },
  { name: 'reason', label: columnWords.reason, cell: ({ reason }) => reason ?? '–' },
  {
    name: 'changed',
    label: columnWords.changed,
    isTight: true,
    isMinor: true,
    cell: ({ changed_at: at }) => <Time at={at} />,
  },
];

/** Profiles that the device should have. One that failed can be tried again. */
export function ItemsTab({ id }: { id: number }) {
  const queries = useQueryClient();
  const canRetry = useMay()('retryDeviceItem');
  const retry = useMutation({
    mutationFn: (item: number, key) =>
      call(() =>
        client.POST('/device_items/{id}/retry', { params: { path: { id: item } }, ...once(key) }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ['device', id] }),
  });
  const actions: PlainColumn<Item> = {
    name: 'actions',
    label: columnWords.actions,
    isActions: true,
    cell: (item) =>
      canBeRetried(item) && (
        <Button
          kind="quiet"
          aria-label={words.retryNamed(item.profile_name ?? item.identifier ?? '')}
          onPress={() => retry.mutate(item.id)}
        >
          {words.retry}
        </Button>
      ),
  };
  return (
    <>
      {retry.error !== null && <ActionError error={retry.error} />}
      <p role="status" className={retry.isSuccess ? '' : 'visually-hidden'}>
        {retry.isSuccess && words.retried}
      </p>
      <ListTab
        id={id}
        name="items"
        label={deviceText.tab.items}
        empty={deviceText.empty.items}
        columns={canRetry ? [...COLUMNS, actions] : COLUMNS}
      />
    </>
  );
}

function canBeRetried({ state, next_attempt_at: next }: Item): boolean {
  return state === 'failed' || (next !== null && next !== undefined);
}
